// Quiescence detection over PEs whose messages beget messages: it is never declared while one is left, and always when
// none is.
#include "runtime/collective/quiescence.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/collective/fake_messages.h"
#include "tests/collective/fake_network.h"
#include "tests/host/amount.h"

namespace periapt {
namespace {

using test::FakeNetwork;
constexpr int entry_of_program = 1000;
const bool registered = (Quiescence::register_entries(nullptr), true);

// A PE with a queue. Messages of the program and of the detection wait in it, in the order in which they came.
class QuietPe : public Quiescence::Host {
 public:
  QuietPe(FakeNetwork& network, int me) : port(network.port(me)), quiescence(port, *this) {}

  Quiescence::Counts counts() const override { return {port.created, port.processed}; }
  bool is_busy() const override { return !queue.empty(); }
  void remind(int entry, std::uint64_t element) override {
    reminder = Delivery(static_cast<std::uint16_t>(entry), Target::runtime, 0, element, nullptr, 0);
  }
  void pause() override { pausing = true; }
  void became_quiet() override { ++times_quiet; }

  FakeNetwork::Port& port;
  Quiescence quiescence;
  std::deque<FakeNetwork::Packet> queue;
  std::optional<Delivery> reminder;
  bool pausing = false;
  int times_quiet = 0;
};

class World {
 public:
  World(int pes, unsigned seed) : chance_(seed), network_(pes, chance_) {
    EXPECT_TRUE(registered);
    for (int pe = 0; pe < pes; ++pe) pes_.push_back(std::make_unique<QuietPe>(network_, pe));
    network_.on_packet = [this](int pe, FakeNetwork::Packet packet) { at(pe).queue.push_back(std::move(packet)); };
    network_.on_result = [this](int, const CkCallback&, void* message) {
      EXPECT_EQ(program_messages_, 0) << "quiescence is declared too early";
      EXPECT_EQ(message, nullptr) << "a C function would have to free it, and does not with Charm++";
      ++answers;
    };
  }

  // A message of the program to any PE; what it begets has one life less.
  void send_work(int from, int lives) {
    ++program_messages_;
    at(from).port.count_created();
    at(from).port.send(network_.pick(network_.pes()), entry_of_program, 0, 0, lives);
  }
  void ask(int pe) { at(pe).quiescence.start(CkCallback()); }

  // One message delivered, or one PE's turn. False: nothing is left to do.
  bool step() {
    if (network_.pick(2) && network_.step()) return true;
    const int first = network_.pick(network_.pes());
    for (int i = 0; i < network_.pes(); ++i)
      if (turn(at((first + i) % network_.pes()))) return true;
    return network_.step();
  }
  int pick(int below) { return network_.pick(below); }
  int pes() const { return network_.pes(); }
  int times_quiet() { return at(0).times_quiet; }

  std::string describe() const {
    std::string text;
    for (const auto& pe : pes_)
      text += "PE " + std::to_string(pe->port.me) + ": created " + std::to_string(pe->port.created) + ", processed " +
              std::to_string(pe->port.processed) + (pe->reminder ? ", to be reminded" : "") +
              (pe->pausing ? ", pausing" : "") + (pe->quiescence.pausing() ? ", waits for the end of a pause\n" : "\n");
    return text;
  }

  int answers = 0;

 private:
  QuietPe& at(int pe) { return *pes_[static_cast<std::size_t>(pe)]; }

  bool turn(QuietPe& pe) {
    if (!pe.queue.empty()) {
      FakeNetwork::Packet packet = std::move(pe.queue.front());
      pe.queue.pop_front();
      const Delivery& call = packet.deliver();
      call.entry == entry_of_program ? work(pe, call.read<int>()) : pe.quiescence.receive(call);
      return true;
    }
    if (std::optional<Delivery> reminder = std::exchange(pe.reminder, std::nullopt)) {
      pe.quiescence.receive(*reminder);
      return true;
    }
    if (!std::exchange(pe.pausing, false)) return false;
    pe.quiescence.go_on();
    return true;
  }
  void work(QuietPe& pe, int lives) {
    pe.port.count_processed();
    if (lives > 0)
      for (int child = network_.pick(3); child > 0; --child) send_work(pe.port.me, lives - 1);
    --program_messages_;
  }

  std::mt19937 chance_;
  FakeNetwork network_;
  std::vector<std::unique_ptr<QuietPe>> pes_;
  int program_messages_ = 0;  // sent and not yet worked on
};

class QuiescenceFromSeeds : public testing::TestWithParam<unsigned> {};

TEST_P(QuiescenceFromSeeds, IsDeclaredToAllThatAskedAndNeverTooEarly) {
  for (unsigned round = 0; round < tests::amount(40u); ++round) {
    const unsigned seed = 1000 * GetParam() + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(static_cast<int>(1 + seed % 11), seed);
    int asked = 0;
    for (int event = 0; event < 60; ++event) {
      // Once it has been asked, only messages beget messages.
      if (world.answers == asked)
        for (int messages = world.pick(4); messages > 0; --messages)
          world.send_work(world.pick(world.pes()), world.pick(40));
      if (world.pick(3) == 0) world.ask(world.pick(world.pes())), ++asked;
      for (int steps = world.pick(60); steps > 0 && world.step(); --steps) continue;
    }
    while (world.step()) continue;
    EXPECT_EQ(world.answers, asked) << world.describe();
    EXPECT_LE(world.times_quiet(), asked);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(test::messages_alive, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, QuiescenceFromSeeds, testing::Range(0u, 10u));

TEST(Quiescence, IsToldWhereNothingHasEverMoved) {
  World world(5, 1);
  world.ask(3);
  while (world.step()) continue;
  EXPECT_EQ(world.answers, 1);
  EXPECT_EQ(world.times_quiet(), 1);
}

}  // namespace
}  // namespace periapt
