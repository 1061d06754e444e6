#include "machine/layer/net_worker.h"

#include <cstdlib>

#include "base/fatal.h"

namespace periapt::machine {
namespace {

// A tag: 24 bits of PE, 8 of a block's meta or the mark of a line, 32 of number.
constexpr int kMetaShift = 24;
constexpr int kNumberShift = 32;
constexpr ucx::Tag kPeMask = (ucx::Tag{1} << kMetaShift) - 1;
constexpr ucx::Tag kMetaMask = 0x7f;
constexpr ucx::Tag kLine = ucx::Tag{0x80} << kMetaShift;

// A line travels as its meta and as much of its body as it fills.
constexpr std::size_t kLineBytesMax = sizeof(std::uint64_t) + host::Slot::kBodyBytes;
constexpr std::size_t kLineBytesMin = 2 * sizeof(std::uint64_t);

// A PE looks so often whether what it sends has to wait.
constexpr std::uint32_t kLookAfter = 32;

// An idle PE looks at its own worker about once a microsecond; at one of the others, whose PEs may all be busy, so much
// less often.
constexpr unsigned kOthersEvery = 16;

}  // namespace

NetWorker::NetWorker(const NetConfig& config, NetPeers& peers, int index, int count, const std::atomic<int>& sleepers)
    : config_(config),
      peers_(peers),
      index_(index),
      count_(count),
      origin_(config.origin),
      first_pe_(config.own().first_pe - config.origin),
      pes_(config.own().pes),
      sleepers_(sleepers),
      workers_of_(static_cast<std::size_t>(peers.processes())),
      peers_by_index_(static_cast<std::size_t>(peers.processes())) {
  for (int pe = index; pe < pes_; pe += count) queues_.push_back(std::make_unique<DeliveryQueue>());
}

Result<std::unique_ptr<NetWorker>> NetWorker::open(const NetConfig& config, NetPeers& peers, ucx::Context& context,
                                                   int index, int count, const std::atomic<int>& sleepers) {
  if (config.job->layout.pes > static_cast<int>(kPeMask))
    return Status::failure("a run over several hosts has at most 16777215 PEs");
  std::unique_ptr<NetWorker> worker(new NetWorker(config, peers, index, count, sleepers));
  Status started = worker->start(context);
  if (!started) return started;
  return worker;
}

Status NetWorker::start(ucx::Context& context) {
  Result<std::unique_ptr<ucx::Worker>> engine =
      ucx::Worker::create(context, NetPeers::id_of(peers_.index_of(config_.job->process, index_)));
  if (!engine) return engine.status();
  engine_ = std::move(*engine);
  ucx::PersistentReceive receive;
  receive.tag = 0;
  receive.mask = 0;  // everything
  receive.context = this;
  receive.allocate = [](void* self, std::uint64_t size) { return static_cast<NetWorker*>(self)->in_heap(size); };
  receive.arrived = [](void* self, ucx::Buffer message, const ucx::Received& received) {
    static_cast<NetWorker*>(self)->on_block(std::move(message), received);
  };
  engine_->post_persistent(receive);
  engine_->on_active_short({this, [](void* self, ucx::PeerId from, std::uint64_t tag, std::span<const std::byte> line) {
                              static_cast<NetWorker*>(self)->on_line(from, tag, line);
                            }});
  engine_->on_peer_lost([this](ucx::PeerId peer, const std::string& reason) { peers_.lost(peer, reason); });
  engine_->on_peer_disconnected([this](ucx::PeerId peer, const std::string&) { peers_.disconnected(peer); });
  return {};
}

// ---- the other side

int NetWorker::workers_of(int process) {
  int& known = workers_of_[static_cast<std::size_t>(process)];
  if (PERIAPT_UNLIKELY(known == 0)) known = static_cast<int>(peers_.addresses_of(process).size());
  return known;
}

PERIAPT_INLINE std::uint32_t number_of(ucx::Tag tag) { return static_cast<std::uint32_t>(tag >> kNumberShift); }
PERIAPT_INLINE int NetWorker::pe_of(ucx::Tag tag) const { return static_cast<int>(tag & kPeMask) - origin_; }

PERIAPT_INLINE NetWorker::Peer& NetWorker::peer_at(int index) {
  const auto at = static_cast<std::size_t>(index);
  if (PERIAPT_UNLIKELY(at >= peers_by_index_.size())) peers_by_index_.resize(at + 1);
  std::unique_ptr<Peer>& peer = peers_by_index_[at];
  if (PERIAPT_UNLIKELY(peer == nullptr)) peer = std::make_unique<Peer>();
  return *peer;
}

// Looking it up reads four tables.
PERIAPT_INLINE NetWorker::Peer& NetWorker::peer_of(int pe) {
  const Receiver& receiver = receivers_[static_cast<unsigned>(pe) % receivers_.size()];
  if (PERIAPT_LIKELY(receiver.pe == pe)) return *receiver.peer;
  return find_peer(pe);
}

PERIAPT_NOINLINE NetWorker::Peer& NetWorker::find_peer(int pe) {
  const bootstrap::HostLayout& layout = config_.job->layout;
  Receiver& receiver = receivers_[static_cast<unsigned>(pe) % receivers_.size()];
  const int known = pe;
  pe += origin_;
  const int process = layout.process_of[static_cast<std::size_t>(pe)];
  const int rank = pe - layout.processes[static_cast<std::size_t>(process)].first_pe;
  const int workers = workers_of(process);
  const int worker = workers == 1 ? 0 : rank % workers;
  Peer& peer = peer_at(peers_.index_of(process, worker));
  if (PERIAPT_UNLIKELY(peer.endpoint == nullptr)) connect(peer, process, worker);
  receiver = {known, &peer};
  return peer;
}

void NetWorker::connect(Peer& peer, int process, int worker) {
  // It may have sent to us before; then this is the endpoint of that connection.
  Result<ucx::Endpoint*> connected = engine_->connect(peers_.addresses_of(process)[static_cast<std::size_t>(worker)]);
  if (!connected) peers_.refuse_to_connect(process, connected.message());
  peer.endpoint = *connected;
}

// ---- the lock

// What was left before goes first.
bool NetWorker::try_lock(host::Port& driver) {
  if (!driving_.try_lock()) return false;
  driver_ = &driver;
  if (PERIAPT_UNLIKELY(outbox_holds_.load(std::memory_order_acquire))) drain();
  return true;
}

// What was left in the outbox since it was looked into goes out, too: it may be long until a PE drives again.
void NetWorker::unlock(host::Port& driver) {
  do {
    driving_.unlock();
  } while (PERIAPT_UNLIKELY(outbox_holds_.load(std::memory_order_acquire)) && try_lock(driver));
}

// Runs leave(), which puts something into the outbox, for the PE that drives.
template <class Leave>
void NetWorker::leave(host::Port& from, Leave&& leave) {
  {
    std::lock_guard<std::mutex> lock(outbox_mutex_);
    leave();
    outbox_holds_.store(true, std::memory_order_release);
  }
  // That PE may have looked into the outbox for the last time just before.
  if (try_lock(from)) unlock(from);
}

void NetWorker::leave(host::Port& from, const PendingSend& pending) {
  platform::hand_over(pending.block);
  leave(from, [&] { outbox_.push_back(pending); });
}

void NetWorker::drain() {
  std::vector<PendingSend> pending;
  std::vector<NetAccess> accesses;
  {
    std::lock_guard<std::mutex> lock(outbox_mutex_);
    pending.swap(outbox_);
    accesses.swap(accesses_);
    outbox_holds_.store(false, std::memory_order_relaxed);
  }
  for (const PendingSend& one : pending) {
    platform::take_over(one.block);
    put(peer_of(one.to), one);
  }
  for (NetAccess& access : accesses) begin(std::move(access));
}

// ---- sending

// Messages wait for credit, or for room. A PE that sends many of them in one entry method takes what others have given
// back meanwhile, so that not all of them have to wait in a queue until it ends. What comes for itself waits in its
// delivery queue.
PERIAPT_INLINE void NetWorker::look_after(const Peer& peer) {
  if (PERIAPT_UNLIKELY(++sent_ % kLookAfter == 0) && peer.endpoint->waiting_messages() != 0) engine_->progress();
}

void NetWorker::send_line(host::Port& from, int to, const void* line, std::size_t bytes) {
  const std::span<const std::byte> wire(static_cast<const std::byte*>(line), bytes);
  const ucx::Tag tag = kLine | to_pe(to);
  if (PERIAPT_UNLIKELY(!try_lock(from))) return leave(from, {to, tag, copy_of(from, wire), bytes});
  Peer& peer = peer_of(to);
  if (PERIAPT_LIKELY(peer.endpoint->active_send_short(ucx::Tag{peer.next} << kNumberShift | tag, wire))) {
    ++peer.next;
  } else {
    put(peer, {to, tag, copy_of(from, wire), bytes});
  }
  look_after(peer);
  unlock(from);
}

void NetWorker::send(host::Port& from, int to, std::uint64_t meta, void* block) {
  const ucx::Tag tag = (meta & kMetaMask) << kMetaShift | to_pe(to);
  const PendingSend pending{to, tag, block, config_.format->block_bytes(block)};
  if (PERIAPT_UNLIKELY(!try_lock(from))) return leave(from, pending);
  Peer& peer = peer_of(to);
  put(peer, pending);
  look_after(peer);
  unlock(from);
}

void NetWorker::put(Peer& peer, const PendingSend& pending) {
  ucx::Buffer block(static_cast<std::byte*>(pending.block), pending.bytes, release, this);
  const ucx::Tag number = peer.next++;
  peer.endpoint->tag_send_owned(std::move(block), number << kNumberShift | pending.tag);
}

void* NetWorker::copy_of(host::Port& from, std::span<const std::byte> line) {
  void* block = from.heap().allocate(line.size());
  std::memcpy(block, line.data(), line.size());
  return block;
}

// ---- one-sided access

Result<std::vector<std::byte>> NetWorker::register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                          std::size_t key_bytes_max, ucx::MemoryKind kind) {
  std::lock_guard<DrivingLock> lock(driving_);
  Result<ucx::MemoryPtr> memory = engine_->register_memory(bytes, kind);
  if (!memory) return memory.status();
  std::vector<std::byte> packed = engine_->pack_key(*memory, key_bytes_max - 1);
  packed.insert(packed.begin(), static_cast<std::byte>(index_));
  memories_[id] = std::move(*memory);
  return packed;
}

