// The tree of a section: each member stands at one PE, and the pieces of the row reach each PE once.
#include "runtime/sections/section_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace periapt {
namespace {

void visit(const std::vector<SectionStop>& row, std::size_t begin, std::size_t end, int branching,
           std::multiset<int>& reached) {
  reached.insert(row[begin].pe);
  const auto pieces = section_pieces(end - begin, branching);
  EXPECT_LE(pieces.size(), static_cast<std::size_t>(branching));
  for (const auto& [first, last] : pieces) visit(row, begin + first, begin + last, branching, reached);
}

TEST(SectionPlan, ReachesEachPeOnceAndEachMemberAtItsPe) {
  std::mt19937 chance(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int pes = 1 + static_cast<int>(chance() % 40), root = static_cast<int>(chance()) & 0xffff;
    const int own_root = root % pes;
    std::vector<SectionMember> members(chance() % 60);
    std::vector<int> places;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      members[i].number = i;
      places.push_back(static_cast<int>(chance() % static_cast<unsigned>(pes)));
    }
    const auto row = section_row(own_root, pes, members, places);
    EXPECT_EQ(row[0].pe, own_root);
    std::set<std::uint32_t> seen;
    for (const SectionStop& stop : row)
      for (const SectionMember& member : stop.members) {
        EXPECT_EQ(places[member.number], stop.pe);
        EXPECT_TRUE(seen.insert(member.number).second);
      }
    EXPECT_EQ(seen.size(), members.size());
    std::multiset<int> reached;
    visit(row, 0, row.size(), 1 + trial % 6, reached);
    EXPECT_EQ(reached.size(), row.size());
    for (const SectionStop& stop : row) EXPECT_EQ(reached.count(stop.pe), 1u);
  }
}

TEST(SectionPlan, TheRootIsThereWithoutMembers) {
  const auto row = section_row(3, 8, {}, {});
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0].pe, 3);
  EXPECT_TRUE(section_pieces(row.size(), 4).empty());
}

}  // namespace
}  // namespace periapt
