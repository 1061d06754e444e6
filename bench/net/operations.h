// The operations that bench/net measures, written once over a thin interface: a Side is one end of whatever carries the
// bytes (bare memory, a transport of ours, the engine, UCX, MPI, chares).
//
//   latency        us one way, from before the sender's call until the receiver has the bytes
//   in-place       the same, where the receiver looks at the bytes in the carrier's memory (active messages)
//   bandwidth      MB/s of windows of 64 messages (64 MB at most) in one direction, answered by 8 bytes
//   both-ways      the same in both directions
//   rate           millions of 8-byte messages a second, all pairs together, until the last one was taken
//   put            us one way, until the target sees the last byte
//   put-bandwidth  MB/s of windows of puts, until all are there
//   get            us until the bytes are here
//   overlap        of an exchange, a put and a get: us alone; with a computation as long inside; the share of that
//                  which was hidden, in %
//
// "rewritten": the sender writes the whole source before each send, as a program that computes does. That is not timed:
// each message carries the time of its sending, read from the counter that all cores share, and both directions are
// averaged. "untouched" sends the same bytes again and again and halves the round trip, as ucx_perftest and OSU's
// benchmarks do. Contents are checked while warming up. Single operations are timed between fences: a processor reads
// its clock before the loads in front of it have brought the bytes, and before what was written has left it.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/platform_fences.h"
#include "bench/net/plan.h"

namespace periapt::bench {

using clock::now_ns;

/// Where the short answers lie.
inline constexpr int kAnswerSlot = -1;

using Look = std::function<void(const std::byte* bytes)>;

/// One end. Memory is numbered by slots of the size in question. What is begun ends in wait(), in the order of its
/// beginning; messages of a pair are received in the order of their sending.
template <class S>
concept Side = requires(S& side, int slot, std::size_t size, typename S::Request& request, double value) {
  { side.index() } -> std::same_as<int>;                      // 0 to 2 pairs - 1; its partner is pairs away
  { side.outgoing(slot, size) } -> std::same_as<std::byte*>;  // what send() will send
  { side.send(slot, size) } -> std::same_as<typename S::Request>;
  { side.receive(slot, size) } -> std::same_as<typename S::Request>;
  { side.incoming(slot, size) } -> std::same_as<const std::byte*>;  // what was received
  side.wait(request);
  side.meet();                                                  // until all sides are here
  { side.gather(value) } -> std::same_as<std::vector<double>>;  // all processes', by index
};
template <class S>
concept InPlaceSide = Side<S> && requires(S& side, std::size_t size) {
  { side.in_place() } -> std::same_as<bool>;
  side.on_active(Look());                                           // is shown each from now on, where it lies
  { side.send_active(size) } -> std::same_as<typename S::Request>;  // slot 0
  side.take_active(size);                                           // until one more was shown
};
/// Its carrier runs a function for each message, so a program would not ask for one after the other: while on_active()
/// is set it is shown what send() sent, too.
template <class S>
concept RunSide = InPlaceSide<S> && requires(S& side, int count) {
  side.take_shown(count);
};
template <class S>
concept OneSided = Side<S> && requires(S& side, int slot, std::size_t size) {
  { side.one_sided() } -> std::same_as<bool>;
  { side.window() } -> std::same_as<volatile std::byte*>;         // own memory that the partner reaches
  { side.put(slot, size) } -> std::same_as<typename S::Request>;  // from outgoing(slot) to the partner's slot
  { side.get(slot, size) } -> std::same_as<typename S::Request>;  // into incoming(slot)
  side.flush();                                                   // all puts are there
  side.look();                                                    // while window() is being watched
};

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
inline double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

/// Times of equal pieces of work, as many together as a look at the clock is nothing beside: alone where they are long,
/// as those of perftest. Their median does not show that the machine did something else now and then.
class Laps {
 public:
  static constexpr double kLapNs = 10'000;
  /// `piece_ns`: what a piece takes about, by the warm-up; 0: not known yet.
  explicit Laps(double piece_ns = 0)
      : together_(piece_ns > 0 ? static_cast<int>(std::clamp(kLapNs / piece_ns, 1.0, 50.0)) : 50), begin_(now_ns()) {}
  void piece() {
    if (++pieces_ < together_) return;
    const std::uint64_t now = now_ns();
    ns_.push_back(static_cast<double>(now - begin_) / pieces_);
    pieces_ = 0;
    begin_ = now;
  }
  /// ns a piece
  double median_ns() {
    if (ns_.empty()) ns_.push_back(static_cast<double>(now_ns() - begin_) / std::max(1, pieces_));
    return median(ns_);
  }

