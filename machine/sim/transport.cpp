#include "machine/sim/transport.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <random>

#include "machine/sim/options.h"
#include "machine/ucx-like/transport_base.h"

namespace periapt::sim {
namespace {

using namespace ucx;
using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kMagic = 0x50'53'4d'31;
constexpr std::size_t kHeaderMax = 64;
constexpr std::size_t kInlineMax = 16 << 10;
constexpr std::size_t kPlaceMin = 32 << 10;    // longer messages are placed, not handed up from our memory
constexpr std::size_t kWindowPackets = 64;     // not answered yet, of one direction of a connection
constexpr std::size_t kWindowBytes = 1 << 20;  // the same; a single packet may be longer
constexpr std::size_t kFaultyMax = 4 << 20;
constexpr std::uint64_t kWireBytes = 64;  // of a packet, beside what it carries
constexpr Time kPollTime = 50 * kNs;      // a look that finds nothing takes that

struct Address {
  std::uint32_t magic = kMagic;
  std::uint32_t check = 0;
  std::uint64_t network = 0;  // of this process
  std::uint64_t worker = 0;   // counted up, never used twice
};
static_assert(sizeof(Address) == 24);

std::uint32_t check_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t mixed = (a * 0x9e37'79b9'7f4a'7c15u ^ b) * 0xc2b2'ae3d'27d4'eb4fu;
  return static_cast<std::uint32_t>(mixed >> 32);
}

enum class PacketKind : std::uint8_t { message, put, get, atomic, flush };

/// What one side wants of the other, in order. Both sides and the network hold it until it has been answered.
struct Packet {
  PacketKind kind = PacketKind::message;
  std::uint64_t number = 0;
  std::vector<std::byte> header;
  std::vector<std::byte> copied;  // payload that was copied
  Bytes payload;                  // copied's, owned's or lent
  Buffer owned;
  std::byte* local = nullptr;  // get, atomic: where the answer's bytes go
  std::uint64_t size = 0;
  std::uint64_t key = 0, remote = 0, operand = 0, compare = 0;
  AtomicOp op = AtomicOp::add;
  std::size_t width = 0;
  Completion* completion = nullptr;
  std::uint64_t charged = 0;  // to the window
  bool withdrawn = false;     // its sender has gone or closed: the payload may not be read

  // Made where it is done, goes back with the answer.
  Outcome outcome = Outcome::ok;
  std::vector<std::byte> result;

  std::uint64_t wire_bytes() const {
    return kWireBytes + header.size() + (kind == PacketKind::get ? 0 : payload.size());
  }
  void withdraw() {
    withdrawn = true;
    payload = {};
    copied = {};
    owned.reset();
    completion = nullptr;
  }
};
using PacketPtr = std::shared_ptr<Packet>;

class SimTransport;
class SimLink;

/// One direction of a connection.
struct Direction {
  std::uint64_t next = 0;  // number of the next packet
  std::deque<PacketPtr> unanswered;
  std::uint64_t bytes = 0;                   // of those
  std::uint64_t expected = 0;                // at the receiver
  std::map<std::uint64_t, PacketPtr> early;  // there, but not their turn
  std::deque<PacketPtr> ready;               // there, in order: for the receiver's progress()
};

struct Connection {
  std::uint64_t workers[2];
  Direction from[2];       // by sender
  SimLink* links[2] = {};  // null: that side has not made its link yet, or has closed it
  bool greeted[2] = {};    // something of the other side has reached it
  bool broken = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

class SimLink : public Link {
 public:
  using Link::Link;
  ConnectionPtr connection;
  int side = 0;
  bool lost = false;
  bool closed = false;
};

/// All workers that can reach each other, and their virtual time.
class Network {
 public:
  Network(Options options, std::uint64_t number)
      : options_(std::move(options)), random_(options_.faults.seed), number_(number) {}

  std::recursive_mutex mutex;

