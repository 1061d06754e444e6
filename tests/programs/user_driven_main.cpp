// The same with a mainchare and CharmInit(); and what main() does behind the run.
#include "mpi-interoperate.h"
#include "user_driven_main.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Hello hellos;

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
    hellos = CProxy_Hello::ckNew(7);
  }
  void said() { CkExit(); }
};

class Hello : public CBase_Hello {
 public:
  const int number;
  explicit Hello(int n) : number(n) {}
  void say() { contribute(CkCallback(CkReductionTarget(Main, said), mainProxy)); }
};

int main(int argc, char** argv) {
  CharmInit(argc, argv);
  for (int round = 0; round < 20; ++round) {
    if (!hellos.ckLocalBranch() || hellos.ckLocalBranch()->number != 7) CkAbort("main() lacks the mainchare's group");
    if (CkMyPe() == 0) hellos.say();
    StartCharmScheduler();
  }
  const bool says_it = CkMyPe() == 0;
  CharmLibExit();
  if (says_it) std::printf("all checks passed\n");
}

#include "user_driven_main.def.h"
