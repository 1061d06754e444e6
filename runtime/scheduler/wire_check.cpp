// See wire_check.h.
#include "runtime/scheduler/wire_check.h"

#include <cstring>

#include "runtime/scheduler/work.h"

namespace periapt::scheduler {
namespace {

constexpr int meta_bits = 56;

// As Pe::is_small() lets them out.
const char* wrong_small(const SmallMessage& small) {
  if (small.target != Target::chare && small.target != Target::group && small.target != Target::array)
    return "it is for no receiver that a small message may have";
  if ((small.flags & ~(envelope_packed | envelope_counted)) != 0) return "it has a mark that no small message has";
  return nullptr;
}

}  // namespace

const char* wrong_line(std::uint64_t meta, std::span<const std::byte> body) {
  Work work;
  work.meta = meta;
  const bool is_small = work.kind() == WorkKind::small;
  if ((work.kind() != WorkKind::call && !is_small) || meta >> meta_bits != 0) return "it is of no kind that lines have";
  if (!is_small && work.length() > inline_arguments_max) return "it says that its arguments are longer than a line";
  if (is_small && work.length() > SmallMessage::payload_max) return "it says that its message is longer than a line";
  if (body_bytes(meta) != body.size()) return "it says that it has another length";
  if (!is_small) return nullptr;
  SmallMessage small;
  std::memcpy(static_cast<void*>(&small), body.data() + sizeof work.element, body.size() - sizeof work.element);
  return wrong_small(small);
}

const char* wrong_block(std::uint64_t meta, const Envelope& envelope, int pes) {
  if (meta != message_meta) return "it is of no kind that blocks have";
  if (envelope.target < Target::converse || envelope.target > last_target) return "it is for no kind of receiver";
  if ((envelope.flags & envelope_tree) != 0 && (envelope.source < 0 || envelope.source >= pes))
    return "it is a broadcast from a PE that is not there";
  return nullptr;
}

}  // namespace periapt::scheduler
