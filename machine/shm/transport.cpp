#include "machine/shm/transport.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/secret.h"
#include "machine/host/membarrier.h"
#include "machine/shm/pair.h"

namespace periapt::shm {
namespace {

using ucx::Device;
using ucx::Link;
using ucx::MemoryHandle;
using ucx::MemoryKind;
using ucx::OpenRequest;
using ucx::PeerId;
using ucx::RemoteKey;
using ucx::Transport;

// Between two looks at empty channels: a message that is written meanwhile is then found in one transaction of the
// caches instead of two, because the writer needn't take the line away from us first.
constexpr std::uint64_t kLookGapNs = 40;
// The same where the last look brought bulk: its writer is at work for longer, and pays for each look meanwhile.
constexpr std::uint64_t kBulkLookGapNs = 70;
// Between two looks at the sockets, while nothing else wants it.
constexpr std::uint64_t kServeGapNs = 50'000;
constexpr std::uint32_t kServeEvery = 1024;
// From here on both sides copy; below, a stream is as fast and needs no answer.
constexpr std::uint64_t kTransferMin = 32 << 10;

struct PackedKey {
  static constexpr std::uint64_t kMagic = 0x31'79'65'6B'6D'68'73;
  std::uint64_t magic = kMagic;
  std::uint64_t id = 0;
};
static_assert(sizeof(PackedKey) <= 128, "the contract's bound");

ucx::Capabilities capabilities() {
  ucx::Capabilities can;
  can.reach = ucx::Reach::same_host;
  can.max_header = ucx::kHeaderBytes;
  can.max_inline = Pair::kInlineMost;
  can.max_lent = can.max_put = can.max_get = ~std::size_t{0};
  can.max_direct_put = Pair::kPutAtOnce;
  can.max_direct_get = Pair::kAtOnce;
  can.atomics = true;
  can.passes_ownership = true;
  can.put_ordered = true;
  return can;
}

ucx::Costs costs() {
  ucx::Costs costs;
  costs.overhead_ns = 20;
  costs.latency_ns = 150;
  costs.lending_ns = 1000;  // up to kInlineMost that is a copy, too
  costs.asking_ns = 5000;   // 32 to 64 KB take 2.5 to 5.5 us less when the two transports agree on a place
  costs.bytes_per_ns = 15;
  costs.copy_bytes_per_ns = 12;
  return costs;
}

constexpr char kNoFiles[] = "the files of its memory cannot be taken: too many are open here; more by: ulimit -n 65536";

// on, off or nothing; anything else is named.
Status read_switch(const char* name, const std::string& text, bool& value) {
  if (text.empty()) return {};
  if (text != "on" && text != "off") {
    return Status::failure(std::string(name) + " " + text + " is not understood; say " + name + " on or " + name +
                           " off");
  }
  value = text == "on";
  return {};
}

template <const char* name>
Status check_switch(const std::string& text) {
  bool value = true;
  return read_switch(name, text, value);
}
constexpr char kCopying[] = "+shm-cma", kDirect[] = "+shm-direct", kNotCopying[] = "+noCMAForZC";
constexpr ucx::TransportOption kOptions[] = {
    {kCopying + 1, "on|off", "whether processes of one host copy from each other by the kernel",
     check_switch<kCopying>},
    {kDirect + 1, "on|off", "whether workers of one process use each other's memory directly", check_switch<kDirect>},
    {kNotCopying + 1, nullptr, "what Charm++ calls +shm-cma off"},
};

class ShmTransport final : public ucx::TransportBase {
 public:
  static Result<std::unique_ptr<Transport>> open(const Device& device, const OpenRequest& request);
  ~ShmTransport() override;

  std::vector<std::byte> address() const override;
  bool reaches(std::span<const std::byte> address) const override;
  Result<Link*> connect(PeerId peer, std::span<const std::byte> address) override;
  void close(Link& link) override;

