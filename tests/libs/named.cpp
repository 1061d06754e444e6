// A program that names modules, and starts: their headers stand alone, and their entries are registered.
#include "named.decl.h"

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* message) {
    delete message;
    CkPrintf("all modules are known\n");
    CkExit();
  }
};

#include "named.def.h"
