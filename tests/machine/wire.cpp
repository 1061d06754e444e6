#include "tests/machine/wire.h"

#include <cstring>
#include <deque>
#include <list>

namespace periapt::ucx::testing {
namespace {

struct Packet {
  std::vector<std::byte> header;
  std::vector<std::byte> copied;
  Buffer owned;
  std::span<const std::byte> lent;
  Completion* completion = nullptr;  ///< the sender's
  bool is_owned = false;
  bool is_end = false;
  std::uint64_t ready = 0;
  std::span<const std::byte> payload() const {
    if (is_owned) return owned.bytes();
    return completion != nullptr ? lent : std::span<const std::byte>(copied);
  }
};

struct Action {  // a one-sided operation, or a completion to be told
  Completion* completion = nullptr;
  Outcome outcome = Outcome::ok;
  std::uint64_t ready = 0;
  std::function<Outcome()> run;
  bool is_flush = false;
};

}  // namespace

struct WireLink final : Link {
  using Link::Link;
  std::deque<Packet> incoming;
  std::list<Action> actions;
  WireLink* twin = nullptr;  ///< the other end; null: it has ended
  std::byte* placing = nullptr;
  bool closed = false;
  std::string lost;
  bool told_lost = false;
};

class WireTransport final : public Transport {
 public:
  WireTransport(Wire& wire, const Device& device, unsigned number, const OpenRequest& request)
      : wire_(wire), device_(device), number_(number), receiver_(*request.receiver), self_(request.self) {
    wire_.transports[{self_, number_}] = this;
  }
  ~WireTransport() override {
    for (auto& [peer, link] : links_) end_other_side(*link);
    wire_.transports.erase({self_, number_});
  }

  const Device& device() const override { return device_; }
  std::vector<std::byte> address() const override {
    std::vector<std::byte> bytes(12);
    std::memcpy(bytes.data(), &self_, 8);
    std::memcpy(bytes.data() + 8, &number_, 4);
    return bytes;
  }
  bool reaches(std::span<const std::byte> address) const override {
    unsigned number = 0;
    if (address.size() != 12) return false;
    std::memcpy(&number, address.data() + 8, 4);
    return number == number_;
  }
  Result<Link*> connect(PeerId peer, std::span<const std::byte>) override {
    if (!wire_.transports.contains({peer, number_})) return Status::failure("nobody is there");
    return static_cast<Link*>(&link_to(peer));
  }
  void close(Link& link) override {
    auto& mine = static_cast<WireLink&>(link);
    if (mine.closed) return;
    // What was lent and has not been delivered comes back.
    if (mine.twin != nullptr) {
      for (Packet& packet : mine.twin->incoming) {
        if (packet.completion == nullptr) continue;
        packet.copied.assign(packet.lent.begin(), packet.lent.end());
        mine.actions.push_back({packet.completion, Outcome::ok, 0, nullptr, false});
        packet.completion = nullptr;
      }
    }
    drop_incoming(mine);
    end_other_side(mine);
    mine.closed = true;
    mine.placing = nullptr;
  }

  Accepted send_inline(Link& link, Header header, std::span<const std::byte> payload) override {
    Accepted answer = may(link);
    if (answer != Accepted::done) return answer;
    if (payload.size() > device_.can.max_inline) std::abort();
    Packet& packet = push(link, header);
    packet.copied.assign(payload.begin(), payload.end());
    return Accepted::done;
  }
  Accepted send_lent(Link& link, Header header, std::span<const std::byte> payload, Completion& completion) override {
    Accepted answer = may(link);
    if (answer != Accepted::done) return answer;
    if (payload.size() > device_.can.max_lent) std::abort();
    Packet& packet = push(link, header);
    packet.lent = payload;
    packet.completion = &completion;
    wire_.bytes_of_device[number_] += payload.size();
    return Accepted::pending;
  }
  Accepted send_owned(Link& link, Header header, Buffer& payload) override {
    Accepted answer = may(link);
    if (answer != Accepted::done) return answer;
    if (payload.size() > device_.can.max_lent) std::abort();
    Packet& packet = push(link, header);
    packet.owned = std::move(payload);
    packet.is_owned = true;
    return wire_.chance(0.5) ? Accepted::done : Accepted::pending;
  }

