#include "machine/shm/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/bits.h"
#include "base/platform.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older headers don't know it, older kernels answer EINVAL
#endif

namespace periapt::shm {
namespace {

constexpr std::size_t kLargestSlice = platform::kThreadSanitizer ? std::size_t{4} << 30 : std::size_t{256} << 30;
constexpr std::size_t kSmallestSlice = std::size_t{64} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::string gibibytes(std::size_t bytes) { return std::to_string(bytes >> 30) + " GiB"; }

std::byte* map_at(std::uintptr_t address, std::size_t bytes, int protection, int flags, int file) {
  void* wanted = reinterpret_cast<void*>(address);
  void* got = ::mmap(wanted, bytes, protection, flags, file, 0);
  if (got == MAP_FAILED) return nullptr;
  if (got != wanted) {  // a kernel that does not know MAP_FIXED_NOREPLACE takes the address as a hint
    ::munmap(got, bytes);
    errno = EEXIST;
    return nullptr;
  }
  return static_cast<std::byte*>(got);
}

// A memory file of a size that nobody can change any more, mapped over the reserved addresses.
Status map_file(std::byte* where, std::size_t bytes, int process) {
  std::string name = "periapt-process-" + std::to_string(process);
  int file = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) {
    return Status::failure(std::string("memfd_create failed: ") + std::strerror(errno) +
                           ". Shared message memory needs memfd (Linux 3.17; /proc/sys/vm/memfd_noexec must allow it)");
  }
  Status status;
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      map_at(reinterpret_cast<std::uintptr_t>(where), bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file) == nullptr) {
    status =
        Status::failure("could not map " + gibibytes(bytes) + " of shared message memory: " + std::strerror(errno));
  }
  ::close(file);  // the mapping keeps it
  return status;
}

// The largest file we may make: a limit on it would end us with SIGXFSZ.
std::size_t file_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  return limit.rlim_cur;
}

Status no_space(int pes) {
  rlimit limit;
  std::string why = "no free range of addresses was large enough";
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    why = "the limit on address space is " + std::to_string(limit.rlim_cur >> 20) +
          " MiB; lift it with: ulimit -v unlimited";
  } else if (file_limit() != ~std::size_t{0}) {
    why = "the limit on file sizes, which counts for memory files too, is " + std::to_string(file_limit() >> 20) +
          " MiB; lift it with: ulimit -f unlimited";
  }
  return Status::failure("could not reserve addresses for the message memory of " + std::to_string(pes) +
                         " PEs: " + why);
}

}  // namespace

Result<Arena> Arena::map(const std::vector<int>& process_of) {
  Arena arena;
  arena.pes_ = static_cast<int>(process_of.size());
  arena.shared_ = process_of.back() != process_of.front();
  std::size_t pes = process_of.size();
  std::size_t most_a_process = 0;
  for (std::size_t pe = 0, first = 0; pe < pes; ++pe) {
    if (process_of[pe] != process_of[first]) first = pe;
    most_a_process = std::max(most_a_process, pe + 1 - first);
  }

  for (std::size_t slice = kLargestSlice; slice >= kSmallestSlice && arena.base_ == nullptr; slice /= 2) {
    std::size_t bytes = kHostBytes + pes * slice;
    if (arena.shared_ && kHostBytes + most_a_process * slice > file_limit()) continue;
    for (const platform::AddressRange& range : platform::kAddressRanges) {
      if (bytes > range.span) continue;
      int protection = arena.shared_ ? PROT_NONE : PROT_READ | PROT_WRITE;
      int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
      arena.base_ = map_at(range.base, bytes, protection, flags, -1);
      if (arena.base_ == nullptr) continue;
      arena.bytes_ = bytes;
      arena.slice_bytes_ = slice;
      break;
    }
  }
  if (arena.base_ == nullptr) return no_space(arena.pes_);

  if (arena.shared_) {
    // One file for the consecutive PEs of each process; the host page is part of the first one.
    for (std::size_t first = 0, next = 0; first < pes; first = next) {
      while (next < pes && process_of[next] == process_of[first]) ++next;
      std::byte* begin = first == 0 ? arena.base_ : arena.slice(static_cast<int>(first));
      std::byte* end = arena.slice(0) + next * arena.slice_bytes_;
      Status status = map_file(begin, static_cast<std::size_t>(end - begin), process_of[first]);
      if (!status) return status;
    }
  } else {
    // Huge pages make the first touch four times cheaper; the first megabytes of a slice stay small pages, because a
    // short run touches little.
    for (int pe = 0; pe < arena.pes_; ++pe) {
      std::byte* begin = reinterpret_cast<std::byte*>(
          round_up(reinterpret_cast<std::uintptr_t>(arena.slice(pe)) + kHugePage, kHugePage));
      std::byte* end = arena.slice(pe) + arena.slice_bytes_;
      ::madvise(begin, static_cast<std::size_t>(end - begin), MADV_HUGEPAGE);
    }
  }
  return arena;
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(slice_bytes_, other.slice_bytes_);
  std::swap(pes_, other.pes_);
  std::swap(shared_, other.shared_);
  return *this;
}

Arena::~Arena() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

void discard_pages(void* bytes, std::size_t size, bool shared) {
  std::uintptr_t begin = round_up(reinterpret_cast<std::uintptr_t>(bytes), platform::kPage);
  std::uintptr_t end = round_down(reinterpret_cast<std::uintptr_t>(bytes) + size, platform::kPage);
  if (begin >= end) return;
  // Of a memory file the pages must be punched out: to forget our mapping of them would leave them in the file.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, shared ? MADV_REMOVE : MADV_DONTNEED);
}

void populate_pages(void* bytes, std::size_t size) {
  std::uintptr_t begin = round_down(reinterpret_cast<std::uintptr_t>(bytes), platform::kPage);
  std::uintptr_t end = round_up(reinterpret_cast<std::uintptr_t>(bytes) + size, platform::kPage);
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

}  // namespace periapt::shm