 private:
  int together_, pieces_ = 0;
  std::uint64_t begin_;
  std::vector<double> ns_;
};

/// The i-th contents of a message; the first eight bytes are the time of its sending where that matters.
inline void fill(std::byte* bytes, std::size_t size, int i) { std::memset(bytes, i & 0x7F, size); }
/// The time before an operation: what the program did before, and wrote, is done.
inline std::uint64_t ns_before() {
  platform::all_done();
  return now_ns();
}
/// The time when what came is here: what is loaded before this call has been, and the last of the bytes.
inline std::uint64_t ns_after(const std::byte* bytes, std::size_t size) {
  const volatile std::byte* last = bytes + size - 1;
  (void)*last;
  platform::all_loaded();
  return now_ns();
}
inline void stamp(std::byte* bytes) {
  const std::uint64_t now = ns_before();
  std::memcpy(bytes, &now, 8);
}
/// Signed: clocks of two processes differ by some tens of ns, which the mean of both directions takes out.
inline double ns_since_stamp(const std::byte* bytes, std::size_t size) {
  std::uint64_t sent;
  std::memcpy(&sent, bytes, 8);
  return static_cast<double>(static_cast<std::int64_t>(ns_after(bytes, size) - sent));
}
inline void check(const std::byte* bytes, std::size_t size, int i) {
  if (size == 8) return;
  // All equal to the next one, and the first is right.
  if (bytes[8] != static_cast<std::byte>(i & 0x7F) || std::memcmp(bytes + 8, bytes + 9, size - 9) != 0)
    fatal("a message of " + std::to_string(size) + " bytes arrived changed");
}

/// How many of a window of messages are under way at a time.
inline int window_of(std::size_t size) {
  return static_cast<int>(std::clamp<std::size_t>(kRoomBytes / size, 1, kWindow));
}

// ---- messages

template <Side S>
struct ByReceive {
  ByReceive(S& its_side, std::size_t its_size, Look shown) : side(its_side), size(its_size), look(std::move(shown)) {}
  void send() {
    auto request = side.send(0, size);
    side.wait(request);
  }
  void receive() {
    auto request = side.receive(0, size);
    side.wait(request);
    look(side.incoming(0, size));
  }
  S& side;
  std::size_t size;
  Look look;
};
template <InPlaceSide S>
struct InPlace {
  InPlace(S& its_side, std::size_t its_size, Look look) : side(its_side), size(its_size) {
    side.on_active(std::move(look));
  }
  ~InPlace() { side.on_active({}); }
  InPlace(const InPlace&) = delete;
  void send() {
    auto request = side.send_active(size);
    side.wait(request);
  }
  void receive() { side.take_active(size); }
  S& side;
  std::size_t size;
};

/// us one way, mean of all sides.
template <class Way, Side S>
double latency(S& side, const Plan& plan, std::size_t size, bool rewritten) {
  const int n = plan.times_of(size), warm = plan.warm_up_of(size);
  const bool first = side.index() < plan.pairs;
  std::vector<double> ways;
  int seen = 0;
  Way way(side, size, [&](const std::byte* bytes) {
    const int i = seen++;
    if (i < warm) return check(bytes, size, rewritten ? i : 1);
    if (rewritten) ways.push_back(ns_since_stamp(bytes, size));
  });
  fill(side.outgoing(0, size), size, 1);
  side.meet();
  Laps laps;
  auto send = [&](int i) {
    if (rewritten) {
      std::byte* bytes = side.outgoing(0, size);
      fill(bytes, size, i);
      stamp(bytes);
    }
    way.send();
  };
  for (int i = 0; i < n + warm; ++i) {
    if (i == warm) laps = Laps(laps.median_ns());
    if (first) send(i);
    way.receive();
    if (!first) send(i);
    laps.piece();
  }
  return mean(side.gather(rewritten ? median(ways) : laps.median_ns() / 2)) / 1e3;
}

/// MB/s, all pairs together, both directions if there are two.
template <Side S>
double bandwidth(S& side, const Plan& plan, std::size_t size, bool rewritten, bool both_ways) {
  const int window = window_of(size), warm = 2, n = warm + plan.times(size <= 8192 ? 40 : 10);
  const bool first = side.index() < plan.pairs, sends = first || both_ways, receives = !first || both_ways;
  std::vector<typename S::Request> in(static_cast<std::size_t>(window)), out(in.size());
  // As OSU's benchmarks do, the untouched source is one buffer, and so is the target.
  auto slot = [&](std::size_t i) { return rewritten ? static_cast<int>(i) : 0; };
  std::vector<double> ns;
  if (sends) fill(side.outgoing(0, size), size, 1);
  for (int turn = 0; turn < n; ++turn) {
    for (std::size_t i = 0; sends && rewritten && i < out.size(); ++i)
      fill(side.outgoing(slot(i), size), size, turn + static_cast<int>(i));
    for (std::size_t i = 0; receives && i < in.size(); ++i) in[i] = side.receive(slot(i), size);
    side.meet();
    const std::uint64_t begin = now_ns();
    for (std::size_t i = 0; sends && i < out.size(); ++i) out[i] = side.send(slot(i), size);
    for (std::size_t i = 0; sends && i < out.size(); ++i) side.wait(out[i]);
    for (std::size_t i = 0; receives && i < in.size(); ++i) side.wait(in[i]);
    if (!both_ways) {
      if (!first) fill(side.outgoing(kAnswerSlot, 8), 8, 0);
      auto answer = first ? side.receive(kAnswerSlot, 8) : side.send(kAnswerSlot, 8);
      side.wait(answer);
    }
    if (turn >= warm) ns.push_back(static_cast<double>(now_ns() - begin));
    for (std::size_t i = 0; turn < warm && receives && rewritten && i < in.size(); ++i)
      check(side.incoming(slot(i), size), size, turn + static_cast<int>(i));
  }
  const double slowest = most(side.gather(median(ns)));
  return 1e3 * static_cast<double>(size) * window * plan.pairs * (both_ways ? 2 : 1) / slowest;
}

/// Millions of 8-byte messages a second, all pairs together. No more than 64 are begun and not ended on each side; the
/// clock stops when the sender hears that the last one was taken, and each is looked at.
template <Side S>
double rate(S& side, const Plan& plan) {
  constexpr std::size_t size = 8;
  const int train = std::max(4 * kWindow, plan.times(8192)), warm = 1, n = warm + 7;
  const bool first = side.index() < plan.pairs;
  std::vector<typename S::Request> requests(kWindow);
  std::vector<double> ns;
  auto of = [&](int i) -> typename S::Request& { return requests[static_cast<std::size_t>(i % kWindow)]; };
  auto look = [](const std::byte* bytes, int i) {
    std::uint64_t number;
    std::memcpy(&number, bytes, size);
    if (number != static_cast<std::uint64_t>(i)) fatal("small messages were lost or came in another order");
  };
  for (int turn = 0; turn < n; ++turn) {
    int shown = 0;
    if constexpr (RunSide<S>) {
      if (!first) side.on_active([&](const std::byte* bytes) { look(bytes, shown++); });
    } else {
      for (int i = 0; !first && i < kWindow; ++i) of(i) = side.receive(i, size);
    }
    side.meet();
    const std::uint64_t begin = now_ns();
    if constexpr (RunSide<S>) {
      if (!first) side.take_shown(train), side.on_active({});
    }
    for (int i = 0; i < train && (first || !RunSide<S>); ++i) {
      if (first) {
        if (i >= kWindow) side.wait(of(i));
        const std::uint64_t number = static_cast<std::uint64_t>(i);
        std::memcpy(side.outgoing(i % kWindow, size), &number, size);
        of(i) = side.send(i % kWindow, size);
        continue;
      }
      side.wait(of(i));
      look(side.incoming(i % kWindow, size), i);
      if (i + kWindow < train) of(i) = side.receive(i % kWindow, size);
    }
    for (int i = train - kWindow; first && i < train; ++i) side.wait(of(i));
    if (!first) fill(side.outgoing(kAnswerSlot, 8), 8, 0);
    auto answer = first ? side.receive(kAnswerSlot, 8) : side.send(kAnswerSlot, 8);
    side.wait(answer);
    if (turn >= warm) ns.push_back(static_cast<double>(now_ns() - begin));
  }
  const double slowest = most(side.gather(first ? median(ns) : 0));
  return 1e3 * train * plan.pairs / slowest;
}

// ---- one-sided operations

/// us one way: each puts in turn, and waits until the last byte of the other's put is there. That byte is the mark of
/// the turn; it shares the last word with the top of a time, which is 0 for two years.
template <OneSided S>
double put(S& side, const Plan& plan, std::size_t size, bool rewritten) {
  const int n = plan.times_of(size), warm = std::max(1, n / 10);
  const bool first = side.index() < plan.pairs;
  volatile std::byte* last = side.window() + size - 1;
  std::vector<double> ways;
  *last = std::byte{0};
  fill(side.outgoing(0, size), size, 1);
  side.meet();
  Laps laps;
  for (int i = 0; i < n + warm; ++i) {
    if (i == warm) laps = Laps(laps.median_ns());
    const std::byte mark{static_cast<unsigned char>(i % 100 + 1)};
    auto give = [&] {
      std::byte* bytes = side.outgoing(0, size);
      if (rewritten) {
        fill(bytes, size, i);
        stamp(bytes);
      }
      bytes[size - 1] = mark;
      auto request = side.put(0, size);
      side.wait(request);
    };
    if (first) give();
    while (*last != mark) side.look();
    std::atomic_thread_fence(std::memory_order_acquire);
    if (rewritten && i >= warm) {
      std::uint64_t sent;
      const std::byte* window = const_cast<const std::byte*>(side.window());
      std::memcpy(&sent, window, 8);
      const std::uint64_t now = ns_after(window, size);
      ways.push_back(static_cast<double>(static_cast<std::int64_t>(now - (sent & ~std::uint64_t{0} >> 8))));
    }
    if (!first) give();
    laps.piece();
  }
  side.flush();
  return mean(side.gather(rewritten ? median(ways) : laps.median_ns() / 2)) / 1e3;
}

/// MB/s
template <OneSided S>
double put_bandwidth(S& side, const Plan& plan, std::size_t size) {
  const int window = static_cast<int>(std::clamp<std::size_t>(kMostBytes / size, 1, kWindow));
  const int warm = 2, n = warm + plan.times(size <= 8192 ? 40 : 10);
  const bool first = side.index() < plan.pairs;
  std::vector<typename S::Request> requests(static_cast<std::size_t>(window));
  std::vector<double> ns;
  for (int turn = 0; turn < n; ++turn) {
    for (int i = 0; first && i < window; ++i) fill(side.outgoing(i, size), size, turn + i);
    side.meet();
    if (!first) continue;
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < window; ++i) requests[static_cast<std::size_t>(i)] = side.put(i, size);
    for (auto& request : requests) side.wait(request);
    side.flush();
    if (turn >= warm) ns.push_back(static_cast<double>(now_ns() - begin));
  }
  side.meet();
  for (int i = 0; !first && i < window; ++i)
    check(const_cast<const std::byte*>(side.window()) + static_cast<std::size_t>(i) * size, size, n - 1 + i);
  const double slowest = most(side.gather(first ? median(ns) : 0));
  return 1e3 * static_cast<double>(size) * window * plan.pairs / slowest;
}