  Accepted put(Link& link, std::span<const std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
               const RemoteKey& key, Completion& completion) override {
    ++wire_.puts;
    return one_sided(link, local, handle, completion, [=, this] {
      std::byte* there = memory(key, remote, local.size());
      if (there == nullptr) return Outcome::bad_key;
      if (!local.empty()) std::memcpy(there, local.data(), local.size());
      return Outcome::ok;
    });
  }
  Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
               const RemoteKey& key, Completion& completion) override {
    ++wire_.gets;
    return one_sided(link, local, handle, completion, [=, this] {
      std::byte* there = memory(key, remote, local.size());
      if (there == nullptr) return Outcome::bad_key;
      if (!local.empty()) std::memcpy(local.data(), there, local.size());
      return Outcome::ok;
    });
  }
  Accepted fetch_op(Link& link, AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                    std::uint64_t remote, const RemoteKey& key, void* result, Completion& completion) override {
    return one_sided(link, {}, nullptr, completion, [=, this] {
      std::byte* there = memory(key, remote, width);
      if (there == nullptr) return Outcome::bad_key;
      std::uint64_t before = 0;
      std::memcpy(&before, there, width);
      std::uint64_t after = before;
      switch (op) {
        case AtomicOp::add:
          after = before + operand;
          break;
        case AtomicOp::bit_and:
          after = before & operand;
          break;
        case AtomicOp::bit_or:
          after = before | operand;
          break;
        case AtomicOp::bit_xor:
          after = before ^ operand;
          break;
        case AtomicOp::swap:
          after = operand;
          break;
        case AtomicOp::compare_swap:
          after = before == compare ? operand : before;
          break;
      }
      std::memcpy(there, &after, width);
      if (result != nullptr) std::memcpy(result, &before, width);
      return Outcome::ok;
    });
  }
  Accepted flush(Link& link, Completion& completion) override {
    Accepted answer = may(link);
    if (answer != Accepted::done) return answer;
    auto& mine = static_cast<WireLink&>(link);
    if (mine.actions.empty() && wire_.chance(0.5)) return Accepted::done;
    mine.actions.push_back({&completion, Outcome::ok, 0, nullptr, true});
    return Accepted::pending;
  }

