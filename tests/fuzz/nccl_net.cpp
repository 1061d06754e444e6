// What other processes give to NCCL's network over the engine (machine/nccl-net): handles that NCCL carries to
// connect(); what comes to the port of a listener, and from the port that a handle names; words about connections over
// the engine, and messages of them. All of it is right, damaged or made up, comes in any order, and meanwhile this
// process, which is its own peer too, connects, accepts, sends, receives and closes.
//
// The plug-in's threads have workers of the engine over TCP of this host alone, and no address here leads elsewhere.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "machine/nccl-net/net.h"
#include "machine/nccl-net/worker.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using namespace nccl_net;

constexpr std::uint16_t kControl = 1;

struct ForTheProcess {
  ForTheProcess() {
    ::setenv("PERIAPT_NCCL_TRANSPORTS", "tcp", 1);
    ::setenv("PERIAPT_NCCL_DEVICES", "127.0.0.1", 1);
  }
} const for_the_process;

// A socket that listens here, for a handle that leads to no plug-in.
class Impostor {
 public:
  Impostor() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    expect(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(fd_, 64) == 0, "a port");
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~Impostor() { ::close(fd_); }
  int accept() const { return ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }
  std::uint16_t port = 0;

 private:
  const int fd_;
};

class Scene {
 public:
  explicit Scene(Input input) : input_(input), worker_(*CommWorker::of_thread()) {
    std::array<std::byte, kHandleBytes> bytes;
    expect(listen(0, bytes.data(), &listening_) == Answer::success, "it listens");
    std::memcpy(&good_, bytes.data(), sizeof good_);
    const Result<ucx::Endpoint*> self = worker_->engine->connect(worker_->engine->address());
    expect(self.ok(), "it reaches itself");
    self_ = *self;
  }
  Scene(const Scene&) = delete;

  void run() {
    for (int acts = 0; input_.more() && acts < 300; ++acts) act();
    end();
  }

 private:
  struct Talk {
    void* comm = nullptr;
    bool sends = false;
  };
  using Given = std::array<std::byte, kHandleBytes>;

  void act() {
    switch (input_.below(12)) {
      case 0:
        return give(handle());
      case 1:
      case 2:
        return try_to_connect();
      case 3:
      case 4:
        return accept_one();
      case 5:
        return visit();
      case 6:
        return receive_visitor();
      case 7:
        return say(input_.below(sockets_.size() + 1));
      case 8:
        return control();
      case 9:
      case 10:
        return operate();
      default:
        return close_one();
    }
  }

  // ---- handles

  Handle handle() {
    Handle made = good_;
    if (input_.flag()) made.number = input_.number<std::uint64_t>();
    if (input_.below(4) == 3) made.token = input_.number<std::uint64_t>();
    if (input_.flag()) made.port = impostor_.port;
    if (input_.flag()) made.boot ^= 1;  // then it is its addresses that count
    made.count = input_.number<std::uint16_t>();
    for (auto& address : made.addresses) {
      address = {};
      if (input_.below(4) == 3) continue;  // ::, this host
      address[10] = address[11] = std::byte{0xFF};
      address[12] = std::byte{127};
      address[15] = std::byte{1};
    }
    made.unused = input_.number<std::uint32_t>();
    if (input_.below(4) == 3) made.connecting = input_.flag() ? input_.below(8) : input_.number<std::uint64_t>();
    if (input_.below(16) == 15) made.magic = input_.number<std::uint64_t>();
    return made;
  }
  void give(const Handle& made) {
    if (given_.size() >= 4) return;
    Given bytes{};
    const Handle& one = input_.flag() ? made : good_;
    std::memcpy(bytes.data(), &one, sizeof one);
    given_.push_back(bytes);
  }
  void try_to_connect() {
    if (given_.empty()) return;
    const auto at = given_.begin() + static_cast<std::ptrdiff_t>(input_.below(given_.size()));
    void* made = nullptr;
    const Answer answer = connect(0, at->data(), &made);
    expect(made == nullptr || answer == Answer::success, "a connection that is made is no failure");
    if (made != nullptr) talks_.push_back({made, true});
    if (made != nullptr || answer != Answer::success) given_.erase(at);
  }
  void accept_one() {
    void* made = nullptr;
    const Answer answer = accept(listening_, &made);
    expect(made == nullptr || answer == Answer::success, "a connection that is taken is no failure");
    if (made != nullptr) talks_.push_back({made, false});
  }

  // ---- over TCP

