#include "machine/layer/net.h"

#include <time.h>

#include <cstring>
#include <utility>

#include "base/fatal.h"
#include "machine/layer/transports.h"

namespace periapt::machine {
namespace {

// A tag: 24 bits of PE, 8 of meta, 32 of number.
constexpr int kMetaShift = 24;
constexpr int kNumberShift = 32;
constexpr ucx::Tag kPeMask = (ucx::Tag{1} << kMetaShift) - 1;
constexpr ucx::Tag kMetaMask = 0xff;
constexpr const char* kAddressName = "net";

// The engine's PeerId of a process: 0 is nobody.
ucx::PeerId peer_of(int process) { return static_cast<ucx::PeerId>(process) + 1; }
int process_of(ucx::PeerId peer) { return static_cast<int>(peer) - 1; }

ucx::ContextRequest request_of(const NetWishes& wishes) {
  ucx::ContextRequest request;
  request.factories = wishes.transports;
  request.transports = wishes.wanted;
  request.option = wishes.option;
  request.limits = wishes.limits;
  return request;
}

}  // namespace

Status Net::check(const NetWishes& wishes) { return ucx::check_request(request_of(wishes)); }

Result<NetWishes> wishes_of(const NetOptions& options) {
  NetWishes wishes;
  wishes.wanted = options.transports;
  wishes.limits = options.limits;
  wishes.option = [others = options.others](const std::string& name) {
    auto found = others.find(name);
    return found == others.end() ? std::string() : found->second;
  };
  auto known = transports_with(wishes.option("+transport-path"));
  if (!known) return known.status();
  wishes.transports = std::move(*known);
  Status sensible = Net::check(wishes);
  if (!sensible) return sensible;
  return wishes;
}

Result<std::unique_ptr<Net>> Net::open(const NetPlace& place) {
  std::unique_ptr<Net> net(new Net(place));
  Status started = net->start();
  if (!started) return started;
  return net;
}

Status Net::start() {
  const bootstrap::HostLayout& layout = place_.job->layout;
  first_pe_ = layout.processes[static_cast<std::size_t>(place_.job->process)].first_pe;
  endpoints_.resize(layout.processes.size());
  numbers_.resize(layout.processes.size());
  sequences_.resize(layout.processes.size());
  for (int i = 0; i < layout.processes[static_cast<std::size_t>(place_.job->process)].pes; ++i)
    trays_.push_back(std::make_unique<Tray>());
  if (layout.pes > static_cast<int>(kPeMask))
    return Status::failure("a run over several hosts has at most 16777215 PEs");

  ucx::ContextRequest request = request_of(place_.wishes);
  request.self = peer_of(place_.job->process);
  // The real one, also when its processes are to count as hosts of their own.
  const int rank = place_.world->rank();
  request.host = place_.world->job() + "/" + std::to_string(place_.world->host_of()[static_cast<std::size_t>(rank)]);
  const std::string& secret = place_.world->secret();
  request.secret.resize(secret.size());
  std::memcpy(request.secret.data(), secret.data(), secret.size());
  Result<std::unique_ptr<ucx::Context>> context = ucx::Context::create(std::move(request));
  if (!context) return context.status();
  context_ = std::move(*context);
  Result<std::unique_ptr<ucx::Worker>> worker = ucx::Worker::create(*context_);
  if (!worker) return worker.status();
  worker_ = std::move(*worker);

  ucx::Standing standing;
  standing.tag = 0;
  standing.mask = 0;  // everything
  standing.context = this;
  standing.allocate = [](void* self, std::uint64_t size) { return static_cast<Net*>(self)->in_heap(size); };
  standing.arrived = [](void* self, ucx::Buffer message, const ucx::Received& received) {
    static_cast<Net*>(self)->on_arrived(std::move(message), received);
  };
  worker_->tag_serve(standing);
  worker_->on_peer_lost([this](ucx::PeerId peer, const std::string& reason) { place_.lost(process_of(peer), reason); });

  worker_->on_peer_parted([this](ucx::PeerId peer, const std::string&) {
    if (ended_by_ < 0) ended_by_ = process_of(peer);
  });

  const std::vector<std::byte> address = worker_->address();
  return place_.world->put(kAddressName, std::string(reinterpret_cast<const char*>(address.data()), address.size()));
}

Net::~Net() = default;

shm::Port& Net::port_of(int pe) const { return *ports_[static_cast<std::size_t>(pe - first_pe_)]; }

// ---- sending

ucx::Endpoint& Net::endpoint_to(int process) {
  ucx::Endpoint*& endpoint = endpoints_[static_cast<std::size_t>(process)];
  if (endpoint != nullptr) return *endpoint;
  // It may have sent to us before; then this is the endpoint of that connection.
  const int member = place_.job->member_of[static_cast<std::size_t>(process)];
  Result<std::string> address = place_.world->get(member, kAddressName);
  if (!address) fatal("process " + std::to_string(process) + " cannot be reached: " + address.message(), "network");
  Result<ucx::Endpoint*> connected =
      worker_->connect({reinterpret_cast<const std::byte*>(address->data()), address->size()});
  if (!connected) fatal("process " + std::to_string(process) + " cannot be reached: " + connected.message(), "network");
  endpoint = *connected;
  return *endpoint;
}

// The engine is ours. The block goes back to whichever heap drives when it has been sent.
void Net::put(const Parcel& parcel) {
  const std::size_t size = place_.block_bytes(parcel.bytes);
  ucx::Buffer block(
      static_cast<std::byte*>(parcel.bytes), size,
      [](void* self, void* bytes) { static_cast<Net*>(self)->driver_->heap().release(bytes); }, this);
  const int process = place_.job->layout.process_of[static_cast<std::size_t>(parcel.to)];
  const ucx::Tag number = numbers_[static_cast<std::size_t>(process)]++;
  endpoint_to(process).tag_send_owned(std::move(block), number << kNumberShift |
                                                            (parcel.meta & kMetaMask) << kMetaShift |
                                                            static_cast<ucx::Tag>(parcel.to));
}

void Net::drain() {
  if (!outbox_holds_.load(std::memory_order_acquire)) return;
  std::vector<Parcel> parcels;
  std::vector<Access> accesses;
  {
    std::lock_guard<std::mutex> lock(outbox_mutex_);
    parcels.swap(outbox_);
    accesses.swap(accesses_);
    outbox_holds_.store(false, std::memory_order_relaxed);
  }
  for (const Parcel& parcel : parcels) {
    platform::take_over(parcel.bytes);
    put(parcel);
  }
  for (Access& access : accesses) begin(std::move(access));
}

// act() with the engine in hand; or leave() in the outbox, for whoever has it.
template <class Leave, class Act>
void Net::use_engine(int from, Leave&& leave, Act&& act) {
  if (driving_.try_lock()) {
    driver_ = &port_of(from);
    drain();  // what was left before goes first
    act();
  } else {
    {
      std::lock_guard<std::mutex> lock(outbox_mutex_);
      leave();
      outbox_holds_.store(true, std::memory_order_release);
    }
    // Whoever drives may have looked into the outbox for the last time just before.
    if (!driving_.try_lock()) return;
    driver_ = &port_of(from);
    drain();
  }
  driver_ = nullptr;
  driving_.unlock();
}

void Net::send(int from, int to, std::uint64_t meta, void* bytes) {
  use_engine(
      from,
      [&] {
        platform::hand_over(bytes);
        outbox_.push_back({to, meta, bytes});
      },
      [&] {
        put({to, meta, bytes});
      });
}

// ---- one-sided access

Result<std::vector<std::byte>> Net::register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                    std::size_t key_bytes_max) {
  std::lock_guard<std::mutex> lock(driving_);  // held for moments only
  Result<ucx::MemoryPtr> memory = worker_->register_memory(bytes);
  if (!memory) return memory.status();
  std::vector<std::byte> packed = worker_->pack_key(*memory, key_bytes_max);
  memories_[id] = std::move(*memory);
  return packed;
}

