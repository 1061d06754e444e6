// bench_transport: a transport alone, without the engine above it, beside bare sockets in the same run.
//
// Two processes, each bound to a core. Each round measures the bare spinning socket and then the transport, so that
// what else the machine does falls on both; printed are the median and the range of the rounds.
//
//   bench_transport [--transport tcp] [--rounds 41] [--dirty] [--only latency,rate,large,stream] [--option name=value
//   ...]
//
// On cores that are shared with others, give it its time: chrt -f 40 bench_transport (a second's worth, as root).
// --dirty: the sender rewrites a large payload before each send, as a program that computes does.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "machine/layer/transports.h"

namespace {

using namespace periapt;
using namespace periapt::ucx;
using clock::now_ns;

constexpr std::size_t kMega = 1 << 20;

/// What both processes see.
struct Board {
  std::atomic<std::uint64_t> met;
  std::atomic<std::uint64_t> address_size[2];
  std::byte address[2][256];
  std::atomic<int> port;
};

struct Settings {
  std::string transport = "tcp";
  int rounds = 41;
  bool dirty = false;
  std::vector<std::string> only;
  std::map<std::string, std::string> options;
};

// ---- bare sockets

struct Socket {
  int fd = -1;
  void send(const std::byte* at, std::size_t size) {
    while (size > 0) {
      ssize_t sent = ::send(fd, at, size, MSG_DONTWAIT);
      if (sent > 0) at += sent, size -= static_cast<std::size_t>(sent);
    }
  }
  void receive(std::byte* at, std::size_t size) {
    while (size > 0) {
      ssize_t got = ::recv(fd, at, size, MSG_DONTWAIT);
      if (got > 0) at += got, size -= static_cast<std::size_t>(got);
    }
  }
};

// ---- a worker on the transport

struct Party final : Receiver {
  struct Sent : Completion {
    bool ended = true;
  };
  std::unique_ptr<Transport> transport;
  Link* link = nullptr;
  std::uint64_t small = 0, large = 0;  // arrived
  bool reply = false;                  // each small message is answered from where it arrives
  std::vector<std::byte> target = std::vector<std::byte>(16 * kMega);
  Sent sent[4];
  std::byte header[kHeaderBytes] = {};

  Party() {
    for (Sent& one : sent) one.done = [](Completion& self, Outcome) { static_cast<Sent&>(self).ended = true; };
  }
  void arrived(Link& from, Header, std::span<const std::byte> payload) override {
    link = &from;
    ++small;
    if (reply) send(payload);
  }
  void arrived_owned(Link& from, Header, Buffer) override { link = &from, ++large; }
  std::byte* place(Link& from, Header, std::uint64_t) override { return link = &from, target.data(); }
  void placed(Link&) override { ++large; }
  void link_lost(Link&, const std::string& reason) override { fatal("the benchmark's link was lost", reason); }

