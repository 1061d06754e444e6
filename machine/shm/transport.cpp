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
#include "machine/shm/link.h"

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
  can.max_inline = ShmLink::kInlineMost;
  can.max_lent = can.max_put = can.max_get = ~std::size_t{0};
  can.max_direct_put = ShmLink::kPutAtOnce;
  can.max_direct_get = ShmLink::kAtOnce;
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
    return link_of(link).send_inline(header, payload);
  }
  ucx::Accepted send_lent(Link& link, Header header, std::span<const std::byte> payload, Completion& done) override {
    return link_of(link).send_lent(header, payload, done);
  }
  ucx::Accepted send_owned(Link& link, Header header, ucx::Buffer& payload) override {
    return link_of(link).send_owned(header, payload);
  }
  ucx::Accepted put(Link& link, std::span<const std::byte> local, const MemoryHandle*, std::uint64_t remote,
                    const RemoteKey& key, Completion& done) override {
    return link_of(link).put(local, remote, entry_of(key), done);
  }
  ucx::Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle*, std::uint64_t remote,
                    const RemoteKey& key, Completion& done) override {
    return link_of(link).get(local, remote, entry_of(key), done);
  }
  ucx::Accepted fetch_op(Link& link, ucx::AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                         std::uint64_t remote, const RemoteKey& key, void* result, Completion& done) override {
    return link_of(link).fetch_op(op, width, operand, compare, remote, entry_of(key), result, done);
  }
  ucx::Accepted flush(Link& link, Completion& done) override { return link_of(link).flush(done); }

  bool handed_over(Link& link) const override { return link_of(link).handed_over(); }

  ucx::Buffer allocate(std::uint64_t size) override;
  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override;
  void deregister_memory(MemoryHandle& handle) override;
  std::vector<std::byte> pack_key(const MemoryHandle& handle) const override;
  Result<RemoteKey> unpack_key(Link& link, std::span<const std::byte> packed) override;
  void release_key(RemoteKey& key) override;
  std::byte* direct(Link& link, const RemoteKey& key, std::uint64_t remote, std::uint64_t size) override {
    return link_of(link).direct(entry_of(key), remote, size);
  }

  int progress() override;
  int wait_fd() const override { return events_.get(); }
  bool arm() override;

 private:
  // Whose an event of the epoll is: in the low bits of its pointer.
  enum Source : std::uintptr_t { kSocket = 0, kLife = 1, kListener = 2, kBell = 3 };
  struct Newcomer {
    File socket;
  };

  ShmTransport(const Device& device, const OpenRequest& request)
      : TransportBase(device, request), shared_(receiver_, deferred_) {
    shared_.transfer_min = kTransferMin;
  }
  Status start(const OpenRequest& request);

  static ShmLink& link_of(Link& link) { return static_cast<ShmLink&>(link); }
  static host::CachedKey& entry_of(const RemoteKey& key) { return *static_cast<host::CachedKey*>(key.detail); }

  bool watch(int file, Source source, ShmLink* link, std::uint32_t events = EPOLLIN);
  void unwatch(const File& file) {
    if (file) ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, file.get(), nullptr);
  }
  Result<ShmLink*> make_link(PeerId peer);
  void forget(ShmLink& link);
  Packet introduction(PacketKind kind, PeerId to) const;
  bool introduce(ShmLink& link, PacketKind kind);
  void call_on(ShmLink& link);
  bool meet(ShmLink& link, Arrival& arrival);
  void serve();
  void accept_all();
  bool listen_to(Newcomer& newcomer);
  void send_away(const Newcomer& newcomer, const char* why);
  void welcome(Newcomer& newcomer, Arrival& arrival);
  void read_socket(ShmLink& link);
  void take_packet(ShmLink& link, Arrival& arrival);
  void end_drained();
  void reap_loans();
  void disarm() override;

  Address address_;
  TransportState shared_;
  bool copying_ = true, direct_ = true;
  std::uint64_t cookie_ = 0;

  bool idle_ = false, armed_ = false;
  std::uint32_t polls_ = 0;
  std::uint64_t looked_at_ = 0, served_at_ = 0;
  std::uint64_t look_gap_ns_ = kLookGapNs;
  ucx::LinkTable<ShmLink> links_;
  std::vector<Newcomer> newcomers_;
  unsigned warnings_ = 0;  // of visitors that were sent away
  unsigned connecting_ = 0;
  SharedPool* pool_ = nullptr;
  Mapping keys_mapping_;
  File listener_, bell_, events_, keys_;
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
  auto listener = listen_here(address_.socket_name);
  if (!listener) return listener.status();
  listener_ = std::move(*listener);
  address_.host = this_host(request.host);
  address_.process = static_cast<std::uint32_t>(::getpid());
  bell_ = File(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  events_ = File(::epoll_create1(EPOLL_CLOEXEC));
  if (!bell_ || !events_ || !watch(listener_.get(), kListener, nullptr) || !watch(bell_.get(), kBell, nullptr)) {
    return Status::failure("could not make an eventfd or epoll: " + error_text());
  }
  auto table = make_memory_file("periapt-keys", sizeof(host::KeyTable));
  if (!table) return table.status();
  keys_ = File(*table);
  keys_mapping_ = share_memory_file(*table, sizeof(host::KeyTable));
  std::byte* at = keys_mapping_.get();
  if (at == nullptr) return Status::failure(std::string("could not map the table of keys: ") + std::strerror(errno));
  shared_.keys = host::KeyRing(reinterpret_cast<host::KeyTable*>(at));
  shared_.fenced = !host::register_membarrier(true);
  fill_random(&cookie_, sizeof(cookie_));
  return {};
}

