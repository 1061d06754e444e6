// A program that links CkIO, does not say `extern module CkIO`, and opens a file where its mainchare is constructed.
#include "ckio.h"
#include "io_linked.decl.h"

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    Ck::IO::open("/dev/null", CkCallback(CkIndex_Main::opened(nullptr), thisProxy), Ck::IO::Options());
  }
  void opened(Ck::IO::FileReadyMsg* m) {
    Ck::IO::close(m->file, CkCallback(CkIndex_Main::closed(nullptr), thisProxy));
    delete m;
  }
  void closed(CkReductionMsg* m) {
    delete m;
    CkPrintf("the file was opened\n");
    CkExit();
  }
};

#include "io_linked.def.h"