void NetWorker::forget_memory(std::uint64_t id) {
  std::lock_guard<DrivingLock> lock(driving_);
  memories_.erase(id);
}

void NetWorker::access(host::Port& from, NetAccess access) {
  if (!try_lock(from)) return leave(from, [&] { accesses_.push_back(std::move(access)); });
  begin(std::move(access));
  unlock(from);
}

// By the worker that the memory is registered with: the first byte of the key.
void NetWorker::begin(NetAccess access) {
  const std::vector<std::byte> key = access.key;
  const int worker = key.empty() ? NetPeers::kWorkersMax : static_cast<int>(key.front());
  if (worker >= workers_of(access.process))
    return access.ended(access.context, Status::failure("these bytes are not a key of memory"), driver_->pe());
  // The first PEs of a process use its workers in turn.
  const bootstrap::Process& there = config_.job->layout.processes[static_cast<std::size_t>(access.process)];
  ucx::Endpoint& endpoint = *peer_of(there.first_pe - origin_ + worker).endpoint;
  begin_access(std::move(access), std::span(key).subspan(1), endpoint, driver_);
}

// ---- receiving

// Blocks go back to whichever heap drives. Without a driver (begin_shutdown()) no heap is ours: the run is over, and
// what is released is left where it lies.
void NetWorker::release(void* self, void* block) {
  if (host::Port* driver = static_cast<NetWorker*>(self)->driver_) driver->heap().release(block);
}