ShmTransport::~ShmTransport() {
  for (auto& link : links_) {
    ShmLink& p = *link;
    bool told = p.state() == ShmLink::State::open || p.state() == ShmLink::State::connecting;
    p.abandon(Outcome::cancelled);
    if (told && p.socket) send_packet(p.socket.get(), Packet{.kind = PacketKind::disconnect}, {});
    unwatch(p.socket);
    unwatch(p.life);
  }
  links_.clear();
  reap_loans();
  // Whose borrower lives on may still be read: it is never used again.
  for (TransportState::RetiredLoans& retired : shared_.retired_loans) {
    for (ucx::Buffer& loan : retired.loans) static_cast<void>(loan.detach());
  }
  if (pool_ != nullptr) pool_->retire();
}

std::vector<std::byte> ShmTransport::address() const { return ucx::packed(address_); }

bool ShmTransport::reaches(std::span<const std::byte> bytes) const {
  Address there;
  return parse_address(bytes, there) && there.host == address_.host;
}

bool ShmTransport::watch(int file, Source source, ShmLink* link, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = reinterpret_cast<std::uintptr_t>(link) | source;
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, file, &event) == 0;
}

// ---- links

Result<ShmLink*> ShmTransport::make_link(PeerId peer) {
  auto link = std::make_unique<ShmLink>(*this, peer, shared_);
  Status status = link->prepare();
  if (!status) return status;
  ++connecting_;
  return &links_.add(std::move(link));
}

Result<Link*> ShmTransport::connect(PeerId peer, std::span<const std::byte> bytes) {
  Address there;
  if (!parse_address(bytes, there)) return Status::failure("this is no address of the shm transport (of this version)");
  if (!(there.host == address_.host)) return Status::failure("that worker is on another host, or in other namespaces");
  if (peer == self_ || peer == 0) return Status::failure("a worker has no link to itself");
  if (ShmLink* known = links_.find(peer)) return static_cast<Link*>(known);
  auto link = make_link(peer);
  if (!link) return link.status();
  (*link)->socket_name = there.socket_name;
  call_on(**link);
  return static_cast<Link*>(*link);
}

Packet ShmTransport::introduction(PacketKind kind, PeerId to) const {
  Packet packet;
  packet.kind = kind;
  packet.flags = shared_.fenced ? Packet::kNoMembarrier : 0;
  packet.from = self_;
  packet.to = to;
  packet.channel_bytes = sizeof(Channel);
  packet.cookie_at = reinterpret_cast<std::uintptr_t>(&cookie_);
  packet.cookie = cookie_;
  set_secret(packet, secret_);
  return packet;
}

bool ShmTransport::introduce(ShmLink& link, PacketKind kind) {
  int files[] = {link.channel_file(), keys_.get(), bell_.get()};
  Sent sent = send_packet(link.socket.get(), introduction(kind, link.peer()), files);
  if (sent == Sent::broken) link.peer_left("it closed the connection before it was set up");
  return sent == Sent::yes;
}

