#include "machine/ucx-like/rails.h"

#include <algorithm>

#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

// ---- connections

Rail& Rails::at(DevicePort& port) {
  auto at = rails_.begin();
  while (at != rails_.end() && (*at)->port->number < port.number) ++at;
  if (at == rails_.end() || (*at)->port != &port) {
    at = rails_.insert(at, std::make_unique<Rail>());
    (*at)->endpoint = &endpoint_;
    (*at)->port = &port;
  }
  return **at;
}

void Rails::know(DevicePort& port, unsigned their_port, std::vector<std::byte> address) {
  Rail& rail = at(port);
  rail.address = std::move(address);
  rail.their_port = static_cast<int>(their_port);
}

// A rail that is new, or comes back, begins as loaded as the one that is least so, or it would get everything for a
// while.
void Rails::begin_load(Rail& rail) {
  double least = -1;
  for (auto& other : rails_) {
    if (other.get() != &rail && other->is_whole() && (least < 0 || other->load_ns < least)) least = other->load_ns;
  }
  rail.load_ns = std::max(least, 0.0);
}

void Rails::enter(Rail& rail, Link& link) {
  begin_load(rail);
  rail.link = &link;
  rail.unusable = false;
  link.user = &rail;
}

bool Rails::connect(Rail& rail) {
  if (rail.link != nullptr) return true;
  if (rail.unusable || rail.address.empty()) return false;
  Result<Link*> link = rail.transport().connect(peer_, rail.address);
  if (!link.ok()) {
    rail.unusable = true;
    why_not_ += (why_not_.empty() ? "" : "; ") + rail.name() + "/" + rail.port->device.name + ": " + link.message();
    return false;
  }
  enter(rail, **link);
  return true;
}

bool Rails::open() {
  for (auto& rail : rails_) {
    if (!connect(*rail)) continue;
    first_ = rail.get();
    return true;
  }
  return false;
}

void Rails::connect_all() {
  for (auto& rail : rails_) connect(*rail);
}

void Rails::close() {
  for (auto& rail : rails_) {
    rail->placement = {};
    if (rail->link != nullptr) rail->transport().close(*rail->link);
    rail->link = nullptr;
  }
  first_ = nullptr;
}

void Rails::revive() {
  why_not_.clear();
  unflushed_ = false;
  for (auto& rail : rails_) rail->unusable = rail->one_sided = false;
}

bool Rails::has_link() const {
  return std::any_of(rails_.begin(), rails_.end(), [](const auto& rail) { return rail->link != nullptr; });
}

// ---- transfers

namespace {
/// Of what its device says, as far as that is known; 0: it is not.
double measured_part(const Rail& rail) {
  if (!rail.is_whole()) return 0;
  return rail.transport().measured_bytes_per_ns(*rail.link) / rail.port->device.costs.bytes_per_ns;
}
}  // namespace

// A processor or memory that is slower than all of them together slows all alike, and how much which of them got then
// is chance: only what is clearly missing counts.
double Rails::speed_of(const Rail& rail) const {
  constexpr double kClearly = 0.8;
  const double stated = rail.port->device.costs.bytes_per_ns, own = measured_part(rail);
  if (own == 0) return stated;
  double best = own;
  for (const auto& other : rails_) best = std::max(best, measured_part(*other));
  return own < kClearly * best ? stated * own / best : stated;
}

void Rail::add_load(std::uint64_t bytes) { load_ns += static_cast<double>(bytes) / endpoint->rails.speed_of(*this); }

// Only what has to keep its order stays on a rail that is degraded, if there is another one.
Rail& Rails::next(std::uint64_t bytes, const Plan& plan) {
  Rail* best = nullptr;
  auto end_of = [&](Rail& rail) { return rail.load_ns + static_cast<double>(bytes) / speed_of(rail); };
  for (auto& rail : rails_) {
    if (!rail->is_whole() || !plan.worth(rail->port->device)) continue;
    if (best == nullptr || end_of(*rail) < end_of(*best)) best = rail.get();
  }
  return best == nullptr ? *first_ : *best;
}

Rail* Rails::first_whole() const {
  if (first_ == nullptr || first_->is_whole()) return first_;
  const auto whole = std::find_if(rails_.begin(), rails_.end(), [](const auto& rail) { return rail->is_whole(); });
  return whole == rails_.end() ? first_ : whole->get();
}

