#include "machine/host/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace periapt::host {
namespace {

bool call(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool register_membarrier(bool across_processes) {
  auto attempt = [](int enlist, int command) { return call(enlist) && call(command); };
  if (across_processes) {
    static const bool possible = attempt(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return possible;
  }
  static const bool possible = attempt(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  return possible;
}

void membarrier(bool across_processes) {
  call(across_processes ? MEMBARRIER_CMD_GLOBAL_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace periapt::host