// Connects and says hello, or does what is still missing of that.
void ShmTransport::call_on(ShmLink& link) {
  if (link.state() != ShmLink::State::connecting || link.hello_sent) return;
  if (!link.socket) {
    auto socket = connect_to(link.socket_name);
    if (!socket) return link.peer_left(socket.message());
    if (!*socket) return;
    if (peer_process(socket->get()) == 0) {
      return link.peer_left("another user's process listens in its place; it was not spoken to");
    }
    link.socket = std::move(*socket);
    watch(link.socket.get(), kSocket, &link);
  }
  link.hello_sent = introduce(link, PacketKind::hello);
}

bool ShmTransport::meet(ShmLink& link, Arrival& arrival) {
  std::uint32_t process = peer_process(link.socket.get());
  if (arrival.files.size() != 3 || process == 0) return false;
  bool same = direct_ && process == address_.process;
  if (!link.meet(arrival.packet, std::move(arrival.files[0]), std::move(arrival.files[1]), std::move(arrival.files[2]),
                 process, same, copying_)) {
    return false;
  }
  if (process != address_.process) {
    // The socket outlives its owner in a child that the owner forked; this does not.
    link.life = File(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
    if (link.life) watch(link.life.get(), kLife, &link);
  }
  return true;
}

void ShmTransport::forget(ShmLink& link) {
  unwatch(link.socket);
  unwatch(link.life);
  links_.forget(link);
}

void ShmTransport::close(Link& which) {
  ShmLink& link = link_of(which);
  if (link.state() == ShmLink::State::closed) return;
  link.abandon(Outcome::cancelled);
  if (link.socket && link.state() != ShmLink::State::lost) {
    send_packet(link.socket.get(), Packet{.kind = PacketKind::disconnect}, {});
  }
  forget(link);
  link.socket.reset();
  link.set_closed();
  deferred_.forget_loss(link);
  links_.retire(link);
  idle_ = false;
}

// ---- sockets

void ShmTransport::serve() {
  served_at_ = clock::now_ns();
  shared_.sockets_wanted = false;
  epoll_event events[32];
  int count = ::epoll_wait(events_.get(), events, 32, 0);
  for (int i = 0; i < count; ++i) {
    auto source = static_cast<Source>(events[i].data.u64 & 3);
    ShmLink* link = reinterpret_cast<ShmLink*>(events[i].data.u64 & ~std::uintptr_t{3});
    if (source == kBell) {
      std::uint64_t rung;
      if (::read(bell_.get(), &rung, sizeof(rung)) > 0) shared_.moved = true;
    } else if (source == kListener) {
      accept_all();
    } else if (link->state() == ShmLink::State::closed) {
      continue;
    } else if (source == kSocket) {
      read_socket(*link);
    } else {
      read_socket(*link);  // its last words
      link->peer_left("process " + std::to_string(link->process) + " has ended");
      unwatch(link->life);
    }
  }
  if (connecting_ != 0 || !newcomers_.empty()) {
    std::erase_if(newcomers_, [this](Newcomer& newcomer) { return listen_to(newcomer); });
    connecting_ = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      call_on(links_[i]);
      connecting_ += links_[i].state() == ShmLink::State::connecting ? 1 : 0;
    }
  }
  for (auto& link : links_) link->tell_segments();
  if (!shared_.retired_loans.empty()) reap_loans();
}

void ShmTransport::accept_all() {
  constexpr std::size_t kNewcomersMost = 1024;
  while (true) {
    File socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    if (peer_process(socket.get()) == 0) continue;  // another user: not spoken to
    if (newcomers_.size() == kNewcomersMost)
      newcomers_.erase(newcomers_.begin());   // the one that has kept silent longest
    watch(socket.get(), kListener, nullptr);  // what it has to say may come when we sleep
    newcomers_.push_back({std::move(socket)});
    shared_.moved = true;
  }
}

// Processes that are none of ours: people are told, but not without end.
void ShmTransport::send_away(const Newcomer& newcomer, const char* why) {
  constexpr unsigned kWarningsMost = 10;
  send_packet(newcomer.socket.get(), refusal(why), {});
  if (warnings_++ < kWarningsMost)
    log::warn("shm: process " + std::to_string(peer_process(newcomer.socket.get())) + " was refused: " + why);
}

// True: it need not be heard any more.
bool ShmTransport::listen_to(Newcomer& newcomer) {
  Arrival arrival = receive_packet(newcomer.socket.get());
  switch (arrival.what) {
    case Arrival::What::nothing_yet:
      return false;
    case Arrival::What::end:
      return true;
    case Arrival::What::broken:
      send_away(newcomer, "it speaks another version of the shm transport, or none");
      return true;
    case Arrival::What::no_files:
      send_packet(newcomer.socket.get(), refusal(kNoFiles), {});
      return true;
    case Arrival::What::packet:
      break;
  }
  shared_.moved = true;
  unwatch(newcomer.socket);
  welcome(newcomer, arrival);
  return true;
}

