// What was chosen, and why, in words.
#include <algorithm>

#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

std::string percent_text(double part) { return std::to_string(static_cast<int>(part * 100 + 0.5)) + " %"; }

std::string rail_text(const Rails& rails, const Rail& rail) {
  std::string state;
  if (rail.unusable) {
    state = "failed";
  } else if (rail.link != nullptr) {
    state = rail.link->transport().describe(*rail.link);
    if (state.empty() && rail.link->degraded) state = "goes another way";
    const double stated = rail.port->device.costs.bytes_per_ns, carried = rails.speed_of(rail);
    if (carried < stated)
      state += (state.empty() ? "" : "; ") + ("measured: " + percent_text(carried / stated) + " of its speed");
  }
  return name_of(*rail.port) + (state.empty() ? "" : " (" + state + ")");
}

std::string rails_text(const Rails& rails, const Plan& plan) {
  std::string text = "over " + rail_text(rails, *rails.first()), beside, slow;
  for (const auto& rail : rails) {
    if (rail.get() == rails.first()) continue;
    std::string& list = plan.worth(rail->port->device) ? beside : slow;
    list += (list.empty() ? "" : ", ") + rail_text(rails, *rail);
  }
  if (!beside.empty()) text += ", and for messages from " + std::to_string(plan.split_min) + " B beside it " + beside;
  if (!slow.empty()) text += "; not over " + slow + ", more than eight times slower";
  return text;
}

// Devices without a rail. What stays within a host leads to few peers, and nothing is missing then.
std::string unused_text(const DevicePorts& ports, const Rails& rails) {
  std::string names;
  for (const auto& port : ports) {
    const bool is_used =
        std::any_of(rails.begin(), rails.end(), [&](const auto& rail) { return rail->port == port.get(); });
    if (port->can().reach == Reach::network && !is_used) names += (names.empty() ? "" : ", ") + name_of(*port);
  }
  return names.empty() ? "" : "\n    not over " + names + ": no device of its that they reach is left for that";
}

// A line for each row that sends of some sizes choose.
std::string sends_text(const ProtocolTable& protocols, const Plan& plan, std::int64_t window) {
  std::string text;
  for (const ProtocolTable::Range& range : protocols.ranges(Demand{}, plan)) {
    if (range.row == nullptr || range.row->describe == nullptr) continue;
    if (range.up_to == ~std::uint64_t{0}) {
      text += "\n  above, or beyond the peer's window of " + bytes_text(static_cast<std::uint64_t>(window));
    } else {
      text +=
          range.up_to % 1024 == 0 ? "\n  up to " + bytes_text(range.up_to) : "\n  below " + bytes_text(range.up_to + 1);
    }
    text += ": " + range.row->describe(plan);
  }
  return text;
}

// Owned messages that another row takes.
std::string owned_text(const ProtocolTable& protocols, const Plan& plan) {
  Demand demand;
  demand.size = plan.inline_max + 1;
  const Protocol* lent = protocols.choose(demand, plan);
  demand.owned = true;
  const Protocol* row = protocols.choose(demand, plan);
  if (row == lent || row == nullptr || row->describe == nullptr) return {};
  return "\n  owned messages of any size: " + row->describe(plan);
}

// Sizes of which the same is known stand in one line.
std::string fetches_text(const WayTimes& times, const Plan& plan, unsigned allowed) {
  const auto way_of = [&](std::size_t bin) { return times.explain(plan.ways, allowed, WayTimes::bin_begin(bin)); };
  std::string text;
  for (std::size_t bin = 0, end; bin < WayTimes::kSizes; bin = end) {
    const std::string way = way_of(bin);
    for (end = bin + 1; end < WayTimes::kSizes && way_of(end) == way;) ++end;
    text += "\n    " + WayTimes::bins_name(bin, end) + ": " + way;
  }
  return text;
}

// What becomes of large messages from and to memory that is not the host's.
std::string gpus_text(const Rails& rails) {
  std::string text;
  for (const auto& rail : rails) {
    if ((rail->can().memory_kinds & ~bit_of(MemoryKind::host)) == 0 || !rail->is_whole()) continue;
    const std::string& refusal = rail->port->registrations->refusal();
    text += "\n    memory of GPUs: ";
    text += refusal.empty()
                ? "read and written by " + name_of(*rail->port) + " where it lies, unless it refuses"
                : "some, at least, through pinned memory of the host, for " + name_of(*rail->port) + ": " + refusal;
  }
  return text;
}

}  // namespace

std::string EndpointImpl::explain() const {
  std::string text = "worker " + std::to_string(peer_) + ": ";
  if (!failure_.empty()) return text + "gone: " + failure_ + "\n";
  if (rails.first() == nullptr) {
    text += "not connected yet; reached over";
    for (const auto& rail : rails) text += " " + name_of(*rail->port);
    return text + "\n";
  }
  text += rails_text(rails, plan) + unused_text(owner.ports, rails) + owned_text(owner.protocols, plan);
  text += sends_text(owner.protocols, plan, credit.window());
  text += fetches_text(rails.first()->port->times, plan, owner.ports.allowed_ways(plan));
  if (owner.device.memory != nullptr) text += gpus_text(rails);
  if (owner.ports.ways_are_forced()) text += "\n    the way was set by hand (+rendezvous)";
  return text + "\n";
}

std::string WorkerImpl::explain(const Endpoint* endpoint) const {
  if (endpoint != nullptr) return static_cast<const EndpointImpl*>(endpoint)->explain();
  std::string text;
  for (const Device& device : devices()) {
    text += device.transport + "/" + device.name + ": " + (device.usable ? "used: " : "not used: ") + device.detail +
            (device.remedy.empty() ? "" : " (" + device.remedy + ")") + "\n";
  }
  for (auto& known : endpoints_) text += known->explain();
  return text;
}

}  // namespace periapt::ucx