// Where we don't know the number of the peer's device (the link came from there), the k-th rail of a transport takes
// the k-th key that it understands: Worker::connect() pairs devices the same way.
RkeyPtr Rails::lanes_to(const std::vector<DeviceKey>& keys, bool (*can)(const Capabilities&)) {
  auto rkey = std::make_shared<Rkey>();
  rkey->endpoint = &endpoint_;
  std::vector<bool> taken(keys.size());
  for (auto& rail : rails_) {
    if (rail->link == nullptr || !can(rail->can())) continue;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (taken[i] || keys[i].transport != rail->name()) continue;
      if (rail->their_port >= 0 && rail->their_port != keys[i].port) continue;
      Result<RemoteKey> key = rail->transport().unpack_key(*rail->link, keys[i].key);
      if (!key.ok()) continue;
      taken[i] = true;
      rkey->lanes.push_back({rail.get(), *key});
      break;
    }
  }
  return rkey;
}

std::vector<DeviceKey> Rails::expose(LocalMemory& memory, std::span<std::byte> bytes, MemoryKind kind, bool for_get,
                                     bool all) {
  std::vector<Rail*> able;
  const bool on_host = kind == MemoryKind::host;
  const Rail* const best = first_whole();
  for (auto& rail : rails_) {
    const Capabilities& can = rail->can();
    if (rail->link == nullptr || (for_get ? can.max_get : can.max_put) == 0) continue;
    if ((can.memory_kinds & bit_of(kind)) == 0 || (on_host && rail.get() != best && !all)) continue;
    // What goes another way goes through a processor's hands.
    if (!on_host && !rail->is_whole()) continue;
    able.push_back(rail.get());
  }
  std::vector<DeviceKey> keys;
  const auto gives_key = [&](Rail* rail) {
    if (!all && !keys.empty()) return false;
    Result<Registration*> registration = memory.at(*rail->port, bytes.data(), bytes.size(), kind);
    if (!registration.ok()) return false;
    keys.push_back({static_cast<std::uint8_t>(rail->port->number), rail->name(),
                    rail->transport().pack_key((*registration)->handle)});
    return true;
  };
  offer_to_nearest(
      able,
      [&] {
        return endpoint_.owner.folder_of({bytes.data(), kind});
      },
      [](Rail* rail) -> DevicePort& { return *rail->port; }, gives_key);
  return keys;
}

Rkey::~Rkey() {
  for (RmaLane& lane : lanes) lane.rail->transport().release_key(lane.key);
}

RmaLane* Rkey::lane_for(bool is_put, bool split, MemoryKind kind, const LocalMemory& here) {
  RmaLane* best = nullptr;
  for (RmaLane& lane : lanes) {
    const Capabilities& can = lane.rail->can();
    if ((is_put ? can.max_put : can.max_get) == 0 || (can.memory_kinds & bit_of(kind)) == 0) continue;
    if (kind != MemoryKind::host && !here.is_known_to(*lane.rail->port)) continue;
    const bool freer = split && best != nullptr && lane.rail->load_ns < best->rail->load_ns;
    const bool whole = lane.rail->is_whole(), other_whole = best != nullptr && best->rail->is_whole();
    if (best == nullptr || (whole == other_whole ? freer : whole)) best = &lane;
  }
  return best;
}

// ---- flush

Accepted Rails::flush(std::uint32_t& flushed, Completion& completion, unsigned& outstanding) {
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = *rails_[i];
    if (!rail.one_sided || rail.link == nullptr || (flushed & (1u << i)) != 0) continue;
    ++outstanding;
    Accepted answer = rail.transport().flush(*rail.link, completion);
    if (answer != Accepted::pending) --outstanding;
    if (answer == Accepted::no_resource || answer == Accepted::lost) return answer;
    flushed |= 1u << i;
  }
  return Accepted::done;
}

bool Rails::handed_over() const {
  return std::all_of(rails_.begin(), rails_.end(), [](const auto& rail) {
    return rail->link == nullptr || rail->transport().handed_over(*rail->link);
  });
}

}  // namespace periapt::ucx