void ShmTransport::welcome(Newcomer& newcomer, Arrival& arrival) {
  const Packet& hello = arrival.packet;
  auto refuse = [&](const char* why) { send_packet(newcomer.socket.get(), refusal(why), {}); };
  if (hello.kind != PacketKind::hello || hello.from == 0 || hello.from == self_)
    return send_away(newcomer, "a hello was expected");
  if (!same_secret(secret_, hello)) return send_away(newcomer, "it has not the secret of this job");
  if (hello.to != self_) return refuse("it looks for another worker: its address is out of date");

  ShmLink* link = links_.find(hello.from);
  if (link != nullptr && link->state() == ShmLink::State::open) read_socket(*link);  // perhaps that one has just ended
  if (link != nullptr && link->state() == ShmLink::State::open) return refuse("there is a link already");
  if (link != nullptr && link->state() == ShmLink::State::connecting) {
    if (link->hello_sent && self_ < hello.from) {
      send_packet(newcomer.socket.get(), Packet{.kind = PacketKind::superseded}, {});
      return;
    }
    if (link->socket) send_packet(link->socket.get(), Packet{.kind = PacketKind::superseded}, {});
    unwatch(link->socket);
  } else {
    auto made = make_link(hello.from);
    if (!made) return refuse(made.message().c_str());
    link = *made;
  }
  unwatch(newcomer.socket);
  link->socket = std::move(newcomer.socket);
  link->hello_sent = true;
  watch(link->socket.get(), kSocket, link);
  if (!meet(*link, arrival)) {
    send_packet(link->socket.get(), refusal("its channel could not be mapped"), {});
    return link->peer_left("its channel could not be mapped");
  }
  if (introduce(*link, PacketKind::welcome)) {
    link->tell_segments();
    read_socket(*link);
  } else {
    link->peer_left("the welcome could not be sent to it");
  }
}

void ShmTransport::read_socket(ShmLink& link) {
  while (link.socket && (link.state() == ShmLink::State::connecting || link.state() == ShmLink::State::open)) {
    Arrival arrival = receive_packet(link.socket.get());
    if (arrival.what == Arrival::What::nothing_yet) return;
    shared_.moved = true;
    if (arrival.what == Arrival::What::packet) {
      take_packet(link, arrival);
      continue;
    }
    unwatch(link.socket);
    if (arrival.what == Arrival::What::no_files) {
      link.peer_left(kNoFiles);
    } else if (arrival.what == Arrival::What::broken) {
      link.peer_left("it sent a packet that is not of this version of the shm transport");
    } else if (link.process != 0) {
      link.peer_left("process " + std::to_string(link.process) + " has ended");
    } else {
      link.peer_left("it closed the connection before it was set up");
    }
  }
}

void ShmTransport::take_packet(ShmLink& link, Arrival& arrival) {
  const Packet& packet = arrival.packet;
  bool connecting = link.state() == ShmLink::State::connecting;
  switch (packet.kind) {
    case PacketKind::welcome:
      if (!connecting || packet.from != link.peer() || !same_secret(secret_, packet) || !meet(link, arrival)) {
        link.peer_left("its welcome was not what it should be");
      } else {
        link.tell_segments();
      }
      return;
    case PacketKind::refuse:
      return link.peer_left("it refused the connection: " + packet.reason());
    case PacketKind::superseded:
      // It connects to us at the same time, and that connection is the one: it is at the door, or will be.
      if (connecting) {
        unwatch(link.socket);
        link.socket.reset();
      } else {
        link.peer_left("it closed the link");
      }
      return;
    case PacketKind::segment:
      if (arrival.files.size() != 1 || !link.memory->add_segment(packet.segment_id, packet.segment_base,
                                                                 packet.segment_size, std::move(arrival.files[0]))) {
        link.peer_left(
            "a segment of its memory could not be mapped here. A limit on address space? ulimit -v unlimited");
      }
      return;
    case PacketKind::disconnect:
      return link.peer_left("it closed the link");
    case PacketKind::hello:
      break;
  }
  link.peer_left("it sent a packet that makes no sense here");
}

// ---- memory

