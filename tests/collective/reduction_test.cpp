// Reductions over PEs on a network that a test makes up: elements contribute, move between contributing and the next
// time, are made and die; each round brings what was given to it, once, whatever was late.
#include "runtime/collective/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/collective/fake_messages.h"
#include "tests/collective/fake_network.h"
#include "tests/host/amount.h"

namespace periapt {
namespace {

using chare::Contribution;
using test::FakeNetwork;

CkReductionMsg* least(int count, CkReductionMsg** messages) {
  for (int i = 1; i < count; ++i)
    if (*static_cast<int*>(messages[i]->getData()) < *static_cast<int*>(messages[0]->getData()))
      std::swap(messages[0], messages[i]);
  return messages[0];
}
const bool registered = (Reduction::register_entries(nullptr), true);
const CkReduction::reducerType custom = CkReduction::addReducer(least, false, "least");

// What is contributed to a round: items of the reducer that belongs to its number.
struct Kind {
  CkReduction::reducerType type;
  int items;
};
Kind kind_of(std::uint32_t round) {
  static const Kind kinds[] = {{CkReduction::sum_int, 1},
                               {CkReduction::nop, 0},
                               {CkReduction::sum_int, 100},
                               {CkReduction::concat, 3},
                               {custom, 1},
                               {CkReduction::max_int, 12},
                               {CkReduction::set, 1},
                               {CkReduction::sum_int, 9},
                               {CkReduction::concat, 50},
                               {CkReduction::random, 30}};
  return kinds[round % std::size(kinds)];
}
bool brings_callback(std::uint32_t round) { return round % 7 != 3; }
int user_flag_of(std::uint32_t round) { return round % 5 == 2 ? static_cast<int>(round) : -1; }

CkCallback callback_to(std::uint64_t id) {
  CkCallback callback;
  callback.type = CkCallback::sendChare;
  callback.d.raw[0] = id;
  return callback;
}
constexpr std::uint64_t client = 1'000'000;

// What a round's contributions were, each as the number that all of its items have.
struct Given {
  std::vector<int> values;
  bool delivered = false;
};

struct Element {
  int value;
  std::uint32_t next = 0;  // round
  int pe = -1;             // -1: on its way
  int to = -1;
};

class World {
 public:
  // `everywhere`: a group; else an array.
  World(int pes, unsigned seed, bool everywhere)
      : chance_(seed), network_(pes, chance_), places_(static_cast<std::size_t>(pes)), everywhere_(everywhere) {
    EXPECT_TRUE(registered);
    network_.on_packet = [this](int pe, FakeNetwork::Packet packet) {
      if (at(pe).reduction)
        at(pe).reduction->receive(packet.deliver());
      else
        at(pe).waiting.push_back(std::move(packet));
    };
    network_.on_result = [this](int pe, const CkCallback& callback, void* message) {
      EXPECT_EQ(pe, 0);
      check(callback, static_cast<CkReductionMsg*>(message));
      CkFreeMsg(message);
    };
  }

  int pick(int below) { return network_.pick(below); }
  bool step() { return network_.step(); }

  // The collection is made on a PE, with elements that may contribute in their constructors.
  void make(int pe) {
    Place& place = at(pe);
    if (place.reduction) return;
    place.reduction = std::make_unique<Reduction>(network_.port(pe), 5, Reduction::Tree::pes,
                                                  TreePlace(pe, network_.pes()), everywhere_);
    place.reduction->set_client(callback_to(client));
    place.reduction->hold();
    for (int count = everywhere_ ? 1 : pick(4); count > 0; --count) {
      Element& element = create(pe);
      EXPECT_EQ(element.next, 0u) << "a round has ended before the first elements are made";
      for (int times = pick(3); times > 0; --times) contribute(element);
    }
    place.reduction->unhold();
    for (FakeNetwork::Packet& packet : std::exchange(place.waiting, {})) place.reduction->receive(packet.deliver());
  }
  void make_all() {
    for (int pe = 0; pe < network_.pes(); ++pe) make(pe);
  }

  // Something happens to one of the elements, or one is made.
  void disturb() {
    if (everywhere_ || pick(3)) {
      Element* element = any();
      if (element) contribute(*element);
      return;
    }
    switch (pick(5)) {
      case 0:
        if (const int pe = pick(network_.pes()); at(pe).reduction) create(pe);
        return;
      case 1:
        return die();
      default:
        return element_moves();
    }
  }

