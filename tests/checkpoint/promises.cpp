// Futures in a checkpoint: those with a value have it after the restart, those without get it there. Calls that wait
// for an element that does not exist are left out, and so is a thread that waits, which two checkpoints of a run say
// once.
//
//   promises FOLDER, and then promises FOLDER +restart FOLDER
#include <string>
#include <vector>

#include "promises.decl.h"

/*readonly*/ CProxy_Main mainProxy;

namespace {
std::vector<double> values_of(int pe) { return std::vector<double>(static_cast<std::size_t>(100 + pe), pe + 0.5); }
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    folder_ = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    keepers_ = CProxy_Keeper::ckNew();
    early_.set("said before");
    keepers_.promise(late_.handle());
    const CProxy_Nobody nobody = CProxy_Nobody::ckNew();
    for (int i = 0; i < 2; ++i) nobody[3].call();
    keepers_[CkNumPes() - 1].wait_in_vain();
    CkStartCheckpoint(folder_.c_str(), CkCallback(CkIndex_Main::resume(), thisProxy));
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m), early_(PUP::reconstruct()), late_(PUP::reconstruct()) {}
  void pup(PUP::er& p) {
    p | folder_;
    p | keepers_;
    p | early_;
    p | late_;
  }
  void resume() {
    if (!_restarted) {
      if (++checkpoints_ == 2) CkExit(0);
      return CkStartCheckpoint(folder_.c_str(), CkCallback(CkIndex_Main::resume(), thisProxy));
    }
    // One more is another one than those that came back.
    const ck::future<int> fresh;
    CkEnforce(!(fresh.handle() == early_.handle()) && !(fresh.handle() == late_.handle()));
    fresh.set(1);
    keepers_[CkNumPes() - 1].keep(17);
    CkEnforce(early_.get() == "said before");
    const int late = late_.get();
    CkPrintf("promises: early and late are kept: %d\n", late);
    keepers_.read();
  }

 private:
  std::string folder_;
  int checkpoints_ = 0;
  CProxy_Keeper keepers_;
  ck::future<std::string> early_;
  ck::future<int> late_;
};

class Nobody : public CBase_Nobody {
 public:
  Nobody() = default;
  explicit Nobody(CkMigrateMessage* m) : CBase_Nobody(m) {}
  void call() { CkAbort("nobody has made me"); }
};

class Keeper : public CBase_Keeper {
 public:
  Keeper() = default;
  explicit Keeper(CkMigrateMessage* m) : CBase_Keeper(m), own_(PUP::reconstruct()) {}
  void pup(PUP::er& p) {
    p | own_;
    p | late_;
  }
  void promise(CkFuture late) {
    own_.set(values_of(CkMyPe()));
    late_ = ck::future<int>(late);
  }
  void wait_in_vain() {
    CkWaitFuture(CkCreateFuture());
    CkAbort("this future has no value");
  }
  void keep(int value) { late_.set(value); }
  void read() {
    // On other PEs than there were, members are made from PE 0's, whose future is there.
    if (_oldNumPes == CkNumPes() || CkMyPe() == 0) CkEnforce(own_.get() == values_of(CkMyPe()));
    contribute(CkCallback(CkCallback::ckExit));
  }

 private:
  ck::future<std::vector<double>> own_;
  ck::future<int> late_{PUP::reconstruct()};  // the main chare's
};

#include "promises.def.h"