ucx::Buffer ShmTransport::allocate(std::uint64_t size) {
  if (pool_ == nullptr) {
    auto pool = SharedPool::create();
    if (!pool) return {};
    pool_ = *pool;
    for (auto& link : links_) link->tell_segments();
  }
  return pool_->allocate(size);
}

Result<MemoryHandle> ShmTransport::register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) {
  if (kind != MemoryKind::host) return Status::failure("the shm transport reaches the memory of the host only");
  std::uint64_t segment = shared_.segment_of(address, size);
  for (auto& link : links_) link->tell_segments();  // before a peer can have the key
  std::uint64_t id = shared_.keys.add(reinterpret_cast<std::uintptr_t>(address), size, segment);
  if (id == 0) {
    return Status::failure("no more than " + std::to_string(host::KeyTable::kEntries) +
                           " pieces of memory can be registered at a time; deregister some, or register larger ones");
  }
  return MemoryHandle{address, size, kind, id, nullptr};
}

void ShmTransport::deregister_memory(MemoryHandle& handle) {
  shared_.keys.remove(handle.id);
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
  host::CachedKey* entry = new host::CachedKey;
  entry->id = key.id;
  return RemoteKey{key.id, entry};
}

void ShmTransport::release_key(RemoteKey& key) {
  delete static_cast<host::CachedKey*>(key.detail);
  key = {};
}

// ---- progress

int ShmTransport::progress() {
  bool look_at_sockets = shared_.sockets_wanted;
  if (idle_) {
    std::uint64_t now = clock::now_ns();
    if (now - looked_at_ < look_gap_ns_ && !look_at_sockets && !armed_) {
      if (shared_.unready != nullptr && !shared_.unready->get_ready()) shared_.unready = nullptr;
      return 0;
    }
    looked_at_ = now;
    look_at_sockets |= now - served_at_ >= kServeGapNs || connecting_ != 0 || !newcomers_.empty();
  } else if (++polls_ % kServeEvery == 0) {
    look_at_sockets = true;
  }
  if (PERIAPT_UNLIKELY(armed_)) disarm(), look_at_sockets = true;
  shared_.moved = false;
  shared_.waited = idle_;
  if (PERIAPT_UNLIKELY(look_at_sockets)) serve();

  int done = 0;
  bool busy = false, draining = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    ShmLink& link = links_[i];
    if (PERIAPT_UNLIKELY(link.state() >= ShmLink::State::lost)) continue;
    done += link.poll();
    busy |= link.busy();
    draining |= link.state() == ShmLink::State::drained;
  }
  if (PERIAPT_UNLIKELY(draining)) end_drained();
  if (PERIAPT_UNLIKELY(!deferred_.empty())) done += tell_deferred();
  if (PERIAPT_UNLIKELY(links_.has_retired()) && deferred_.empty()) links_.reap();  // their completions come first
  if (done != 0) look_gap_ns_ = std::exchange(shared_.brought_bulk, false) ? kBulkLookGapNs : kLookGapNs;
  idle_ = done == 0 && !shared_.moved && !busy && deferred_.empty();
  return done;
}

// Pairs whose peer has left, and from which all has been delivered.
void ShmTransport::end_drained() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    ShmLink& link = links_[i];
    if (!link.drained()) continue;
    link.abandon(Outcome::peer_lost);
    forget(link);
    link.socket.reset();
    link.report_lost();
    deferred_.lose(link, link.reason());
  }
}

void ShmTransport::reap_loans() {
  std::erase_if(shared_.retired_loans,
                [](const TransportState::RetiredLoans& retired) { return has_ended(retired.life); });
}

bool ShmTransport::arm() {
  if (!deferred_.empty() || shared_.sockets_wanted || links_.has_retired()) return false;
  for (auto& link : links_) {
    bool calling = link->state() == ShmLink::State::connecting && !link->hello_sent;
    if (link->must_be_polled() || calling) return false;
  }
  for (auto& link : links_) link->ask_for_bell(true);
  armed_ = true;
  // The bell is asked for before the last look: by a barrier on the peers' threads, or, where that is forbidden, by a
  // fence that they pay for too (ShmLink::fenced_).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!shared_.fenced) host::membarrier(true);
  bool found = std::any_of(links_.begin(), links_.end(),
                           [](const auto& link) { return link->in_ready() || link->has_room_again(); });
  if (found) disarm();
  return !found;
}

void ShmTransport::disarm() {
  armed_ = false;
  for (auto& link : links_) link->ask_for_bell(false);
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
