// The shared memory transport between processes that were started on their own (this program, executed again): all ways
// that bytes can go, the death of one in the middle, and that nothing is left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "machine/shm/rendezvous.h"
#include "machine/shm/transport.h"
#include "tests/machine/standstill.h"

namespace periapt::shm {
namespace {

using namespace ucx;

std::string g_secret = "of this test";

std::byte byte_of(std::uint64_t number, std::uint64_t at) {
  return static_cast<std::byte>(number * 131 + at * 7 + at / 251);
}
void fill(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(number, i);
}
bool is_filled(std::span<const std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_of(number, i)) return false;
  }
  return true;
}

/// What a message of these tests says of itself.
struct Label {
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::uint64_t rest[3] = {};
};
static_assert(sizeof(Label) == kHeaderBytes);

/// A worker with one link, that checks what it gets.
class Worker final : public Receiver {
 public:
  explicit Worker(PeerId self, const std::map<std::string, std::string>& options = {},
                  const std::string& host = "here") {
    OpenRequest request;
    request.receiver = this;
    request.self = self;
    request.secret = std::as_bytes(std::span(g_secret));
    request.host = host;
    request.option = [options](const std::string& name) {
      auto found = options.find(name);
      return found == options.end() ? std::string() : found->second;
    };
    auto opened = factory.open(factory.probe(request).front(), request);
    if (!opened) throw std::runtime_error(opened.message());
    transport = std::move(*opened);
  }

  template <class Done>
  void until(Done&& done) {
    test::Standstill standstill([this] { return state(); });
    while (!done()) standstill.look(transport->progress() > 0);
  }
  std::string state() const {
    return std::to_string(messages) + " messages have come" + (link == nullptr ? ", there is no link" : "") +
           (lost.empty() ? "" : ", the link was lost: " + lost);
  }
  /// Sends message `number` of `size` bytes from the memory given, to its end.
  void send(std::span<std::byte> bytes, std::uint64_t number) {
    fill(bytes, number);
    Label label{number, bytes.size()};
    bool ended = false;
    Waiting waiting(ended);
    Accepted answer;
    while ((answer = transport->send_lent(*link, bytes_of(label), bytes, waiting)) == Accepted::no_resource) {
      transport->progress();
    }
    if (answer == Accepted::pending) until([&] { return ended; });
  }
  void send_buffer(Buffer buffer, std::uint64_t number) {
    fill(buffer.bytes(), number);
    Label label{number, buffer.size()};
    while (transport->send_owned(*link, bytes_of(label), buffer) == Accepted::no_resource) transport->progress();
  }
  template <class Start>
  Outcome finish(Start&& start) {
    bool ended = false;
    Waiting waiting(ended);
    Accepted answer;
    while ((answer = start(waiting)) == Accepted::no_resource) transport->progress();
    if (answer == Accepted::done) return Outcome::ok;
    if (answer == Accepted::lost) return Outcome::peer_lost;
    until([&] { return ended; });
    return waiting.outcome;
  }

  bool arrived(Link& from, Header header, std::span<const std::byte> payload) override {
    link = &from;
    check(header, payload);
    return true;
  }
  void arrived_owned(Link& from, Header header, Buffer payload) override {
    link = &from;
    ++owned;
    check(header, payload.bytes());
    if (keep) kept.push_back(std::move(payload));
  }
  std::byte* place(Link& from, Header header, std::uint64_t size) override {
    link = &from;
    std::memcpy(&label_, header.data(), sizeof(label_));
    bool shared = label_.number % 2 == 1;
    target_ = shared ? transport->allocate(size) : Buffer();
    private_target_.assign(shared ? 0 : size, std::byte{0});
    at_ = shared ? target_.data() : private_target_.data();
    return at_;
  }
  void placed(Link&) override { check({reinterpret_cast<std::byte*>(&label_), sizeof(label_)}, {at_, label_.size}); }
  void link_lost(Link&, const std::string& reason) override { lost = reason; }

