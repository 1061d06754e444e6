// A program whose clients find it again when it has gone back to a checkpoint: kept_test.py asks it.
//
//   ccs_kept [FOLDER]: checkpoints go there, and else into memory
//
// Handlers that are callbacks are registered by the mainchare's first constructor alone.
#include <csignal>
#include <string>
#include <vector>

#include "ckcallback-ccs.h"
#include "kept.decl.h"

CProxy_Main mainProxy;
CProxy_Member members;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) folder_ = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    members = CProxy_Member::ckNew();
    CcsRegisterHandler("count", CkCallback(CkIndex_Main::count(nullptr), thisProxy));
    CcsRegisterHandler("keep", CkCallback(CkIndex_Main::keep(nullptr), thisProxy));
    CcsRegisterHandler("hold", CkCallback(CkIndex_Main::hold(nullptr), thisProxy));
    CcsRegisterHandler("wait", CkCallback(CkIndex_Main::wait(nullptr), thisProxy));
    CcsRegisterHandler("release", CkCallback(CkIndex_Main::release(nullptr), thisProxy));
    CcsRegisterHandler("end", CkCallback(CkIndex_Main::end(nullptr), thisProxy));
    CcsRegisterHandler("die", CkCallback(CkIndex_Member::die(nullptr), members[CkNumPes() - 1]));
    CcsRegisterHandler("lost", CkCallback([](void* message) { CkFreeMsg(message); }));  // an address
    CkPrintf("there is a server\n");
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | folder_;
    p | counted_;
    p | held_.request;
    p | held_.part;
  }
  void count(CkCcsRequestMsg* m) {
    ++counted_;
    answer(m, counted_);
  }
  void keep(CkCcsRequestMsg* m) {
    asked_ = m->reply;
    delete m;
    CkCallback then(CkIndex_Main::kept(), thisProxy);
    if (folder_.empty()) {
      CkStartMemCheckpoint(then);
    } else {
      CkStartCheckpoint(folder_.c_str(), then);
    }
  }
  void kept() {
    if (_restarted) {
      CkPrintf("there is a server again\n");
    } else {
      CcsSendDelayedReply(asked_, sizeof counted_, &counted_);
    }
  }
  // An answer that a checkpoint takes along has nothing to go to behind it.
  void hold(CkCcsRequestMsg* m) {
    held_ = m->reply;
    delete m;
  }
  void wait(CkCcsRequestMsg* m) { waiting_.push_back(m); }
  void release(CkCcsRequestMsg* m) {
    const std::string text = "of another one";
    CcsSendDelayedReply(held_, static_cast<int>(text.size()), text.c_str());
    answer(m, counted_);
  }
  void end(CkCcsRequestMsg* m) {
    for (CkCcsRequestMsg* one : waiting_) answer(one, counted_);
    answer(m, counted_);
    CkExit(0);
  }

 private:
  static void answer(CkCcsRequestMsg* m, int number) {
    CcsSendDelayedReply(m->reply, sizeof number, &number);
    delete m;
  }
  std::string folder_;
  int counted_ = 0;
  CcsDelayedReply asked_ = {}, held_ = {};
  std::vector<CkCcsRequestMsg*> waiting_;  // of no checkpoint
};

class Member : public CBase_Member {
 public:
  Member() = default;
  explicit Member(CkMigrateMessage* m) : CBase_Member(m) {}
  void die(CkCcsRequestMsg*) { kill(getpid(), SIGKILL); }
};

#include "kept.def.h"
