// bench_host: the shared memory transport alone, without the engine above it, between two processes of this host,
// beside what the two cores can do at all. bench_host_ucx runs the same loops over UCX.
//
//   bench_host [--rounds N] [--only TEXT] [+shm-cma off]
//
// Columns: median, best and worst of the rounds.
#include "base/fatal.h"
#include "bench/net/two_sides.h"
#include "machine/shm/transport.h"

namespace {

using namespace periapt;
using namespace periapt::ucx;
using bench::Place;
using clock::now_ns;

// One process's end of a link. Every message has a header of 40 bytes, as the engine's have.
class ShmSide final : public Receiver {
 public:
  ShmSide(Place& place, const std::vector<std::string>& options) {
    OpenRequest request;
    request.receiver = this;
    request.self = static_cast<PeerId>(place.side()) + 1;
    request.host = "bench";
    request.option = [options](const std::string& name) {
      for (std::size_t i = 0; i + 1 < options.size(); ++i) {
        if (options[i] == name) return options[i + 1];
      }
      return std::string();
    };
    Device device = shm::factory.probe(request).front();
    auto opened = shm::factory.open(device, request);
    if (!opened) fatal(opened.message());
    transport = std::move(*opened);
    std::vector<std::byte> address = transport->address();
    place.tell(address.data(), address.size());
    place.meet();
    auto found = transport->connect(2 - static_cast<PeerId>(place.side()), place.other());
    if (!found) fatal(found.message());
    link = *found;
    std::byte buffer[8] = {};
    send(buffer, 8);
    receive(buffer, 8);
    place.meet([this] { work(); });
    into_ = nullptr;
  }

  void work() { transport->progress(); }
  void send(const std::byte* bytes, std::size_t size) {
    ended_ = false;
    Accepted answer;
    while ((answer = size <= transport->device().can.max_inline
                         ? transport->send_inline(*link, header_, {bytes, size})
                         : transport->send_lent(*link, header_, {bytes, size}, done_)) == Accepted::no_resource) {
      work();
    }
    while (answer == Accepted::pending && !ended_) work();
  }
  void expect(std::byte* bytes) { into_ = bytes; }
  void receive(std::byte* bytes, std::size_t) {
    into_ = bytes;
    std::uint64_t target = ++wanted_;
    while (arrived_ < target) work();
  }
  void send_loan(Buffer& buffer) {
    while (transport->send_owned(*link, header_, buffer) == Accepted::no_resource) work();
  }
  template <class Start>
  void one_sided(Start&& start) {
    ended_ = false;
    Accepted answer;
    while ((answer = start(done_)) == Accepted::no_resource) work();
    while (answer == Accepted::pending && !ended_) work();
  }

  void arrived(Link&, Header, std::span<const std::byte> payload) override {
    ++arrived_;
    if (copy_out && into_ != nullptr) std::memcpy(into_, payload.data(), payload.size());
    if (!copy_out && into_ != nullptr && payload.size() >= 8) std::memcpy(into_, payload.data(), 8);
  }
  void arrived_owned(Link&, Header, Buffer payload) override {
    ++arrived_;
    if (into_ != nullptr) std::memcpy(into_, payload.data(), 8);
    loan = std::move(payload);
  }
  std::byte* place(Link&, Header, std::uint64_t) override { return into_; }
  void placed(Link&) override { ++arrived_; }
  void link_lost(Link&, const std::string& reason) override {
    if (!finished) fatal("the link was lost: " + reason);
  }

  std::unique_ptr<Transport> transport;
  Link* link = nullptr;
  Buffer loan;
  bool copy_out = true, finished = false;
  std::uint64_t arrived_ = 0, wanted_ = 0;

