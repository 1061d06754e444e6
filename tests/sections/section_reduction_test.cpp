// Reductions of a section over PEs on a network that a test makes up: members move between contributing and the next
// time, the tree is made anew meanwhile, and its news come late; each round brings what was given to it, once.
#include "runtime/sections/section_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "runtime/sections/section_plan.h"
#include "tests/collective/fake_messages.h"
#include "tests/collective/fake_network.h"

namespace periapt {
namespace {

using chare::Contribution;
using test::FakeNetwork;

const bool registered = (SectionReduction::register_entries(nullptr), true);

CkCallback callback_to(std::uint64_t id) {
  CkCallback callback;
  callback.type = CkCallback::sendChare;
  callback.d.raw[0] = id;
  return callback;
}

struct Member {
  int value;
  int pe;
  std::uint32_t next = 0;
};

// What makes trees, as Sections does: each PE gets the versions in their order, but each at any time.
class World {
 public:
  World(int pes, int members, unsigned seed)
      : chance_(seed), network_(pes, chance_), root_(static_cast<int>(chance_() % static_cast<unsigned>(pes))) {
    for (int pe = 0; pe < pes; ++pe) parts_.push_back(std::make_unique<Part>(network_.port(pe), root_));
    for (int i = 0; i < members; ++i) members_.push_back({1 << (i % 20), network_.pick(pes)});
    network_.on_packet = [this](int pe, FakeNetwork::Packet packet) {
      Part& part = *parts_[static_cast<std::size_t>(pe)];
      part.waiting.push_back(std::move(packet));
      part.run();
    };
    network_.on_result = [this](int pe, const CkCallback& callback, void* message) {
      EXPECT_EQ(pe, root_);
      auto* result = static_cast<CkReductionMsg*>(message);
      const auto round = static_cast<std::uint32_t>(result->getRedNo());
      EXPECT_EQ(round, results_);
      EXPECT_EQ(callback.d.raw[0], with_callback(round) ? round : client);
      EXPECT_EQ(result->getGcount(), static_cast<int>(members_.size()));
      const std::size_t items = items_of(round);
      ASSERT_EQ(static_cast<std::size_t>(result->getSize()), items * sizeof(int));
      for (std::size_t i = 0; i < items; ++i) EXPECT_EQ(static_cast<int*>(result->getData())[i], expected(round));
      ++results_;
      CkFreeMsg(message);
    };
    parts_[static_cast<std::size_t>(root_)]->reduction.set_client(callback_to(client));
  }

  // `trees`: how many in a thousand steps.
  void run(std::uint32_t rounds, int trees) {
    make_tree();
    std::size_t left = rounds * members_.size();
    while (left > 0) {
      switch (network_.pick(8)) {
        case 0:
          members_[pick_member()].pe = network_.pick(network_.pes());
          break;
        case 1:
          if (network_.pick(125) < trees) make_tree();
          break;
        case 2:
          hear_of_tree(network_.pick(network_.pes()));
          break;
        case 3:
        case 4: {
          Member& member = members_[pick_member()];
          if (member.next >= rounds) break;
          contribute(member);
          --left;
          break;
        }
        default:
          network_.step();
      }
    }
    for (bool moves = true; moves;) {
      moves = network_.step();
      for (int pe = 0; pe < network_.pes(); ++pe) moves = hear_of_tree(pe) || moves;
    }
    EXPECT_EQ(results_, rounds);
    for (auto& part : parts_) {
      EXPECT_FALSE(part->reduction.open()) << part->reduction.describe();
      EXPECT_TRUE(part->waiting.empty());
    }
  }

 private:
  static constexpr std::uint64_t client = 1'000'000;
  struct Part {
    Part(Sender& sender, int root) : reduction(sender, root, 5) {}
    SectionReduction reduction;
    std::uint32_t version = 0;
    std::deque<SectionReduction::Place> places;  // to come
    std::deque<FakeNetwork::Packet> waiting;
    void run() {
      for (std::size_t i = 0; i < waiting.size();) {
        if (section_version_of(waiting[i].call.element) > version) {
          ++i;
          continue;
        }
        FakeNetwork::Packet packet = std::move(waiting[i]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        reduction.receive(packet.deliver());
      }
    }
  };

  static bool with_callback(std::uint32_t round) { return round % 3 != 1; }
  static std::size_t items_of(std::uint32_t round) { return round % 4 == 3 ? 100 : round % 4; }
  int expected(std::uint32_t round) const {
    int sum = 0;
    for (const Member& member : members_) sum += member.value + static_cast<int>(round);
    return sum;
  }
  std::size_t pick_member() { return static_cast<std::size_t>(network_.pick(static_cast<int>(members_.size()))); }

  void contribute(Member& member) {
    const std::uint32_t round = member.next++;
    std::vector<int> data(items_of(round), member.value + static_cast<int>(round));
    Contribution c;
    c.data = data.data();
    c.size = data.size() * sizeof(int);
    const CkCallback callback = callback_to(round);
    parts_[static_cast<std::size_t>(member.pe)]->reduction.contribute(
        round, static_cast<std::uint32_t>(members_.size()), data.empty() ? CkReduction::nop : CkReduction::sum_int, c,
        with_callback(round) ? &callback : nullptr);
  }

  // Of where members are now, or of where they were believed to be.
  void make_tree() {
    std::vector<SectionMember> members(members_.size());
    std::vector<int> places;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      members[i].number = i;
      places.push_back(network_.pick(4) == 0 ? network_.pick(network_.pes()) : members_[i].pe);
    }
    const auto row = section_row(root_, network_.pes(), members, places);
    ++version_;
    const std::uint32_t first_open = parts_[static_cast<std::size_t>(root_)]->reduction.first_open();
    std::vector<int> now;
    std::function<void(std::size_t, std::size_t, int)> enter = [&](std::size_t begin, std::size_t end, int parent) {
      SectionReduction::Place place{
          version_, parent, {}, static_cast<std::uint32_t>(row[begin].members.size()), first_open};
      for (const auto& [first, last] : section_pieces(end - begin, 3)) {
        place.children.push_back(row[begin + first].pe);
        enter(begin + first, begin + last, row[begin].pe);
      }
      now.push_back(row[begin].pe);
      parts_[static_cast<std::size_t>(row[begin].pe)]->places.push_back(place);
    };
    enter(0, row.size(), -1);
    for (int pe : in_tree_)
      if (std::find(now.begin(), now.end(), pe) == now.end())
        parts_[static_cast<std::size_t>(pe)]->places.push_back({version_, root_, {}, 0, first_open});
    in_tree_ = now;
    hear_of_tree(root_);
  }
  bool hear_of_tree(int pe) {
    Part& part = *parts_[static_cast<std::size_t>(pe)];
    if (part.places.empty()) return false;
    part.version = part.places.front().version;
    part.reduction.set_place(part.places.front());
    part.places.pop_front();
    part.run();
    return true;
  }

  std::mt19937 chance_;
  FakeNetwork network_;
  const int root_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Member> members_;
  std::vector<int> in_tree_;
  std::uint32_t version_ = 0, results_ = 0;
};

TEST(SectionReduction, EachRoundBringsAllThatWasGivenToItOnce) {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World(1 + static_cast<int>(seed % 9), 1 + static_cast<int>(seed % 23), seed)
        .run(6, seed % 3 == 0 ? 0 : static_cast<int>(seed % 40));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(test::messages_alive, 0);
}

}  // namespace
}  // namespace periapt
