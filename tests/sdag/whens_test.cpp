// Which when a message is offered to, and in which order: few whens in a list, and many in a hash, say the same.
#include "runtime/sdag/whens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace periapt::sdag {
namespace {

std::vector<Link*> all_fitting(Whens& whens, Key key) {
  std::vector<Link*> out;
  Whens::Fitting fitting = whens.fitting(key);
  while (Link* link = fitting.next()) out.push_back(link);
  return out;
}

Link link_of(Key key, std::uint64_t order) { return {nullptr, nullptr, nullptr, key, order, 0, 0}; }

TEST(Whens, WithAndWithoutANumberComeInTheOrderOfTheirWaiting) {
  Whens whens;
  Link links[] = {link_of(key_of(3, 7), 1), link_of(any_of(3), 2),    link_of(key_of(4, 7), 3),
                  link_of(key_of(3, 7), 4), link_of(key_of(3, 8), 5), link_of(any_of(3), 6)};
  for (Link& link : links) whens.add(&link);
  EXPECT_EQ(all_fitting(whens, key_of(3, 7)), (std::vector<Link*>{&links[0], &links[1], &links[3], &links[5]}));
  EXPECT_EQ(all_fitting(whens, key_of(3, 9)), (std::vector<Link*>{&links[1], &links[5]}));
  EXPECT_EQ(all_fitting(whens, any_of(3)), (std::vector<Link*>{&links[1], &links[5]})) << "a message without a number";
  EXPECT_EQ(all_fitting(whens, key_of(5, 7)), std::vector<Link*>());
}

// Against the obvious: a vector that is searched.
TEST(Whens, HashAndListAgreeWithASearch) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 dice(seed);
    Whens whens;
    std::vector<Link> links(200);
    std::vector<Link*> waiting;
    std::uint64_t order = 0;
    const unsigned most = seed % 2 ? 6 : 60;  // in one list throughout; to and fro between both
    for (int i = 0; i < 2000; ++i) {
      const bool adds = waiting.size() < most && dice() % 3 != 0;
      if (adds) {
        const auto unused = std::find_if(links.begin(), links.end(), [&](Link& l) {
          return std::find(waiting.begin(), waiting.end(), &l) == waiting.end();
        });
        const int entry = static_cast<int>(dice() % 3);
        *unused = link_of(dice() % 3 == 0 ? any_of(entry) : key_of(entry, dice() % 4), ++order);
        whens.add(&*unused);
        waiting.push_back(&*unused);
      } else if (!waiting.empty()) {
        const auto at = waiting.begin() + static_cast<std::ptrdiff_t>(dice() % waiting.size());
        whens.remove(*at);
        waiting.erase(at);
      }
      const Key key = key_of(static_cast<int>(dice() % 3), dice() % 4);
      std::vector<Link*> expected;
      std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(expected),
                   [key](Link* l) { return l->key == key || l->key == without_number(key); });
      ASSERT_EQ(all_fitting(whens, key), expected) << "seed " << seed << ", step " << i;
    }
  }
}

TEST(Key, HoldsNumbersOf47Bits) {
  for (std::int64_t number : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, reference_max, reference_min}) {
    EXPECT_TRUE(fits(number)) << number;
    EXPECT_EQ(reference_of(key_of(1234, number)), number);
    EXPECT_EQ(entry_of(key_of(1234, number)), 1234);
    EXPECT_FALSE(is_any(key_of(1234, number))) << number;
    EXPECT_EQ(without_number(key_of(1234, number)), any_of(1234));
  }
  EXPECT_FALSE(fits(reference_max + 1));
  EXPECT_FALSE(fits(reference_min - 1)) << "-2^47 would look like no number";
  EXPECT_TRUE(is_any(any_of(1234)));
}

}  // namespace
}  // namespace periapt::sdag
