// See element_ids.h.
#include "runtime/chare/element_ids.h"

#include <cstring>

#include "base/fatal.h"
#include "runtime/chare/registry.h"

namespace periapt {

std::uint64_t ElementIds::id_of(const CkArrayIndex& index) {
  if (auto id = chare::compact_id(index)) return *id;
  auto [known, made] = assigned_.try_emplace(index, 0);
  if (made) {
    known->second = std::uint64_t{1} << 63 | (index.hash64() >> 2);
    auto [slot, fresh] = index_of_assigned_.try_emplace(known->second, index);
    if (!fresh && !(slot->second == index))
      fatal("indices " + index.toString() + " and " + slot->second.toString() + " cannot be told apart",
            describe(known->second), "their 62-bit numbers collide", "change one of the indices");
  }
  return known->second;
}

CkArrayIndex ElementIds::index_of(std::uint64_t id) const {
  if (chare::is_compact_id(id)) return chare::index_of(id);
  auto found = index_of_assigned_.find(id);
  if (found == index_of_assigned_.end()) fatal("an element id that no index has: " + std::to_string(id));
  return found->second;
}

std::string ElementIds::describe(std::uint64_t id) const {
  std::string index = chare::is_compact_id(id) || index_of_assigned_.count(id) ? index_of(id).toString() : "[?]";
  return registry().chares[type_].name + index;
}

void ElementIds::put_index(Message& message, const CkArrayIndex& index) {
  std::memcpy(&message->element, index.index, 8);
  message->index_rest = static_cast<std::uint32_t>(index.index[2]);
  message->spare = static_cast<std::uint16_t>(index.dimension << 8 | index.nInts);
  message->flags |= envelope_index;
}

std::uint64_t ElementIds::take_index(Message& message) {
  CkArrayIndex index;
  std::memcpy(index.index, &message->element, 8);
  index.index[2] = static_cast<int>(message->index_rest);
  index.dimension = message->spare >> 8;
  index.nInts = message->spare & 255;
  message->index_rest = 0;
  message->flags &= ~envelope_index;
  return message->element = id_of(index);
}

}  // namespace periapt