/// What reading the clock costs, which single short pieces are freed from.
inline double clock_ns() {
  std::vector<double> ns;
  const std::byte here{};
  for (int i = 0; i < 101; ++i) {
    const std::uint64_t begin = ns_before();
    ns.push_back(static_cast<double>(ns_after(&here, 1) - begin));
  }
  return median(ns);
}

/// us. "rewritten" by their owner, before each.
template <OneSided S>
double get(S& side, const Plan& plan, std::size_t size, bool rewritten) {
  const int n = plan.times_of(size), warm = std::max(1, n / 10);
  const bool first = side.index() < plan.pairs;
  const double clock = clock_ns();
  std::vector<double> ns;
  auto own = [&](int i) { fill(const_cast<std::byte*>(side.window()), size, i); };
  own(1);
  for (int i = 0; i < n + warm; ++i) {
    if (rewritten) {
      if (!first) own(i);
      side.meet();
    } else if (i == 0 || i == warm) {
      side.meet();
    }
    if (first) {
      const std::uint64_t begin = ns_before();
      auto request = side.get(0, size);
      side.wait(request);
      const std::uint64_t end = ns_after(side.incoming(0, size), size);
      if (i >= warm) ns.push_back(std::max(0.0, static_cast<double>(end - begin) - clock));
      if (i < warm) check(side.incoming(0, size), size, rewritten ? i : 1);
    }
    if (rewritten) side.meet();
  }
  side.meet();
  return most(side.gather(first ? median(ns) : 0)) / 1e3;
}