ucx::Buffer NetWorker::in_heap(std::uint64_t size) {
  void* block = driver_ != nullptr ? driver_->heap().allocate(size) : std::malloc(size);
  return ucx::Buffer(static_cast<std::byte*>(block), size, release, this);
}

// What is wrong with a message; nullptr: nothing. Its first bytes are looked at only if they are there.
PERIAPT_INLINE const char* NetWorker::wrong_with_line(std::span<const std::byte> wire) const {
  if (wire.size() < kLineBytesMin || wire.size() > kLineBytesMax) return "it has no length that a line may have";
  if (config_.format->wrong_line == nullptr) return nullptr;
  std::uint64_t meta;
  std::memcpy(&meta, wire.data(), sizeof meta);
  return config_.format->wrong_line(meta, wire.subspan(sizeof meta));
}

const char* NetWorker::wrong_with_block(std::span<const std::byte> wire, ucx::Tag tag) const {
  const WireFormat& format = *config_.format;
  if (wire.size() < format.block_min) return "it is shorter than any message";
  if (format.block_bytes(wire.data()) != wire.size()) return "it says that it has another length";
  return format.wrong_block == nullptr ? nullptr : format.wrong_block(tag >> kMetaShift & kMetaMask, wire.data());
}

PERIAPT_INLINE const char* NetWorker::wrong_with(std::span<const std::byte> wire, ucx::PeerId from,
                                                 ucx::Tag tag) const {
  if (from - 1 >= static_cast<ucx::PeerId>(peers_.processes() * NetPeers::kWorkersMax))
    return "no worker has that number";
  if (!is_ours(pe_of(tag))) return "it is for a PE that is not here";
  return (tag & kLine) != 0 ? wrong_with_line(wire) : wrong_with_block(wire, tag);
}

