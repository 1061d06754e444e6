// A mistake in a program: one element never calls AtSync, so the others wait. The watchdog must say which one.
#include "stuck.decl.h"

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    delete m;
    CProxy_Piece::ckNew(6);
  }
};
class Piece : public CBase_Piece {
 public:
  Piece() {
    usesAtSync = true;
    if (thisIndex != 4) AtSync();
  }
  Piece(CkMigrateMessage*) {}
  void ResumeFromSync() override {
    CkPrintf("resumed, though Piece[4] did not call AtSync\n");
    CkExit(1);
  }
};

#include "stuck.def.h"
