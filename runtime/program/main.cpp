// main() of a program that has none of its own: an archive member that is linked only then.
#include "runtime/face/startup.h"
#include "runtime/program/parts.h"

// Defined by the generated code of a mainmodule.
extern "C" void CkRegisterMainModule();

int main(int argc, char** argv) {
  return periapt::run_program(argc, argv, CkRegisterMainModule, periapt::program::parts());
}
