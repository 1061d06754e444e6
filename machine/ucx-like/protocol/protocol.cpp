// Which row of a table is taken.
#include "machine/ucx-like/protocol/protocol.h"

namespace periapt::ucx {

void ProtocolTable::add(const Protocol& row) {
  rows_.push_back(&row);
  for (unsigned use = 0; use < kUses; ++use) {
    if ((row.uses & (1u << use)) != 0) by_use_[use].push_back(&row);
  }
  for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
    if ((row.messages & bit_of(static_cast<MessageKind>(kind))) == 0) continue;
    by_kind_[kind] = &row;
    on_message_[kind] = row.on_message;
  }
}

const Protocol* ProtocolTable::choose(const Demand& demand, const Plan& plan) const {
  const Protocol* best = nullptr;
  double least = 0;
  for (const Protocol* row : by_use_[static_cast<std::size_t>(demand.use)]) {
    if ((row->memory_kinds & bit_of(demand.kind)) == 0) continue;
    const double cost = row->cost(demand, plan);
    if (cost == Protocol::kNever || (best != nullptr && cost >= least)) continue;
    best = row;
    least = cost;
  }
  return best;
}

// Costs are looked at where a size has one bit more; a row that is left between two of them is left for good.
std::vector<ProtocolTable::Range> ProtocolTable::ranges(Demand demand, const Plan& plan) const {
  const auto at = [&](std::uint64_t size) {
    demand.size = size;
    return choose(demand, plan);
  };
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  std::vector<Range> found;
  const Protocol* now = at(0);
  for (std::uint64_t size = 0, next = 1; size < kLargest; size = next, next *= 2) {
    for (std::uint64_t from = size; at(next) != now;) {
      std::uint64_t same = from, other = next;
      while (other - same > 1) {
        const std::uint64_t middle = same + (other - same) / 2;
        (at(middle) == now ? same : other) = middle;
      }
      found.push_back({same, now});
      now = at(other);
      from = other;
    }
  }
  found.push_back({~std::uint64_t{0}, now});
  return found;
}

}  // namespace periapt::ucx