PERIAPT_COLD void NetWorker::refuse(std::span<const std::byte> wire, ucx::PeerId from, ucx::Tag tag,
                                    const char* wrong) const {
  fatal("a message of " + std::to_string(wire.size()) + " bytes from process " +
            std::to_string(peers_.process_of(from)) + " makes no sense: " + wrong + " (tag " + std::to_string(tag) +
            ")",
        "network", "the processes run different builds of the program", "install the same program on every host");
}

PERIAPT_INLINE void NetWorker::check(std::span<const std::byte> wire, ucx::PeerId from, ucx::Tag tag) const {
  if (const char* const wrong = wrong_with(wire, from, tag); PERIAPT_UNLIKELY(wrong != nullptr))
    refuse(wire, from, tag, wrong);
}

NetWorker::Line NetWorker::line_of(std::span<const std::byte> wire) {
  Line line;
  std::memcpy(&line.meta, wire.data(), sizeof line.meta);
  std::memcpy(line.body, wire.data() + sizeof line.meta, wire.size() - sizeof line.meta);
  return line;
}

// To the PE that drives at once; for another one, into its queue.
PERIAPT_INLINE void NetWorker::deliver(int pe, const Line& line) {
  const bool is_driver = pe == driver_->pe();
  if (PERIAPT_LIKELY(is_driver && sink_.deliver != nullptr))
    return sink_.deliver(sink_.context, line.meta & ~Line::kBlock, line.body);
  DeliveryQueue& queue = queue_of(pe);
  if (void* block = line.block()) platform::hand_over(block);
  {
    std::lock_guard<std::mutex> lock(queue.mutex);
    queue.lines.push_back(line);
    queue.holds.store(true, std::memory_order_release);
  }
  if (!is_driver) driver_->wake(pe);
}

// A line that comes in its turn needs no block: from the transport's memory it goes to its PE.
void NetWorker::on_line(ucx::PeerId from, ucx::Tag tag, std::span<const std::byte> wire) {
  if (PERIAPT_UNLIKELY(driver_ == nullptr)) return;
  tag |= kLine;
  check(wire, from, tag);
  Peer& peer = peer_at(NetPeers::index_of(from));
  if (PERIAPT_UNLIKELY(number_of(tag) != peer.expected))
    return keep_early(peer, from, {tag, copy_of(*driver_, wire), wire.size()});
  ++peer.expected;
  deliver(pe_of(tag), line_of(wire));
  if (PERIAPT_UNLIKELY(!peer.early.empty())) deliver_early(peer);
}

// A block, or a line that could not go at once.
void NetWorker::on_block(ucx::Buffer message, const ucx::Received& received) {
  if (PERIAPT_UNLIKELY(driver_ == nullptr)) return;
  const ucx::Tag tag = received.tag;
  if (PERIAPT_UNLIKELY(received.outcome != ucx::Outcome::ok))
    refuse(message.bytes(), received.from, tag, ucx::describe(received.outcome));
  check(message.bytes(), received.from, tag);
  Peer& peer = peer_at(NetPeers::index_of(received.from));
  const std::size_t bytes = message.size();
  const Early block{tag, message.detach(), bytes};
  if (PERIAPT_UNLIKELY(number_of(tag) != peer.expected)) return keep_early(peer, received.from, block);
  ++peer.expected;
  deliver(block);
  if (PERIAPT_UNLIKELY(!peer.early.empty())) deliver_early(peer);
}

void NetWorker::keep_early(Peer& peer, ucx::PeerId from, const Early& message) {
  const std::uint32_t number = number_of(message.tag);
  const bool is_behind = static_cast<std::int32_t>(number - peer.expected) < 0;
  if (is_behind || !peer.early.emplace(number, message).second)
    refuse({static_cast<const std::byte*>(message.block), message.bytes}, from, message.tag,
           "one with its number has come before");
}

