// Which message a when finds: few in a list, and many in a hash, say the same.
#include "runtime/sdag/mailbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/sdag/by_hand.h"

namespace periapt::sdag {
namespace {

// Entry a is waited for with a number and without, b with, c without.
const Body& all_kinds() {
  static const Body body(
      {when(0, 4, 1, ""), release(0, 4), end()},
      {waits_for<entry_a>(0), waits_for<entry_a>(1, 0), waits_for<entry_b>(2, 0), waits_for<entry_c>(3)},
      {answers([](Object&, Frame&) { return 0; })}, 4, 4);
  return body;
}

struct MailboxTest : testing::Test {
  MailboxTest() {
    all_kinds();
    complete_bodies();
  }
  ~MailboxTest() override {
    mailbox.for_each([this](Held& held) { Held::destroy(blocks, &held); });
  }
  Held* held(Key key) {
    Delivery none;
    Held* out = Held::of(blocks, none);
    out->key = key;
    return out;
  }
  std::vector<Held*> found(Key key) {
    std::vector<Held*> out;
    for (Held* held = mailbox.first(key); held; held = mailbox.next(held, key)) out.push_back(held);
    return out;
  }
  Blocks blocks;
  Mailbox mailbox;
};

TEST_F(MailboxTest, FindsTheEarliestWithTheNumberOrOfTheEntry) {
  Held* all[] = {held(key_of(entry_a, 2)), held(key_of(entry_b, 1)), held(key_of(entry_a, 1)),
                 held(key_of(entry_a, 2))};
  for (Held* one : all) mailbox.add(one);
  EXPECT_EQ(found(key_of(entry_a, 2)), (std::vector<Held*>{all[0], all[3]}));
  EXPECT_EQ(found(any_of(entry_a)), (std::vector<Held*>{all[0], all[2], all[3]}));
  EXPECT_EQ(found(any_of(entry_c)), std::vector<Held*>());
}

TEST_F(MailboxTest, HashAndListAgreeWithASearch) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 dice(seed);
    std::vector<Held*> kept;
    const unsigned most = seed % 2 ? 7 : 100;
    auto random_key = [&dice] {
      const int entry = entry_a + static_cast<int>(dice() % 3);
      return entry == entry_c ? any_of(entry) : key_of(entry, dice() % 5);
    };
    for (int i = 0; i < 2000; ++i) {
      if (kept.size() < most && dice() % 3 != 0) {
        kept.push_back(held(random_key()));
        mailbox.add(kept.back());
      } else if (!kept.empty()) {
        const auto at = kept.begin() + static_cast<std::ptrdiff_t>(dice() % kept.size());
        mailbox.remove(*at);
        Held::destroy(blocks, *at);
        kept.erase(at);
      }
      ASSERT_EQ(mailbox.size(), kept.size());
      Key key = random_key();
      if (entry_of(key) == entry_a && dice() % 2) key = any_of(entry_a);
      std::vector<Held*> expected;
      std::copy_if(kept.begin(), kept.end(), std::back_inserter(expected),
                   [key](Held* h) { return h->key == key || (is_any(key) && without_number(h->key) == key); });
      ASSERT_EQ(found(key), expected) << "seed " << seed << ", step " << i;
    }
    std::vector<Held*> visited;
    mailbox.for_each([&](Held& h) { visited.push_back(&h); });
    EXPECT_TRUE(std::is_permutation(visited.begin(), visited.end(), kept.begin(), kept.end())) << "each once";
    for (Held* one : kept) {
      mailbox.remove(one);
      Held::destroy(blocks, one);
    }
  }
}

}  // namespace
}  // namespace periapt::sdag
