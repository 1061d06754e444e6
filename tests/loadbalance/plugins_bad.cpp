// A balancer that goes wrong in a way that the step's number names.
#include <periapt_balancer.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#ifdef OLD_INTERFACE
extern "C" const periapt_balancer periapt_balancer_plugin = {99, 0, "", nullptr};
#else
static void balance(const periapt_problem& p, int32_t* to) {
  if (p.step == 1) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would make an exit of it
    std::raise(SIGSEGV);
  }
  if (p.step == 2) throw std::runtime_error("no idea");
  if (p.step == 3) to[0] = 1000000;
  while (p.step == 4) ::pause();
  if (p.step == 5) std::_Exit(3);
  if (p.step == 6) throw 7;
}
PERIAPT_BALANCER("goes wrong", balance)
#endif
