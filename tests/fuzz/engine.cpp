// The engine (machine/ucx-like) between a user that does things in any order and a peer that says anything: every kind
// of message with any fields, whole or in two steps, answers to what was asked and to what was not; completions in any
// order and with any outcome; links that are lost. The transport below keeps the contract of transport.h, the peers
// keep nothing.
#include <deque>
#include <map>

#include "machine/ucx-like/header.h"
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/worker.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using namespace ucx;

constexpr PeerId kSelf = 1;
constexpr std::size_t kPeers = 2;  // 2 and 3

// What one run shares: the input, and what has been heard of the engine's own numbers.
struct Scene {
  Input input{{}};
  class OddTransport* transport = nullptr;
  std::vector<std::uint64_t> heard = {0, 1};  // ids, tags and addresses in headers that were sent
  std::vector<std::vector<std::byte>> keys;
};
Scene* scene = nullptr;

std::uint64_t odd_number() {
  Input& input = scene->input;
  switch (input.below(4)) {
    case 0:
      return input.number<std::uint8_t>();
    case 1:
      return scene->heard[input.below(scene->heard.size())];
    case 2:
      return std::uint64_t{1} << input.below(64);
    default:
      return input.number<std::uint64_t>();
  }
}

struct OddLink : Link {
  OddLink(Transport& transport, PeerId peer) : Link(transport, peer) {}
  bool lost = false, closed = false;
  std::vector<Completion*> open;
  std::byte* placing = nullptr;
  std::uint64_t placing_size = 0;
};

class OddTransport final : public Transport {
 public:
  OddTransport(const Device& device, const OpenRequest& request) : device_(device), receiver_(*request.receiver) {
    scene->transport = this;
  }

  const Device& device() const override { return device_; }
  std::vector<std::byte> address() const override { return std::vector<std::byte>(4, std::byte{7}); }
  bool reaches(Bytes) const override { return true; }
  Result<Link*> connect(PeerId peer, Bytes) override { return static_cast<Link*>(&link_to(peer)); }
  void close(Link& link) override {
    auto& mine = static_cast<OddLink&>(link);
    expect(!mine.closed, "a link is closed once");
    mine.closed = true;
    mine.placing = nullptr;
    auto known = links_.find(link.peer());
    if (known != links_.end() && known->second.get() == &mine) {
      closing_.push_back(std::move(known->second));
      links_.erase(known);
    }
  }