  ucx::Accepted send_inline(Link& link, Header header, std::span<const std::byte> payload) override {
    return pair_of(link).send_inline(header, payload);
  }
  ucx::Accepted send_lent(Link& link, Header header, std::span<const std::byte> payload, Completion& done) override {
    return pair_of(link).send_lent(header, payload, done);
  }
  ucx::Accepted send_owned(Link& link, Header header, ucx::Buffer& payload) override {
    return pair_of(link).send_owned(header, payload);
  }
  ucx::Accepted put(Link& link, std::span<const std::byte> local, const MemoryHandle*, std::uint64_t remote,
                    const RemoteKey& key, Completion& done) override {
    return pair_of(link).put(local, remote, entry_of(key), done);
  }
  ucx::Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle*, std::uint64_t remote,
                    const RemoteKey& key, Completion& done) override {
    return pair_of(link).get(local, remote, entry_of(key), done);
  }
  ucx::Accepted fetch_op(Link& link, ucx::AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                         std::uint64_t remote, const RemoteKey& key, void* result, Completion& done) override {
    return pair_of(link).fetch_op(op, width, operand, compare, remote, entry_of(key), result, done);
  }
  ucx::Accepted flush(Link& link, Completion& done) override { return pair_of(link).flush(done); }

  bool handed_over(Link& link) const override { return pair_of(link).handed_over(); }

  ucx::Buffer allocate(std::uint64_t size) override;
  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override;
  void deregister_memory(MemoryHandle& handle) override;
  std::vector<std::byte> pack_key(const MemoryHandle& handle) const override;
  Result<RemoteKey> unpack_key(Link& link, std::span<const std::byte> packed) override;
  void release_key(RemoteKey& key) override;
  std::byte* direct(Link& link, const RemoteKey& key, std::uint64_t remote, std::uint64_t size) override {
    return pair_of(link).direct(entry_of(key), remote, size);
  }

  int progress() override;
  int wait_fd() const override { return events_.get(); }
  bool arm() override;

 private:
  // Whose an event of the epoll is: in the low bits of its pointer.
  enum Source : std::uintptr_t { kSocket = 0, kLife = 1, kDoor = 2, kBell = 3 };
  struct Visitor {
    File socket;
  };

  ShmTransport(const Device& device, const OpenRequest& request)
      : TransportBase(device, request), hub_(receiver_, deferred_) {
    hub_.transfer_min = kTransferMin;
  }
  Status start(const OpenRequest& request);

  static Pair& pair_of(Link& link) { return static_cast<Pair&>(link); }
  static host::KeyEntry& entry_of(const RemoteKey& key) { return *static_cast<host::KeyEntry*>(key.detail); }

  bool watch(int file, Source source, Pair* pair, std::uint32_t events = EPOLLIN);
  void unwatch(const File& file) {
    if (file) ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, file.get(), nullptr);
  }
  Result<Pair*> make_pair(PeerId peer);
  void forget(Pair& pair);
  Packet introduction(PacketKind kind, PeerId to) const;
  bool introduce(Pair& pair, PacketKind kind);
  void call_on(Pair& pair);
  bool meet(Pair& pair, Arrival& arrival);
  void serve();
  void answer_the_door();
  bool listen_to(Visitor& visitor);
  void send_away(const Visitor& visitor, const char* why);
  void welcome(Visitor& visitor, Arrival& arrival);
  void read_socket(Pair& pair);
  void take_packet(Pair& pair, Arrival& arrival);
  void end_drained();
  void open_graves();
  void disarm() override;

  Address address_;
  Hub hub_;
  bool copying_ = true, direct_ = true;
  std::uint64_t cookie_ = 0;

  bool idle_ = false, armed_ = false;
  std::uint32_t polls_ = 0;
  std::uint64_t looked_at_ = 0, served_at_ = 0;
  std::uint64_t look_gap_ns_ = kLookGapNs;
  ucx::LinkTable<Pair> pairs_;
  std::vector<Visitor> visitors_;
  unsigned warnings_ = 0;  // of visitors that were sent away
  unsigned connecting_ = 0;
  SharedPool* pool_ = nullptr;
  Mapping keys_mapping_;
  File door_, bell_, events_, keys_;
};

