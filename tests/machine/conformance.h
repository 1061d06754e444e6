// One suite for all transports: the sentences of machine/ucx-like/transport.h as tests. A transport joins with a file
// like
//
//   #include "machine/mine/transport.h"
//   #include "tests/machine/conformance.h"
//   PERIAPT_CONFORMS(Mine, (periapt::conformance::Subject{.factory = &periapt::mine::factory}));
//
// and   periapt_conformance_test(mine_conformance_test SOURCES mine_conformance_test.cpp)   in CMake. What the device
// does not offer is skipped with that reason. Every test steps all its workers itself, on one thread and in one
// process, unless it is about threads or about the death of a process.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/transport.h"
#include "tests/machine/standstill.h"

namespace periapt::conformance {

using namespace ucx;
using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

struct Subject {
  const TransportFactory* factory = nullptr;
  std::string device = {};  ///< empty: the first that is usable
  std::map<std::string, std::string> options = {};
  bool checks_secret = true;  ///< false: no connection is made (memory that only the job has), so none can be refused
  bool outlives_peer = true;  ///< false: peers of one process only, so none dies alone
  bool dies_anywhere =
      true;  ///< false: its library has locks in memory that processes share, and waits for a dead one's
  bool beyond_4_gib = true;             ///< false: nothing but the address differs from another subject, which shows it
  int many = 32;                        ///< workers in the tests with many
  std::string not_by_two_threads = {};  ///< why its workers are not tried by two threads at once; empty: they are
};
std::ostream& operator<<(std::ostream& out, const Subject& subject);

/// What a message of these tests carries in its header; the payload is made from the number.
struct Label {
  std::uint64_t from = 0;
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::uint64_t rest[2] = {0x5555'5555'5555'5555, 0x3333'3333'3333'3333};
};
static_assert(sizeof(Label) == kHeaderBytes);

/// What of a label travels: headers are of different lengths, and the rest of a label is the same in all.
Header header_of(const Label& label);

void fill(std::span<std::byte> bytes, std::uint64_t seed);
/// Where the bytes differ from fill(seed); -1: nowhere.
std::ptrdiff_t difference(View bytes, std::uint64_t seed);
bool equal(View a, View b);

/// A completion that counts how often it was called, and when it should not have been.
struct Ticket : Completion {
  Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  int calls = 0;
  Outcome outcome = Outcome::failed;
  std::function<void()> then;
  bool ended() const { return calls > 0; }
};

/// A worker of a test: a transport with its receiver, which checks what every transport must keep in all tests:
/// call-backs from progress() only, messages whole, in order, once.
class Worker final : public Receiver {
 public:
  Worker(const Subject& subject, PeerId self, const std::string& secret = "a secret of the tests");
  ~Worker() override;

  Transport& transport() { return *transport_; }
  const Capabilities& can() const { return transport_->device().can; }
  PeerId self() const { return self_; }
  Bytes address() const { return transport_->address(); }
  Link& connect(Worker& peer) { return connect(peer.self(), peer.address()); }
  Link& connect(PeerId peer, const Bytes& address);
  void close(Link& link);
  int progress();
  /// Ends the transport, as a worker that leaves does.
  void end();

  // Numbered messages: the payload's bytes follow from sender and number, and are checked where they arrive.
  Accepted send_inline(Link& link, std::size_t size);
  Accepted send_lent(Link& link, std::size_t size, Ticket& ticket, std::size_t misaligned = 0);
  Accepted send_owned(Link& link, std::size_t size);
  /// One with a label and payload of the caller's.
  Accepted lend(Link& link, const Label& label, View payload, Completion& completion);
  /// The same, with as much progress() of `others` and this as it needs to be taken; false: the link is lost.
  bool push(Link& link, std::size_t size, int way, const std::vector<Worker*>& others);
  Accepted put(Link& link, View local, const MemoryHandle* handle, std::uint64_t remote, const RemoteKey& key,
               Ticket& ticket);
  Accepted get(Link& link, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
               const RemoteKey& key, Ticket& ticket);
  Accepted flush(Link& link, Ticket& ticket);
  /// Lent memory is kept until its ticket has ended, then overwritten: no side may look at it any more.
  std::size_t lent_under_way() const { return lent_.size(); }

  /// What it has sent, what has arrived, what is under way.
  std::string describe() const;

