// Memory that a program maps by hand (cuMemCreate, cuMemMap): its bytes are a file's, which other processes may be
// given.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/gpu/fake/device.h"

namespace periapt::fake_gpu {
namespace {

constexpr std::uint64_t kGranularity = 64 << 10;
constexpr char kName[] = "fake-gpu-by-hand-";  // and the number of the GPU that it lies on

}  // namespace

int Machine::create(int gpu, std::uint64_t bytes, bool exportable, bool on_fabric, std::uint64_t* handle) {
  if (settings.lost != 0) return kLost;
  if (on_fabric && settings.fabric == 0) return kNotSupported;
  if (bytes == 0 || bytes % kGranularity != 0 || !exists(gpu)) return kInvalidValue;
  if (static_cast<std::int64_t>(bytes) > settings.memory) return kOutOfMemory;
  Physical made;
  made.gpu = gpu;
  made.size = bytes;
  made.exportable = exportable;
  made.on_fabric = on_fabric;
  made.file = ::memfd_create((kName + std::to_string(physical(gpu))).c_str(), MFD_CLOEXEC);
  if (made.file < 0 || ::ftruncate(made.file, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  settings.memory -= static_cast<std::int64_t>(bytes);
  *handle = next_id_++;
  physical_[*handle] = made;
  return 0;
}

int Machine::reserve(std::uint64_t bytes, void** made) {
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  const std::uintptr_t place = (place_for(bytes + kGranularity) + kGranularity - 1) / kGranularity * kGranularity;
  void* const really = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (really == MAP_FAILED) return kOutOfMemory;
  reservations_[place] = {bytes, static_cast<std::byte*>(really)};
  *made = reinterpret_cast<void*>(place);
  return 0;
}

int Machine::unreserve(void* memory, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto found = reservations_.find(begin);
  const auto mapped = allocations_.lower_bound(begin);
  if (found == reservations_.end() || found->second.bytes != bytes) return kInvalidValue;
  if (mapped != allocations_.end() && mapped->first < begin + bytes) return kInvalidValue;
  ::munmap(found->second.bytes_at, bytes);
  reservations_.erase(found);
  return 0;
}

bool Machine::reservation_of(const void* address, std::uintptr_t* begin, std::uint64_t* bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = reservations_.upper_bound(at);
  if (next == reservations_.begin() || at - std::prev(next)->first >= std::prev(next)->second.bytes) return false;
  *begin = std::prev(next)->first;
  *bytes = std::prev(next)->second.bytes;
  return true;
}

// Each mapping has a number of its own.
int Machine::map(void* at, std::uint64_t bytes, std::uint64_t handle) {
  std::uintptr_t begin = 0;
  std::uint64_t reserved = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto known = physical_.find(handle);
  if (known == physical_.end() || !reservation_of(at, &begin, &reserved)) return kInvalidValue;
  if (address - begin + bytes > reserved || address % kGranularity != 0) return kInvalidValue;
  Physical& memory = known->second;
  if (bytes != memory.size) return kNotSupported;
  const auto next = allocations_.lower_bound(address);
  if ((next != allocations_.end() && next->first < address + bytes) || find(at) != nullptr) return kInvalidValue;
  void* const mapped = ::mmap(reservations_[begin].bytes_at + (address - begin), bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, memory.file, 0);
  if (mapped == MAP_FAILED) return kMapFailed;
  Allocation allocation{Kind::vmm,       -1,   next_id_++, bytes, memory.file, static_cast<std::byte*>(mapped),
                        memory.imported, false};
  allocation.owner = memory.gpu;
  allocation.handle = handle;
  allocation.exportable = memory.exportable;
  allocation.on_fabric = memory.on_fabric;
  allocations_[address] = allocation;
  ++memory.holders;
  settings.imports += memory.imported ? 1 : 0;
  return 0;
}

// Until then no GPU may touch it.
int Machine::open_to(int gpu, void* at, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (!exists(gpu)) return kInvalidDevice;
  std::uint64_t opened = 0;
  for (auto& [place, allocation] : allocations_) {
    if (place < begin || place >= begin + bytes) continue;
    allocation.gpu = gpu;
    opened += allocation.size;
  }
  return opened == bytes ? 0 : kInvalidValue;
}

int Machine::unmap(void* at, std::uint64_t bytes) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == allocations_.end() || found->second.handle == 0 || found->second.size != bytes) return kInvalidValue;
  const Allocation gone = found->second;
  allocations_.erase(found);
  ::mmap(gone.bytes, gone.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  settings.imports -= gone.imported ? 1 : 0;
  return release(gone.handle);
}

int Machine::retain(const void* at, std::uint64_t* handle) {
  const Allocation* const found = find(at);
  if (found == nullptr || found->kind != Kind::vmm) return kInvalidValue;
  *handle = found->handle;
  if (found->handle != 0) ++physical_[found->handle].holders;
  return 0;
}

int Machine::release(std::uint64_t handle) {
  if (handle == 0) return 0;  // of memory as a test maps it
  const auto found = physical_.find(handle);
  if (found == physical_.end()) return kInvalidValue;
  Physical& memory = found->second;
  if (--memory.holders != 0) return 0;
  ::close(memory.file);
  if (!memory.imported) settings.memory += static_cast<std::int64_t>(memory.size);
  physical_.erase(found);
  return 0;
}

int Machine::file_of(std::uint64_t handle, int* file) {
  const auto found = physical_.find(handle);
  if (settings.files == 0) return kNotPermitted;
  if (found == physical_.end() || !found->second.exportable) return kInvalidValue;
  *file = ::fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  return *file < 0 ? kOutOfMemory : 0;
}

int Machine::take_file(int file, std::uint64_t* handle) {
  return settings.files != 0 ? open_from(file, handle) : kNotPermitted;
}

int Machine::to_fabric(std::uint64_t handle, Handle* made) {
  const auto found = physical_.find(handle);
  if (settings.fabric == 0) return kNotPermitted;
  if (found == physical_.end() || !found->second.on_fabric) return kInvalidValue;
  *made = {::getpid(), found->second.file, handle, found->second.size, physical(found->second.gpu), {}};
  return 0;
}

int Machine::from_fabric(const Handle& made, std::uint64_t* handle) {
  if (settings.fabric == 0) return kNotPermitted;
  const std::string path = "/proc/" + std::to_string(made.process) + "/fd/" + std::to_string(made.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kInvalidValue;  // it was freed
  const int error = open_from(file, handle);
  ::close(file);
  return error;
}

int Machine::open_from(int file, std::uint64_t* handle) {
  char link[128] = {};
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::readlink(path.c_str(), link, sizeof(link) - 1) < 0) return kInvalidValue;
  const char* const name = std::strstr(link, kName);
  struct stat status {};
  if (name == nullptr || ::fstat(file, &status) != 0) return kInvalidValue;
  const auto owner = std::find(visible_.begin(), visible_.end(), std::atoi(name + sizeof(kName) - 1));
  Physical taken;
  taken.gpu = owner == visible_.end() ? 0 : static_cast<int>(owner - visible_.begin());
  taken.file = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  taken.size = static_cast<std::uint64_t>(status.st_size);
  taken.imported = true;
  if (taken.file < 0) return kOutOfMemory;
  *handle = next_id_++;
  physical_[*handle] = taken;
  return 0;
}

}  // namespace periapt::fake_gpu