  std::byte* direct(Link& link, const RemoteKey& key, std::uint64_t remote, std::uint64_t size) override {
    auto& mine = static_cast<WireLink&>(link);
    if (mine.closed || !mine.lost.empty() || mine.twin == nullptr) return nullptr;
    ++wire_.directs;
    return memory(key, remote, size);
  }

  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    std::uint64_t id = wire_.next_region++;
    ++wire_.registrations;
    wire_.regions[id] = {address, size};
    return MemoryHandle{address, size, kind, id, nullptr};
  }
  void deregister_memory(MemoryHandle& handle) override { wire_.regions.erase(handle.id); }
  std::vector<std::byte> pack_key(const MemoryHandle& handle) const override {
    std::vector<std::byte> bytes(8);
    std::memcpy(bytes.data(), &handle.id, 8);
    return bytes;
  }
  Result<RemoteKey> unpack_key(Link&, std::span<const std::byte> packed) override {
    RemoteKey key;
    if (packed.size() != 8) return Status::failure("not a key");
    std::memcpy(&key.id, packed.data(), 8);
    return key;
  }
  void release_key(RemoteKey&) override {}

  int progress() override {
    ++wire_.now;
    int moved = 0;
    std::vector<WireLink*> links;
    for (auto& [peer, link] : links_) links.push_back(link.get());
    for (WireLink* link : links) moved += progress(*link);
    std::erase_if(links_, [](auto& entry) { return entry.second->closed && entry.second->actions.empty(); });
    return moved;
  }
  int wait_fd() const override { return -1; }
  bool arm() override { return false; }

  void lose(PeerId peer, const std::string& reason) {
    auto found = links_.find(peer);
    if (found != links_.end() && !found->second->closed) found->second->lost = reason;
  }
  void add_waiting(PeerId from, std::vector<Wire::InFlight>& all) const {
    auto [first, last] = links_.equal_range(from);
    for (auto at = first; at != last; ++at) {
      for (const Packet& packet : at->second->incoming)
        if (!packet.is_end) all.push_back({packet.header, packet.payload().size()});
    }
  }
  std::size_t waiting() const {
    std::size_t sum = 0;
    for (auto& [peer, link] : links_) sum += link->incoming.size();
    return sum;
  }

 private:
  friend class Wire;

  // The link to a peer, made together with its other end.
  WireLink& link_to(PeerId peer) {
    auto [first, last] = links_.equal_range(peer);
    for (auto at = first; at != last; ++at) {
      if (!at->second->closed && at->second->twin != nullptr) return *at->second;
    }
    WireTransport& there = *wire_.transports.at({peer, number_});
    WireLink& mine = *links_.emplace(peer, std::make_unique<WireLink>(*this, peer))->second;
    WireLink& theirs = *there.links_.emplace(self_, std::make_unique<WireLink>(there, self_))->second;
    mine.twin = &theirs;
    theirs.twin = &mine;
    return mine;
  }
  void end_other_side(WireLink& link) {
    if (link.twin == nullptr) return;
    Packet end;
    end.is_end = true;
    link.twin->incoming.push_back(std::move(end));
    link.twin->twin = nullptr;
    link.twin = nullptr;
  }
  // What they lent comes back to them.
  static void drop_incoming(WireLink& link) {
    for (Packet& packet : link.incoming) {
      if (packet.completion == nullptr || link.twin == nullptr) continue;
      link.twin->actions.push_back({packet.completion, Outcome::peer_lost, 0, nullptr, false});
    }
    link.incoming.clear();
  }
  Accepted may(Link& link) {
    auto& mine = static_cast<WireLink&>(link);
    if (mine.closed || !mine.lost.empty() || mine.twin == nullptr) return Accepted::lost;
    return wire_.chance(wire_.settings.refuse) ? Accepted::no_resource : Accepted::done;
  }
  Packet& push(Link& link, Header header) {
    if (header.size() > device_.can.max_header) std::abort();
    WireLink* theirs = static_cast<WireLink&>(link).twin;
    static Packet nowhere;
    Packet& packet = theirs == nullptr ? nowhere : theirs->incoming.emplace_back();
    packet.header.assign(header.begin(), header.end());
    packet.ready = wire_.now + wire_.up_to(wire_.settings.delay_max);
    return packet;
  }
  std::byte* memory(const RemoteKey& key, std::uint64_t remote, std::uint64_t size) {
    auto region = wire_.regions.find(key.id);
    if (region == wire_.regions.end()) return nullptr;
    auto base = reinterpret_cast<std::uintptr_t>(region->second.address);
    if (remote < base || size > region->second.size || remote - base > region->second.size - size) return nullptr;
    return reinterpret_cast<std::byte*>(remote);
  }
  Accepted one_sided(Link& link, std::span<const std::byte> local, const MemoryHandle* handle, Completion& completion,
                     std::function<Outcome()> run) {
    Accepted answer = may(link);
    if (answer != Accepted::done) return answer;
    if (device_.can.needs_registration && !local.empty()) {
      bool covered = handle != nullptr && wire_.regions.contains(handle->id) && handle->address <= local.data() &&
                     local.data() + local.size() <= handle->address + handle->size;
      if (!covered) std::abort();
    }
    wire_.bytes_of_device[number_] += local.size();
    auto& mine = static_cast<WireLink&>(link);
    mine.actions.push_back(
        {&completion, Outcome::ok, wire_.now + wire_.up_to(wire_.settings.delay_max), nullptr, false});
    Action& action = mine.actions.back();
    if (device_.can.put_ordered) {
      action.outcome = run();  // there at once, told later
    } else {
      action.run = std::move(run);
    }
    return Accepted::pending;
  }

  int progress(WireLink& link) {
    int moved = 0;
    if (!link.lost.empty() && !link.told_lost) {
      link.told_lost = true;
      // Those that were lent to the other side come back as lost.
      if (WireLink* theirs = link.twin) {
        for (Packet& packet : theirs->incoming) {
          if (packet.completion != nullptr) link.actions.push_back({packet.completion, Outcome::ok, 0, nullptr, false});
        }
        theirs->incoming.clear();
        theirs->placing = nullptr;
      }
      for (auto action = link.actions.begin(); action != link.actions.end(); ++moved) {
        Completion* completion = action->completion;
        action = link.actions.erase(action);
        completion->done(*completion, Outcome::peer_lost);
      }
      drop_incoming(link);
      receiver_.link_lost(link, link.lost);
      return moved + 1;
    }
    moved += act(link);
    for (std::uint64_t left = 1 + wire_.up_to(wire_.settings.burst_max - 1); left > 0; --left) {
      if (link.closed || link.incoming.empty() || link.incoming.front().ready > wire_.now || !link.lost.empty()) break;
      moved += deliver(link);
    }
    return moved;
  }

  // One-sided operations end in any order, but none passes a flush.
  int act(WireLink& link) {
    int moved = 0;
    bool first = true;
    for (auto action = link.actions.begin(); action != link.actions.end();) {
      if (action->is_flush && !first) break;
      if (!link.closed && (action->ready > wire_.now || wire_.chance(0.2))) {
        ++action;
        first = false;
        continue;
      }
      Action done = std::move(*action);
      action = link.actions.erase(action);
      Outcome outcome = done.run ? (link.closed ? Outcome::cancelled : done.run()) : done.outcome;
      done.completion->done(*done.completion, outcome);
      ++moved;
      action = link.actions.begin();  // the call-back may have added some
      first = true;
      if (wire_.chance(0.3)) break;
    }
    return moved;
  }

  int deliver(WireLink& link) {
    Packet& first = link.incoming.front();
    if (link.placing != nullptr) {
      if (wire_.chance(0.3)) return 0;
      Packet packet = std::move(first);
      link.incoming.pop_front();
      if (!packet.payload().empty()) std::memcpy(link.placing, packet.payload().data(), packet.payload().size());
      link.placing = nullptr;
      told(link, packet);
      receiver_.placed(link);
      return 1;
    }
    if (first.is_end) {
      link.incoming.clear();
      link.lost = "the other side has closed the connection";
      return 1;
    }
    bool late = (first.is_owned || first.completion != nullptr) && !first.payload().empty();
    if (late && wire_.chance(wire_.settings.place)) {
      // The header may go away once place() has returned.
      std::vector<std::byte> header = first.header;
      std::uint64_t size = first.payload().size();
      std::byte* into = receiver_.place(link, header, size);
      if (link.closed) return 1;
      link.placing = into;
      if (into == nullptr) link.lost = "no memory";
      return 1;
    }
    Packet packet = std::move(first);
    link.incoming.pop_front();
    told(link, packet);
    std::vector<std::byte> header = packet.header;
    if (packet.is_owned) {
      receiver_.arrived_owned(link, header, std::move(packet.owned));
    } else {
      receiver_.arrived(link, header, packet.payload());
    }
    return 1;
  }

  // The sender hears that what it lent was delivered.
  void told(WireLink& link, Packet& packet) {
    if (packet.completion == nullptr) return;
    packet.copied.assign(packet.lent.begin(), packet.lent.end());
    if (link.twin != nullptr) link.twin->actions.push_back({packet.completion, Outcome::ok, 0, nullptr, false});
    packet.completion = nullptr;
  }

  Wire& wire_;
  Device device_;
  unsigned number_;
  Receiver& receiver_;
  PeerId self_;
  std::multimap<PeerId, std::unique_ptr<WireLink>> links_;
};