  // All give to each round that anything has been given to, also by elements that have died since.
  void come_to_an_end() {
    make_all();
    while (on_their_way() > 0) arrive();
    const std::uint32_t end = given_.empty() ? 0 : given_.rbegin()->first + 1;
    for (Element& element : elements_)
      while (element.next < end) contribute(element);
    while (step()) continue;
    for (auto& [round, given] : given_) EXPECT_TRUE(given.delivered) << "round " << round << " has not come";
    for (int pe = 0; pe < network_.pes(); ++pe) EXPECT_FALSE(at(pe).reduction->open()) << at(pe).reduction->describe();
  }
  std::uint32_t rounds() const { return next_result_; }

 private:
  struct Place {
    std::unique_ptr<Reduction> reduction;
    std::deque<FakeNetwork::Packet> waiting;
  };
  Place& at(int pe) { return places_[static_cast<std::size_t>(pe)]; }

  Element* any() {
    if (elements_.empty()) return nullptr;
    Element& element = elements_[static_cast<std::size_t>(pick(static_cast<int>(elements_.size())))];
    return element.pe < 0 ? nullptr : &element;
  }
  Element& create(int pe) {
    elements_.push_back({++values_, at(pe).reduction->born(), pe});
    return elements_.back();
  }
  void die() {
    Element* element = any();
    if (!element) return;
    at(element->pe).reduction->died(element->next);
    std::swap(*element, elements_.back());
    elements_.pop_back();
  }
  int on_their_way() const {
    return static_cast<int>(
        std::count_if(elements_.begin(), elements_.end(), [](const Element& e) { return e.pe < 0; }));
  }
  void element_moves() {
    if (pick(2)) return arrive();
    Element* element = any();
    if (!element) return;
    at(element->pe).reduction->left(element->next);
    element->pe = -1;
    element->to = pick(network_.pes());
  }
  void arrive() {
    for (Element& element : elements_) {
      if (element.pe >= 0 || !at(element.to).reduction) continue;
      element.pe = element.to;
      at(element.pe).reduction->arrived(element.next);
      return;
    }
  }

  void contribute(Element& element) {
    const std::uint32_t round = element.next++;
    Given& given = given_[round];
    ASSERT_FALSE(given.delivered) << "round " << round << " has ended without all contributions";
    given.values.push_back(element.value);
    const Kind kind = kind_of(round);
    std::vector<int> items(static_cast<std::size_t>(kind.items), element.value);
    Contribution contribution;
    contribution.data = items.data();
    contribution.size = items.size() * sizeof(int);
    contribution.user_flag = user_flag_of(round);
    const CkCallback callback = callback_to(round);
    at(element.pe).reduction->contribute(round, kind.type, contribution, brings_callback(round) ? &callback : nullptr);
  }

  // --- what has come ---
  void check(const CkCallback& callback, CkReductionMsg* message) {
    while (given_.count(next_result_) == 0 && next_result_ < 100000) ++next_result_;  // all of its contributors died
    const std::uint32_t round = next_result_++;
    Given& given = given_.at(round);
    SCOPED_TRACE("round " + std::to_string(round));
    EXPECT_FALSE(given.delivered);
    given.delivered = true;
    EXPECT_EQ(message->getRedNo(), static_cast<int>(round));
    EXPECT_EQ(message->getGcount(), static_cast<int>(given.values.size()));
    EXPECT_EQ(callback.d.raw[0], brings_callback(round) ? round : client);
    EXPECT_EQ(message->getUserFlag(), user_flag_of(round));
    std::sort(given.values.begin(), given.values.end());
    EXPECT_TRUE(is_right(kind_of(round), given.values, message));
  }
  static bool is_right(const Kind& kind, const std::vector<int>& values, CkReductionMsg* message) {
    const int* items = static_cast<const int*>(message->getData());
    const std::size_t count = static_cast<std::size_t>(message->getSize()) / sizeof(int);
    const auto all_are = [&](int value) {
      return count == static_cast<std::size_t>(kind.items) &&
             std::all_of(items, items + count, [&](int item) { return item == value; });
    };
    if (kind.type == CkReduction::nop) return count == 0;
    if (kind.type == CkReduction::sum_int) {
      int sum = 0;
      for (int value : values) sum += value;
      return all_are(sum);
    }
    if (kind.type == CkReduction::max_int) return all_are(values.back());
    if (kind.type == custom) return all_are(values.front());
    if (kind.type == CkReduction::random)
      return std::binary_search(values.begin(), values.end(), *items) && all_are(*items);
    std::vector<int> all;
    if (kind.type == CkReduction::set)
      for (auto* e = reinterpret_cast<CkReduction::setElement*>(message->getData()); e; e = e->next())
        all.insert(all.end(), reinterpret_cast<int*>(e->data), reinterpret_cast<int*>(e->data) + kind.items);
    else
      all.assign(items, items + count);
    std::sort(all.begin(), all.end());
    std::vector<int> wanted;
    for (int value : values) wanted.insert(wanted.end(), static_cast<std::size_t>(kind.items), value);
    return all == wanted;
  }