  // What has arrived.
  std::uint64_t arrived_from(PeerId peer) const;
  std::uint64_t sent_to(PeerId peer) const;
  std::uint64_t bytes_arrived = 0;
  Link* link_to(PeerId peer) const;
  struct Loss {
    PeerId peer;
    std::string reason;
  };
  std::vector<Loss> losses;

  // What a test may change.
  std::function<void(Link&)> on_arrived;  ///< after the checks
  bool wants_more = true;                 ///< what arrived() answers
  std::function<void(Link&)> on_lost;
  std::function<std::byte*(std::uint64_t)>
      placer;  ///< instead of memory of the worker's own, whose contents are checked
  bool refuse_placement = false;
  static inline std::atomic<int> owned_alive = 0;  ///< buffers of send_owned() that have not been released yet

  // Receiver
  bool arrived(Link& from, Header header, View payload) override;
  void arrived_owned(Link& from, Header header, Buffer payload) override;
  std::byte* place(Link& from, Header header, std::uint64_t size) override;
  void placed(Link& from) override;
  void link_lost(Link& link, const std::string& reason) override;

  /// Whether a call of this thread into a transport that is not progress() is under way.
  static thread_local int inside_call;
  static thread_local int inside_progress;

 private:
  struct Incoming {
    Label label;
    Bytes bytes;
    std::byte* at = nullptr;
    std::uint64_t size = 0;
  };
  struct Lent {
    Bytes bytes;
    Ticket* ticket;
  };
  Label label(Link& link, std::size_t size) const;
  void check_call_back(Link& from, const char* what);
  void take(Link& from, const Label& label, View payload, bool check);
  void scribble_ended();

  PeerId self_;
  std::string host_ = "host of the tests";
  std::unique_ptr<Transport> transport_;
  std::map<PeerId, std::uint64_t> sent_, arrived_;
  std::map<PeerId, Link*> links_;
  std::map<Link*, Incoming> incoming_;
  std::deque<Lent> lent_;
  std::deque<Ticket> tickets_;  // of push()
  std::string secret_;
};

/// All of them.
std::string describe(const std::vector<Worker*>& workers);

/// progress() of all until `done`. What moves is whole messages: `patience_s` has to be enough for one of them.
template <class Done>
void pump(const std::vector<Worker*>& workers, Done&& done, int patience_s = 10) {
  test::Standstill standstill([&workers] { return describe(workers); }, patience_s);
  while (!done()) {
    int moved = 0;
    for (Worker* worker : workers) moved += worker->progress();
    standstill.look(moved > 0);
  }
}
/// progress() of all, some rounds: for what must not happen.
void settle(const std::vector<Worker*>& workers, int rounds = 200);

/// Two workers of this process with a link between them that has carried a message each way.
struct Pair {
  explicit Pair(const Subject& subject);
  Worker a, b;
  Link* ab = nullptr;
  Link* ba = nullptr;
  std::vector<Worker*> both() { return {&a, &b}; }
};

/// Memory of a worker that others may reach.
struct Shared {
  Shared(Worker& owner, std::size_t size);
  ~Shared();
  std::uint64_t at(std::size_t offset = 0) const { return reinterpret_cast<std::uint64_t>(bytes.data()) + offset; }
  RemoteKey key_for(Worker& other, Link& link);
  Worker& owner;
  Bytes bytes;
  MemoryHandle handle;
};

/// A worker in a process of its own, forked here, which the test may kill. Numbers go both ways by pipe.
class Process {
 public:
  using Body = std::function<void(Worker& worker, Process& self)>;
  Process(const Subject& subject, PeerId self, Body body);
  ~Process();
  Bytes address;
  void kill();
  void tell(std::uint64_t word);    ///< to the other side
  std::uint64_t hear();             ///< waits for a word of the other side; ~0: there will be none
  bool heard(std::uint64_t* word);  ///< without waiting

 private:
  int pid_ = -1, in_ = -1, out_ = -1;
};

class Conformance : public testing::TestWithParam<Subject> {
 protected:
  const Subject& subject() const { return GetParam(); }
};

}  // namespace periapt::conformance

/// Gives a Subject to all tests of the suite.
#define PERIAPT_CONFORMS(name, subject)                                 \
  namespace periapt::conformance {                                      \
  INSTANTIATE_TEST_SUITE_P(name, Conformance, testing::Values subject); \
  }
