// What the fakes of both vendors' libraries do alike: handles that are pointers to what device.h models, and what is
// told of a GPU.
#pragma once

#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/gpu/fake/device.h"

namespace periapt::fake_gpu {

inline Machine& machine() { return Machine::of_process(); }
inline auto locked() { return std::lock_guard(machine().mutex); }

template <class Native>
Stream* stream_of(Native stream) {
  static Stream standard;
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? &standard : reinterpret_cast<Stream*>(stream);
}
template <class Native>
std::shared_ptr<Event>& event_of(Native event) {
  return *reinterpret_cast<std::shared_ptr<Event>*>(event);
}
template <class Native>
int make_stream(Native* made, int gpu) {
  auto* stream = new Stream;
  stream->gpu = gpu;
  const auto lock = locked();
  machine().add(stream);
  *made = reinterpret_cast<Native>(stream);
  return 0;
}
template <class Native>
int destroy_stream(Native stream) {
  const auto lock = locked();
  machine().destroy(stream_of(stream));
  return 0;
}
template <class Native>
int make_event(Native* made) {
  *made = reinterpret_cast<Native>(new std::shared_ptr<Event>(std::make_shared<Event>()));
  return 0;
}

inline int release(void* memory) {
  const auto lock = locked();
  return machine().free(memory);
}
inline int describe(char* name, int length, int gpu) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", machine().physical(gpu));
  return 0;
}
inline int describe_pci(char* pci, int length, int gpu) {
  std::snprintf(pci, static_cast<std::size_t>(length), "0000:%02x:00.0", machine().physical(gpu) + 16);
  return 0;
}
template <class Uuid>
int identify(Uuid* uuid, int gpu) {
  std::memset(uuid->bytes, machine().physical(gpu) + 1, sizeof(uuid->bytes));
  return 0;
}
/// Whether `from` has been allowed to read `other`'s memory before; it is from now on.
inline bool reached_before(int from, int other) {
  static bool reached[64][64] = {};
  return std::exchange(reached[from][other], true);
}
inline bool is_mapped_by_hand(const void* memory) {
  const auto lock = locked();
  const Allocation* found = machine().find(memory);
  return found != nullptr && found->kind == Kind::vmm;
}

/// A question about an allocation, by the numbers that both vendors share; `type` is the vendor's word for its kind.
inline int answer(const Allocation& found, int attribute, unsigned type, void* data) {
  const std::uintptr_t pool = found.kind == Kind::pool ? 1 : 0;
  switch (attribute) {
    case 2:
      *static_cast<unsigned*>(data) = type;
      return 0;
    case 7:
      std::memcpy(data, &found.id, 8);
      return 0;
    case 8:
      *static_cast<unsigned char*>(data) = found.kind == Kind::managed;
      return 0;
    case 9:
      std::memcpy(data, &found.gpu, 4);
      return 0;
    case 17:
      std::memcpy(data, &pool, 8);
      return 0;
    default:
      return kInvalidValue;
  }
}

}  // namespace periapt::fake_gpu