  std::mt19937 chance_;
  FakeNetwork network_;
  std::vector<Place> places_;
  const bool everywhere_;
  std::deque<Element> elements_;
  int values_ = 0;
  std::map<std::uint32_t, Given> given_;
  std::uint32_t next_result_ = 0;
};

class ReductionFromSeeds : public testing::TestWithParam<unsigned> {
 protected:
  void run(bool everywhere) {
    std::uint32_t rounds = 0;
    for (unsigned round = 0; round < tests::amount(60u); ++round) {
      const unsigned seed = 1000 * GetParam() + round;
      SCOPED_TRACE("seed " + std::to_string(seed));
      {
        World world(static_cast<int>(1 + seed % 9), seed, everywhere);
        for (int event = 0; event < 200 && !HasFailure(); ++event) {
          if (world.pick(15) == 0) world.make(world.pick(static_cast<int>(1 + seed % 9)));
          world.disturb();
          for (int steps = world.pick(6); steps > 0 && world.step(); --steps) continue;
        }
        world.come_to_an_end();
        rounds += world.rounds();
      }
      ASSERT_FALSE(HasFailure());
      ASSERT_EQ(test::messages_alive, 0);
    }
    EXPECT_GT(rounds, 100u);
  }
};

TEST_P(ReductionFromSeeds, BringsEachRoundOnceWhileElementsMoveAppearAndDie) { run(false); }
TEST_P(ReductionFromSeeds, OfAGroupBringsEachRoundOnce) { run(true); }
INSTANTIATE_TEST_SUITE_P(Seeds, ReductionFromSeeds, testing::Range(0u, 10u));

// What the watchdog tells: such a round is open at no other PE.
TEST(Reduction, SaysAtTheRootThatItWaitsForOneThatCameAfterItsPesReport) {
  ASSERT_TRUE(registered);
  std::mt19937 chance(1);
  FakeNetwork network(2, chance);
  std::vector<std::unique_ptr<Reduction>> parts;
  for (int pe = 0; pe < 2; ++pe)
    parts.push_back(
        std::make_unique<Reduction>(network.port(pe), 5, Reduction::Tree::pes, TreePlace(pe, network.pes()), false));
  Reduction &root = *parts[0], &leaf = *parts[1];
  network.on_packet = [&](int pe, FakeNetwork::Packet packet) {
    parts[static_cast<std::size_t>(pe)]->receive(packet.deliver());
  };
  int results = 0;
  network.on_result = [&](int, const CkCallback&, void* message) {
    ++results;
    CkFreeMsg(message);
  };
  const auto all_come = [&] {
    while (network.step()) continue;
  };
  const CkCallback callback = callback_to(client);
  const auto contribute = [&](Reduction& part, std::uint32_t round) {
    part.contribute(round, CkReduction::nop, Contribution(), &callback);
  };
  const std::uint32_t mover = root.born(), root_own = root.born(), leaf_own = leaf.born();
  contribute(leaf, leaf_own);  // which is the leaf's report
  all_come();
  contribute(root, root_own);
  EXPECT_EQ(root.describe(), "reduction 0 of collection 5: 1 of 2 contributors on PE 0 have contributed\n");
  root.left(mover);
  leaf.arrived(mover);
  contribute(root, root_own + 1);
  EXPECT_EQ(root.describe(),
            "reduction 0 of collection 5: all PEs have reported, and 2 of 3 contributors have contributed\n"
            "reduction 1 of collection 5: 1 of 1 contributors on PE 0 have contributed, 1 of 1 PEs below it have not "
            "reported\n");
  EXPECT_EQ(leaf.describe(), "");
  EXPECT_EQ(results, 0);
  contribute(leaf, mover);
  all_come();
  EXPECT_EQ(results, 1);
}

TEST(Accumulator, GoesOnInTheMessageThatItGets) {
  std::vector<int> ones(100, 1);
  Contribution one;
  one.data = ones.data();
  one.size = ones.size() * sizeof(int);
  Accumulator below, above;
  below.add(CkReduction::sum_int, one, 0);
  const Contribution sum = below.result();
  Message message = below.message(0);
  const void* place = message.payload();
  Contribution part = sum;
  part.data = static_cast<char*>(message.payload()) + Accumulator::data_at;
  above.add(CkReduction::sum_int, part, std::move(message), 0);
  above.add(CkReduction::sum_int, one, 0);
  Message result = above.message(0);
  EXPECT_EQ(result.payload(), place);
  auto* seen = static_cast<CkReductionMsg*>(result.payload());
  EXPECT_EQ(seen->getGcount(), 2);
  EXPECT_EQ(static_cast<int*>(seen->getData())[99], 2);
}

}  // namespace
}  // namespace periapt