  std::unique_ptr<Transport> transport;
  Link* link = nullptr;
  std::uint64_t messages = 0, owned = 0;
  bool good = true, keep = false;
  std::vector<Buffer> kept;
  std::string lost;
  static Header bytes_of(const Label& label) { return std::as_bytes(std::span(&label, 1)); }

 private:
  struct Waiting : Completion {
    explicit Waiting(bool& flag) : ended(flag) {
      done = [](Completion& self, Outcome how) {
        static_cast<Waiting&>(self).ended = true;
        static_cast<Waiting&>(self).outcome = how;
      };
    }
    bool& ended;
    Outcome outcome = Outcome::failed;
  };
  void check(Header header, std::span<const std::byte> payload) {
    Label label;
    good = good && header.size() == sizeof(label);
    std::memcpy(&label, header.data(), sizeof(label));
    good = good && label.number == messages && label.size == payload.size() && is_filled(payload, label.number);
    ++messages;
  }
  Label label_;
  Buffer target_;
  std::vector<std::byte> private_target_;
  std::byte* at_ = nullptr;
};

/// This program again, in a role: a process that shares nothing with this one but two pipes.
class Process {
 public:
  Process(const std::string& role, const std::string& cma) {
    int there[2], here[2];
    if (::pipe2(there, 0) != 0 || ::pipe2(here, 0) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(there[1]);
      ::close(here[0]);
      std::string in = std::to_string(there[0]), out = std::to_string(here[1]);
      ::execl("/proc/self/exe", "transport_processes_test", "--role", role.c_str(), cma.c_str(), in.c_str(),
              out.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(there[0]);
    ::close(here[1]);
    in_ = here[0];
    out_ = there[1];
  }
  ~Process() {
    ::close(in_);
    ::close(out_);
    if (pid_ > 0) {
      EXPECT_EQ(wait(), 0);
    }
  }
  void tell(const std::vector<std::byte>& bytes) { write_bytes(out_, bytes); }
  std::vector<std::byte> hear() { return read_bytes(in_); }
  bool has_spoken() {
    pollfd one{in_, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  pid_t pid() const { return pid_; }

  static void write_bytes(int file, const std::vector<std::byte>& bytes) {
    std::uint64_t size = bytes.size();
    if (::write(file, &size, 8) != 8 || ::write(file, bytes.data(), size) != static_cast<ssize_t>(size)) ::_exit(126);
  }
  static std::vector<std::byte> read_bytes(int file) {
    std::uint64_t size = 0;
    if (::read(file, &size, 8) != 8) return {};
    std::vector<std::byte> bytes(size);
    for (std::uint64_t got = 0; got < size;) {
      ssize_t more = ::read(file, bytes.data() + got, size - got);
      if (more <= 0) return {};
      got += static_cast<std::uint64_t>(more);
    }
    return bytes;
  }

 private:
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

constexpr std::size_t kMemory = 4 << 20;
const std::size_t kSizes[] = {0,     1,     16,    17,    100,    8192,   8193,   12288,
                              20001, 32768, 50000, 70000, 131072, 300001, 600007, 3 << 20};

/// A message from private memory, from shared memory, or as an owned buffer: kinds 0 to 2.
void send_from(int kind, Worker& worker, std::size_t size, std::uint64_t number) {
  std::vector<std::byte> bytes(size);
  Buffer shared = worker.transport->allocate(size + 64);
  if (kind == 0) worker.send(bytes, number);
  if (kind == 1) worker.send(shared.bytes().subspan(number % 64, size), number);
  if (kind == 2) worker.send_buffer(worker.transport->allocate(size), number);
}

/// Messages of a stream: as many as are not to be held up by each other, of sizes that go by different ways.
constexpr std::uint64_t kStreamed = 400;
std::size_t streamed_size(std::uint64_t number) { return 8193 + number * 7919 % 60000; }

/// Sends them from shared and private memory by turns, sixty at a time. False: they could not all be sent.
bool send_stream(Worker& worker) {
  struct Count : Completion {
    std::uint64_t ended = 0;
  } count;
  count.done = [](Completion& self, Outcome how) { static_cast<Count&>(self).ended += how == Outcome::ok ? 1 : 1000; };
  std::uint64_t sent = 0, at_once = 0;
  for (std::uint64_t begin = 0; begin < kStreamed; begin = sent) {
    std::vector<Buffer> shared;
    std::vector<std::vector<std::byte>> own;
    while (sent < std::min(begin + 60, kStreamed)) {
      std::size_t size = streamed_size(sent);
      shared.push_back(worker.transport->allocate(size));
      own.emplace_back(size);
      std::span<std::byte> bytes = sent / 3 % 3 != 0 ? shared.back().bytes().first(size) : std::span(own.back());
      fill(bytes, sent);
      Label label{sent++, size};
      Accepted answer;
      while ((answer = worker.transport->send_lent(*worker.link, Worker::bytes_of(label), bytes, count)) ==
             Accepted::no_resource) {
        worker.transport->progress();
      }
      at_once += answer == Accepted::done ? 1 : 0;
    }
    worker.until([&] { return count.ended + at_once >= sent; });
  }
  return count.ended + at_once == kStreamed;
}

/// What the other process does: echoes messages until it is told to end; offers its memory; or just lives.
int play(const std::string& role, const std::string& cma, int in, int out) {
  Worker worker(2, {{"+shm-cma", cma}});
  Transport& transport = *worker.transport;
  Process::write_bytes(out, transport.address());
  if (role == "echo") {
    // Gets each size in each kind; answers in kind.
    std::uint64_t number = 0;
    for (std::size_t size : kSizes) {
      for (int kind = 0; kind < 3; ++kind) {
        worker.until([&] { return worker.messages > number; });
        if (!worker.good) return 3;
        send_from(kind, worker, size, number++);
      }
    }
    worker.until([&] { return !worker.lost.empty(); });
    return worker.lost.find("closed") != std::string::npos ? 0 : 4;
  }
  if (role == "memory") {
    std::vector<std::byte> own(kMemory);
    Buffer shared = transport.allocate(kMemory);
    for (std::byte* at : {own.data(), shared.data()}) {
      auto handle = transport.register_memory(at, kMemory, MemoryKind::host);
      if (!handle) return 5;
      std::vector<std::byte> told(8);
      std::memcpy(told.data(), &at, 8);
      std::vector<std::byte> key = transport.pack_key(*handle);
      told.insert(told.end(), key.begin(), key.end());
      Process::write_bytes(out, told);
    }
    // Each message asks whether the memory is filled with its number.
    std::uint64_t answered = 0;
    while (worker.lost.empty()) {
      transport.progress();
      if (worker.messages == answered) continue;
      ++answered;
      bool as_told = is_filled({own.data(), kMemory}, answered) && is_filled(shared.bytes().first(kMemory), answered);
      Process::write_bytes(out, {std::byte{as_told}});
    }
    return 0;
  }
  if (role == "stream") {
    while (worker.link == nullptr) transport.progress();
    if (!send_stream(worker)) return 7;
    // The other side closes when it knows that all has ended here, and not as soon as it has all messages.
    worker.send_buffer(transport.allocate(100), kStreamed);
    worker.until([&] { return !worker.lost.empty(); });
    return 0;
  }
  if (role == "live" || role == "live-shared") {
    worker.keep = true;
    while (worker.messages == 0) transport.progress();
    Process::write_bytes(out, {std::byte{1}});
    std::vector<std::byte> own(16 << 20);
    Buffer shared = transport.allocate(16 << 20);
    std::span<std::byte> bytes = role == "live" ? std::span(own) : shared.bytes().first(16 << 20);
    for (std::uint64_t number = 0;; ++number) worker.send(bytes, number);  // until it is killed
  }
  if (role == "silent") return Process::read_bytes(in).size() == 1 ? 0 : 6;
  return 9;
}

class OwnProcesses : public testing::TestWithParam<const char*> {};  // +shm-cma

TEST_P(OwnProcesses, AllSizesGoBothWaysFromAllKindsOfMemory) {
  Process other("echo", GetParam());
  Worker worker(1, {{"+shm-cma", GetParam()}});
  Transport& transport = *worker.transport;
  std::vector<std::byte> address = other.hear();
  ASSERT_TRUE(transport.reaches(address));
  auto link = transport.connect(2, address);
  ASSERT_TRUE(link.ok()) << link.message();
  worker.link = *link;
  std::uint64_t number = 0;
  for (std::size_t size : kSizes) {
    for (int kind = 0; kind < 3; ++kind) {
      SCOPED_TRACE(testing::Message() << size << " bytes, kind " << kind);
      send_from(kind, worker, size, number++);
      worker.until([&] { return worker.messages == number || !worker.lost.empty(); });
      ASSERT_EQ(worker.lost, "");
      ASSERT_TRUE(worker.good);
    }
  }
  EXPECT_GT(worker.owned, 0u) << "messages in shared memory are handed over, not copied";
  transport.close(*worker.link);
  for (int i = 0; i < 100; ++i) transport.progress();
}

TEST_P(OwnProcesses, AStreamOfAllWaysKeepsItsOrder) {
  Process other("stream", GetParam());
  Worker worker(1, {{"+shm-cma", GetParam()}});
  auto link = worker.transport->connect(2, other.hear());
  ASSERT_TRUE(link.ok());
  worker.link = *link;
  worker.send_buffer(worker.transport->allocate(100), 0);
  worker.until([&] { return worker.messages == kStreamed + 1 || !worker.lost.empty(); });
  EXPECT_EQ(worker.messages, kStreamed + 1);
  EXPECT_TRUE(worker.good);
}

TEST_P(OwnProcesses, MemoryIsPutGotAndCountedIn) {
  Process other("memory", GetParam());
  Worker worker(1, {{"+shm-cma", GetParam()}});
  Transport& transport = *worker.transport;
  auto link = transport.connect(2, other.hear());
  ASSERT_TRUE(link.ok());
  worker.link = *link;
  RemoteKey keys[2];
  std::uint64_t at[2];
  for (int i = 0; i < 2; ++i) {
    std::vector<std::byte> told = other.hear();
    std::memcpy(&at[i], told.data(), 8);
    auto key = transport.unpack_key(*worker.link, std::span(told).subspan(8));
    ASSERT_TRUE(key.ok());
    keys[i] = *key;
  }
  std::vector<std::byte> bytes(kMemory), back(kMemory);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    fill(bytes, number);
    for (int i = 0; i < 2; ++i) {
      // In pieces of several sizes, so that all ways are taken.
      for (std::uint64_t begin = 0; begin < kMemory;) {
        std::uint64_t size =
            std::min<std::uint64_t>(number == 1 ? kMemory : number * 9973 + begin / 2, kMemory - begin);
        ASSERT_EQ(worker.finish([&](Completion& done) {
          return transport.put(*worker.link, {bytes.data() + begin, size}, nullptr, at[i] + begin, keys[i], done);
        }),
                  Outcome::ok);
        begin += size;
      }
    }
    // The message behind the puts finds them there.
    Label label{number - 1, 0};
    while (transport.send_inline(*worker.link, Worker::bytes_of(label), {}) == Accepted::no_resource)
      transport.progress();
    worker.until([&] { return other.has_spoken(); });
    EXPECT_EQ(other.hear(), std::vector<std::byte>{std::byte{1}}) << "round " << number;
    for (int i = 0; i < 2; ++i) {
      std::fill(back.begin(), back.end(), std::byte{0});
      std::uint64_t half = kMemory / 3;
      ASSERT_EQ(worker.finish([&](Completion& done) {
        return transport.get(*worker.link, {back.data(), half}, nullptr, at[i], keys[i], done);
      }),
                Outcome::ok);
      ASSERT_EQ(worker.finish([&](Completion& done) {
        return transport.get(*worker.link, {back.data() + half, kMemory - half}, nullptr, at[i] + half, keys[i], done);
      }),
                Outcome::ok);
      EXPECT_TRUE(is_filled(back, number));
    }
  }
  EXPECT_EQ(transport.direct(*worker.link, keys[0], at[0], 8), nullptr) << "private memory of another process";
  std::byte* direct = transport.direct(*worker.link, keys[1], at[1], 8);
  ASSERT_NE(direct, nullptr);
  EXPECT_TRUE(is_filled({direct, 8}, 3));
  for (int i = 0; i < 2; ++i) {
    std::uint64_t zero = 0, before = 77;
    ASSERT_EQ(worker.finish([&](Completion& done) {
      return transport.put(*worker.link, std::as_bytes(std::span(&zero, 1)), nullptr, at[i], keys[i], done);
    }),
              Outcome::ok);
    for (std::uint64_t n = 0; n < 100; ++n) {
      ASSERT_EQ(worker.finish([&](Completion& done) {
        return transport.fetch_op(*worker.link, AtomicOp::add, 8, 3, 0, at[i], keys[i], &before, done);
      }),
                Outcome::ok);
      ASSERT_EQ(before, 3 * n);
    }
  }
  for (RemoteKey& key : keys) transport.release_key(key);
}

TEST_P(OwnProcesses, AKillInTheMiddleIsTold) {
  for (int delay = 0; delay < 12; ++delay) {
    Process other(delay % 2 == 0 ? "live" : "live-shared", GetParam());
    Worker worker(1, {{"+shm-cma", GetParam()}});
    Transport& transport = *worker.transport;
    auto link = transport.connect(2, other.hear());
    ASSERT_TRUE(link.ok());
    worker.link = *link;
    worker.send_buffer(transport.allocate(100000), 0);
    worker.until([&] { return other.has_spoken(); });
    for (int i = 0; i < delay * 3; ++i) transport.progress();
    pid_t pid = other.pid();
    other.kill();
    worker.until([&] { return !worker.lost.empty(); });
    EXPECT_NE(worker.lost.find("process " + std::to_string(pid) + " has ended"), std::string::npos) << worker.lost;
    Label label;
    EXPECT_EQ(transport.send_inline(*worker.link, Worker::bytes_of(label), {}), Accepted::lost);
  }
}

INSTANTIATE_TEST_SUITE_P(Copying, OwnProcesses, testing::Values("on"));
INSTANTIATE_TEST_SUITE_P(Forbidden, OwnProcesses, testing::Values("off"));

// Of ours: other programs of the machine come and go there, too.
std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (std::string name = entry.path().filename(); name.find("periapt") != std::string::npos) names.insert(name);
  }
  return names;
}

TEST(ShmTransport, NothingIsLeftBehindByAKill) {
  std::set<std::string> before = names_in("/dev/shm");
  {
    Process other("live", "on");
    Worker worker(1);
    auto link = worker.transport->connect(2, other.hear());
    ASSERT_TRUE(link.ok());
    worker.link = *link;
    worker.send_buffer(worker.transport->allocate(5000), 0);
    worker.until([&] { return other.has_spoken(); });
    other.kill();
    worker.until([&] { return !worker.lost.empty(); });
  }
  EXPECT_EQ(names_in("/dev/shm"), before);
  for (const std::string& name : names_in("/tmp")) EXPECT_EQ(name.find("periapt-shm"), std::string::npos) << name;
}

TEST(ShmTransport, AnotherHostNameIsAnotherHost) {
  Worker a(1, {}, "node1"), b(2, {}, "node2"), c(3, {}, "node1");
  EXPECT_FALSE(a.transport->reaches(b.transport->address()));
  EXPECT_TRUE(a.transport->reaches(c.transport->address()));
  auto link = a.transport->connect(2, b.transport->address());
  ASSERT_FALSE(link.ok());
  EXPECT_NE(link.message().find("another host"), std::string::npos);
}

TEST(ShmTransport, AnUnknownSwitchIsExplained) {
  try {
    Worker worker(1, {{"+shm-cma", "maybe"}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "+shm-cma maybe is not understood; say +shm-cma on or +shm-cma off");
  }
}

TEST(ShmTransport, ASecretThatIsWrongIsNamedAsTheReason) {
  Worker a(1);
  g_secret = "another";
  Worker b(2);
  g_secret = "of this test";
  auto link = b.transport->connect(1, a.transport->address());
  ASSERT_TRUE(link.ok());
  while (b.lost.empty()) a.transport->progress(), b.transport->progress();
  EXPECT_NE(b.lost.find("it has not the secret of this job"), std::string::npos) << b.lost;
  EXPECT_EQ(a.link, nullptr);
}

TEST(ShmTransport, BorrowedMessagesOutliveTheirLink) {
  Worker a(1, {{"+shm-direct", "off"}}), b(2, {{"+shm-direct", "off"}});
  auto link = a.transport->connect(2, b.transport->address());
  ASSERT_TRUE(link.ok());
  a.link = *link;
  auto both = [&](auto&& done) {
    test::Standstill standstill([&] { return "a: " + a.state() + "\nb: " + b.state(); });
    while (!done()) standstill.look(a.transport->progress() + b.transport->progress() > 0);
  };
  std::byte first[8];
  a.send(first, 0);
  both([&] { return b.messages == 1; });
  for (int i = 0; i < 20; ++i) a.transport->progress(), b.transport->progress();
  b.keep = true;
  a.send_buffer(a.transport->allocate(5000), 1);
  both([&] { return b.messages == 2; });
  ASSERT_EQ(b.kept.size(), 1u);
  a.transport->close(*a.link);
  both([&] { return !b.lost.empty(); });
  EXPECT_TRUE(is_filled(b.kept[0].bytes(), 1)) << "its owner has not used it again";
  Buffer next = a.transport->allocate(5000);
  std::fill(next.bytes().begin(), next.bytes().end(), std::byte{0xEE});
  EXPECT_TRUE(is_filled(b.kept[0].bytes(), 1));
  b.transport->close(*b.link);
  b.transport->progress();
  EXPECT_TRUE(is_filled(b.kept[0].bytes(), 1)) << "still mapped";
  b.kept.clear();
}

// The one that was called on sees the caller's channel at once and may fall asleep, before the caller has its doorbell.
TEST(ShmTransportWaking, WhatIsSentBeforeTheDoorbellIsKnownWakesToo) {
  Worker caller(1), sleeper(2);
  auto connected = caller.transport->connect(2, sleeper.transport->address());
  ASSERT_TRUE(connected) << connected.message();
  caller.transport->progress();
  for (int i = 0; i < 50; ++i) {
    sleeper.transport->progress();
    ::usleep(100);
  }
  while (!sleeper.transport->arm()) sleeper.transport->progress();
  Label label{1, 0};
  ASSERT_EQ(caller.transport->send_inline(**connected, std::as_bytes(std::span(&label, 1)), {}), Accepted::done);
  // Now the caller reads the answer.
  for (int i = 0; i < 50; ++i) {
    caller.transport->progress();
    ::usleep(100);
  }
  pollfd waiting{sleeper.transport->wait_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1) << "it sleeps on";
}

// A visitor that says nothing yet is heard when it does, also by one that has fallen asleep in between.
TEST(ShmTransportWaking, AVisitorWhoSpeaksLateWakesToo) {
  Worker sleeper(2);
  Address address;
  ASSERT_TRUE(parse_address(sleeper.transport->address(), address));
  Result<File> visitor = connect_to(address.socket_name);
  ASSERT_TRUE(visitor.ok() && *visitor) << visitor.message();
  for (int i = 0; i < 50; ++i) {
    sleeper.transport->progress();
    ::usleep(100);
  }
  while (!sleeper.transport->arm()) sleeper.transport->progress();
  pollfd waiting{sleeper.transport->wait_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "a silent visitor keeps nobody awake";
  ASSERT_EQ(::write(visitor->get(), "hello", 5), 5);
  ASSERT_EQ(::poll(&waiting, 1, 10'000), 1) << "it sleeps on";
  pollfd answer{visitor->get(), POLLIN, 0};
  while (::poll(&answer, 1, 0) == 0) sleeper.transport->progress();  // a refusal
}

}  // namespace

int play_role(int argc, char** argv) {
  return argc == 6 ? play(argv[2], argv[3], std::atoi(argv[4]), std::atoi(argv[5])) : 8;
}

}  // namespace periapt::shm

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--role") return periapt::shm::play_role(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