  Accepted send_inline(Link& link, Header header, Bytes payload) override {
    expect(payload.size() <= device_.can.max_inline, "no more inline than there is room for");
    const Accepted answer = answer_of(link, header);
    use(payload);
    return answer == Accepted::pending ? Accepted::done : answer;
  }
  Accepted send_lent(Link& link, Header header, Bytes payload, Completion& completion) override {
    const Accepted answer = answer_of(link, header);
    use(payload);
    if (answer == Accepted::pending) static_cast<OddLink&>(link).open.push_back(&completion);
    return answer;
  }
  Accepted send_owned(Link& link, Header header, Buffer& payload) override {
    const Accepted answer = answer_of(link, header);
    use(payload.bytes());
    if (answer == Accepted::pending || answer == Accepted::done) payload.reset();
    return answer;
  }
  Accepted put(Link& link, Bytes local, const MemoryHandle*, std::uint64_t, const RemoteKey&,
               Completion& done) override {
    use(local);
    return one_sided(link, done);
  }
  Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle*, std::uint64_t, const RemoteKey&,
               Completion& done) override {
    std::fill(local.begin(), local.end(), std::byte{0x5a});
    return one_sided(link, done);
  }
  Accepted fetch_op(Link& link, AtomicOp, std::size_t width, std::uint64_t operand, std::uint64_t, std::uint64_t,
                    const RemoteKey&, void* result, Completion& done) override {
    if (result != nullptr) std::memcpy(result, &operand, width);
    return one_sided(link, done);
  }
  Accepted flush(Link& link, Completion& done) override { return one_sided(link, done); }

  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    return MemoryHandle{address, size, kind, 1, nullptr};
  }
  void deregister_memory(MemoryHandle&) override {}
  std::vector<std::byte> pack_key(const MemoryHandle&) const override {
    return std::vector<std::byte>(3, std::byte{9});
  }
  Result<RemoteKey> unpack_key(Link&, Bytes packed) override {
    if (packed.size() != 3) return Status::failure("no key");
    return RemoteKey{1, nullptr};
  }
  void release_key(RemoteKey&) override {}

  // One thing that happens, as the input says.
  int progress() override {
    closing_now_.swap(closing_);
    for (auto& link : closing_now_) end_all(*link, Outcome::cancelled);
    closing_now_.clear();
    if (!happens_) return 0;
    happens_ = false;
    Input& input = scene->input;
    OddLink& link = link_to(2 + input.below(kPeers));
    switch (input.below(8)) {
      case 0:
        return complete(link);
      case 1:
        return lose(link);
      case 2:
        return placed(link);
      default:
        return message(link);
    }
  }
  int wait_fd() const override { return -1; }
  bool arm() override { return true; }

  void happen() { happens_ = true; }
  void lose_all() {
    std::vector<PeerId> peers;
    for (auto& [peer, link] : links_) peers.push_back(peer);
    losing_ = peers;
  }
  void lose_one_of_all() {
    if (losing_.empty()) return;
    lose(link_to(losing_.back()));
    losing_.pop_back();
  }

 private:
  OddLink& link_to(PeerId peer) {
    auto& link = links_[peer];
    if (!link) link = std::make_unique<OddLink>(*this, peer);
    return *link;
  }

  Accepted answer_of(Link& link, Header header) {
    MessageHeader sent;
    expect(read_header(header, 0, sent) == nullptr, "what the engine sends is sound");
    for (std::uint64_t number : {sent.id, sent.tag, sent.offset}) scene->heard.push_back(number);
    if (scene->heard.size() > 200) scene->heard.erase(scene->heard.begin() + 2, scene->heard.begin() + 100);
    return one_answer(link);
  }
  Accepted one_answer(Link& link) {
    auto& mine = static_cast<OddLink&>(link);
    expect(!mine.closed, "a closed link is not used");
    if (mine.lost) return Accepted::lost;
    const std::size_t how = scene->input.below(8);
    return how == 7 ? Accepted::no_resource : how < 4 ? Accepted::pending : Accepted::done;
  }
  Accepted one_sided(Link& link, Completion& done) {
    const Accepted answer = one_answer(link);
    if (answer == Accepted::pending) static_cast<OddLink&>(link).open.push_back(&done);
    return answer;
  }
  void use(Bytes bytes) {
    for (std::byte byte : bytes) read_ = read_ + static_cast<unsigned>(byte);
  }

  void end_all(OddLink& link, Outcome outcome) {
    std::vector<Completion*> open;
    open.swap(link.open);
    for (Completion* completion : open) completion->done(*completion, outcome);
  }
  int complete(OddLink& link) {
    if (link.open.empty()) return 0;
    const auto at = link.open.begin() + static_cast<std::ptrdiff_t>(scene->input.below(link.open.size()));
    Completion* completion = *at;
    link.open.erase(at);
    const bool well = !scene->input.flag() || scene->input.flag();
    completion->done(*completion, well ? Outcome::ok : Outcome::failed);
    return 1;
  }
  int lose(OddLink& link) {
    if (link.lost) return 0;
    link.lost = true;
    link.placing = nullptr;
    end_all(link, Outcome::peer_lost);
    if (!link.closed) receiver_.link_lost(link, "the input says so");
    return 1;
  }
  int placed(OddLink& link) {
    if (link.placing == nullptr || link.lost) return 0;
    std::memset(link.placing, 0x33, link.placing_size);
    link.placing = nullptr;
    receiver_.placed(link);
    return 1;
  }

  std::vector<std::byte> payload() {
    Input& input = scene->input;
    switch (input.below(4)) {
      case 0:
        return {};
      case 1: {
        const Bytes bytes = input.bytes(input.below(64));
        return {bytes.begin(), bytes.end()};
      }
      case 2: {
        std::vector<std::byte> list;
        write_keys(list, {{1, "odd", std::vector<std::byte>(3)}, {0, "self", {}}});
        input.damage(list);
        return list;
      }
      default:
        return std::vector<std::byte>(input.below(70000), std::byte{0x44});
    }
  }

  int message(OddLink& link) {
    if (link.lost || link.placing != nullptr) return 0;  // messages of a link come one after the other
    Input& input = scene->input;
    const std::vector<std::byte> bytes = payload();
    MessageHeader header;
    header.version = input.below(32) == 31 ? 9 : kWireVersion;
    header.kind = static_cast<MessageKind>(input.below(static_cast<std::size_t>(kLastKind) + 2));
    header.code = static_cast<std::uint16_t>(odd_number());
    header.credit = input.below(4) == 0 ? input.number<std::uint32_t>() : 0;
    header.tag = odd_number();
    header.size = input.flag() ? bytes.size() : odd_number();
    header.id = odd_number();
    header.offset = odd_number();
    const Header whole = input.flag() ? least_bytes_of(header) : bytes_of(header);
    std::vector<std::byte> packed(whole.begin(), whole.end());
    if (input.below(16) == 15) input.damage(packed);
    switch (input.below(3)) {
      case 0:
        receiver_.arrived(link, packed, bytes);
        break;
      case 1: {
        auto* own = new std::vector<std::byte>(bytes);
        own->push_back({});  // so that there is an address, also of nothing
        const auto release = [](void* vector, void*) { delete static_cast<std::vector<std::byte>*>(vector); };
        receiver_.arrived_owned(link, packed, Buffer(own->data(), bytes.size(), release, own));
        break;
      }
      default:
        link.placing_size = bytes.size();
        link.placing = receiver_.place(link, packed, bytes.size());
        if (link.closed) link.placing = nullptr;
        if (link.placing == nullptr) lose(link);
    }
    return 1;
  }

  Device device_;
  Receiver& receiver_;
  std::map<PeerId, std::unique_ptr<OddLink>> links_;
  std::vector<std::unique_ptr<OddLink>> closing_, closing_now_;
  std::vector<PeerId> losing_;
  bool happens_ = false;
  volatile unsigned read_ = 0;  // all that was lent, so that it was really looked at
};