 private:
  struct Done : Completion {
    explicit Done(bool& flag) : ended(flag) {
      done = [](Completion& self, Outcome) { static_cast<Done&>(self).ended = true; };
    }
    bool& ended;
  };
  bool ended_ = false;
  Done done_{ended_};
  std::byte header_bytes_[40] = {};
  Header header_{header_bytes_, 40};
  std::byte* into_ = nullptr;
};

// Bytes copied by the receiver straight out of memory that both map: what one copy costs.
struct BareSide {
  Place& place;
  std::uint64_t sent = 0, received = 0;
  std::byte* area(int side) { return place.board().memory[side]; }
  std::atomic<std::uint64_t>& word(int side) {
    return side == 0 ? place.board().bare.there.word : place.board().bare.back.word;
  }
  void work() {}
  void expect(std::byte*) {}
  void send(const std::byte*, std::size_t) { word(place.side()).store(++sent, std::memory_order_release); }
  void receive(std::byte* bytes, std::size_t size) {
    ++received;
    while (word(1 - place.side()).load(std::memory_order_acquire) != received) {
    }
    std::memcpy(bytes, area(1 - place.side()), size);
  }
};

void run(Place& place, int argc, char** argv) {
  bench::Wishes wishes(argc, argv);
  bench::Table table;
  ShmSide side(place, wishes.rest);
  bool first = place.side() == 0;
  auto work = [&] { side.work(); };
  // The first process says what is measured; both measure. us, or millions a second.
  auto row = [&](const std::string& name, auto&& measure) {
    if (!wishes.wanted(name)) return;
    place.meet(work);
    double value = measure();
    if (first) table.add(name, value);
  };

  constexpr std::size_t kMost = 16 << 20;
  auto private_memory = [&] {
    return static_cast<std::byte*>(
        ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  };
  std::byte *out = private_memory(), *in = private_memory();
  Buffer shared_out = side.transport->allocate(kMost), shared_in = side.transport->allocate(kMost);
  std::memset(shared_out.data(), 1, kMost);
  std::memset(shared_in.data(), 1, kMost);

  // Keys to a piece of shared and of private memory of the other side.
  auto key_to = [&](std::byte* mine, std::uint64_t& at) {
    auto handle = side.transport->register_memory(mine, kMost, MemoryKind::host);
    if (!handle) fatal(handle.message());
    std::vector<std::byte> packed = side.transport->pack_key(*handle);
    std::vector<std::byte> told(8);
    std::uint64_t address = reinterpret_cast<std::uintptr_t>(mine);
    std::memcpy(told.data(), &address, 8);
    told.insert(told.end(), packed.begin(), packed.end());
    place.meet(work);
    place.tell(told.data(), told.size());
    place.meet(work);
    std::vector<std::byte> theirs = place.other();
    std::memcpy(&at, theirs.data(), 8);
    auto key = side.transport->unpack_key(*side.link, std::span(theirs).subspan(8));
    if (!key) fatal(key.message());
    place.meet(work);
    return *key;
  };
  std::uint64_t shared_at = 0, private_at = 0;
  RemoteKey shared_key = key_to(shared_in.data(), shared_at), private_key = key_to(in, private_at);

  for (int round = 0; round < wishes.rounds; ++round) {
    bare::Bare& bare = place.board().bare;
    auto meet = [&] { place.meet(work); };
    row("bare: one line bounced, us", [&] { return bare::bounce_one_line(bare, place.side(), 2000, meet) / 1e3; });
    row("bare: ring of one-line cells, 8 B, us",
        [&] { return bare::ring_ping_pong(bare, place.side(), 2000, meet) / 1e3; });
    row("bare: ring of one-line cells, 8 B, M/s",
        [&] { return 1e3 / bare::ring_stream(bare, place.side(), 100000, meet); });
    for (std::size_t size : bench::kSizes) {
      row("bare: memcpy alone, " + bench::in_words(size) + ", us", [&] {
        int n = bench::repetitions(size);
        bench::Laps laps(bench::pieces_a_lap(size));
        for (int i = 0; i < n; ++i) {
          std::memcpy(in, out, size);
          asm volatile("" ::: "memory");
          laps.piece();
        }
        return laps.median() / 1e3;
      });
    }
    for (std::size_t size : bench::kSizes) {
      row("bare: one copy of mapped bytes, rewritten, " + bench::in_words(size) + ", us", [&] {
        BareSide b{place};
        if (first) b.word(0).store(0), b.word(1).store(0);
        return bench::latency(place, b, b.area(place.side()), in, size, true) / 1e3;
      });
    }
    for (bool rewritten : {true, false}) {
      std::string how = rewritten ? "rewritten, " : "untouched, ";
      for (std::size_t size : bench::kSizes) {
        std::string rest = how + bench::in_words(size) + ", us";
        if (size <= 8192) {
          row("message taken in place, " + rest, [&] {
            side.copy_out = false;
            double value = bench::latency(place, side, out, in, size, rewritten) / 1e3;
            side.copy_out = true;
            return value;
          });
        }
        row("message between private buffers, " + rest,
            [&] { return bench::latency(place, side, out, in, size, rewritten) / 1e3; });
        if (size > 8192) {
          row("message between shared buffers, " + rest,
              [&] { return bench::latency(place, side, shared_out.data(), shared_in.data(), size, rewritten) / 1e3; });
        }
      }
    }
    row("message of 1 MB handed over by reference, us", [&] {
      if (first) side.loan = side.transport->allocate(1 << 20);
      std::byte seen[8];
      constexpr int n = 1000;
      bench::Laps laps(50);
      for (int i = 0; i < n; ++i) {
        if (first) side.send_loan(side.loan);
        side.receive(seen, 0);
        if (!first) {
          side.loan.reset();
          Buffer next = side.transport->allocate(1 << 20);
          side.send_loan(next);
        } else {
          side.loan = side.transport->allocate(1 << 20);
        }
        laps.piece();
      }
      side.loan.reset();
      return laps.median() / 2e3;
    });
    for (std::size_t size : {8, 64, 1024, 8192}) {
      row("stream of messages of " + bench::in_words(size) + ", M/s", [&] {
        const int n = size <= 64 ? 200000 : 20000;
        std::byte bytes[8192] = {};
        side.copy_out = false;
        bench::Laps laps(size <= 1024 ? 4096 : 256);
        if (first) {
          for (int i = 0; i < n; ++i) {
            side.send(bytes, size);
            laps.piece();
          }
          side.receive(bytes, 8);
        } else {
          side.wanted_ += static_cast<std::uint64_t>(n) - 1;
          side.receive(bytes, 8);
          side.send(bytes, 8);
        }
        side.copy_out = true;
        return 1e3 / laps.median();
      });
    }
    for (bool shared : {true, false}) {
      std::string where = shared ? "shared" : "private";
      const RemoteKey& key = shared ? shared_key : private_key;
      std::uint64_t at = shared ? shared_at : private_at;
      std::byte* here = shared ? shared_in.data() : in;
      for (std::size_t size : {std::size_t{8}, std::size_t{8192}, std::size_t{1} << 20, std::size_t{16} << 20}) {
        std::string rest = where + " memory, " + bench::in_words(size) + ", us";
        // Put to and fro: each waits until it sees the last byte of the other's.
        row("put ping-pong, " + rest, [&] {
          volatile std::byte* last = here + size - 1;
          *last = std::byte{0};
          place.meet(work);
          const int n = std::min(bench::repetitions(size), 1000);
          bench::Laps laps(bench::pieces_a_lap(size));
          for (int i = 1; i <= n; ++i) {
            std::byte mark{static_cast<unsigned char>(i % 100 + 1)};
            auto put = [&] {
              out[size - 1] = mark;
              side.one_sided([&](Completion& done) {
                return side.transport->put(*side.link, {out, size}, nullptr, at, key, done);
              });
            };
            if (first) put();
            while (*last != mark) {
              if (size > (64 << 10)) side.work();
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            if (!first) put();
            laps.piece();
          }
          double value = laps.median() / 2e3;
          place.meet(work);
          return value;
        });
        row("get, " + rest, [&] {
          place.meet(work);
          const int n = bench::repetitions(size);
          bench::Laps laps(bench::pieces_a_lap(size));
          if (first) {
            for (int i = 0; i < n; ++i) {
              side.one_sided([&](Completion& done) {
                return side.transport->get(*side.link, {out, size}, nullptr, at, key, done);
              });
              laps.piece();
            }
          }
          place.meet(work);
          return laps.median() / 1e3;
        });
      }
      // The processes take turns: the owner writes the word, the other reads it. What the turns take without the
      // reading is subtracted; what is left holds the reader's miss and, as the line must come back, the owner's.
      auto turns = [&](auto&& read) {
        std::atomic<std::uint64_t>& turn = bare.there.word;
        constexpr std::uint64_t n = 2000;
        double ns[2];
        for (bool with : {false, true}) {
          place.meet(work);
          if (first) turn.store(0);
          place.meet(work);
          bench::Laps laps(50);
          for (std::uint64_t i = 0; i < n; ++i) {
            if (first) {
              while (turn.load(std::memory_order_acquire) != 2 * i + 1) {
              }
              std::uint64_t got = with ? read() : i;
              if (got != i) fatal("a get did not bring what its owner had written");
              turn.store(2 * i + 2, std::memory_order_release);
              laps.piece();
            } else {
              reinterpret_cast<std::atomic<std::uint64_t>*>(here)->store(i, std::memory_order_release);
              turn.store(2 * i + 1, std::memory_order_release);
              while (turn.load(std::memory_order_acquire) != 2 * i + 2) {
              }
            }
          }
          ns[with] = laps.median();
        }
        place.meet(work);
        return (ns[1] - ns[0]) / 1e3;
      };
      row("get, " + where + " memory that its owner rewrites, 8 B, us", [&] {
        return turns([&] {
          side.one_sided([&](Completion& done) {
            return side.transport->get(*side.link, {out, 8}, nullptr, at, key, done);
          });
          std::uint64_t got;
          std::memcpy(&got, out, 8);
          return got;
        });
      });
      if (shared) {
        std::byte* there = side.transport->direct(key, at, 8);
        row("bare: load, shared memory that its owner rewrites, 8 B, us",
            [&] { return turns([&] { return reinterpret_cast<std::atomic<std::uint64_t>*>(there)->load(); }); });
      }
    }
  }
  side.transport->release_key(shared_key);
  side.transport->release_key(private_key);
  side.finished = true;
  place.meet(work);
  if (first) {
    std::printf("%-58s %12s %12s %12s\n", "shm transport, two processes", "median", "best", "worst");
    table.print();
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::start_sides(argc, argv, run); }