// ---- overlap

/// A computation that touches no memory, in rounds of some ns.
inline std::uint64_t compute(std::uint64_t rounds) {
  std::uint64_t value = rounds;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return value;
}
inline double ns_a_round() {
  std::vector<double> ns;
  for (int i = 0; i < 11; ++i) {
    const std::uint64_t begin = now_ns();
    compute(20000);
    ns.push_back(static_cast<double>(now_ns() - begin) / 20000);
  }
  return median(ns);
}

struct Overlap {
  double alone_us, inside_us, hidden_percent;
};
/// `begin` starts an operation, `end` waits for its end; both are done by the sides that `act`.
template <Side S, class Begin, class End>
Overlap overlap(S& side, const Plan& plan, std::size_t size, bool act, Begin&& begin, End&& end) {
  const int n = plan.times(size <= (64 << 10) ? 200 : 20), warm = 2;
  double ns[2] = {0, 0}, computing = 0;
  std::uint64_t rounds = 0;
  for (int with : {0, 1}) {
    std::vector<double> all, inside;
    for (int i = 0; i < n + warm; ++i) {
      if (act) fill(side.outgoing(0, size), size, i);
      side.meet();
      if (!act) continue;
      const std::uint64_t start = now_ns();
      begin();
      const std::uint64_t begun = now_ns();
      compute(rounds);
      const std::uint64_t computed = now_ns();
      end();
      if (i < warm) continue;
      all.push_back(static_cast<double>(now_ns() - start));
      inside.push_back(static_cast<double>(computed - begun));
    }
    side.meet();
    ns[with] = most(side.gather(median(all)));
    computing = median(inside);
    rounds = static_cast<std::uint64_t>(ns[0] / ns_a_round());
  }
  computing = most(side.gather(computing));
  return {ns[0] / 1e3, ns[1] / 1e3, std::clamp(100 * (1 - (ns[1] - computing) / ns[0]), 0.0, 100.0)};
}