void NetWorker::deliver_early(Peer& peer) {
  while (!peer.early.empty()) {
    auto next = peer.early.find(peer.expected);
    if (next == peer.early.end()) return;
    deliver(next->second);
    peer.early.erase(next);
    ++peer.expected;
  }
}

void NetWorker::deliver(const Early& message) {
  const int pe = pe_of(message.tag);
  if ((message.tag & kLine) != 0) {
    deliver(pe, line_of({static_cast<const std::byte*>(message.block), message.bytes}));
    return release(this, message.block);
  }
  Line line;
  line.meta = Line::kBlock | (message.tag >> kMetaShift & kMetaMask);
  std::memcpy(line.body, &message.block, sizeof message.block);
  deliver(pe, line);
}

// What waits in the queue of the PE that calls.
bool NetWorker::take_queued(int pe, Sink sink) {
  DeliveryQueue& queue = queue_of(pe);
  if (PERIAPT_LIKELY(!queue.holds.load(std::memory_order_acquire))) return false;
  {
    std::lock_guard<std::mutex> lock(queue.mutex);
    queue.taken.swap(queue.lines);
    queue.holds.store(false, std::memory_order_relaxed);
  }
  for (const Line& line : queue.taken) {
    if (void* block = line.block()) platform::take_over(block);
    sink.deliver(sink.context, line.meta & ~Line::kBlock, line.body);
  }
  queue.taken.clear();
  return true;
}

// ---- driving

// Another process has ended the run.
PERIAPT_COLD void NetWorker::end_with(int process) {
  if (!std::exchange(endpoints_closed_, true))
    close_endpoints();  // of processes that are connected with us, and not with that one
  config_.ended(process);
}

// The worker that is to be driven beside this one; null: none, this time.
PERIAPT_INLINE NetWorker* NetWorker::another() {
  if (PERIAPT_LIKELY(++turns_ % kOthersEvery != 0)) return nullptr;
  other_ = (other_ + 1) % all_.size();
  return all_[other_].get() == this ? nullptr : all_[other_].get();
}

bool NetWorker::progress(host::Port& driver, host::Deliver deliver, void* context) {
  const Sink sink{deliver, context};
  const bool is_own = deliver != nullptr;
  if (!try_lock(driver)) {
    host::Port::relax();  // a PE that waits here looks at no network between its tries
    return is_own && take_queued(driver.pe(), sink);
  }
  if (PERIAPT_UNLIKELY(armed_) && sleepers_.load(std::memory_order_acquire) == 0) {
    armed_ = false;
    engine_->disarm();
  }
  // No other PE adds to the queue while we drive: what comes now is younger.
  bool moved = is_own && take_queued(driver.pe(), sink);
  sink_ = sink;
  if (engine_->progress() > 0) moved = true;
  sink_ = {};
  if (const int process = peers_.ended_by(); PERIAPT_UNLIKELY(process >= 0)) end_with(process);
  NetWorker* const other = is_own ? another() : nullptr;
  unlock(driver);
  if (PERIAPT_UNLIKELY(other != nullptr) && other->drive(driver)) moved = true;
  return moved;
}

bool NetWorker::arm(host::Port& driver) {
  std::lock_guard<DrivingLock> lock(driving_);
  driver_ = &driver;  // writing out what is due gives blocks back
  if (outbox_holds_.load(std::memory_order_acquire)) return false;
  armed_ = true;
  return engine_->arm();
}

// ---- leaving

void NetWorker::close_endpoints() {
  for (int index = 0; index < peers_.processes() * NetPeers::kWorkersMax; ++index) {
    if (ucx::Endpoint* peer = engine_->endpoint(NetPeers::id_of(index))) static_cast<void>(peer->close(true));
  }
}

bool NetWorker::begin_shutdown() {
  if (shutting_down_) return true;
  if (!driving_.try_lock()) return false;
  shutting_down_ = true;
  driver_ = nullptr;
  close_endpoints();
  return true;
}

void NetWorker::progress_shutdown() {
  if (shutting_down_) engine_->progress();
}

void NetWorker::end_shutdown() {
  if (!std::exchange(shutting_down_, false)) return;
  driving_.unlock();
}

}  // namespace periapt::machine
