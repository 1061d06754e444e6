// Scripts run on objects of each kind after the run has gone back to a checkpoint, or was started from one: kept FOLDER
// ("": a checkpoint in memory).
#include <PythonCCS.h>

#include <string>

#include "ckcallback-ccs.h"
#include "kept.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ std::string folder;

class Main : public CBase_Main {
  CProxy_Members members_;

 public:
  explicit Main(CkArgMsg* arguments) {
    folder = arguments->argv[1];
    delete arguments;
    mainProxy = thisProxy;
    members_ = CProxy_Members::ckNew();
    CProxy_Cells cells = CProxy_Cells::ckNew(5);
    thisProxy.registerPython("main");
    members_.registerPython("members");
    cells.registerPython("cells");
    CcsRegisterHandler("keep", CkCallback(CkIndex_Main::keep(nullptr), thisProxy));
    CcsRegisterHandler("die", CkCallback(CkIndex_Main::die(nullptr), thisProxy));
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
    CkPrintf("kept: there is a server\n");
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) { p | members_; }
  void add(int handle) {
    int a, b;
    if (PyArg_ParseTuple(pythonGetArg(handle), "ii", &a, &b)) pythonReturn(handle, Py_BuildValue("i", a + b));
  }
  void keep(CkCcsRequestMsg* request) {
    answer(request);
    const CkCallback done(CkIndex_Main::kept(), thisProxy);
    if (folder.empty())
      CkStartMemCheckpoint(done);
    else
      CkStartCheckpoint(folder.c_str(), done);
  }
  void kept() { CkPrintf("kept: %s\n", _restarted ? "back" : "there is a checkpoint"); }
  void die(CkCcsRequestMsg* request) {
    answer(request);
    members_[CkNumPes() - 1].die();
  }
  void stop(CkCcsRequestMsg* request) {
    answer(request);
    CkExit();
  }

 private:
  static void answer(CkCcsRequestMsg* request) {
    CcsSendDelayedReply(request->reply, 0, nullptr);
    delete request;
  }
};

class Members : public CBase_Members {
 public:
  Members() = default;
  explicit Members(CkMigrateMessage* m) : CBase_Members(m) {}
  void pup(PUP::er&) override {}
  void die() { CkDieNow(); }
};

class Cells : public CBase_Cells {
 public:
  Cells() = default;
  explicit Cells(CkMigrateMessage* m) : CBase_Cells(m) {}
};

#include "kept.def.h"
