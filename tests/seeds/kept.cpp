// Chares that were made without a PE, from messages of a class of their own, are asked by the handles of their maker,
// before a checkpoint and after a restart from it.
//
//   kept FOLDER +p4 +seed-balancer workstealing, and then: kept +restart FOLDER +p4 ...
//
// Those that were constructed on the PE that made them prove nothing, so more are made until one was not.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kept.decl.h"

CProxy_Main main_proxy;

namespace {
constexpr int at_a_time = 40, keepers_max = 4000;
void fail(const char* what) { CkAbort("kept: %s\n", what); }
}  // namespace

class Name : public CMessage_Name {
 public:
  char* text;
};

class Keeper : public CBase_Keeper {
 public:
  explicit Keeper(Name* name) : name_(name->text) {
    delete name;
    volatile unsigned x = 1;  // some 20 us
    for (int i = 0; i < 10000; ++i) x = x * 1664525 + 1013904223;
    main_proxy.made(CkMyPe());
  }
  explicit Keeper(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | name_; }
  void ask() { main_proxy.answered(std::atoi(name_.c_str() + std::strlen("keeper "))); }

 private:
  std::string name_;
};

class Watch : public CBase_Watch {
 public:
  Watch() { contribute(CkCallback(CkIndex_Main::started(), main_proxy)); }
  explicit Watch(CkMigrateMessage*) {}
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) : folder_(m->argv[1]) {
    delete m;
    main_proxy = thisProxy;
    CProxy_Watch::ckNew();
  }
  explicit Main(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | folder_;
    p | keepers_;
    p | asked_;
  }

  void started() {
    missing_ = at_a_time;
    for (int i = 0; i < at_a_time; ++i) {
      const std::string text = "keeper " + std::to_string(keepers_.size());
      Name* name = new (static_cast<int>(text.size()) + 1) Name;
      std::strcpy(name->text, text.c_str());
      keepers_.push_back(CProxy_Keeper::ckNew(name));
    }
  }
  void made(int pe) {
    some_moved_ |= pe != CkMyPe();
    if (--missing_ > 0) return;
    if (some_moved_) return ask();
    if (keepers_.size() >= keepers_max) fail("no chare has left its maker");
    started();
  }
  void answered(int number) {
    answers_.at(static_cast<std::size_t>(number)) += 1;
    if (--missing_ > 0) return;
    for (const int answers : answers_)
      if (answers != 1) fail("a chare has given the answer of another");
    if (++asked_ == 1) return CkStartCheckpoint(folder_.c_str(), CkCallback(CkIndex_Main::go_on(), thisProxy));
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void go_on() {
    if (!_restarted) return CkExit();
    ask();
  }

 private:
  void ask() {
    missing_ = static_cast<int>(keepers_.size());
    answers_.assign(keepers_.size(), 0);
    for (CProxy_Keeper& keeper : keepers_) keeper.ask();
  }

  std::string folder_;
  std::vector<CProxy_Keeper> keepers_;
  std::vector<int> answers_;
  int missing_ = 0, asked_ = 0;
  bool some_moved_ = false;
};

#include "kept.def.h"