  std::uint64_t number() const { return number_; }
  const Options& options() const { return options_; }
  std::uint64_t enter(SimTransport* transport) {
    workers_[++last_worker_] = transport;
    return last_worker_;
  }
  void leave(std::uint64_t worker) { workers_.erase(worker); }
  SimTransport* worker(std::uint64_t id) const {
    auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : found->second;
  }
  const std::map<std::uint64_t, SimTransport*>& workers() const { return workers_; }

  ConnectionPtr connection(std::uint64_t from, std::uint64_t to) {
    ConnectionPtr& known = connections_[std::minmax(from, to)];
    if (!known || known->broken) {
      known = std::make_shared<Connection>();
      known->workers[0] = from;
      known->workers[1] = to;
    }
    return known;
  }

  void transmit(const ConnectionPtr& connection, int side, const PacketPtr& packet);
  void answer(const ConnectionPtr& connection, int side, const PacketPtr& packet);
  void break_off(const ConnectionPtr& connection, int side_told, const std::string& reason);
  /// Lets virtual time go on until something has happened for `worker`, or to the next thing that happens.
  void step(SimTransport& worker);
  bool happens(double probability) {
    return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
  }
  bool refuses() {
    const bool refused = happens(options_.faults.no_resource);
    counts.refused += refused;
    return refused;
  }
  NetworkCounts counts;

 private:
  using Action = std::function<void()>;
  struct Event {
    Time at;
    std::uint64_t number;
    std::shared_ptr<Action> action;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  void at(Time when, Action action) {
    events_.push({when, ++last_event_, std::make_shared<Action>(std::move(action))});
  }
  Time way(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
  void arrive(const ConnectionPtr& connection, int side, const PacketPtr& packet);
  void retry(const ConnectionPtr& connection, int side, const PacketPtr& packet);
  void run_next();

  Options options_;
  std::mt19937_64 random_;
  const std::uint64_t number_;
  std::unique_ptr<Model> model_;  // grows with the workers, unless the topology is given
  std::map<std::uint64_t, SimTransport*> workers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, ConnectionPtr> connections_;
  std::priority_queue<Event> events_;
  std::uint64_t last_worker_ = 0, last_event_ = 0;
  Time now_ = 0;
};

std::mutex networks_mutex;
std::map<std::string, std::shared_ptr<Network>>& networks() {
  static std::map<std::string, std::shared_ptr<Network>> all;
  return all;
}

Device describe_device(const Options& options) {
  Device device;
  device.transport = "sim";
  device.name = "seed-" + std::to_string(options.faults.seed);
  device.usable = true;
  device.detail = "simulated, within this process";
  device.can.reach = Reach::same_process;
  device.can.max_header = kHeaderMax;
  device.can.max_inline = kInlineMax;
  // A packet that is lost is lost whole, so with faults there are no very long ones.
  device.can.max_lent = device.can.max_put = device.can.max_get =
      options.faults.any() || options.faults.no_resource > 0 ? kFaultyMax : ~std::size_t{0};
  device.can.atomics = true;
  device.can.passes_ownership = true;
  device.can.put_ordered = true;
  device.costs.overhead_ns = static_cast<double>(options.costs.o) * 1e-3;
  device.costs.latency_ns = static_cast<double>(options.costs.L) * 1e-3;
  device.costs.bytes_per_ns = 1000 / std::max(options.costs.G, 1e-3);
  return device;
}

class SimTransport final : public RegisteringTransport {
 public:
  SimTransport(std::shared_ptr<Network> network, const Device& device, const OpenRequest& request)
      : RegisteringTransport(device, request), network_(std::move(network)) {
    std::lock_guard lock(network_->mutex);
    own_.network = network_->number();
    own_.worker = network_->enter(this);
    own_.check = check_of(own_.network, own_.worker);
  }
  ~SimTransport() override {
    std::lock_guard lock(network_->mutex);
    network_->leave(own_.worker);
    for (auto& link : links_)
      if (!link->closed) disconnect(*link, "worker " + std::to_string(self_) + " has ended");
  }

