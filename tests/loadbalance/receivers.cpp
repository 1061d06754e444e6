// Elements that send to members of a group, of a node group, to sections of both kinds, and to all; the last one also
// to a thousand elements by turns. receivers_test.py holds the record of the step against it.
//
//   receivers COUNT +LBRecord FILE ...
#include <cstdlib>
#include <vector>

#include "receivers.decl.h"

CProxy_Main mainProxy;
CProxy_Sender senders;
CProxy_Office offices;
CProxy_House houses;
CProxy_Listener listeners;

namespace {
constexpr int listener_count = 1000;
}

class Word : public CkMcastBaseMsg, public CMessage_Word {
 public:
  double x[10] = {};
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    const int count = std::atoi(m->argv[1]);
    delete m;
    mainProxy = thisProxy;
    offices = CProxy_Office::ckNew();
    houses = CProxy_House::ckNew();
    senders = CProxy_Sender::ckNew(count);
    listeners = CProxy_Listener::ckNew(listener_count);
    CkPrintf("arrays %d %d groups %d %d\n", senders.ckGetArrayID().index(), listeners.ckGetArrayID().index(),
             offices.ckGetGroupID().idx, houses.ckGetGroupID().idx);
    // The first three elements, and every other PE's member. Element 0 has the root of the first on its PE, others not.
    const CProxySection_Sender section = CProxySection_Sender::ckNew(senders.ckGetArrayID(), 0, 2, 1);
    std::vector<int> pes;
    for (int pe = 0; pe < CkNumPes(); pe += 2) pes.push_back(pe);
    const CProxySection_Office every_other(offices.ckGetGroupID(), pes.data(), static_cast<int>(pes.size()));
    senders.talk(section, every_other);
  }
  void done() { CkExit(); }
};

class Office : public CBase_Office {
 public:
  void visit(int, const double*) {}
  void call(int) {}
  void all(int) {}
  void some(Word* word) { delete word; }
};

class House : public CBase_House {
 public:
  void visit(int, const double*) {}
  void call(int) {}
  void all(int) {}
};

class Listener : public CBase_Listener {
 public:
  void call(int) {}
};

class Sender : public CBase_Sender {
  int heard_ = 0;
  bool talked_ = false;

 public:
  Sender() { usesAtSync = true; }
  explicit Sender(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | heard_;
    p | talked_;
  }
  void talk(CProxySection_Sender section, CProxySection_Office every_other) {
    const double x[100] = {};
    const int pe = thisIndex % CkNumPes(), process = thisIndex % CkNumNodes();
    for (int i = 0; i < 3; ++i) offices[pe].visit(100, x);  // in a message
    for (int i = 0; i < 2; ++i) offices[pe].call(i);        // in a line
    houses[process].visit(100, x);
    for (int i = 0; i < 4; ++i) houses[process].call(i);
    for (int i = 0; i < 2 * listener_count && thisIndex == 6; ++i) listeners[i % listener_count].call(i);
    offices.all(1);
    houses.all(1);
    if (thisIndex < 2) section.hear(new Word);
    every_other.some(new Word);
    talked_ = true;
    sync();
  }
  void hear(Word* word) {
    delete word;
    ++heard_;
    sync();
  }
  // Elements 0 to 2 hear two multicasts.
  void sync() {
    if (talked_ && heard_ == (thisIndex <= 2 ? 2 : 0)) AtSync();
  }
  void ResumeFromSync() override { contribute(CkCallback(CkReductionTarget(Main, done), mainProxy)); }
};

#include "receivers.def.h"
