#include "base/readable.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace periapt {

// rt_sigprocmask reads the new mask before it looks at what is to be done with it: it answers EFAULT where there is
// none to be read, and EINVAL to a request that it does not know, having changed nothing. No file is needed for it, and
// no container forbids it, as some do process_vm_readv.
bool is_readable(const void* address) {
  constexpr std::uintptr_t kMaskBytes = 8;  // of the kernel's; aligned, it lies within a page
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) / kMaskBytes * kMaskBytes;
  const int before = errno;
  const long answer = ::syscall(SYS_rt_sigprocmask, -1, at, nullptr, kMaskBytes);
  const bool faults = at == 0 || (answer != 0 && errno == EFAULT);
  errno = before;
  return !faults;
}

}  // namespace periapt