std::vector<Device> probe(const OpenRequest&) {
  Device device;
  device.transport = "odd";
  device.name = "input";
  device.usable = true;
  const bool one_sided = scene->input.flag();
  device.can.max_header = 64;
  device.can.max_inline = 4096;
  device.can.max_lent = scene->input.flag() ? ~std::size_t{0} : 0;
  device.can.max_put = one_sided ? ~std::size_t{0} : 0;
  device.can.max_get = one_sided && scene->input.flag() ? 10000 : 0;
  device.can.atomics = one_sided && scene->input.flag();
  device.can.passes_ownership = scene->input.flag();
  device.can.put_ordered = scene->input.flag();
  device.can.needs_registration = scene->input.flag();
  return {device};
}
Result<std::unique_ptr<Transport>> open_odd(const Device& device, const OpenRequest& request) {
  return std::unique_ptr<Transport>(std::make_unique<OddTransport>(device, request));
}
const TransportFactory odd{"odd", probe, open_odd};

// The user: does things, keeps what was lent until the end.
class User {
 public:
  explicit User(Worker& worker) : worker_(worker) {
    worker.on_active(3, {this, nullptr, [](void*, Endpoint&, Bytes, Buffer) {}});
    worker.on_active_short({this, [](void*, PeerId, std::uint64_t, Bytes) {}});
    if (scene->input.flag()) {
      worker.post_persistent(
          {8, 8, this, [](void*, std::uint64_t size) { return memory(size); }, [](void*, Buffer, const Received&) {}});
    }
    connect();
  }

  void act() {
    Input& input = scene->input;
    Endpoint& peer = *peers_[input.below(peers_.size())];
    switch (input.below(16)) {
      case 0:
        return keep(
            worker_.tag_receive(room(), odd_number(), input.flag() ? kFullMask : odd_number(), on_receive, this));
      case 1:
        return keep(peer.tag_send(room(), odd_number(), on_end, this));
      case 2:
        return keep(peer.tag_send_sync(room(), odd_number(), on_end, this));
      case 3:
        return peer.tag_send_owned(memory(input.below(20000)), odd_number());
      case 4:
        return keep(peer.active_send(3, room().first(0), room(), on_end, this));
      case 5:
        return probe();
      case 6:
        return unpack(peer);
      case 7:
        return keep(peer.flush(on_end, this));
      case 8:
        return peer.fence();
      case 9:
        return keep(peer.close(input.flag(), on_end, this));
      case 10:
        return expose();
      case 11:
        if (!requests_.empty()) static_cast<void>(requests_[input.below(requests_.size())]->cancel());
        return;
      case 12:
        if (!requests_.empty()) requests_[input.below(requests_.size())].reset();
        requests_.erase(std::remove(requests_.begin(), requests_.end(), nullptr), requests_.end());
        return;
      case 13:
        return one_sided(peer);
      case 14:
        return connect();
      default:
        expect(!worker_.explain().empty(), "what is used can be said");
    }
  }

  // No peer says anything any more: all that was begun ends.
  void end(OddTransport& transport) {
    transport.lose_all();
    for (int i = 0; i < 20; ++i) {
      transport.lose_one_of_all();
      worker_.progress();
    }
    for (RequestPtr& request : requests_) static_cast<void>(request->cancel());
    for (int i = 0; i < 20; ++i) worker_.progress();
    for (RequestPtr& request : requests_) expect(request->ended(), "what was begun has ended");
    requests_.clear();
    keys_.clear();
    exposed_.clear();
  }

