#include "machine/layer/net_worker.h"

#include <cstdlib>

#include "base/fatal.h"

namespace periapt::machine {
namespace {

// A tag: 24 bits of PE, 8 of meta, 32 of number.
constexpr int kMetaShift = 24;
constexpr int kNumberShift = 32;
constexpr ucx::Tag kPeMask = (ucx::Tag{1} << kMetaShift) - 1;
constexpr ucx::Tag kMetaMask = 0xff;

// A PE looks so often whether what it sends has to wait.
constexpr std::uint32_t kLookAfter = 32;

}  // namespace

NetWorker::NetWorker(const NetPlace& place, NetPeers& peers, int index, int count, const std::atomic<int>& sleepers)
    : place_(place),
      peers_(peers),
      index_(index),
      count_(count),
      first_pe_(place.own().first_pe),
      pes_(place.own().pes),
      sleepers_(sleepers),
      workers_of_(static_cast<std::size_t>(peers.processes())),
      ways_(static_cast<std::size_t>(peers.processes())),
      sequences_(static_cast<std::size_t>(peers.processes())) {
  for (int pe = index; pe < pes_; pe += count) trays_.push_back(std::make_unique<Tray>());
}

Result<std::unique_ptr<NetWorker>> NetWorker::open(const NetPlace& place, NetPeers& peers, ucx::Context& context,
                                                   int index, int count, const std::atomic<int>& sleepers) {
  if (place.job->layout.pes > static_cast<int>(kPeMask))
    return Status::failure("a run over several hosts has at most 16777215 PEs");
  std::unique_ptr<NetWorker> worker(new NetWorker(place, peers, index, count, sleepers));
  Status started = worker->start(context);
  if (!started) return started;
  return worker;
}

Status NetWorker::start(ucx::Context& context) {
  Result<std::unique_ptr<ucx::Worker>> engine =
      ucx::Worker::create(context, NetPeers::id_of(peers_.index_of(place_.job->process, index_)));
  if (!engine) return engine.status();
  engine_ = std::move(*engine);
  ucx::Standing standing;
  standing.tag = 0;
  standing.mask = 0;  // everything
  standing.context = this;
  standing.allocate = [](void* self, std::uint64_t size) { return static_cast<NetWorker*>(self)->in_heap(size); };
  standing.arrived = [](void* self, ucx::Buffer message, const ucx::Received& received) {
    static_cast<NetWorker*>(self)->on_arrived(std::move(message), received);
  };
  engine_->tag_serve(standing);
  engine_->on_peer_lost([this](ucx::PeerId peer, const std::string& reason) { peers_.lost(peer, reason); });
  engine_->on_peer_parted([this](ucx::PeerId peer, const std::string&) { peers_.parted(peer); });
  return {};
}

// ---- the other side

int NetWorker::workers_of(int process) {
  int& known = workers_of_[static_cast<std::size_t>(process)];
  if (PERIAPT_UNLIKELY(known == 0)) known = static_cast<int>(peers_.addresses_of(process).size());
  return known;
}

NetWorker::Way& NetWorker::way_to(int process, int worker) {
  const auto index = static_cast<std::size_t>(peers_.index_of(process, worker));
  if (PERIAPT_UNLIKELY(index >= ways_.size())) ways_.resize(index + 1);
  Way& way = ways_[index];
  if (PERIAPT_LIKELY(way.endpoint != nullptr)) return way;
  // It may have sent to us before; then this is the endpoint of that connection.
  Result<ucx::Endpoint*> connected = engine_->connect(peers_.addresses_of(process)[static_cast<std::size_t>(worker)]);
  if (!connected) fatal("process " + std::to_string(process) + " cannot be reached: " + connected.message(), "network");
  way.endpoint = *connected;
  return way;
}

NetWorker::Way& NetWorker::way_to(int pe) {
  const bootstrap::HostLayout& layout = place_.job->layout;
  const int process = layout.process_of[static_cast<std::size_t>(pe)];
  const int workers = workers_of(process);
  const int rank = pe - layout.processes[static_cast<std::size_t>(process)].first_pe;
  return way_to(process, workers == 1 ? 0 : rank % workers);
}

// ---- sending

void NetWorker::put(const Parcel& parcel) {
  ucx::Buffer block(static_cast<std::byte*>(parcel.block), place_.block_bytes->of(parcel.block), release, this);
  Way& way = way_to(parcel.to);
  const ucx::Tag number = way.next++;
  way.endpoint->tag_send_owned(std::move(block), number << kNumberShift | (parcel.meta & kMetaMask) << kMetaShift |
                                                     static_cast<ucx::Tag>(parcel.to));
}

void NetWorker::drain() {
  if (PERIAPT_LIKELY(!outbox_holds_.load(std::memory_order_acquire))) return;
  std::vector<Parcel> parcels;
  std::vector<NetAccess> accesses;
  {
    std::lock_guard<std::mutex> lock(outbox_mutex_);
    parcels.swap(outbox_);
    accesses.swap(accesses_);
    outbox_holds_.store(false, std::memory_order_relaxed);
  }
  for (const Parcel& parcel : parcels) {
    platform::take_over(parcel.block);
    put(parcel);
  }
  for (NetAccess& access : accesses) begin(std::move(access));
}

bool NetWorker::take_wheel(host::Port& driver) {
  if (!driving_.try_lock()) return false;
  driver_ = &driver;
  return true;
}

// What was left in the outbox since it was looked into goes out, too: nobody may drive for long.
void NetWorker::leave_wheel(host::Port& driver) {
  driving_.unlock();
  while (PERIAPT_UNLIKELY(outbox_holds_.load(std::memory_order_acquire)) && take_wheel(driver)) {
    drain();
    driving_.unlock();
  }
}

// act() with the engine in hand; or leave() in the outbox, for whoever has it.
template <class Leave, class Act>
void NetWorker::use(host::Port& from, Leave&& leave, Act&& act) {
  if (PERIAPT_LIKELY(take_wheel(from))) {
    drain();  // what was left before goes first
    act();
    return leave_wheel(from);
  }
  {
    std::lock_guard<std::mutex> lock(outbox_mutex_);
    leave();
    outbox_holds_.store(true, std::memory_order_release);
  }
  // Whoever drives may have looked into the outbox for the last time just before.
  if (take_wheel(from)) leave_wheel(from);
}

void NetWorker::send(host::Port& from, int to, std::uint64_t meta, void* block) {
  use(
      from,
      [&] {
        platform::hand_over(block);
        outbox_.push_back({to, meta, block});
      },
      [&] {
        put({to, meta, block});
        if (PERIAPT_UNLIKELY(++sent_ % kLookAfter == 0) && way_to(to).endpoint->waiting_messages() != 0) catch_up(from);
      });
}

// Messages wait for credit, or for room. Whoever sends many of them in one entry method takes what others have given
// back meanwhile, so that not all of them have to wait in a queue until it ends.
void NetWorker::catch_up(host::Port& from) {
  take_from_others(tray_of(from.pe()));  // as before each progress() of a PE of ours
  engine_->progress();
}

// ---- one-sided access

Result<std::vector<std::byte>> NetWorker::register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                          std::size_t key_bytes_max) {
  std::lock_guard<DrivingLock> lock(driving_);
  Result<ucx::MemoryPtr> memory = engine_->register_memory(bytes);
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
  use(
      from, [&] { accesses_.push_back(std::move(access)); }, [&] { begin(std::move(access)); });
}