namespace {

Wire& wire_of(const OpenRequest& request) { return *reinterpret_cast<Wire*>(std::stoull(request.option("wire"))); }

std::vector<Device> probe(const OpenRequest& request) {
  Wire& wire = wire_of(request);
  std::vector<Device> devices;
  for (unsigned i = 0; i < wire.settings.devices; ++i) {
    Device device;
    device.transport = "wire";
    device.name = std::to_string(i);
    device.usable = true;
    device.can = wire.settings.can;
    device.costs = wire.settings.costs;
    devices.push_back(device);
  }
  return devices;
}

Result<std::unique_ptr<Transport>> open(const Device& device, const OpenRequest& request) {
  unsigned number = static_cast<unsigned>(std::stoul(device.name));
  return std::unique_ptr<Transport>(std::make_unique<WireTransport>(wire_of(request), device, number, request));
}

const TransportFactory kWire = {"wire", probe, open};

}  // namespace

std::unique_ptr<Context> Wire::context(PeerId self, Limits limits, const std::string& transports) {
  ContextRequest request;
  request.factories = {&kWire};
  request.transports = transports;
  request.self = self;
  request.limits = limits;
  request.cost_file = cost_file;
  request.device_memory = device_memory;
  request.option = [this](const std::string& name) {
    if (name == "wire") return std::to_string(reinterpret_cast<std::uintptr_t>(this));
    auto given = options.find(name);
    return given == options.end() ? std::string() : given->second;
  };
  auto context = Context::create(std::move(request));
  if (!context.ok()) throw std::runtime_error(context.message());
  return std::move(*context);
}

void Wire::lose(PeerId a, PeerId b, const std::string& reason) {
  for (auto& [key, transport] : transports) {
    if (key.first == a) transport->lose(b, reason);
    if (key.first == b) transport->lose(a, reason);
  }
}

Transport* Wire::transport(PeerId peer, unsigned device) { return transports.at({peer, device}); }

std::size_t Wire::in_flight() const {
  std::size_t sum = 0;
  for (auto& [key, transport] : transports) sum += transport->waiting();
  return sum;
}

std::vector<Wire::InFlight> Wire::in_flight(PeerId from, PeerId to) const {
  std::vector<InFlight> all;
  for (auto& [key, transport] : transports)
    if (key.first == to) transport->add_waiting(from, all);
  return all;
}

}  // namespace periapt::ucx::testing