// ---- opening

Result<std::unique_ptr<Transport>> ShmTransport::open(const Device& device, const OpenRequest& request) {
  std::unique_ptr<ShmTransport> transport(new ShmTransport(device, request));
  Status status = transport->start(request);
  if (!status) return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

Status ShmTransport::start(const OpenRequest& request) {
  if (self_ == 0) return Status::failure("a worker without a number (0) can't be reached");
  if (secret_.size() > Packet::kSecretMost) return Status::failure("the job's secret is longer than 128 bytes");
  const auto option = request.option ? request.option : [](const std::string&) { return std::string(); };
  if (Status s = read_switch(kCopying, option(kCopying), copying_); !s) return s;
  if (Status s = read_switch(kDirect, option(kDirect), direct_); !s) return s;
  copying_ = copying_ && wants_kernel_copies(option);
  auto door = listen_here(address_.socket_name);
  if (!door) return door.status();
  door_ = std::move(*door);
  address_.host = this_host(request.host);
  address_.process = static_cast<std::uint32_t>(::getpid());
  bell_ = File(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  events_ = File(::epoll_create1(EPOLL_CLOEXEC));
  if (!bell_ || !events_ || !watch(door_.get(), kDoor, nullptr) || !watch(bell_.get(), kBell, nullptr)) {
    return Status::failure("could not make an eventfd or epoll: " + error_text());
  }
  auto table = make_memory_file("periapt-keys", sizeof(host::KeyTable));
  if (!table) return table.status();
  keys_ = File(*table);
  keys_mapping_ = share_memory_file(*table, sizeof(host::KeyTable));
  std::byte* at = keys_mapping_.get();
  if (at == nullptr) return Status::failure(std::string("could not map the table of keys: ") + std::strerror(errno));
  hub_.keys = host::KeyRing(reinterpret_cast<host::KeyTable*>(at));
  hub_.fenced = !host::register_membarrier(true);
  fill_random(&cookie_, sizeof(cookie_));
  return {};
}

ShmTransport::~ShmTransport() {
  for (auto& pair : pairs_) {
    Pair& p = *pair;
    bool told = p.state() == Pair::State::open || p.state() == Pair::State::connecting;
    p.abandon(Outcome::cancelled);
    if (told && p.socket) send_packet(p.socket.get(), Packet{.kind = PacketKind::bye}, {});
    unwatch(p.socket);
    unwatch(p.life);
  }
  pairs_.clear();
  open_graves();
  // Whose borrower lives on may still be read: it is never used again.
  for (Hub::Buried& grave : hub_.graves) {
    for (ucx::Buffer& loan : grave.loans) static_cast<void>(loan.detach());
  }
  if (pool_ != nullptr) pool_->retire();
}

std::vector<std::byte> ShmTransport::address() const { return ucx::packed(address_); }

bool ShmTransport::reaches(std::span<const std::byte> bytes) const {
  Address there;
  return parse_address(bytes, there) && there.host == address_.host;
}

bool ShmTransport::watch(int file, Source source, Pair* pair, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = reinterpret_cast<std::uintptr_t>(pair) | source;
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, file, &event) == 0;
}

// ---- links

Result<Pair*> ShmTransport::make_pair(PeerId peer) {
  auto pair = std::make_unique<Pair>(*this, peer, hub_);
  Status status = pair->prepare();
  if (!status) return status;
  ++connecting_;
  return &pairs_.add(std::move(pair));
}

Result<Link*> ShmTransport::connect(PeerId peer, std::span<const std::byte> bytes) {
  Address there;
  if (!parse_address(bytes, there)) return Status::failure("this is no address of the shm transport (of this version)");
  if (!(there.host == address_.host)) return Status::failure("that worker is on another host, or in other namespaces");
  if (peer == self_ || peer == 0) return Status::failure("a worker has no link to itself");
  if (Pair* known = pairs_.find(peer)) return static_cast<Link*>(known);
  auto pair = make_pair(peer);
  if (!pair) return pair.status();
  (*pair)->socket_name = there.socket_name;
  call_on(**pair);
  return static_cast<Link*>(*pair);
}

Packet ShmTransport::introduction(PacketKind kind, PeerId to) const {
  Packet packet;
  packet.kind = kind;
  packet.flags = hub_.fenced ? Packet::kNoMembarrier : 0;
  packet.from = self_;
  packet.to = to;
  packet.channel_bytes = sizeof(Channel);
  packet.cookie_at = reinterpret_cast<std::uintptr_t>(&cookie_);
  packet.cookie = cookie_;
  set_secret(packet, secret_);
  return packet;
}

bool ShmTransport::introduce(Pair& pair, PacketKind kind) {
  int files[] = {pair.channel_file(), keys_.get(), bell_.get()};
  Sent sent = send_packet(pair.socket.get(), introduction(kind, pair.peer()), files);
  if (sent == Sent::broken) pair.peer_left("it closed the connection before it was set up");
  return sent == Sent::yes;
}

// Connects and says hello, or does what is still missing of that.
void ShmTransport::call_on(Pair& pair) {
  if (pair.state() != Pair::State::connecting || pair.hello_sent) return;
  if (!pair.socket) {
    auto socket = connect_to(pair.socket_name);
    if (!socket) return pair.peer_left(socket.message());
    if (!*socket) return;
    if (peer_process(socket->get()) == 0) {
      return pair.peer_left("another user's process listens in its place; it was not spoken to");
    }
    pair.socket = std::move(*socket);
    watch(pair.socket.get(), kSocket, &pair);
  }
  pair.hello_sent = introduce(pair, PacketKind::hello);
}

bool ShmTransport::meet(Pair& pair, Arrival& arrival) {
  std::uint32_t process = peer_process(pair.socket.get());
  if (arrival.files.size() != 3 || process == 0) return false;
  bool same = direct_ && process == address_.process;
  if (!pair.meet(arrival.packet, std::move(arrival.files[0]), std::move(arrival.files[1]), std::move(arrival.files[2]),
                 process, same, copying_)) {
    return false;
  }
  if (process != address_.process) {
    // The socket outlives its owner in a child that the owner forked; this does not.
    pair.life = File(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
    if (pair.life) watch(pair.life.get(), kLife, &pair);
  }
  return true;
}

void ShmTransport::forget(Pair& pair) {
  unwatch(pair.socket);
  unwatch(pair.life);
  pairs_.forget(pair);
}

void ShmTransport::close(Link& link) {
  Pair& pair = pair_of(link);
  if (pair.state() == Pair::State::closed) return;
  pair.abandon(Outcome::cancelled);
  if (pair.socket && pair.state() != Pair::State::lost) {
    send_packet(pair.socket.get(), Packet{.kind = PacketKind::bye}, {});
  }
  forget(pair);
  pair.socket.reset();
  pair.set_closed();
  deferred_.forget_loss(pair);
  pairs_.retire(pair);
  idle_ = false;
}

// ---- sockets

void ShmTransport::serve() {
  served_at_ = clock::now_ns();
  hub_.sockets_wanted = false;
  epoll_event events[32];
  int count = ::epoll_wait(events_.get(), events, 32, 0);
  for (int i = 0; i < count; ++i) {
    auto source = static_cast<Source>(events[i].data.u64 & 3);
    Pair* pair = reinterpret_cast<Pair*>(events[i].data.u64 & ~std::uintptr_t{3});
    if (source == kBell) {
      std::uint64_t rung;
      if (::read(bell_.get(), &rung, sizeof(rung)) > 0) hub_.moved = true;
    } else if (source == kDoor) {
      answer_the_door();
    } else if (pair->state() == Pair::State::closed) {
      continue;
    } else if (source == kSocket) {
      read_socket(*pair);
    } else {
      read_socket(*pair);  // its last words
      pair->peer_left("process " + std::to_string(pair->process) + " has ended");
      unwatch(pair->life);
    }
  }
  if (connecting_ != 0 || !visitors_.empty()) {
    std::erase_if(visitors_, [this](Visitor& visitor) { return listen_to(visitor); });
    connecting_ = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      call_on(pairs_[i]);
      connecting_ += pairs_[i].state() == Pair::State::connecting ? 1 : 0;
    }
  }
  for (auto& pair : pairs_) pair->tell_segments();
  if (!hub_.graves.empty()) open_graves();
}

void ShmTransport::answer_the_door() {
  constexpr std::size_t kVisitorsMost = 1024;
  while (true) {
    File socket(::accept4(door_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    if (peer_process(socket.get()) == 0) continue;                              // another user: not spoken to
    if (visitors_.size() == kVisitorsMost) visitors_.erase(visitors_.begin());  // the one that has kept silent longest
    watch(socket.get(), kDoor, nullptr);  // what it has to say may come when we sleep
    visitors_.push_back({std::move(socket)});
    hub_.moved = true;
  }
}

// Who is none of ours: people are told, but not without end.
void ShmTransport::send_away(const Visitor& visitor, const char* why) {
  constexpr unsigned kWarningsMost = 10;
  send_packet(visitor.socket.get(), refusal(why), {});
  if (warnings_++ < kWarningsMost)
    log::warn("shm: process " + std::to_string(peer_process(visitor.socket.get())) + " was refused: " + why);
}

// True: it need not be heard any more.
bool ShmTransport::listen_to(Visitor& visitor) {
  Arrival arrival = receive_packet(visitor.socket.get());
  switch (arrival.what) {
    case Arrival::What::nothing_yet:
      return false;
    case Arrival::What::end:
      return true;
    case Arrival::What::broken:
      send_away(visitor, "it speaks another version of the shm transport, or none");
      return true;
    case Arrival::What::no_files:
      send_packet(visitor.socket.get(), refusal(kNoFiles), {});
      return true;
    case Arrival::What::packet:
      break;
  }
  hub_.moved = true;
  unwatch(visitor.socket);
  welcome(visitor, arrival);
  return true;
}

void ShmTransport::welcome(Visitor& visitor, Arrival& arrival) {
  const Packet& hello = arrival.packet;
  auto refuse = [&](const char* why) { send_packet(visitor.socket.get(), refusal(why), {}); };
  if (hello.kind != PacketKind::hello || hello.from == 0 || hello.from == self_)
    return send_away(visitor, "a hello was expected");
  if (!same_secret(secret_, hello)) return send_away(visitor, "it has not the secret of this job");
  if (hello.to != self_) return refuse("it looks for another worker: its address is out of date");

  Pair* pair = pairs_.find(hello.from);
  if (pair != nullptr && pair->state() == Pair::State::open) read_socket(*pair);  // perhaps that one has just ended
  if (pair != nullptr && pair->state() == Pair::State::open) return refuse("there is a link already");
  if (pair != nullptr && pair->state() == Pair::State::connecting) {
    if (pair->hello_sent && self_ < hello.from) {
      send_packet(visitor.socket.get(), Packet{.kind = PacketKind::superseded}, {});
      return;
    }
    if (pair->socket) send_packet(pair->socket.get(), Packet{.kind = PacketKind::superseded}, {});
    unwatch(pair->socket);
  } else {
    auto made = make_pair(hello.from);
    if (!made) return refuse(made.message().c_str());
    pair = *made;
  }
  unwatch(visitor.socket);
  pair->socket = std::move(visitor.socket);
  pair->hello_sent = true;
  watch(pair->socket.get(), kSocket, pair);
  if (!meet(*pair, arrival)) {
    send_packet(pair->socket.get(), refusal("its channel could not be mapped"), {});
    return pair->peer_left("its channel could not be mapped");
  }
  if (introduce(*pair, PacketKind::welcome)) {
    pair->tell_segments();
    read_socket(*pair);
  } else {
    pair->peer_left("the welcome could not be sent to it");
  }
}

void ShmTransport::read_socket(Pair& pair) {
  while (pair.socket && (pair.state() == Pair::State::connecting || pair.state() == Pair::State::open)) {
    Arrival arrival = receive_packet(pair.socket.get());
    if (arrival.what == Arrival::What::nothing_yet) return;
    hub_.moved = true;
    if (arrival.what == Arrival::What::packet) {
      take_packet(pair, arrival);
      continue;
    }
    unwatch(pair.socket);
    if (arrival.what == Arrival::What::no_files) {
      pair.peer_left(kNoFiles);
    } else if (arrival.what == Arrival::What::broken) {
      pair.peer_left("it sent a packet that is not of this version of the shm transport");
    } else if (pair.process != 0) {
      pair.peer_left("process " + std::to_string(pair.process) + " has ended");
    } else {
      pair.peer_left("it closed the connection before it was set up");
    }
  }
}

void ShmTransport::take_packet(Pair& pair, Arrival& arrival) {
  const Packet& packet = arrival.packet;
  bool connecting = pair.state() == Pair::State::connecting;
  switch (packet.kind) {
    case PacketKind::welcome:
      if (!connecting || packet.from != pair.peer() || !same_secret(secret_, packet) || !meet(pair, arrival)) {
        pair.peer_left("its welcome was not what it should be");
      } else {
        pair.tell_segments();
      }
      return;
    case PacketKind::refuse:
      return pair.peer_left("it refused the connection: " + packet.reason());
    case PacketKind::superseded:
      // It connects to us at the same time, and that connection is the one: it is at the door, or will be.
      if (connecting) {
        unwatch(pair.socket);
        pair.socket.reset();
      } else {
        pair.peer_left("it closed the link");
      }
      return;
    case PacketKind::segment:
      if (arrival.files.size() != 1 || !pair.memory->add_segment(packet.segment_id, packet.segment_base,
                                                                 packet.segment_size, std::move(arrival.files[0]))) {
        pair.peer_left(
            "a segment of its memory could not be mapped here. A limit on address space? ulimit -v unlimited");
      }
      return;
    case PacketKind::bye:
      return pair.peer_left("it closed the link");
    case PacketKind::hello:
      break;
  }
  pair.peer_left("it sent a packet that makes no sense here");
}

// ---- memory

ucx::Buffer ShmTransport::allocate(std::uint64_t size) {
  if (pool_ == nullptr) {
    auto pool = SharedPool::create();
    if (!pool) return {};
    pool_ = *pool;
    for (auto& pair : pairs_) pair->tell_segments();
  }
  return pool_->allocate(size);
}

Result<MemoryHandle> ShmTransport::register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) {
  if (kind != MemoryKind::host) return Status::failure("the shm transport reaches the memory of the host only");
  std::uint64_t segment = hub_.segment_of(address, size);
  for (auto& pair : pairs_) pair->tell_segments();  // before anybody can have the key
  std::uint64_t id = hub_.keys.add(reinterpret_cast<std::uintptr_t>(address), size, segment);
  if (id == 0) {
    return Status::failure("no more than " + std::to_string(host::KeyTable::kEntries) +
                           " pieces of memory can be registered at a time; deregister some, or register larger ones");
  }
  return MemoryHandle{address, size, kind, id, nullptr};
}

void ShmTransport::deregister_memory(MemoryHandle& handle) {
  hub_.keys.remove(handle.id);
  handle = {};
}

std::vector<std::byte> ShmTransport::pack_key(const MemoryHandle& handle) const {
  PackedKey key;
  key.id = handle.id;
  return ucx::packed(key);
}

Result<RemoteKey> ShmTransport::unpack_key(Link&, std::span<const std::byte> packed) {
  PackedKey key;
  if (!ucx::unpack(packed, &key)) return Status::failure("a memory key of the shm transport has 16 bytes");
  if (key.magic != PackedKey::kMagic) return Status::failure("this is no memory key of the shm transport");
  host::KeyEntry* entry = new host::KeyEntry;
  entry->id = key.id;
  return RemoteKey{key.id, entry};
}

void ShmTransport::release_key(RemoteKey& key) {
  delete static_cast<host::KeyEntry*>(key.detail);
  key = {};
}

// ---- progress

int ShmTransport::progress() {
  bool look_at_sockets = hub_.sockets_wanted;
  if (idle_) {
    std::uint64_t now = clock::now_ns();
    if (now - looked_at_ < look_gap_ns_ && !look_at_sockets && !armed_) {
      if (hub_.unready != nullptr && !hub_.unready->get_ready()) hub_.unready = nullptr;
      return 0;
    }
    looked_at_ = now;
    look_at_sockets |= now - served_at_ >= kServeGapNs || connecting_ != 0 || !visitors_.empty();
  } else if (++polls_ % kServeEvery == 0) {
    look_at_sockets = true;
  }
  if (PERIAPT_UNLIKELY(armed_)) disarm(), look_at_sockets = true;
  hub_.moved = false;
  hub_.waited = idle_;
  if (PERIAPT_UNLIKELY(look_at_sockets)) serve();

  int done = 0;
  bool busy = false, draining = false;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (PERIAPT_UNLIKELY(pair.state() >= Pair::State::lost)) continue;
    done += pair.poll();
    busy |= pair.busy();
    draining |= pair.state() == Pair::State::drained;
  }
  if (PERIAPT_UNLIKELY(draining)) end_drained();
  if (PERIAPT_UNLIKELY(!deferred_.empty())) done += tell_deferred();
  if (PERIAPT_UNLIKELY(pairs_.has_retired()) && deferred_.empty()) pairs_.reap();  // their completions come first
  if (done != 0) look_gap_ns_ = std::exchange(hub_.brought_bulk, false) ? kBulkLookGapNs : kLookGapNs;
  idle_ = done == 0 && !hub_.moved && !busy && deferred_.empty();
  return done;
}

// Pairs whose peer has left, and from which all has been delivered.
void ShmTransport::end_drained() {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (!pair.drained()) continue;
    pair.abandon(Outcome::peer_lost);
    forget(pair);
    pair.socket.reset();
    pair.report_lost();
    deferred_.lose(pair, pair.reason());
  }
}

