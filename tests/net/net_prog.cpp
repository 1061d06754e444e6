// A worker of the network tests: one transport, driven by lines on stdin; it checks what it receives as all workers of
// the conformance suite do.
//
//   net_prog ID [+net-devices eth0] [+net-timeout 2]
//
//   address                        answers: address HEX
//   connect PEER HEX               opens the link
//   send PEER COUNT SIZE           accepts them all, then answers: sent
//   wait PEER COUNT                answers: arrived, when so many have come from there in all
//   flush PEER                     answers: flushed, or: lost
//   loss PEER                      answers: loss REASON, when that peer is lost
//   pause SECONDS                  does nothing at all for so long, then answers: paused
//   end                            answers: good, or: bad, and ends
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <thread>

#include "machine/tcp/transport.h"
#include "tests/machine/conformance.h"
#include "tests/machine/hex.h"

using namespace periapt;
using namespace periapt::conformance;

namespace {

class Driver {
 public:
  explicit Driver(Worker& worker) : worker_(worker) {}

  /// False: the end.
  bool obey(const std::string& line) {
    std::istringstream words(line);
    std::string word, hex;
    PeerId peer = 0;
    std::uint64_t count = 0;
    std::size_t size = 0;
    words >> word;
    if (word == "address") return say("address " + test::to_hex(worker_.address()));
    if (word == "end") return false;
    if (word == "pause") return words >> size, std::this_thread::sleep_for(std::chrono::seconds(size)), say("paused");
    words >> peer;
    if (word == "connect") return words >> hex, worker_.connect(peer, test::from_hex(hex)), say("connecting");
    if (word == "send") return words >> count >> size, send(peer, count, size);
    if (word == "wait")
      return words >> count, wait([&] { return worker_.arrived_from(peer) >= count; }), say("arrived");
    if (word == "flush") return flush(peer);
    if (word == "loss") return wait([&] { return lost(peer) != nullptr; }), say("loss " + lost(peer)->reason);
    return say("what? " + line);
  }
  void progress() { worker_.progress(); }

 private:
  static bool say(const std::string& text) { return std::cout << text << std::endl, true; }
  const Worker::Loss* lost(PeerId peer) const {
    for (const Worker::Loss& loss : worker_.losses)
      if (loss.peer == peer) return &loss;
    return nullptr;
  }
  void wait(const std::function<bool()>& done) {
    while (!done()) worker_.progress();
  }
  bool send(PeerId peer, std::uint64_t count, std::size_t size) {
    Link* link = nullptr;
    wait([&] { return (link = worker_.link_to(peer)) != nullptr; });
    for (std::uint64_t i = 0; i < count; ++i)
      if (!worker_.push(*link, size, static_cast<int>(i % 3), {})) return say("lost");
    return say("sent");
  }
  bool flush(PeerId peer) {
    Ticket& ticket = tickets_.emplace_back();
    Accepted answer = Accepted::no_resource;
    wait([&] { return (answer = worker_.flush(*worker_.link_to(peer), ticket)) != Accepted::no_resource; });
    if (answer == Accepted::pending) wait([&] { return ticket.ended(); });
    return say(answer == Accepted::pending && ticket.outcome == Outcome::ok ? "flushed" : "lost");
  }

  Worker& worker_;
  std::deque<Ticket> tickets_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Subject subject{.factory = &tcp::factory, .options = {{"+net-devices", "eth0"}}};
  for (int i = 2; i + 1 < argc; i += 2) subject.options[argv[i]] = argv[i + 1];
  Worker worker(subject, std::stoul(argv[1]));
  {
    Driver driver(worker);
    for (;;) {
      pollfd in{0, POLLIN, 0};
      if (::poll(&in, 1, 0) != 1) {
        driver.progress();
        continue;
      }
      std::string line;
      for (char one = 0; ::read(0, &one, 1) == 1 && one != '\n';) line += one;
      if (line.empty() || !driver.obey(line)) break;
    }
    worker.end();
  }
  std::cout << (testing::Test::HasFailure() ? "bad" : "good") << std::endl;
  return testing::Test::HasFailure() ? 1 : 0;
}
