#include "machine/ucx-like/plan.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

namespace periapt::ucx {
namespace {

// Below, an answer costs more than it saves; above, too much would be held for a receive that is not there.
constexpr std::uint64_t kEagerLeast = 32 << 10;
constexpr std::uint64_t kEagerMost = 256 << 10;

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

namespace {

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}
std::string rate_text(double bytes_per_ns) { return fixed(bytes_per_ns) + " GB/s"; }
std::string time_text(double ns) { return fixed(ns * 1e-3) + " us"; }

}  // namespace

const char* name_of(LargeWay way) {
  switch (way) {
    case LargeWay::get:
      return "get";
    case LargeWay::put:
      return "put";
    case LargeWay::data:
      break;
  }
  return "data";
}

Result<unsigned> ways_by_hand(const std::string& text) {
  if (text.empty()) return 0u;
  for (LargeWay known : {LargeWay::get, LargeWay::put, LargeWay::data}) {
    if (text == name_of(known)) return bit_of(known);
  }
  return Status::failure("+rendezvous " + text + " is not understood: get, put or data");
}

Plan make_plan(const std::vector<const Device*>& devices, const Limits& limits) {
  const Device& first = *devices.front();
  const Capabilities& can = first.can;
  const Costs& costs = first.costs;
  Plan plan;
  const bool lends = can.max_lent != 0;
  plan.hands_over = can.passes_ownership;
  plan.same_host = can.reach != Reach::network;

  // Copying up to where it costs as much as lending.
  auto copy_max = static_cast<std::uint64_t>(std::max(
      4096.0, (costs.lending_ns + (can.needs_registration ? costs.registration_ns : 0)) * costs.copy_bytes_per_ns));
  plan.why_inline = "copying at " + rate_text(costs.copy_bytes_per_ns) + " costs less than lending (" +
                    time_text(costs.lending_ns) + ")";
  if (limits.eager_copy_max != 0) {
    copy_max = limits.eager_copy_max;
    plan.why_inline = "set by hand";
  }
  plan.inline_max = can.max_inline;
  if (lends && copy_max < plan.inline_max) {
    plan.inline_max = copy_max;
  } else {
    plan.why_inline += "; the device copies at most " + bytes_text(can.max_inline);
  }

  // At once up to where keeping it unexpected (a copy, half of the time) costs as much as asking first.
  double asking_ns = costs.asking_ns > 0 ? costs.asking_ns : 2 * (costs.overhead_ns + costs.latency_ns);
  auto eager_max = static_cast<std::uint64_t>(2 * asking_ns * costs.copy_bytes_per_ns);
  eager_max = std::clamp(eager_max, kEagerLeast, kEagerMost) - 1;
  plan.why_eager = "asking first costs " + time_text(asking_ns) + ", and the receiver copies at " +
                   rate_text(costs.copy_bytes_per_ns) + " what it did not expect";
  if (limits.rendezvous_min != 0) {
    eager_max = limits.rendezvous_min - 1;
    plan.why_eager = "set by hand: announced from " + bytes_text(limits.rendezvous_min);
  }
  plan.eager_max = std::min<std::uint64_t>(eager_max, lends ? can.max_lent : can.max_inline);
  plan.inline_max = std::min(plan.inline_max, plan.eager_max);

  plan.lent_max = can.max_lent;
  plan.copying = 1 / std::max(costs.copy_bytes_per_ns, 1e-6);
  plan.lending_ns = (static_cast<double>(plan.inline_max) + 0.5) * plan.copying;
  plan.asking_ns = plan.receiving_ns(plan.eager_max) + plan.copying / 4;

  plan.part_max = 4 << 20;
  plan.split_min = 256 << 10;
  for (const Device* device : devices) {
    plan.best_bytes_per_ns = std::max(plan.best_bytes_per_ns, device->costs.bytes_per_ns);
    plan.reaches_gpus |= (device->can.memory_kinds & ~bit_of(MemoryKind::host)) != 0;
  }
  plan.ways = bit_of(LargeWay::data);
  if (can.max_get != 0) plan.ways |= bit_of(LargeWay::get);
  if (can.max_put != 0) plan.ways |= bit_of(LargeWay::put);
  return plan;
}

// ---- measured

std::size_t WayTimes::bin_of(std::uint64_t size) {
  std::size_t bin = kSizes - 1;
  while (size < bin_begin(bin)) --bin;
  return bin;
}

std::uint64_t WayTimes::bin_begin(std::size_t bin) {
  constexpr std::uint64_t kBegins[kSizes] = {0, 128 << 10, 1 << 20, 8 << 20};
  return kBegins[bin];
}

std::string WayTimes::bins_name(std::size_t first, std::size_t end) {
  if (end == kSizes) return first == 0 ? "of any size" : "from " + bytes_text(bin_begin(first));
  const std::string until = bytes_text(bin_begin(end));
  return first == 0 ? "below " + until : bytes_text(bin_begin(first)) + " to " + until;
}

LargeWay WayTimes::choose(unsigned ways, std::uint64_t size) const {
  LargeWay best = LargeWay::data;
  double fastest = -1;
  for (LargeWay way : {LargeWay::get, LargeWay::put, LargeWay::data}) {
    if ((ways & bit_of(way)) == 0) continue;
    const Cell& cell = cells_[static_cast<std::size_t>(way)][bin_of(size)];
    if (cell.samples < kEnough) return way;
    if (cell.best_bytes_per_ns > fastest) {
      fastest = cell.best_bytes_per_ns;
      best = way;
    }
  }
  return best;
}

double WayTimes::cost_ns(LargeWay way, std::uint64_t size) const {
  const Cell& cell = cells_[static_cast<std::size_t>(way)][bin_of(size)];
  return cell.samples < kEnough ? 0 : static_cast<double>(size) / cell.best_bytes_per_ns;
}

void WayTimes::note(LargeWay way, std::uint64_t size, std::uint64_t ns) {
  Cell& cell = cells_[static_cast<std::size_t>(way)][bin_of(size)];
  double rate = static_cast<double>(size) / static_cast<double>(std::max<std::uint64_t>(ns, 1));
  // The best of them: what is slower waited for something else.
  if (rate > cell.best_bytes_per_ns) cell.best_bytes_per_ns = rate;
  if (cell.samples++ < kEnough) changed_ = true;
}

std::string WayTimes::explain(unsigned had, unsigned allowed, std::uint64_t size) const {
  const LargeWay next = choose(allowed, size);
  bool enough = true;
  std::string measured, missing;
  for (LargeWay way : {LargeWay::get, LargeWay::put, LargeWay::data}) {
    const std::string name = name_of(way);
    if ((had & bit_of(way)) == 0) {
      missing += (missing.empty() ? "; the device has no " : " and no ") + name;
      continue;
    }
    const Cell& cell = cells_[static_cast<std::size_t>(way)][bin_of(size)];
    measured += (measured.empty() ? "" : ", ") + name + " ";
    measured += cell.samples == 0 ? "not tried yet" : rate_text(cell.best_bytes_per_ns);
    if ((allowed & bit_of(way)) != 0 && cell.samples < kEnough) enough = false;
  }
  const bool chosen = (allowed & (allowed - 1)) != 0;
  std::string text = "by " + std::string(name_of(next));
  if (chosen) text += enough ? ", the fastest" : ", which is to be measured";
  return text + ": " + measured + missing;
}

std::string WayTimes::lines(const std::string& device) const {
  std::ostringstream text;
  for (std::size_t way = 0; way < kLargeWays; ++way) {
    for (std::size_t bin = 0; bin < kSizes; ++bin) {
      const Cell& cell = cells_[way][bin];
      if (cell.samples < kEnough) continue;
      text << device << ' ' << name_of(static_cast<LargeWay>(way)) << ' ' << bin << ' ' << cell.best_bytes_per_ns
           << '\n';
    }
  }
  return text.str();
}

namespace {
struct CostLine {
  std::string device;
  LargeWay way = LargeWay::data;
  std::size_t bin = 0;
  double rate = 0;  ///< bytes in a ns
};

std::optional<CostLine> parse(const std::string& line) {
  std::istringstream words(line);
  CostLine cost;
  std::string way, more;
  if (!(words >> cost.device >> way >> cost.bin >> cost.rate) || words >> more) return std::nullopt;
  if (cost.bin >= WayTimes::kSizes || !(cost.rate > 0) || cost.rate > 1e6) return std::nullopt;
  for (std::size_t i = 0; i < kLargeWays; ++i) {
    cost.way = static_cast<LargeWay>(i);
    if (way == name_of(cost.way)) return cost;
  }
  return std::nullopt;
}
}  // namespace

bool WayTimes::is_line(const std::string& line) { return parse(line).has_value(); }

void WayTimes::read_line(const std::string& device, const std::string& line) {
  const std::optional<CostLine> cost = parse(line);
  if (cost && cost->device == device) cells_[static_cast<std::size_t>(cost->way)][cost->bin] = {cost->rate, kEnough};
}

}  // namespace periapt::ucx