template <Side S>
Overlap overlap_exchange(S& side, const Plan& plan, std::size_t size) {
  typename S::Request in{}, out{};
  return overlap(
      side, plan, size, true,
      [&] {
        in = side.receive(0, size);
        out = side.send(0, size);
      },
      [&] {
        side.wait(out);
        side.wait(in);
      });
}

// ---- all of it

inline const std::vector<std::string>& operations() {
  static const std::vector<std::string> names = {"latency", "in-place",      "bandwidth", "both-ways", "rate",
                                                 "put",     "put-bandwidth", "get",       "overlap"};
  return names;
}

template <Side S>
void run(S& side, const Plan& plan) {
  const bool prints = side.index() == 0;
  auto row = [&](const std::string& operation, const std::string& variant, std::size_t size, double value) {
    if (prints) print_row(operation, variant, size, value);
  };
  auto overlap_rows = [&](const std::string& what, std::size_t size, const Overlap& result) {
    row("overlap", what + "-alone", size, result.alone_us);
    row("overlap", what + "-computing", size, result.inside_us);
    row("overlap", what + "-hidden", size, result.hidden_percent);
  };
  if (plan.wanted("rate")) row("rate", std::to_string(plan.pairs), 8, rate(side, plan));
  for (std::size_t size : plan.sizes) {
    for (bool rewritten : {true, false}) {
      const std::string how = rewritten ? "rewritten" : "untouched";
      if (plan.wanted("latency")) row("latency", how, size, latency<ByReceive<S>>(side, plan, size, rewritten));
      if constexpr (InPlaceSide<S>) {
        if (plan.wanted("in-place") && side.in_place() && size <= 8192)
          row("in-place", how, size, latency<InPlace<S>>(side, plan, size, rewritten));
      }
      if (plan.wanted("bandwidth")) row("bandwidth", how, size, bandwidth(side, plan, size, rewritten, false));
      if (plan.wanted("both-ways")) row("both-ways", how, size, bandwidth(side, plan, size, rewritten, true));
      if constexpr (OneSided<S>) {
        if (plan.wanted("put") && side.one_sided()) row("put", how, size, put(side, plan, size, rewritten));
        if (plan.wanted("get") && side.one_sided()) row("get", how, size, get(side, plan, size, rewritten));
      }
    }
    if constexpr (OneSided<S>) {
      if (plan.wanted("put-bandwidth") && side.one_sided() && size <= (1 << 20))
        row("put-bandwidth", "rewritten", size, put_bandwidth(side, plan, size));
    }
    if (!plan.wanted("overlap") || size < 1024) continue;
    overlap_rows("exchange", size, overlap_exchange(side, plan, size));
    if constexpr (OneSided<S>) {
      if (!side.one_sided()) continue;
      const bool acts = side.index() < plan.pairs;
      typename S::Request request{};
      auto ends = [&] { side.wait(request); };
      overlap_rows("put", size,
                   overlap(
                       side, plan, size, acts, [&] { request = side.put(0, size); }, [&] { ends(), side.flush(); }));
      overlap_rows("get", size,
                   overlap(
                       side, plan, size, acts, [&] { request = side.get(0, size); }, ends));
    }
  }
  side.meet();
}

}  // namespace periapt::bench
