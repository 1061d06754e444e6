// bench_net_interrupted: the engine between two hosts whose links go down and up meanwhile. Each message comes once, in
// its order and whole, or the program ends with a sentence; what is printed is how many came, and the longest pause.
// Side 0 says when it begins each operation, and when all of it has come.
//
//   bench_net_interrupted --across HOST:PORT --side 0|1 [--ops eager,rendezvous,put,get] [--effort SECONDS of each]
//   [--over verbs] [--option +verbs-devices=rxe0,rxe1]
//
// bench/link_down takes the links down.
#include <array>

#include "bench/net/command_line.h"
#include "bench/net/engine_side.h"

namespace {

using namespace periapt;
using namespace periapt::bench;

constexpr int kUnderWay = 16;
constexpr std::uint64_t kLast = std::uint64_t{1} << 63;

/// How long nothing came at most, between calls.
class Pauses {
 public:
  void now() {
    const std::uint64_t at = now_ns();
    longest_ns_ = std::max(longest_ns_, at - latest_ns_);
    latest_ns_ = at;
  }
  double seconds() const { return static_cast<double>(latest_ns_ - begin_ns_) * 1e-9; }
  double longest_ms() const { return static_cast<double>(longest_ns_) * 1e-6; }

 private:
  std::uint64_t begin_ns_ = now_ns(), latest_ns_ = begin_ns_, longest_ns_ = 0;
};

void write(std::byte* bytes, std::size_t size, std::uint64_t number) {
  fill(bytes, size, static_cast<int>(number % 101));
  std::memcpy(bytes, &number, 8);
}
/// Answers whether it says that it is one of the last.
bool read(const std::byte* bytes, std::size_t size, std::uint64_t wanted) {
  std::uint64_t number;
  std::memcpy(&number, bytes, 8);
  if ((number & ~kLast) != wanted)
    fatal("message " + std::to_string(wanted) + " was awaited, and " + std::to_string(number & ~kLast) + " came");
  check(bytes, size, static_cast<int>(number % 101));
  return (number & kLast) != 0;
}

/// What bench/link_down reads, to take a link down within it.
void say(EngineSide& side, const std::string& name, std::size_t size, const char* what) {
  if (side.index() != 0) return;
  std::printf("%s of %zu B %s\n", name.c_str(), size, what);
  std::fflush(stdout);
}

void messages(EngineSide& side, const std::string& name, std::size_t size, double seconds) {
  say(side, name, size, "begins");
  std::array<EngineSide::Request, kUnderWay> requests;
  const auto of = [&](std::uint64_t i) -> auto& { return requests[i % kUnderWay]; };
  const auto slot = [](std::uint64_t i) { return static_cast<int>(i % kUnderWay); };
  Pauses pauses;
  if (side.index() == 0) {
    std::uint64_t end = kLast;  // the last ones are as many as the other side has asked for at a time
    for (std::uint64_t i = 0; i < end; ++i) {
      side.wait(of(i));
      pauses.now();
      if (end == kLast && pauses.seconds() > seconds) end = i + kUnderWay;
      write(side.outgoing(slot(i), size), size, i | (end == kLast ? 0 : kLast));
      of(i) = side.send(slot(i), size);
    }
    for (auto& request : requests) side.wait(request);
  } else {
    for (std::uint64_t i = 0; i < kUnderWay; ++i) of(i) = side.receive(slot(i), size);
    std::uint64_t end = kLast;
    for (std::uint64_t i = 0; i < end; ++i) {
      side.wait(of(i));
      pauses.now();
      const bool last = read(side.incoming(slot(i), size), size, i);
      if (last && end == kLast) end = i + kUnderWay;
      if (!last) of(i) = side.receive(slot(i), size);
    }
    std::printf("%-10s of %zu B: %llu messages, each once, longest pause %.0f ms\n", name.c_str(), size,
                static_cast<unsigned long long>(end), pauses.longest_ms());
    std::fflush(stdout);
  }
  side.meet();
  say(side, name, size, "ends");
}

/// Rounds of puts, a flush, and the same bytes got back.
void one_sided(EngineSide& side, const std::string& name, std::size_t size, double seconds) {
  say(side, name, size, "begins");
  Pauses pauses;
  std::uint64_t number = 0;
  while (side.index() == 0 && pauses.seconds() < seconds) {
    std::array<EngineSide::Request, kUnderWay> requests;
    for (int i = 0; i < kUnderWay; ++i) {
      write(side.outgoing(i, size), size, number + static_cast<std::uint64_t>(i));
      requests[static_cast<std::size_t>(i)] = side.put(i, size);
    }
    for (auto& request : requests) side.wait(request), pauses.now();
    side.flush();
    for (int i = 0; i < kUnderWay; ++i) requests[static_cast<std::size_t>(i)] = side.get(i, size);
    for (int i = 0; i < kUnderWay; ++i, ++number) {
      side.wait(requests[static_cast<std::size_t>(i)]);
      pauses.now();
      read(side.incoming(i, size), size, number);
    }
  }
  if (side.index() == 0) {
    std::printf("%-10s of %zu B: %llu put and got back, longest pause %.0f ms\n", name.c_str(), size,
                static_cast<unsigned long long>(number), pauses.longest_ms());
    std::fflush(stdout);
  }
  side.meet();
  say(side, name, size, "ends");
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  Options options;
  std::string over = "verbs";
  std::vector<std::string> given;
  CommandLine command_line("Two hosts whose links go down and up", plan);
  command_line.text("--over", over, "any transport");
  command_line.texts("--option", given, "of the transport: +verbs-devices=rxe0");
  if (const auto end = command_line.parse(argc, argv)) return end->print();
  for (const std::string& option : given) {
    const std::size_t equals = option.find('=');
    options[option.substr(0, equals)] = equals == std::string::npos ? "" : option.substr(equals + 1);
  }
  return start_sides(plan, [&](Place& place) {
    EngineSide side(place, over, options, false, false);
    if (plan.wanted("eager")) messages(side, "eager", 512, plan.effort);
    if (plan.wanted("rendezvous")) messages(side, "rendezvous", 256 << 10, plan.effort);
    if (plan.wanted("put")) one_sided(side, "put, get", 64, plan.effort);
    if (plan.wanted("get")) one_sided(side, "put, get", 256 << 10, plan.effort);
    if (side.index() == 0) std::fputs(side.explain().c_str(), stdout);
    side.meet();
  });
}
