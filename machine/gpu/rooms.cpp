#include "machine/gpu/rooms.h"

#include <algorithm>
#include <new>
#include <string>

#include "base/log.h"

namespace periapt::gpu {
namespace {

constexpr std::uint64_t kSmallest = 64;
constexpr std::align_val_t kAligned{64};

}  // namespace

Rooms::~Rooms() {
  for (Shelf& shelf : shelves_)
    while (!shelf.kept.empty()) free_oldest(shelf);
}

Rooms::Shelf& Rooms::shelf_of(OnGpu where, MemoryType kind) {
  const auto is_it = [&](const Shelf& shelf) {
    return shelf.kind == kind && shelf.where.driver == where.driver && shelf.where.gpu == where.gpu;
  };
  const auto found = std::find_if(shelves_.begin(), shelves_.end(), is_it);
  return found != shelves_.end() ? *found : shelves_.emplace_back(Shelf{where, kind, {}, 0, 0, 0});
}

bool Rooms::allocate(Room& room, Status& why) {
  if (room.kind == MemoryType::host) {
    room.at = static_cast<std::byte*>(::operator new(room.bytes, kAligned, std::nothrow));
    if (room.at == nullptr)
      why = Status::failure("out of memory: the heap has no " + std::to_string(room.bytes) + " bytes left");
    return room.at != nullptr;
  }
  const Result<std::byte*> made = room.where.driver->allocate(room.where.gpu, room.kind, room.bytes);
  if (made)
    room.at = *made;
  else
    why = made.status();
  return made.ok();
}

void Rooms::free(const Room& room) {
  if (room.kind == MemoryType::host) return ::operator delete(room.at, kAligned);
  const Status freed = room.where.driver->free(room.where.gpu, room.kind, room.at);
  if (!freed) log::detail(freed.message());
}

void Rooms::free_oldest(Shelf& shelf) {
  free(shelf.kept.front());
  shelf.kept_bytes -= shelf.kept.front().bytes;
  shelf.kept.erase(shelf.kept.begin());
}

Result<Room> Rooms::take(OnGpu where, MemoryType kind, std::uint64_t least) {
  const std::uint64_t bytes = std::max(least, kSmallest);
  Shelf& shelf = shelf_of(where, kind);
  const auto fits = [&](const Room& room) { return room.bytes >= bytes && room.bytes / 2 <= bytes; };
  Room room{nullptr, bytes, where, kind};
  if (const auto found = std::find_if(shelf.kept.rbegin(), shelf.kept.rend(), fits); found != shelf.kept.rend()) {
    room = *found;
    shelf.kept.erase(std::next(found).base());
    shelf.kept_bytes -= room.bytes;
  } else {
    Status why;
    bool made = allocate(room, why);
    if (!made && !shelf.kept.empty()) {
      while (!shelf.kept.empty()) free_oldest(shelf);
      made = allocate(room, why);
    }
    if (!made) return why;
  }
  shelf.out_bytes += room.bytes;
  shelf.most_out_bytes = std::max(shelf.most_out_bytes, shelf.out_bytes);
  return room;
}

void Rooms::give(const Room& room) {
  Shelf& shelf = shelf_of(room.where, room.kind);
  shelf.out_bytes -= room.bytes;
  shelf.kept.push_back(room);
  shelf.kept_bytes += room.bytes;
  while (shelf.kept_bytes > shelf.most_out_bytes) free_oldest(shelf);
}

}  // namespace periapt::gpu
