#include "machine/gpu/folds.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/log.h"
#include "machine/gpu/kernel_code.h"

namespace periapt::gpu {
namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 2048;
constexpr std::uint64_t kItemsOfBlock = 4 * kThreads;
constexpr std::size_t kMostKept = 16;
constexpr std::uint64_t kSmallest = 64;
constexpr std::align_val_t kAligned{64};

Result<Kernel> load(Driver& driver, int gpu) {
  Result<Kernel> loaded = driver.load_kernel(gpu, fold_code(driver.vendor()), kFoldName);
  log::detail("reductions of memory of GPU " + std::to_string(gpu) +
              (loaded ? " are combined there" : " are combined by the host: " + loaded.message()));
  return loaded;
}

}  // namespace

// ---- by a kernel

// Until the process ends: static destructors run when the driver may be gone.
const Result<Kernel>& Folder::kernel(Driver& driver, int gpu) {
  static std::mutex mutex;
  static auto& kernels = *new std::map<std::pair<Driver*, int>, Result<Kernel>>;
  std::lock_guard lock(mutex);
  const auto known = kernels.find({&driver, gpu});
  return known != kernels.end() ? known->second
                                : kernels.emplace(std::pair(&driver, gpu), load(driver, gpu)).first->second;
}

Result<std::unique_ptr<Folder>> Folder::make(Driver& driver, int gpu) {
  const Result<Kernel>& found = kernel(driver, gpu);
  if (!found) return found.status();
  const Result<Stream> stream = driver.make_stream(gpu);
  if (!stream) return stream.status();
  return std::unique_ptr<Folder>(new Folder(driver, *found, *stream));
}

Folder::~Folder() {
  static_cast<void>(driver_.finish(stream_));
  driver_.destroy(stream_);
}

bool Folder::reads(const void* address, std::uint64_t bytes, std::uint64_t item_bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % item_bytes != 0) return false;
  const Result<Memory> found = driver_.look(address);
  if (!found || !found->open || !found->holds(at, bytes)) return false;
  return found->kind == Kind::pinned || found->gpu == stream_.gpu;
}

Status Folder::begin(const FoldOrders& orders) {
  FoldOrders told = orders;
  void* arguments[] = {&told};
  const std::uint64_t blocks = std::clamp<std::uint64_t>(orders.count / kItemsOfBlock, 1, kMostBlocks);
  return driver_.launch(stream_, kernel_, static_cast<unsigned>(blocks), kThreads, arguments);
}

// ---- memory

Rooms::~Rooms() { free_all(); }

void Rooms::free_all() {
  for (const Room& room : free_) free(room);
  free_.clear();
}

void Rooms::free(const Room& room) {
  if (room.kind == Kind::host) return ::operator delete(room.at, kAligned);
  const Status freed = room.where.driver->free(room.where.gpu, room.kind, room.at);
  if (!freed) log::detail(freed.message());
}

Result<Room> Rooms::take(OnGpu where, Kind kind, std::uint64_t least) {
  const std::uint64_t bytes = std::max(least, kSmallest);
  const auto fits = [&](const Room& room) {
    return room.kind == kind && room.where.driver == where.driver && room.where.gpu == where.gpu &&
           room.bytes >= bytes && room.bytes / 2 <= bytes;
  };
  if (const auto found = std::find_if(free_.rbegin(), free_.rend(), fits); found != free_.rend()) {
    const Room room = *found;
    free_.erase(std::next(found).base());
    return room;
  }
  Room room{nullptr, bytes, where, kind};
  if (kind == Kind::host) {
    room.at = static_cast<std::byte*>(::operator new(room.bytes, kAligned));
    return room;
  }
  Result<std::byte*> made = where.driver->allocate(where.gpu, kind, room.bytes);
  if (!made && !free_.empty()) {
    free_all();
    made = where.driver->allocate(where.gpu, kind, room.bytes);
  }
  if (!made) return made.status();
  room.at = *made;
  return room;
}

void Rooms::give(const Room& room) {
  free_.push_back(room);
  if (free_.size() <= kMostKept) return;
  free(free_.front());
  free_.erase(free_.begin());
}

}  // namespace periapt::gpu