void ShmTransport::open_graves() {
  std::erase_if(hub_.graves, [](const Hub::Buried& grave) { return has_ended(grave.life); });
}

bool ShmTransport::arm() {
  if (!deferred_.empty() || hub_.sockets_wanted || pairs_.has_retired()) return false;
  for (auto& pair : pairs_) {
    bool calling = pair->state() == Pair::State::connecting && !pair->hello_sent;
    if (pair->must_be_polled() || calling) return false;
  }
  for (auto& pair : pairs_) pair->ask_for_bell(true);
  armed_ = true;
  // Our wish before our last look: by a barrier on the peers' threads, or, where that is forbidden, by a fence that
  // they pay for too (Pair::fenced_).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!hub_.fenced) host::membarrier(true);
  bool found = std::any_of(pairs_.begin(), pairs_.end(),
                           [](const auto& pair) { return pair->in_ready() || pair->has_room_again(); });
  if (found) disarm();
  return !found;
}

void ShmTransport::disarm() {
  armed_ = false;
  for (auto& pair : pairs_) pair->ask_for_bell(false);
}

// ---- the factory

std::vector<Device> probe(const OpenRequest& request) {
  Device device;
  device.transport = "shm";
  device.name = "memory";
  device.can = capabilities();
  device.costs = costs();
  auto file = make_memory_file("periapt-probe", platform::kPage);
  if (file) {
    ::close(*file);
    device.usable = true;
    device.detail =
        std::string("memory of this host; copies between processes (process_vm_readv) ") +
        (wants_kernel_copies(request.option) ? "where a try shows that they are allowed" : "are switched off");
  } else {
    device.detail = file.message();
    device.remedy = "run where memfd_create is allowed, with: ulimit -f unlimited";
  }
  return {device};
}

}  // namespace

bool wants_kernel_copies(const ucx::OptionText& option) {
  return !option || (option(kCopying) != "off" && option(kNotCopying).empty());
}

const ucx::TransportFactory factory{"shm", &probe, &ShmTransport::open, kOptions};

}  // namespace periapt::shm