// By the worker that the memory is registered with: the first byte of the key.
void NetWorker::begin(NetAccess access) {
  const std::vector<std::byte> key = access.key;
  const int worker = key.empty() ? NetPeers::kWorkersMax : static_cast<int>(key.front());
  if (worker >= workers_of(access.process))
    return access.ended(access.context, Status::failure("these bytes are not a key of memory"), driver_->pe());
  ucx::Endpoint& endpoint = *way_to(access.process, worker).endpoint;
  begin_access(std::move(access), std::span(key).subspan(1), endpoint, driver_);
}

// ---- receiving

// Blocks go back to whichever heap drives. Without a driver (begin_farewell()) no heap is ours: the run is over, and
// what is released is left where it lies.
void NetWorker::release(void* self, void* block) {
  if (host::Port* driver = static_cast<NetWorker*>(self)->driver_) driver->heap().release(block);
}

ucx::Buffer NetWorker::in_heap(std::uint64_t size) {
  void* block = driver_ != nullptr ? driver_->heap().allocate(size) : std::malloc(size);
  return ucx::Buffer(static_cast<std::byte*>(block), size, release, this);
}

// What is wrong with a message; nullptr: nothing. Its first bytes are looked at only if they are there.
PERIAPT_INLINE const char* NetWorker::wrong_with(const ucx::Buffer& message, const ucx::Received& received) const {
  if (received.outcome != ucx::Outcome::ok) return ucx::describe(received.outcome);
  if (NetPeers::index_of(received.from) >= peers_.processes() * NetPeers::kWorkersMax) return "nobody has that number";
  if (!is_ours(static_cast<int>(received.tag & kPeMask))) return "it is for a PE that is not here";
  if (message.size() < place_.block_bytes->least) return "it is shorter than any message";
  if (place_.block_bytes->of(message.data()) != message.size()) return "it says that it has another length";
  return nullptr;
}