 private:
  static void on_end(void*, Outcome) {}
  static void on_receive(void*, const Received& got) {
    expect(got.outcome != Outcome::ok || got.from != 0, "from somebody");
  }
  static Buffer memory(std::uint64_t size) {
    if (size > 100000) return {};
    return {new std::byte[size + 1], size, [](void*, void* bytes) { delete[] static_cast<std::byte*>(bytes); },
            nullptr};
  }
  std::span<std::byte> room() {
    static constexpr std::size_t kSizes[] = {0, 1, 8, 100, 5000, 70000, 600000};
    rooms_.emplace_back(kSizes[scene->input.below(std::size(kSizes))]);
    return rooms_.back();
  }
  void keep(RequestPtr request) {
    if (request) requests_.push_back(std::move(request));
  }
  // To a worker that says odd things of itself; the first two are sound.
  void connect() {
    for (PeerId peer = 2; peer < 2 + kPeers; ++peer) {
      std::vector<std::byte> address = worker_.address();
      // Its own, as it would be: the number of the worker at the front, and again as its way to itself.
      const auto self = std::as_bytes(std::span(&kSelf, 1));
      for (auto at = address.begin(); (at = std::search(at, address.end(), self.begin(), self.end())) != address.end();)
        at = std::copy_n(reinterpret_cast<const std::byte*>(&peer), sizeof peer, at);
      if (peers_.size() >= kPeers) scene->input.damage(address);
      Result<Endpoint*> endpoint = worker_.connect(address);
      if (endpoint) {
        peers_.push_back(*endpoint);
      } else {
        expect(!endpoint.message().empty() && peers_.size() >= kPeers, "only a damaged address is refused");
      }
    }
  }
  void probe() {
    Input& input = scene->input;
    const bool take = input.flag();
    Probed found = worker_.tag_probe(odd_number(), input.flag() ? kFullMask : 0, take);
    if (found && take) keep(worker_.receive_probed(found, room(), on_receive, this));
  }
  void unpack(Endpoint& peer) {
    std::vector<std::byte> bytes =
        scene->keys.empty() ? std::vector<std::byte>(30) : scene->keys[scene->input.below(scene->keys.size())];
    scene->input.damage(bytes);
    Result<RkeyPtr> key = peer.unpack(bytes);
    if (key) keys_.emplace_back(&peer, *key);
  }
  void expose() {
    Result<MemoryPtr> memory = worker_.register_memory(room());
    if (!memory) return;
    exposed_.push_back(*memory);
    scene->keys.push_back(worker_.pack_key(*memory));
    // A peer that has the key knows the numbers in it.
    std::optional<PackedKey> key = read_packed_key(scene->keys.back());
    expect(key.has_value(), "a key of ours can be read");
    scene->heard.push_back(key->memory);
    scene->heard.push_back(key->base);
    scene->heard.push_back(key->base + key->size);
  }
  void one_sided(Endpoint& peer) {
    if (keys_.empty()) return;
    Input& input = scene->input;
    auto& [of, key] = keys_[input.below(keys_.size())];
    Endpoint& to = input.flag() ? peer : *of;
    const std::uint64_t remote = odd_number();
    if (input.flag()) return keep(to.put(room(), remote, key, on_end, this));
    if (input.flag()) return keep(to.get(room(), remote, key, on_end, this));
    rooms_.emplace_back(8);
    keep(to.fetch_op(static_cast<AtomicOp>(input.below(6)), input.flag() ? 4 : 8, 1, 2, remote, key,
                     rooms_.back().data(), on_end, this));
  }

  Worker& worker_;
  std::vector<Endpoint*> peers_;
  std::vector<RequestPtr> requests_;
  std::deque<std::vector<std::byte>> rooms_;
  std::vector<std::pair<Endpoint*, RkeyPtr>> keys_;
  std::vector<MemoryPtr> exposed_;
};

}  // namespace

void target(Input input) {
  Scene now;
  now.input = input;
  scene = &now;
  ContextRequest request;
  request.factories = {&odd};
  request.self = kSelf;
  request.host = "here";
  request.limits.credit_bytes = 20000;
  request.limits.unexpected_bytes = 100000;
  Result<std::unique_ptr<Context>> context = Context::create(std::move(request));
  expect(context.ok(), "the transport is usable");
  Result<std::unique_ptr<Worker>> worker = Worker::create(**context);
  expect(worker.ok(), "and opens");
  User user(**worker);
  while (now.input.more()) {
    if (now.input.flag()) {
      user.act();
    } else {
      now.transport->happen();
    }
    (*worker)->progress();
  }
  user.end(*now.transport);
}

}  // namespace periapt::fuzz