  std::vector<std::byte> address() const override { return packed(own_); }
  bool reaches(Bytes address) const override {
    Address there;
    return read_address(address, &there) && there.network == own_.network;
  }
  Result<Link*> connect(PeerId peer, Bytes address) override;
  void close(Link& link) override {
    std::lock_guard lock(network_->mutex);
    auto& mine = static_cast<SimLink&>(link);
    deferred_.forget_loss(mine);
    if (!mine.lost) end_all(mine, Outcome::cancelled);
    disconnect(mine, "worker " + std::to_string(self_) + " has closed the link");
    mine.closed = true;
    links_.retire(mine);
  }

  Accepted send_inline(Link& link, Header header, Bytes payload) override {
    return submit(link, message(header), copy_of(payload), nullptr);
  }
  Accepted send_lent(Link& link, Header header, Bytes payload, Completion& completion) override {
    if (network_->options().faults.raw) return submit(link, message(header), copy_of(payload), nullptr);
    PacketPtr packet = message(header);
    packet->payload = payload;
    return submit(link, packet, std::nullopt, &completion);
  }
  Accepted send_owned(Link& link, Header header, Buffer& payload) override {
    if (network_->options().faults.raw) {
      const Accepted answer = submit(link, message(header), copy_of(payload.bytes()), nullptr);
      if (answer == Accepted::done) payload.reset();
      return answer;
    }
    std::lock_guard lock(network_->mutex);  // no reader before the packet has its owner
    PacketPtr packet = message(header);
    packet->payload = payload.bytes();
    const Accepted answer = submit(link, packet, std::nullopt, nullptr);
    if (answer == Accepted::done) packet->owned = std::move(payload);
    return answer;
  }
  Accepted put(Link& link, Bytes local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
               Completion& completion) override {
    PacketPtr packet = operation(PacketKind::put, key, remote, local.size());
    packet->payload = local;
    return submit(link, packet, std::nullopt, &completion);
  }
  Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle*, std::uint64_t remote, const RemoteKey& key,
               Completion& completion) override {
    PacketPtr packet = operation(PacketKind::get, key, remote, local.size());
    packet->local = local.data();
    return submit(link, packet, std::nullopt, &completion);
  }
  Accepted fetch_op(Link& link, AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                    std::uint64_t remote, const RemoteKey& key, void* result, Completion& completion) override {
    PacketPtr packet = operation(PacketKind::atomic, key, remote, width);
    packet->op = op;
    packet->width = width;
    packet->operand = operand;
    packet->compare = compare;
    packet->local = static_cast<std::byte*>(result);
    return submit(link, packet, std::nullopt, &completion);
  }
  Accepted flush(Link& link, Completion& completion) override {
    return submit(link, operation(PacketKind::flush, {}, 0, 0), std::nullopt, &completion);
  }
  // The side that ends takes back what the peer has not taken in.
  bool handed_over(Link& which) const override {
    const auto& link = static_cast<SimLink&>(which);
    std::lock_guard lock(network_->mutex);
    return link.connection->from[link.side].unanswered.empty();
  }

  int progress() override;
  bool arm() override { return true; }

  // ---- of the network, with its mutex held

  PeerId self() const { return self_; }
  bool knows(Bytes secret) const { return std::equal(secret.begin(), secret.end(), secret_.begin(), secret_.end()); }
  Bytes secret() const { return secret_; }
  bool has_news() const { return !deferred_.empty() || !arrived_.empty(); }
  bool dead() const { return dead_; }
  /// Something for the link of that connection lies in its `ready`.
  void tell(const ConnectionPtr& connection, int side) { arrived_.emplace_back(connection, side); }
  void answered(const ConnectionPtr& connection, int side, const PacketPtr& packet);
  void lose(SimLink& link, const std::string& reason) {
    if (link.lost || link.closed) return;
    link.lost = true;
    end_all(link, Outcome::peer_lost);
    links_.forget(link);
    deferred_.lose(link, reason);
  }
  void die() {
    dead_ = true;
    for (auto& link : links_)
      if (!link->closed) disconnect(*link, "worker " + std::to_string(self_) + " does not answer any more");
  }

