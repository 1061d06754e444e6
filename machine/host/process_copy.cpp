#include "machine/host/process_copy.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace periapt::host {
namespace {

// The kernel may copy less in one call.
template <class Call>
int copy_all(Call call, std::uint32_t process, void* local, std::uint64_t remote, std::uint64_t size) {
  for (std::uint64_t done = 0; done < size;) {
    iovec here{static_cast<std::byte*>(local) + done, size - done};
    iovec there{reinterpret_cast<void*>(remote + done), size - done};
    const ssize_t copied = call(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (copied <= 0) return copied == 0 ? EFAULT : errno;
    done += static_cast<std::uint64_t>(copied);
  }
  return 0;
}

}  // namespace

int copy_from_process(std::uint32_t process, void* to, std::uint64_t from, std::uint64_t size) {
  return copy_all(::process_vm_readv, process, to, from, size);
}

int copy_to_process(std::uint32_t process, std::uint64_t to, const void* from, std::uint64_t size) {
  return copy_all(::process_vm_writev, process, const_cast<void*>(from), to, size);
}

void allow_copies_by_siblings() { static_cast<void>(::prctl(PR_SET_PTRACER, ::getppid(), 0, 0, 0)); }

}  // namespace periapt::host
