#include "machine/host/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "base/bits.h"
#include "base/platform.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older headers don't know it, older kernels answer EINVAL
#endif

namespace periapt::host {
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

// A memory file whose size can't be changed any more.
Result<int> make_file(std::size_t bytes, int process) {
  std::string name = "periapt-process-" + std::to_string(process);
  int file = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) {
    return Status::failure(std::string("memfd_create failed: ") + std::strerror(errno) +
                           ". Shared message memory needs memfd (Linux 3.17; /proc/sys/vm/memfd_noexec must allow it)");
  }
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    return file;
  }
  Status status = Status::failure("could not make a memory file of " + gibibytes(bytes) + ": " + std::strerror(errno));
  ::close(file);
  return status;
}

// The file of each process covers its consecutive PEs; the host page is part of the first one.
struct PeRange {
  std::size_t first_pe;
  std::size_t next_pe;
};
std::vector<PeRange> parts_of(const std::vector<int>& process_of) {
  std::vector<PeRange> parts;
  for (std::size_t first = 0, next = 0; first < process_of.size(); first = next) {
    while (next < process_of.size() && process_of[next] == process_of[first]) ++next;
    parts.push_back({first, next});
  }
  return parts;
}

// The largest file we may make: a limit on it would end us with SIGXFSZ.
std::size_t file_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  return limit.rlim_cur;
}

// Addresses that message memory may take below a limit on them: the rest is for stacks of threads, links, the program.
std::size_t address_room() {
  constexpr std::size_t kForTheRest = std::size_t{64} << 20;
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::size_t{0};
  std::size_t used_pages = 0;
  std::ifstream("/proc/self/statm") >> used_pages;
  const std::size_t taken = used_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kForTheRest;
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, taken);
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

Result<Arena> Arena::reserve(const std::vector<int>& process_of, bool shared) {
  Arena arena;
  arena.pes_ = static_cast<int>(process_of.size());
  arena.shared_ = shared;
  std::size_t pes = process_of.size();
  std::size_t most_a_process = 0;
  for (const PeRange& part : parts_of(process_of))
    most_a_process = std::max(most_a_process, part.next_pe - part.first_pe);

  const std::size_t room = address_room();
  for (std::size_t slice = kLargestSlice; slice >= kSmallestSlice && arena.base_ == nullptr; slice /= 2) {
    std::size_t bytes = kHostBytes + pes * slice;
    if (bytes > room) continue;
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
  return arena;
}

// Maps the files over the reserved addresses.
Status Arena::map_files(const std::vector<int>& process_of, const std::vector<int>& files) {
  std::vector<PeRange> parts = parts_of(process_of);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::byte* begin = i == 0 ? base_ : slice(static_cast<int>(parts[i].first_pe));
    std::byte* end = slice(0) + parts[i].next_pe * slice_bytes_;
    if (map_at(reinterpret_cast<std::uintptr_t>(begin), static_cast<std::size_t>(end - begin), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED | MAP_NORESERVE, files[i]) == nullptr) {
      return Status::failure("could not map " + gibibytes(static_cast<std::size_t>(end - begin)) +
                             " of shared message memory: " + std::strerror(errno));
    }
  }
  return {};
}

Result<Arena> Arena::map(const std::vector<int>& process_of) {
  const bool shared = process_of.back() != process_of.front();
  if (shared) {
    ArenaFiles files;
    Result<Arena> arena = create(process_of, files);
    for (int file : files.files) ::close(file);  // the mappings keep them
    return arena;
  }
  Result<Arena> arena = reserve(process_of, false);
  if (!arena) return arena;
  // Huge pages make the first touch four times cheaper; the first megabytes of a slice stay small pages, because a
  // short run touches little.
  for (int pe = 0; pe < arena->pes_; ++pe) {
    std::byte* begin = reinterpret_cast<std::byte*>(
        round_up(reinterpret_cast<std::uintptr_t>(arena->slice(pe)) + kHugePage, kHugePage));
    std::byte* end = arena->slice(pe) + arena->slice_bytes_;
    ::madvise(begin, static_cast<std::size_t>(end - begin), MADV_HUGEPAGE);
  }
  return arena;
}

Result<Arena> Arena::create(const std::vector<int>& process_of, ArenaFiles& files) {
  Result<Arena> arena = reserve(process_of, true);
  if (!arena) return arena;
  files.base = reinterpret_cast<std::uint64_t>(arena->base_);
  files.slice_bytes = arena->slice_bytes_;
  for (const PeRange& part : parts_of(process_of)) {
    std::size_t bytes = (part.next_pe - part.first_pe) * arena->slice_bytes_ + (part.first_pe == 0 ? kHostBytes : 0);
    Result<int> file = make_file(bytes, process_of[part.first_pe]);
    if (!file) return file.status();
    files.files.push_back(*file);
  }
  Status mapped = arena->map_files(process_of, files.files);
  if (!mapped) return mapped;
  return arena;
}

Result<Arena> Arena::join(const std::vector<int>& process_of, const ArenaFiles& files) {
  Arena arena;
  arena.pes_ = static_cast<int>(process_of.size());
  arena.shared_ = true;
  arena.slice_bytes_ = files.slice_bytes;
  const std::size_t bytes = kHostBytes + process_of.size() * files.slice_bytes;
  if (files.files.size() != parts_of(process_of).size()) {
    return Status::failure("the message memory of this host has " + std::to_string(files.files.size()) +
                           " files, but its layout says " + std::to_string(parts_of(process_of).size()));
  }
  arena.base_ =
      map_at(files.base, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);
  if (arena.base_ == nullptr) {
    return Status::failure(
        "the addresses at which another process of this host has its message memory are not free "
        "here: " +
        std::string(std::strerror(errno)) +
        ". Are the processes of one host started with different limits (ulimit -v) or programs?");
  }
  arena.bytes_ = bytes;
  Status mapped = arena.map_files(process_of, files.files);
  if (!mapped) return mapped;
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

}  // namespace periapt::host