void NetWorker::on_arrived(ucx::Buffer message, const ucx::Received& received) {
  if (PERIAPT_UNLIKELY(driver_ == nullptr)) return;
  if (const char* wrong = wrong_with(message, received); PERIAPT_UNLIKELY(wrong != nullptr)) {
    fatal("a message of " + std::to_string(message.size()) + " bytes from process " +
              std::to_string(peers_.process_of(received.from)) + " makes no sense: " + wrong + " (tag " +
              std::to_string(received.tag) + ")",
          "network", "the processes run different builds of the program", "install the same program on every host");
  }
  const auto index = static_cast<std::size_t>(NetPeers::index_of(received.from));
  if (PERIAPT_UNLIKELY(index >= sequences_.size())) sequences_.resize(index + 1);
  Sequence& sequence = sequences_[index];
  const auto number = static_cast<std::uint32_t>(received.tag >> kNumberShift);
  if (PERIAPT_UNLIKELY(number != sequence.expected)) {
    sequence.early.emplace(number, std::make_pair(received.tag, message.detach()));
    return;
  }
  hand_over(received.tag, message.detach());
  ++sequence.expected;
  while (PERIAPT_UNLIKELY(!sequence.early.empty())) {
    auto next = sequence.early.find(sequence.expected);
    if (next == sequence.early.end()) return;
    hand_over(next->second.first, next->second.second);
    sequence.early.erase(next);
    ++sequence.expected;
  }
}

void NetWorker::hand_over(ucx::Tag tag, void* block) {
  const int pe = static_cast<int>(tag & kPeMask);
  const Arrived arrived{tag >> kMetaShift & kMetaMask, block};
  Tray& tray = tray_of(pe);
  if (PERIAPT_LIKELY(pe == driver_->pe())) return tray.own.push_back(arrived);
  platform::hand_over(block);
  {
    std::lock_guard<std::mutex> lock(tray.mutex);
    tray.blocks.push_back(arrived);
    tray.holds.store(true, std::memory_order_release);
  }
  driver_->wake(pe);
}

void NetWorker::take_from_others(Tray& tray) {
  if (PERIAPT_LIKELY(!tray.holds.load(std::memory_order_acquire))) return;
  const std::size_t before = tray.own.size();
  {
    std::lock_guard<std::mutex> lock(tray.mutex);
    tray.own.insert(tray.own.end(), tray.blocks.begin(), tray.blocks.end());
    tray.blocks.clear();
    tray.holds.store(false, std::memory_order_relaxed);
  }
  for (std::size_t i = before; i < tray.own.size(); ++i) platform::take_over(tray.own[i].block);
}

// ---- driving

bool NetWorker::turn() {
  drain();
  if (PERIAPT_UNLIKELY(armed_) && sleepers_.load(std::memory_order_acquire) == 0) {
    armed_ = false;
    engine_->disarm();
  }
  const bool moved = engine_->progress() > 0;
  if (PERIAPT_UNLIKELY(peers_.ended_by() >= 0)) {
    if (!std::exchange(said_farewell_, true)) say_farewell();  // who is connected with us, and not with that one
    place_.ended(peers_.ended_by());
  }
  return moved;
}

bool NetWorker::drive(host::Port& driver) {
  if (!take_wheel(driver)) return false;
  const bool moved = turn();
  leave_wheel(driver);
  return moved;
}

bool NetWorker::drive_for(host::Port& driver, Deliver deliver, void* context) {
  Tray& tray = tray_of(driver.pe());
  bool moved = false;
  if (take_wheel(driver)) {
    take_from_others(tray);  // nobody adds to it while we drive, so what comes now is younger
    moved = turn();
    leave_wheel(driver);
  } else {
    host::Port::relax();  // whoever waits here has no look at a network between its own
    take_from_others(tray);
  }
  if (PERIAPT_LIKELY(tray.own.empty())) return moved;
  // What is delivered may send, but not drive; in another vector all the same, for it costs nothing.
  std::vector<Arrived> blocks;
  blocks.swap(tray.own);
  for (const Arrived& arrived : blocks) deliver(context, arrived.meta, arrived.block);
  if (tray.own.empty()) {
    blocks.clear();
    blocks.swap(tray.own);  // keeps its memory
  }
  return true;
}

bool NetWorker::arm(host::Port& driver) {
  std::lock_guard<DrivingLock> lock(driving_);
  driver_ = &driver;  // writing out what is due gives blocks back
  if (outbox_holds_.load(std::memory_order_acquire)) return false;
  armed_ = true;
  return engine_->arm();
}

// ---- leaving

void NetWorker::say_farewell() {
  for (int index = 0; index < peers_.processes() * NetPeers::kWorkersMax; ++index) {
    if (ucx::Endpoint* peer = engine_->endpoint(NetPeers::id_of(index))) static_cast<void>(peer->close(true));
  }
}

bool NetWorker::begin_farewell() {
  if (farewell_) return true;
  if (!driving_.try_lock()) return false;
  farewell_ = true;
  driver_ = nullptr;
  say_farewell();
  return true;
}

void NetWorker::go_on_with_farewell() {
  if (farewell_) engine_->progress();
}

void NetWorker::end_farewell() {
  if (!std::exchange(farewell_, false)) return;
  driving_.unlock();
}

}  // namespace periapt::machine
