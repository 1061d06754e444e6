// See element_ids.h.
#include "runtime/array/element_ids.h"

#include <cstring>

#include "base/fatal.h"
#include "runtime/registry/registry.h"

namespace periapt {

std::uint64_t ElementIds::id_of(const CkArrayIndex& index) {
  if (const std::uint64_t id = chare::compact_id(index)) return id;
  return std::uint64_t{1} << 63 | (index.hash64() >> 2);
}

void ElementIds::came(std::uint64_t id, const CkArrayIndex& index) {
  if (chare::is_compact_id(id)) return;
  check(id, index);
  indices_[id] = index;
}

CkArrayIndex ElementIds::index_of(std::uint64_t id) const {
  if (chare::is_compact_id(id)) return chare::index_of(id);
  const CkArrayIndex* found = indices_.find(id);
  if (!found) fatal("an element id that no index has: " + std::to_string(id));
  return *found;
}

void ElementIds::check(std::uint64_t id, const CkArrayIndex& index) const {
  if (chare::is_compact_id(id)) return;
  const CkArrayIndex* here = indices_.find(id);
  if (here && !(*here == index))
    fatal("indices " + index.toString() + " and " + here->toString() + " cannot be told apart", describe(*here),
          "their 62-bit numbers collide", "change one of the indices");
}

std::string ElementIds::describe(const CkArrayIndex& index) const {
  return registry().chares[type_].name + index.toString();
}
std::string ElementIds::describe(std::uint64_t id) const {
  if (chare::is_compact_id(id) || indices_.contains(id)) return describe(index_of(id));
  return registry().chares[type_].name + std::string("[?]");
}
std::string ElementIds::describe_receiver(const Message& message) const {
  return message->flags & envelope_index ? describe(index_in(message)) : describe(message->element);
}

void ElementIds::put_index(Message& message, const CkArrayIndex& index) {
  std::memcpy(&message->element, index.index, 8);
  message->index_rest = static_cast<std::uint32_t>(index.index[2]);
  message->spare = static_cast<std::uint16_t>(index.dimension << 8 | index.nInts);
  message->flags |= envelope_index;
}
void ElementIds::put_index(Message& message) const {
  if (!chare::is_compact_id(message->element)) put_index(message, index_of(message->element));
}

CkArrayIndex ElementIds::index_in(const Message& message) {
  if (!(message->flags & envelope_index)) return chare::index_of(message->element);
  CkArrayIndex index;
  std::memcpy(index.index, &message->element, 8);
  index.index[2] = static_cast<int>(message->index_rest);
  index.dimension = message->spare >> 8;
  index.nInts = message->spare & 255;
  return index;
}

std::uint64_t ElementIds::take_index(Message& message) {
  if (!(message->flags & envelope_index)) return message->element;
  message->element = id_of(index_in(message));
  message->index_rest = 0;
  message->spare = 0;
  message->flags &= ~envelope_index;
  return message->element;
}

}  // namespace periapt