  void visit() {
    if (sockets_.size() >= 8) return;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(good_.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static_cast<void>(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    sockets_.push_back(fd);
  }
  void receive_visitor() {
    const int fd = impostor_.accept();
    if (fd >= 0) sockets_.push_back(fd);
  }
  void say(std::size_t which) {
    if (which >= sockets_.size()) return;
    if (input_.below(8) == 7) {
      ::close(sockets_[which]);
      sockets_.erase(sockets_.begin() + static_cast<std::ptrdiff_t>(which));
      return;
    }
    std::vector<std::byte> address;
    if (input_.flag()) address = worker_->engine->address();
    if (input_.below(4) == 3) address.resize(std::min(address.size(), input_.below(64)));
    if (address.empty()) address.assign(input_.below(12), std::byte{9});
    const std::array<std::uint64_t, 3> head = {input_.below(8) == 7 ? input_.number<std::uint64_t>() : Handle::kMagic,
                                               input_.flag()   ? good_.token
                                               : input_.flag() ? good_.number
                                                               : input_.below(6),
                                               input_.below(8) == 7 ? input_.number<std::uint64_t>() : address.size()};
    std::vector<std::byte> bytes(sizeof head);
    std::memcpy(bytes.data(), head.data(), sizeof head);
    bytes.insert(bytes.end(), address.begin(), address.end());
    if (input_.below(4) == 3) bytes.resize(input_.below(bytes.size() + 1));
    static_cast<void>(::send(sockets_[which], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  // ---- over the engine

  void control() {
    const std::lock_guard lock(worker_->mutex);
    std::array<std::uint32_t, 3> word = {static_cast<std::uint32_t>(input_.below(6)),
                                         static_cast<std::uint32_t>(input_.below(6)),
                                         static_cast<std::uint32_t>(input_.below(3))};
    if (input_.below(8) == 7) word[input_.below(3)] = input_.number<std::uint32_t>();
    const auto bytes = std::as_bytes(std::span(word));
    self_->active_send(kControl, input_.below(8) == 7 ? bytes.first(input_.below(13)) : bytes, {});
    if (input_.flag())
      sent_.push_back(self_->tag_send(Bytes(rooms_).first(input_.below(600)),
                                      std::uint64_t{input_.below(6)} << 32 | input_.below(3), nullptr, nullptr));
    worker_->engine->progress();
  }

  void operate() {
    if (!requests_.empty() && input_.flag()) {
      const auto at = requests_.begin() + static_cast<std::ptrdiff_t>(input_.below(requests_.size()));
      int done = 0;
      std::array<int, kMostReceives> sizes{};
      const Answer answer = test(at->second, &done, sizes.data());
      // One that has failed is the connection's until that is closed.
      if (done != 0 || answer != Answer::success) requests_.erase(at);
      return;
    }
    if (talks_.empty()) return;
    const Talk& talk = talks_[input_.below(talks_.size())];
    void* request = nullptr;
    const std::size_t size = input_.below(600);
    int tag = static_cast<int>(input_.below(3));
    if (talk.sends) {
      send(talk.comm, rooms_.data(), size, tag, nullptr, &request);
    } else {
      void* room = rooms_.data();
      receive(talk.comm, 1, &room, &size, &tag, nullptr, &request);
    }
    if (request != nullptr) requests_.emplace_back(talk.comm, request);
  }

  void close_one() {
    if (talks_.empty()) return;
    const auto at = talks_.begin() + static_cast<std::ptrdiff_t>(input_.below(talks_.size()));
    close_talk(*at);
    talks_.erase(at);
  }
  void close_talk(const Talk& talk) {
    std::erase_if(requests_, [&](const auto& one) { return one.first == talk.comm; });
    expect((talk.sends ? close_send(talk.comm) : close_receive(talk.comm)) == Answer::success, "it closes");
  }

  void end() {
    for (const int fd : sockets_) ::close(fd);
    for (const Talk& talk : talks_) close_talk(talk);
    // What has been begun ends, though no port leads anywhere any more.
    expect(close_listen(listening_) == Answer::success, "a listener closes");
    while (!given_.empty()) {
      void* made = nullptr;
      const Answer answer = connect(0, given_.back().data(), &made);
      if (made != nullptr) close_talk({made, true});
      if (answer != Answer::success || made != nullptr || ++ends_ > 1000) given_.pop_back();
    }
  }

  Input input_;
  std::shared_ptr<CommWorker> worker_;
  ucx::Endpoint* self_ = nullptr;
  void* listening_ = nullptr;
  Handle good_;
  Impostor impostor_;
  std::deque<Given> given_;
  std::vector<int> sockets_;
  std::vector<Talk> talks_;
  std::vector<std::pair<void*, void*>> requests_;  ///< of a connection
  std::vector<std::byte> rooms_ = std::vector<std::byte>(600);
  std::vector<ucx::RequestPtr> sent_;
  int ends_ = 0;
};

}  // namespace

void target(Input input) {
  Scene scene(input);
  scene.run();
}

}  // namespace periapt::fuzz
