// A checkpoint is made while a picture is half deposited, or not at all, and the run goes back to it or is started from
// it: that picture's client has gone, and the next one gets its own. kept FOLDER WAY (FOLDER "": a checkpoint in
// memory). WAY: "half": every other strip deposits when it is asked, the rest when a client tells them to go on;
// "late": all do that; "forgotten": so, too, and what waits is not in the checkpoint.
#include <string>
#include <vector>

#include "ckcallback-ccs.h"
#include "kept.decl.h"
#include "liveViz.h"

PUPbytes(liveVizRequest)

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Strip strips;
/*readonly*/ std::string folder;
/*readonly*/ std::string way;

namespace {
constexpr int strip_count = 7;
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    folder = arguments->argv[1];
    way = arguments->argv[2];
    delete arguments;
    mainProxy = thisProxy;
    strips = CProxy_Strip::ckNew(strip_count);
    liveVizConfig config(false, false);
    config.moreVerbose();
    config.moreVerbose();
    liveVizInit(config, strips, CkCallback(CkIndex_Strip::draw(nullptr), strips));
    CcsRegisterHandler("keep", CkCallback(CkIndex_Main::keep(nullptr), thisProxy));
    CcsRegisterHandler("go_on", CkCallback(CkIndex_Main::go_on(nullptr), thisProxy));
    CcsRegisterHandler("die", CkCallback(CkIndex_Main::die(nullptr), thisProxy));
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
    CkPrintf("kept: there is a server\n");
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er&) {}
  void keep(CkCcsRequestMsg* request) {
    answer(request);
    const CkCallback done(CkIndex_Main::kept(), thisProxy);
    if (folder.empty())
      CkStartMemCheckpoint(done);
    else
      CkStartCheckpoint(folder.c_str(), done);
  }
  void kept() { CkPrintf("kept: %s\n", _restarted ? "back" : "there is a checkpoint"); }
  void go_on(CkCcsRequestMsg* request) {
    answer(request);
    strips.go_on();
  }
  void die(CkCcsRequestMsg* request) {
    answer(request);
    strips[strip_count - 1].die();
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

class Strip : public CBase_Strip {
  std::vector<liveVizRequest> waiting_;

 public:
  Strip() = default;
  explicit Strip(CkMigrateMessage* m) : CBase_Strip(m) {}
  void pup(PUP::er& p) override {
    if (way != "forgotten") p | waiting_;
  }
  void draw(liveVizRequestMsg* m) {
    if (way == "half" && thisIndex % 2 == 0)
      deposit(m->req);
    else
      waiting_.push_back(m->req);
    delete m;
  }
  void go_on() {
    for (const liveVizRequest& request : waiting_) deposit(request);
    waiting_.clear();
  }
  void die() { CkDieNow(); }

 private:
  // A row.
  void deposit(const liveVizRequest& request) {
    const std::vector<byte> row(static_cast<std::size_t>(request.wid), static_cast<byte>(request.code + thisIndex));
    liveVizDeposit(request, 0, thisIndex, request.wid, 1, row.data(), this);
  }
};

#include "kept.def.h"
