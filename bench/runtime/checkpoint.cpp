// How long a checkpoint of so many elements takes to write, to its last byte on the disk, and to start again from.
//
//   bench_checkpoint FOLDER ELEMENTS BYTES [+restart FOLDER]
//
// Run it beside what the disk takes: bench/checkpoint does.
#include <cstdint>
#include <vector>

#include "charm++.h"
#include "checkpoint.decl.h"

CProxy_Main mainProxy;
int elementBytes;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    if (arguments->argc < 4) CkAbort("bench_checkpoint FOLDER ELEMENTS BYTES");
    folder = arguments->argv[1];
    elements = std::atoi(arguments->argv[2]);
    elementBytes = std::atoi(arguments->argv[3]);
    delete arguments;
    mainProxy = thisProxy;
    holders = CProxy_Holder::ckNew(elements);
    CkStartQD(CkCallback(CkIndex_Main::made(), thisProxy));
  }
  explicit Main(CkMigrateMessage*) : began(CkWallTimer()) {}
  void pup(PUP::er& p) {
    p | elements;
    p | holders;
    p | folder;
  }
  void made() {
    began = CkWallTimer();
    CkStartCheckpoint(folder.c_str(), CkCallback(CkIndex_Main::written(nullptr), thisProxy), true);
  }
  void written(CkCheckpointStatusMsg* status) {
    const double seconds = CkWallTimer() - began;
    const double bytes = double(elements) * elementBytes;
    CkPrintf("%s %d elements of %d bytes: %.3f s, %.0f MB/s%s\n", _restarted ? "restarted with" : "wrote", elements,
             elementBytes, seconds, bytes / seconds * 1e-6, status->status == CK_CHECKPOINT_SUCCESS ? "" : ": FAILED");
    delete status;
    holders.check();
  }
  void checked(std::int64_t bytes) {
    if (bytes != std::int64_t(elements) * elementBytes) CkAbort("elements have lost bytes");
    CkExit(0);
  }

 private:
  std::string folder;
  int elements = 0;
  CProxy_Holder holders;
  double began = 0;
};

class Holder : public CBase_Holder {
 public:
  Holder() : bytes(static_cast<std::size_t>(elementBytes), static_cast<char>(thisIndex)) {}
  explicit Holder(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | bytes; }
  void check() {
    for (char byte : {bytes.front(), bytes.back()})
      if (byte != static_cast<char>(thisIndex)) CkAbort("an element has other bytes");
    const auto size = static_cast<std::int64_t>(bytes.size());
    contribute(sizeof size, &size, CkReduction::sum_long, CkCallback(CkReductionTarget(Main, checked), mainProxy));
  }

 private:
  std::vector<char> bytes;
};

#include "checkpoint.def.h"