void Net::forget_memory(std::uint64_t id) {
  std::lock_guard<std::mutex> lock(driving_);
  memories_.erase(id);
}

void Net::access(int from, Access access) {
  use_engine(
      from, [&] { accesses_.push_back(std::move(access)); }, [&] { begin(std::move(access)); });
}

void Net::Running::end(Status status) {
  access.ended(access.context, std::move(status), net->driver_->pe());
  delete this;
}

void Net::begin(Access access) {
  auto* running = new Running{this, std::move(access), nullptr, nullptr};
  running->endpoint = &endpoint_to(running->access.process);
  Result<ucx::RkeyPtr> key = running->endpoint->unpack(running->access.key);
  if (!key) return running->end(key.status());
  running->key = std::move(*key);
  const Access& asked = running->access;
  ucx::RequestPtr request = asked.is_put
                                ? running->endpoint->put(asked.local, asked.remote, running->key, moved, running)
                                : running->endpoint->get(asked.local, asked.remote, running->key, moved, running);
  if (request == nullptr) moved(running, ucx::Outcome::ok);
}

void Net::moved(void* context, ucx::Outcome outcome) {
  auto* running = static_cast<Running*>(context);
  if (!running->access.is_put || outcome != ucx::Outcome::ok) return complete(running, outcome);
  // Of a put this says only that our bytes were read.
  if (running->endpoint->flush(complete, running) == nullptr) complete(running, ucx::Outcome::ok);
}

void Net::complete(void* context, ucx::Outcome outcome) {
  auto* running = static_cast<Running*>(context);
  const std::string peer = "process " + std::to_string(running->access.process);
  switch (outcome) {
    case ucx::Outcome::ok:
      return running->end(Status());
    case ucx::Outcome::bad_key:
      return running->end(Status::failure("that memory of " + peer + " is not registered (any more)"));
    case ucx::Outcome::peer_lost:
      return running->end(Status::failure(peer + " has gone: " + running->endpoint->failure()));
    default:
      return running->end(Status::failure(std::string("access to memory of ") + peer + ": " + ucx::describe(outcome)));
  }
}