  void send(std::span<const std::byte> payload) {
    while (transport->send_inline(*link, header, payload) != Accepted::done) transport->progress();
  }
  void send_large(std::span<const std::byte> payload, int slot = 0) {
    while (!sent[slot].ended) transport->progress();
    Accepted answer = Accepted::no_resource;
    while ((answer = transport->send_lent(*link, header, payload, sent[slot])) == Accepted::no_resource)
      transport->progress();
    sent[slot].ended = answer == Accepted::done;
  }
  void wait_small(std::uint64_t count) {
    while (small < count) transport->progress();
  }
  void wait_large(std::uint64_t count) {
    while (large < count) transport->progress();
  }
};

class Bench {
 public:
  Bench(const Settings& settings, Board& board, int side) : settings_(settings), board_(board), side_(side) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(side % std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))), &cpus);
    ::sched_setaffinity(0, sizeof cpus, &cpus);
    connect_bare();
    open_transport();
    for (std::byte& byte : source_) byte = std::byte{1};
  }

  void run() {
    if (side_ == 0)
      std::printf("%-34s %28s %28s\n", "median [least .. most]", "bare sockets", settings_.transport.c_str());
    measure("latency", "8 B, one way, us", [&](bool bare) { return latency(bare); });
    measure("rate", "8 B in one direction, M/s", [&](bool bare) { return rate(bare); });
    measure("large", "1 MB, one way, us", [&](bool bare) { return large(bare); });
    measure("stream", "16 MB in one direction, GB/s", [&](bool bare) { return stream(bare); });
  }

 private:
  void meet() {
    ++meetings_;
    board_.met.fetch_add(1);
    while (board_.met.load() < 2 * meetings_) ::sched_yield();
  }

  void connect_bare() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bare_.fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (side_ == 0) {
      int listener = bare_.fd;
      if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0)
        fatal("no socket for the bare figures");
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
      board_.port = ntohs(address.sin_port);
      bare_.fd = ::accept(listener, nullptr, nullptr);
      ::close(listener);
    } else {
      while (board_.port == 0) ::sched_yield();
      address.sin_port = htons(static_cast<std::uint16_t>(board_.port.load()));
      if (::connect(bare_.fd, reinterpret_cast<sockaddr*>(&address), size) != 0)
        fatal("the bare socket does not connect");
    }
    int one = 1;
    ::setsockopt(bare_.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }

  void open_transport() {
    OpenRequest request;
    request.receiver = &party_;
    request.self = static_cast<PeerId>(side_ + 1);
    request.option = [this](const std::string& name) {
      auto found = settings_.options.find(name);
      return found == settings_.options.end() ? std::string() : found->second;
    };
    for (const TransportFactory* factory : machine::transports()) {
      if (settings_.transport != factory->name) continue;
      for (const Device& device : factory->probe(request)) {
        if (!device.usable || party_.transport != nullptr) continue;
        auto opened = factory->open(device, request);
        if (!opened) fatal(opened.message());
        party_.transport = std::move(*opened);
      }
    }
    if (party_.transport == nullptr) fatal("no usable device of transport " + settings_.transport);
    std::vector<std::byte> address = party_.transport->address();
    std::copy(address.begin(), address.end(), board_.address[side_]);
    board_.address_size[side_] = address.size();
    meet();
    if (side_ == 0) {
      auto link = party_.transport->connect(2, {board_.address[1], board_.address_size[1]});
      if (!link) fatal(link.message());
      party_.link = *link;
      party_.send({party_.header, 8});
      party_.wait_small(1);
    } else {
      party_.wait_small(1);
      party_.send({party_.header, 8});
      for (int i = 0; i < 1000; ++i) party_.transport->progress();
    }
    meet();
  }

  void measure(const char* key, const char* name, const std::function<double(bool)>& round) {
    if (!settings_.only.empty() && std::find(settings_.only.begin(), settings_.only.end(), key) == settings_.only.end())
      return;
    std::vector<double> figures[2];
    for (int i = -1; i < settings_.rounds; ++i) {
      for (int which = 0; which < 2; ++which) {
        meet();
        double figure = round(which == 0);
        meet();
        if (i >= 0) figures[which].push_back(figure);
      }
    }
    if (side_ != 0) return;
    std::printf("%-34s", name);
    for (auto& list : figures) {
      std::sort(list.begin(), list.end());
      std::printf("   %8.2f [%6.2f ..%7.2f]", list[list.size() / 2], list.front(), list.back());
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  double latency(bool bare) {
    constexpr int kTimes = 1000;
    std::byte word[8] = {};
    party_.reply = !bare && side_ == 1;
    party_.small = 0;
    meet();
    std::uint64_t begin = now_ns();
    for (int i = 0; i < kTimes; ++i) {
      if (!bare && side_ == 0) {
        party_.send(word);
        party_.wait_small(static_cast<std::uint64_t>(i) + 1);
      } else if (!bare) {
        party_.wait_small(static_cast<std::uint64_t>(i) + 1);
      } else {
        if (side_ == 0) bare_.send(word, 8);
        bare_.receive(word, 8);
        if (side_ == 1) bare_.send(word, 8);
      }
    }
    double us = static_cast<double>(now_ns() - begin) / 2e3 / kTimes;
    for (int i = 0; i < 100; ++i) party_.transport->progress();
    party_.reply = false;
    return us;
  }

  double rate(bool bare) {
    constexpr std::uint64_t kTimes = 200000;
    constexpr std::size_t kTogether = 256;  // bare: so many with one send, the best that aggregation can do
    std::byte words[8 * kTogether] = {};
    party_.small = 0;
    meet();
    std::uint64_t begin = now_ns();
    if (bare) {
      for (std::uint64_t i = 0; i < kTimes / kTogether; ++i)
        side_ == 0 ? bare_.send(words, sizeof words) : bare_.receive(words, sizeof words);
      side_ == 0 ? bare_.receive(words, 8) : bare_.send(words, 8);
    } else if (side_ == 0) {
      for (std::uint64_t i = 0; i < kTimes; ++i) {
        party_.send({words, 8});
        if (i % 16 == 0) party_.transport->progress();
      }
      party_.wait_small(1);
    } else {
      party_.wait_small(kTimes);
      party_.send({words, 8});
      for (int i = 0; i < 1000; ++i) party_.transport->progress();
    }
    return static_cast<double>(kTimes) * 1e3 / static_cast<double>(now_ns() - begin);
  }

  std::span<const std::byte> payload(std::size_t size) {
    if (settings_.dirty) std::memset(source_.data(), static_cast<int>(++dirt_), size);
    return {source_.data(), size};
  }

  double large(bool bare) {
    constexpr int kTimes = 10;
    party_.large = 0;
    meet();
    std::uint64_t begin = now_ns();
    for (int i = 0; i < kTimes; ++i) {
      auto arrived = static_cast<std::uint64_t>(i) + 1;
      if (bare) {
        if (side_ == 0) bare_.send(payload(kMega).data(), kMega);
        bare_.receive(party_.target.data(), kMega);
        if (side_ == 1) bare_.send(payload(kMega).data(), kMega);
      } else {
        if (side_ == 0) party_.send_large(payload(kMega));
        party_.wait_large(arrived);
        if (side_ == 1) party_.send_large(payload(kMega));
      }
    }
    while (!party_.sent[0].ended) party_.transport->progress();
    double us = static_cast<double>(now_ns() - begin) / 2e3 / kTimes;
    for (int i = 0; i < 100; ++i) party_.transport->progress();
    return us;
  }

  double stream(bool bare) {
    constexpr int kTimes = 4;
    constexpr std::size_t kSize = 16 * kMega;
    std::byte word[8] = {};
    party_.large = party_.small = 0;
    meet();
    std::uint64_t begin = now_ns();
    if (bare) {
      for (int i = 0; i < kTimes; ++i)
        side_ == 0 ? bare_.send(payload(kSize).data(), kSize) : bare_.receive(party_.target.data(), kSize);
      side_ == 0 ? bare_.receive(word, 8) : bare_.send(word, 8);
    } else if (side_ == 0) {
      for (int i = 0; i < kTimes; ++i) party_.send_large(payload(kSize), settings_.dirty ? 0 : i % 2);
      party_.wait_small(1);
    } else {
      party_.wait_large(kTimes);
      party_.send(word);
      for (int i = 0; i < 1000; ++i) party_.transport->progress();
    }
    return kTimes * static_cast<double>(kSize) / static_cast<double>(now_ns() - begin);
  }

  Settings settings_;
  Board& board_;
  int side_;
  std::uint64_t meetings_ = 0;
  Socket bare_;
  Party party_;
  std::vector<std::byte> source_ = std::vector<std::byte>(16 * kMega);
  unsigned dirt_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> options;
  CLI::App app("A transport alone, beside bare sockets");
  app.add_option("--transport", settings.transport, "name of the transport");
  app.add_option("--rounds", settings.rounds, "of each measurement");
  app.add_flag("--dirty", settings.dirty, "rewrite large payloads before each send");
  app.add_option("--only", settings.only, "latency, rate, large, stream")->delimiter(',');
  app.add_option("--option", options, "options of the transport: +net-devices=lo");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& option : options) {
    std::size_t equals = option.find('=');
    settings.options[option.substr(0, equals)] = equals == std::string::npos ? "" : option.substr(equals + 1);
  }
  if (settings.options.empty()) settings.options["+net-devices"] = "lo";

  void* shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fatal("no shared memory for the two processes");
  auto* board = new (shared) Board{};
  std::fflush(stdout);
  pid_t child = ::fork();
  Bench(settings, *board, child == 0 ? 1 : 0).run();
  if (child == 0) std::_Exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