 private:
  static bool read_address(Bytes address, Address* read) {
    return unpack(address, read) && read->magic == kMagic && read->check == check_of(read->network, read->worker);
  }
  static std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }
  static PacketPtr message(Header header) {
    auto packet = std::make_shared<Packet>();
    packet->header.assign(header.begin(), header.end());
    return packet;
  }
  static PacketPtr operation(PacketKind kind, const RemoteKey& key, std::uint64_t remote, std::uint64_t size) {
    auto packet = std::make_shared<Packet>();
    packet->kind = kind;
    packet->key = key.id;
    packet->remote = remote;
    packet->size = size;
    return packet;
  }
  Accepted submit(Link& link, const PacketPtr& packet, std::optional<std::vector<std::byte>> copy,
                  Completion* completion);
  SimLink& make_link(const ConnectionPtr& connection, int side, PeerId peer);
  void disconnect(SimLink& link, const std::string& reason);
  void end_all(SimLink& link, Outcome outcome);
  void take(const ConnectionPtr& connection, int side);
  bool hand_up(SimLink& link, const PacketPtr& packet);
  void perform(Packet& packet);

  std::shared_ptr<Network> network_;
  Address own_;
  bool dead_ = false;
  LinkTable<SimLink> links_;
  std::deque<std::pair<ConnectionPtr, int>> arrived_;
  int handed_up_ = 0;
};

// ---- the network

// When a packet that leaves now is there, faults of the way included.
Time Network::way(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  const int nodes = static_cast<int>(std::max(from, to));
  if (!model_ || model_->topology().nodes() < nodes) {
    const bool given = options_.topology != "flat";
    auto topology = Topology::parse(options_.topology, given ? 0 : 2 * nodes);
    model_ = std::make_unique<Model>(options_.costs, std::move(*topology));
  }
  const int room = model_->topology().nodes();
  const int a = static_cast<int>(from - 1) % room, b = static_cast<int>(to - 1) % room;
  Time there = a == b ? now_ + options_.costs.local : model_->send(now_, a, b, bytes);
  const Faults& faults = options_.faults;
  if (faults.delay != 0) there += random_() % (faults.delay + 1);
  if (happens(faults.reorder)) {
    ++counts.delayed;
    there += options_.costs.L + random_() % (4 * options_.costs.L + 1);
  }
  ++counts.packets;
  return there;
}

void Network::transmit(const ConnectionPtr& connection, int side, const PacketPtr& packet) {
  const std::uint64_t from = connection->workers[side], to = connection->workers[1 - side];
  const int copies = happens(options_.faults.duplicate) ? 2 : 1;
  counts.duplicated += static_cast<std::uint64_t>(copies - 1);
  Time latest = now_;
  for (int copy = 0; copy < copies; ++copy) {
    const Time there = way(from, to, packet->wire_bytes());
    latest = std::max(latest, there);
    if (happens(options_.faults.loss)) {
      ++counts.lost;
      continue;
    }
    at(there, [this, connection, side, packet] { arrive(connection, side, packet); });
  }
  const bool reliable = !options_.faults.raw || packet->kind != PacketKind::message;
  if (options_.faults.loss > 0 && reliable)
    at(latest + options_.faults.rto, [this, connection, side, packet] { retry(connection, side, packet); });
}

// There was no answer: the packet was lost, or its answer was, or the receiver has not looked. Those it has taken in
// are not sent again.
void Network::retry(const ConnectionPtr& connection, int side, const PacketPtr& packet) {
  if (connection->broken || packet->withdrawn) return;
  const Direction& direction = connection->from[side];
  if (direction.expected > packet->number || direction.early.contains(packet->number)) return;
  ++counts.sent_again;
  transmit(connection, side, packet);
}

void Network::arrive(const ConnectionPtr& connection, int side, const PacketPtr& packet) {
  if (connection->broken || packet->withdrawn) return;
  SimTransport* receiver = worker(connection->workers[1 - side]);
  SimTransport* sender = worker(connection->workers[side]);
  if (receiver == nullptr || sender == nullptr || receiver->dead()) return;
  if (!connection->greeted[1 - side]) {
    connection->greeted[1 - side] = true;
    if (!receiver->knows(sender->secret()))
      return break_off(connection, side,
                       "worker " + std::to_string(receiver->self()) +
                           " refused the connection: it is of another job (another secret)");
  }
  Direction& direction = connection->from[side];
  if (options_.faults.raw && packet->kind == PacketKind::message) {
    direction.ready.push_back(packet);
  } else {
    if (packet->number < direction.expected || !direction.early.emplace(packet->number, packet).second) return;
    for (auto next = direction.early.begin(); next != direction.early.end() && next->first == direction.expected;
         next = direction.early.erase(next), ++direction.expected)
      direction.ready.push_back(next->second);
  }
  if (!direction.ready.empty()) receiver->tell(connection, 1 - side);
}

// The answer: that it was taken, and what came of it. Answers are never lost: each later one would repeat what they
// say.
void Network::answer(const ConnectionPtr& connection, int side, const PacketPtr& packet) {
  const std::uint64_t bytes = kWireBytes + packet->result.size();
  const Time there = way(connection->workers[1 - side], connection->workers[side], bytes);
  at(there, [this, connection, side, packet] {
    SimTransport* sender = worker(connection->workers[side]);
    if (connection->broken || packet->withdrawn || sender == nullptr || sender->dead()) return;
    sender->answered(connection, side, packet);
  });
}

// The side hears of it after a latency; nothing arrives any more.
void Network::break_off(const ConnectionPtr& connection, int side, const std::string& reason) {
  connection->broken = true;
  at(now_ + options_.costs.L, [this, connection, side, reason] {
    SimTransport* told = worker(connection->workers[side]);
    if (told != nullptr && connection->links[side] != nullptr) told->lose(*connection->links[side], reason);
  });
}

void Network::run_next() {
  const Event event = events_.top();
  events_.pop();
  now_ = std::max(now_, event.at);
  (*event.action)();
}

void Network::step(SimTransport& worker) {
  now_ += kPollTime;
  while (!events_.empty() && events_.top().at <= now_) run_next();
  if (!worker.has_news() && !events_.empty()) run_next();
  counts.time = now_;
}

// ---- a worker

Result<Link*> SimTransport::connect(PeerId peer, Bytes address) {
  Address there;
  if (!read_address(address, &there)) return Status::failure("that is no address of the simulated network");
  if (there.network != own_.network) return Status::failure("that address is of another simulated network");
  std::lock_guard lock(network_->mutex);
  ConnectionPtr connection = network_->connection(own_.worker, there.worker);
  const int side = connection->workers[0] == own_.worker ? 0 : 1;
  if (connection->links[side] != nullptr) return static_cast<Link*>(connection->links[side]);
  SimLink& link = make_link(connection, side, peer);
  SimTransport* other = network_->worker(there.worker);
  if (other == nullptr || other->dead())
    network_->break_off(connection, side, "worker " + std::to_string(peer) + " has ended");
  return static_cast<Link*>(&link);
}

SimLink& SimTransport::make_link(const ConnectionPtr& connection, int side, PeerId peer) {
  SimLink& link = links_.add(std::make_unique<SimLink>(*this, peer));
  link.connection = connection;
  link.side = side;
  connection->links[side] = &link;
  return link;
}

Accepted SimTransport::submit(Link& to, const PacketPtr& packet, std::optional<std::vector<std::byte>> copy,
                              Completion* completion) {
  std::lock_guard lock(network_->mutex);
  auto& link = static_cast<SimLink&>(to);
  if (link.lost || link.closed || dead_) return Accepted::lost;
  Direction& direction = link.connection->from[link.side];
  const std::uint64_t bytes = copy ? copy->size() : packet->payload.size();
  const bool full = direction.unanswered.size() >= kWindowPackets ||
                    (!direction.unanswered.empty() && direction.bytes + bytes > kWindowBytes);
  if (full || network_->refuses()) return Accepted::no_resource;
  if (copy) {
    packet->copied = std::move(*copy);
    packet->payload = packet->copied;
  }
  packet->completion = completion;
  if (network_->options().faults.raw && packet->kind == PacketKind::message) {
    if (!link.connection->broken) network_->transmit(link.connection, link.side, packet);
    return Accepted::done;
  }
  packet->number = direction.next++;
  packet->charged = bytes;
  direction.bytes += bytes;
  direction.unanswered.push_back(packet);
  if (!link.connection->broken) network_->transmit(link.connection, link.side, packet);
  return completion != nullptr ? Accepted::pending : Accepted::done;
}

/// Of our own packet: it has been taken over there.
void SimTransport::answered(const ConnectionPtr& connection, int side, const PacketPtr& packet) {
  Direction& direction = connection->from[side];
  auto found = std::find(direction.unanswered.begin(), direction.unanswered.end(), packet);
  if (found == direction.unanswered.end()) return;
  direction.bytes -= packet->charged;
  direction.unanswered.erase(found);
  if (packet->outcome == Outcome::ok && packet->local != nullptr && !packet->result.empty())
    std::memcpy(packet->local, packet->result.data(), packet->result.size());
  deferred_.end(packet->completion, packet->outcome);
  packet->withdraw();
}

void SimTransport::end_all(SimLink& link, Outcome outcome) {
  Direction& direction = link.connection->from[link.side];
  for (const PacketPtr& packet : direction.unanswered) {
    deferred_.end(packet->completion, outcome);
    packet->withdraw();
  }
  direction.unanswered.clear();
  direction.bytes = 0;
}

/// Our side goes. What is under way from here goes with it, for its memory may.
void SimTransport::disconnect(SimLink& link, const std::string& reason) {
  ConnectionPtr connection = link.connection;
  for (const PacketPtr& packet : connection->from[link.side].unanswered) packet->withdraw();
  connection->from[link.side].unanswered.clear();
  if (connection->links[link.side] == &link) connection->links[link.side] = nullptr;
  if (!connection->broken) network_->break_off(connection, 1 - link.side, reason);
}

template <class T>
T applied(AtomicOp op, T old, T operand, T compare) {
  switch (op) {
    case AtomicOp::add:
      return old + operand;
    case AtomicOp::bit_and:
      return old & operand;
    case AtomicOp::bit_or:
      return old | operand;
    case AtomicOp::bit_xor:
      return old ^ operand;
    case AtomicOp::swap:
      return operand;
    case AtomicOp::compare_swap:
      return old == compare ? operand : old;
  }
  return old;
}
template <class T>
void apply(const Packet& packet, std::byte* at) {
  T old;
  std::memcpy(&old, at, sizeof old);
  const T next = applied(packet.op, old, static_cast<T>(packet.operand), static_cast<T>(packet.compare));
  std::memcpy(at, &next, sizeof next);
}

/// A one-sided operation, at its target.
void SimTransport::perform(Packet& packet) {
  if (packet.kind == PacketKind::flush) return;
  const bool odd =
      packet.kind == PacketKind::atomic && ((packet.width != 4 && packet.width != 8) || packet.remote % packet.width);
  std::byte* at = odd ? nullptr : translate(packet.key, packet.remote, packet.size);
  if (at == nullptr) {
    packet.outcome = Outcome::bad_key;
    return;
  }
  if (packet.kind == PacketKind::put) {
    std::copy(packet.payload.begin(), packet.payload.end(), at);
    return;
  }
  packet.result.assign(at, at + packet.size);
  if (packet.kind != PacketKind::atomic) return;
  packet.width == 4 ? apply<std::uint32_t>(packet, at) : apply<std::uint64_t>(packet, at);
}

/// A message. False: it could not be placed, and the link is lost.
bool SimTransport::hand_up(SimLink& link, const PacketPtr& packet) {
  ++handed_up_;
  if (packet->owned) {
    receiver_.arrived_owned(link, packet->header, std::move(packet->owned));
    return true;
  }
  if (packet->payload.size() < kPlaceMin) {
    receiver_.arrived(link, packet->header, packet->payload);
    return true;
  }
  std::byte* place = receiver_.place(link, packet->header, packet->payload.size());
  if (link.closed) return false;
  if (place == nullptr) {
    const std::string reason = "worker " + std::to_string(self_) + " has no memory for a message of " +
                               std::to_string(packet->payload.size()) + " bytes";
    network_->break_off(link.connection, 1 - link.side, reason);
    lose(link, reason);
    return false;
  }
  std::copy(packet->payload.begin(), packet->payload.end(), place);
  receiver_.placed(link);
  return true;
}

void SimTransport::take(const ConnectionPtr& connection, int side) {
  Direction& direction = connection->from[1 - side];
  while (!direction.ready.empty() && !connection->broken && !dead_) {
    PacketPtr packet = direction.ready.front();
    direction.ready.pop_front();
    if (packet->withdrawn) continue;
    SimTransport* sender = network_->worker(connection->workers[1 - side]);
    if (connection->links[side] == nullptr) {
      if (sender == nullptr) return;
      make_link(connection, side, sender->self());
    }
    SimLink& link = *connection->links[side];
    if (packet->kind != PacketKind::message) {
      perform(*packet);
    } else if (!hand_up(link, packet)) {
      return;
    }
    const bool answers = !network_->options().faults.raw || packet->kind != PacketKind::message;
    if (answers && !connection->broken) network_->answer(connection, 1 - side, packet);
  }
}

int SimTransport::progress() {
  std::lock_guard lock(network_->mutex);
  handed_up_ = 0;
  if (dead_) return 0;
  // Destroyed here and nowhere else: a call-back may close the link that it is called for.
  if (links_.has_retired()) links_.reap();
  network_->step(*this);
  for (std::size_t looks = arrived_.size(); looks > 0 && !arrived_.empty(); --looks) {
    auto [connection, side] = arrived_.front();
    arrived_.pop_front();
    take(connection, side);
  }
  return handed_up_ + tell_deferred();
}

// ---- how it is made

/// "name=x" apart, the rest is for parse_options().
Result<std::pair<std::string, Options>> read_option(const OpenRequest& request) {
  const std::string text = request.option ? request.option("sim") : "";
  std::string name, rest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    if (part.rfind("name=", 0) == 0) {
      name = part.substr(5);
    } else {
      rest += (rest.empty() ? "" : ",");
      rest += part;
    }
    at = comma + 1;
  }
  Result<Options> options = parse_options(rest);
  if (!options) return options.status();
  return std::pair(name.empty() ? rest : name, *options);
}

}  // namespace

const TransportFactory factory = {
    .name = "sim",
    .probe =
        [](const OpenRequest& request) {
          auto options = read_option(request);
          Device device = describe_device(options ? options->second : Options());
          if (!options) {
            device.usable = false;
            device.detail = options.message();
            device.remedy = "correct the option \"sim\"";
          }
          return std::vector<Device>{device};
        },
    .open = [](const Device& device, const OpenRequest& request) -> Result<std::unique_ptr<Transport>> {
      auto options = read_option(request);
      if (!options) return options.status();
      std::lock_guard lock(networks_mutex);
      static std::uint64_t last_network = 0;
      std::shared_ptr<Network>& network = networks()[options->first];
      // A network that all workers have left is made anew: its next run is like its first.
      bool empty = network == nullptr;
      if (!empty) {
        std::lock_guard inside(network->mutex);
        empty = network->workers().empty();
      }
      if (empty) network = std::make_shared<Network>(options->second, ++last_network);
      return std::unique_ptr<Transport>(new SimTransport(network, device, request));
    },
};

namespace {
std::shared_ptr<Network> find_network(const std::string& name) {
  std::lock_guard lock(networks_mutex);
  auto found = networks().find(name);
  return found == networks().end() ? nullptr : found->second;
}
}  // namespace

bool kill_worker(const std::string& name, ucx::PeerId worker) {
  std::shared_ptr<Network> network = find_network(name);
  if (network == nullptr) return false;
  std::lock_guard lock(network->mutex);
  for (const auto& [_, transport] : network->workers()) {
    if (transport->self() != worker || transport->dead()) continue;
    transport->die();
    return true;
  }
  return false;
}

NetworkCounts counts_of(const std::string& name) {
  std::shared_ptr<Network> network = find_network(name);
  if (network == nullptr) return {};
  std::lock_guard lock(network->mutex);
  return network->counts;
}

}  // namespace periapt::sim