// ---- receiving

ucx::Buffer Net::in_heap(std::uint64_t size) {
  return ucx::Buffer(
      static_cast<std::byte*>(driver_->heap().allocate(size)), size,
      [](void* self, void* bytes) { static_cast<Net*>(self)->driver_->heap().release(bytes); }, this);
}

void Net::on_arrived(ucx::Buffer message, const ucx::Received& received) {
  const int pe = static_cast<int>(received.tag & kPeMask);
  const int process = process_of(received.from);
  const bool ours = pe >= first_pe_ && pe < first_pe_ + static_cast<int>(ports_.size());
  if (received.outcome != ucx::Outcome::ok || !ours || process < 0 || process >= static_cast<int>(sequences_.size()) ||
      place_.block_bytes(message.data()) != message.size()) {
    fatal("a message of " + std::to_string(message.size()) + " bytes from process " + std::to_string(process) +
              " makes no sense (tag " + std::to_string(received.tag) + ")",
          "network", "the processes run different builds of the program", "install the same program on every host");
  }
  Sequence& sequence = sequences_[static_cast<std::size_t>(process)];
  const auto number = static_cast<std::uint32_t>(received.tag >> kNumberShift);
  if (number != sequence.expected) {
    sequence.early.emplace(number, std::make_pair(received.tag, message.detach()));
    return;
  }
  hand_over(received.tag, message.detach());
  ++sequence.expected;
  for (auto next = sequence.early.find(sequence.expected); next != sequence.early.end();
       next = sequence.early.find(sequence.expected)) {
    hand_over(next->second.first, next->second.second);
    sequence.early.erase(next);
    ++sequence.expected;
  }
}

void Net::hand_over(ucx::Tag tag, void* block) {
  const int pe = static_cast<int>(tag & kPeMask);
  Tray& tray = *trays_[static_cast<std::size_t>(pe - first_pe_)];
  platform::hand_over(block);
  {
    std::lock_guard<std::mutex> lock(tray.mutex);
    tray.blocks.push_back({tag >> kMetaShift & kMetaMask, block});
    tray.holds.store(true, std::memory_order_release);
  }
  if (pe != driver_->pe()) driver_->wake(pe);
}

bool Net::empty_tray(int pe, Deliver deliver, void* context) {
  Tray& tray = *trays_[static_cast<std::size_t>(pe - first_pe_)];
  if (!tray.holds.load(std::memory_order_acquire)) return false;
  std::vector<Arrived> blocks;
  {
    std::lock_guard<std::mutex> lock(tray.mutex);
    blocks.swap(tray.blocks);
    tray.holds.store(false, std::memory_order_relaxed);
  }
  for (const Arrived& arrived : blocks) {
    platform::take_over(arrived.block);
    deliver(context, arrived.meta, arrived.block);
  }
  return !blocks.empty();
}

bool Net::progress(int pe, Deliver deliver, void* context) {
  bool moved = false;
  if (driving_.try_lock()) {
    driver_ = &port_of(pe);
    drain();
    moved = worker_->progress() > 0;
    if (PERIAPT_UNLIKELY(ended_by_ >= 0)) {
      say_farewell();  // who is connected with us, and not with that one
      place_.ended(ended_by_);
    }
    driver_ = nullptr;
    driving_.unlock();
  }
  return empty_tray(pe, deliver, context) || moved;
}

void Net::say_farewell() {
  for (std::size_t process = 0; process < endpoints_.size(); ++process) {
    if (ucx::Endpoint* peer = worker_->endpoint(peer_of(static_cast<int>(process))))
      static_cast<void>(peer->close(true));
  }
}

void Net::part() {
  constexpr int kTries = 100, kTurns = 20;
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (!driving_.try_lock()) {
      ::nanosleep(&kPause, nullptr);
      continue;
    }
    driver_ = ports_.front();
    say_farewell();
    // What they still send is read, or the kernel would throw our farewell away.
    for (int turn = 0; turn < kTurns; ++turn) {
      worker_->progress();
      ::nanosleep(&kPause, nullptr);
    }
    driver_ = nullptr;
    return driving_.unlock();
  }
}

bool Net::arm(int pe) {
  if (trays_[static_cast<std::size_t>(pe - first_pe_)]->holds.load(std::memory_order_acquire)) return false;
  std::lock_guard<std::mutex> lock(driving_);  // held for moments only
  driver_ = &port_of(pe);                      // writing out what is due gives blocks back
  const bool armed = !outbox_holds_.load(std::memory_order_acquire) && worker_->arm();
  driver_ = nullptr;
  return armed;
}

}  // namespace periapt::machine
