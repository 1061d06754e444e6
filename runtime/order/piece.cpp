// See piece.h.
#include "runtime/order/piece.h"

#include "base/fnv1a.h"
#include "runtime/array/array_manager.h"
#include "runtime/converse/converse_state.h"
#include "runtime/registry/registry.h"

namespace periapt::order {

namespace {
bool has_class(Target target) { return target != Target::runtime && target != Target::converse; }
}  // namespace

Piece Piece::of(const Arrival& arrival) {
  const Work& work = arrival.work;
  Piece piece;
  piece.source = arrival.source;
  if (work.kind() == WorkKind::thread) {
    piece.thread = true;
    piece.element = reinterpret_cast<const scheduler::Thread*>(work.element)->id();
  } else if (work.kind() == WorkKind::message) {
    const Envelope& envelope = *work.message();
    piece.target = envelope.target;
    piece.entry = envelope.entry;
    piece.collection = envelope.collection;
    piece.element = envelope.element;
  } else {
    piece.target = entry_info(work.entry()).target;
    piece.entry = work.entry();
    piece.collection = work.collection();
    piece.element = work.element;
  }
  if (piece.target == Target::runtime) piece.element = 0;  // it may be an address
  return piece;
}

bool Piece::unordered() const {
  if (thread) return false;
  // How many rounds a search for quiescence takes depends on how busy the PEs are.
  if (target == Target::converse) return entry == handler_quiescence;
  return target == Target::runtime && (entry_info(entry).flags & ep_unordered) != 0;
}

std::uint64_t Piece::receiver() const {
  const bool object =
      target == Target::array || target == Target::group || target == Target::node_group || target == Target::chare;
  if (!thread && !object) return 0;
  Piece same = *this;
  same.source = same.entry = 0;
  return PieceHash()(same) | 1;
}

std::string Piece::describe(PeObjects& objects) const {
  if (thread) return "thread " + std::to_string(element) + " goes on";
  std::string text;
  if (target == Target::converse) {
    text = "Converse handler " + std::to_string(entry);
  } else if (target == Target::array || target == Target::broadcast) {
    ArrayManager* const array = find_array(objects, CkArrayID(CkGroupID{static_cast<int>(collection)}));
    const char* const chare = registry().chares[entry_info(entry).chare].name;
    text = array && target == Target::array ? array->describe(element) : std::string(chare);
    text += std::string("::") + entry_name(entry);
  } else {
    if (has_class(target)) text = std::string(registry().chares[entry_info(entry).chare].name) + "::";
    text += entry_name(entry);
  }
  return text + (source == Arrival::other_host ? " from another host" : " from PE " + std::to_string(source));
}

std::size_t PieceHash::operator()(const Piece& piece) const {
  std::uint64_t hash = fnv1a_with(kFnv1aOffset, static_cast<std::uint32_t>(piece.source));
  hash = fnv1a_with(hash, std::uint64_t{piece.thread} << 8 | static_cast<std::uint64_t>(piece.target));
  hash = fnv1a_with(hash, std::uint64_t{piece.collection} << 16 | piece.entry);
  hash = fnv1a_with(hash, piece.element);
  return static_cast<std::size_t>(hash ^ hash >> 29);
}

}  // namespace periapt::order
