// Tag matching: the table behind it, against queues in a map; posted, unexpected and persistent receives.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "machine/ucx-like/matching/persistent_receives.h"
#include "machine/ucx-like/matching/posted_receives.h"
#include "machine/ucx-like/matching/unexpected.h"
#include "tests/host/amount.h"

namespace periapt::ucx {
namespace {

struct Model {
  std::map<std::uint64_t, std::deque<MatchNode*>> queues;
  std::size_t size = 0;

  MatchNode* first(std::uint64_t key) {
    auto queue = queues.find(key);
    return queue == queues.end() || queue->second.empty() ? nullptr : queue->second.front();
  }
  void append(MatchNode* node) {
    queues[node->key].push_back(node);
    ++size;
  }
  void remove(MatchNode* node) {
    std::erase(queues[node->key], node);
    --size;
  }
};

// Few keys: long queues. Many, which do not come again: the table gives places up, and grows when they are all in use.
TEST(MatchTable, IsQueuesByKey) {
  for (std::uint64_t keys : {1u, 3u, 100u, 1'000'000u}) {
    SCOPED_TRACE(keys);
    std::mt19937_64 random(keys);
    std::deque<MatchNode> nodes(20'000);
    std::vector<MatchNode*> inside, outside;
    for (MatchNode& node : nodes) outside.push_back(&node);
    MatchTable table;
    Model model;
    for (int i = 0; i < tests::amount(10) * 20'000; ++i) {
      // Waves: the table fills to some thousands, and empties.
      bool more = random() % 100 < (i / 20'000 % 2 == 0 ? 60u : 40u);
      if (more && !outside.empty()) {
        MatchNode* node = outside.back();
        outside.pop_back();
        node->key = random() % keys;
        table.append(node);
        model.append(node);
        inside.push_back(node);
      } else if (!inside.empty()) {
        std::swap(inside[random() % inside.size()], inside.back());
        MatchNode* node = inside.back();
        if (random() % 2 == 0) {  // the first with its key
          MatchNode* head = model.first(node->key);
          ASSERT_EQ(table.first(node->key), head);
          ASSERT_EQ(table.take(node->key), head);
          std::swap(*std::find(inside.begin(), inside.end(), head), inside.back());
          node = head;
        } else {
          table.remove(node);
        }
        model.remove(node);
        inside.pop_back();
        outside.push_back(node);
      }
      ASSERT_EQ(table.size(), model.size);
      std::uint64_t any = random() % keys;
      ASSERT_EQ(table.first(any), model.first(any));
    }
  }
}

TEST(PostedReceives, OfSeveralMasksTheFirstPostedIsTaken) {
  PostedReceives posted;
  MatchNode exact, wide, any;
  posted.post(&any, 0, 0);
  posted.post(&wide, 0x700, 0xF00);
  posted.post(&exact, 0x755, ~std::uint64_t{0});
  EXPECT_EQ(posted.size(), 3u);
  EXPECT_EQ(posted.take(0x755), &any);
  EXPECT_EQ(posted.take(0x855), nullptr);
  EXPECT_EQ(posted.take(0x755), &wide);
  EXPECT_EQ(posted.take(0x755), &exact);
  EXPECT_EQ(posted.take(0x755), nullptr);
  EXPECT_EQ(posted.size(), 0u);
  // Those without a mask, before and behind one with it.
  MatchNode before, behind;
  posted.post(&before, 0x755, ~std::uint64_t{0});
  posted.post(&any, 0, 0);
  EXPECT_TRUE(posted.post_again(&behind, 0x755));
  EXPECT_EQ(posted.take_exact(0x755), nullptr) << "one with a mask has to be asked";
  for (MatchNode* next : {&before, &any, &behind}) EXPECT_EQ(posted.take(0x755), next);
  EXPECT_FALSE(posted.post_again(&exact, 0x1234)) << "nobody has the place";
  EXPECT_EQ(posted.size(), 0u);
  // Wildcards that are gone cost nothing and match nothing.
  posted.post(&wide, 0x700, 0xF00);
  posted.remove(&wide, 0xF00);
  posted.post(&exact, 0x755, ~std::uint64_t{0});
  EXPECT_EQ(posted.take(0x755), &exact);
}

MessageHeader tagged(std::uint64_t tag) {
  MessageHeader header;
  header.tag = tag;
  return header;
}

TEST(UnexpectedMessages, TheOldestThatFitsIsFoundWithAMaskOrWithout) {
  UnexpectedMessages messages;
  EXPECT_TRUE(messages.empty());
  Unexpected& first = messages.add(nullptr, tagged(0x11));
  Unexpected& second = messages.add(nullptr, tagged(0x21));
  Unexpected& third = messages.add(nullptr, tagged(0x21));
  EXPECT_EQ(messages.find(0x21, kFullMask), &second);
  EXPECT_EQ(messages.find(0x01, 0x0F), &first);
  EXPECT_EQ(messages.find(0x22, kFullMask), nullptr);
  EXPECT_EQ(messages.find(0x22, 0x0F), nullptr);
  messages.take_out(second);
  EXPECT_EQ(messages.find(0x21, kFullMask), &third);
  messages.forget(second);
  messages.take_out(first);
  EXPECT_EQ(messages.find(0x01, 0x0F), &third);
  messages.forget(first);
  messages.take_out(third);
  EXPECT_TRUE(messages.empty());
  messages.forget(third);
}

TEST(UnexpectedMessages, WhatIsPutBackStandsWhereItStood) {
  UnexpectedMessages messages;
  std::vector<Unexpected*> all;
  for (std::uint64_t tag = 0; tag < 10; ++tag) all.push_back(&messages.add(nullptr, tagged(tag % 2)));
  List<Unexpected, InOrder> taken;
  for (std::size_t i : {1u, 2u, 5u, 9u}) {
    messages.take_out(*all[i]);
    taken.push_back(all[i]);
  }
  messages.put_back(taken);
  std::vector<Unexpected*> found;
  for (Unexpected* message = messages.front(); message != nullptr; message = messages.after(message))
    found.push_back(message);
  EXPECT_EQ(found, all);
  for (Unexpected* message : all) {
    messages.take_out(*message);
    messages.forget(*message);
  }
}

// Those that still arrive stay where they are while the others of their tag are taken out.
TEST(UnexpectedMessages, WhatIsPutBackIsFoundBeforeAYoungerOneOfItsTag) {
  for (unsigned taken_out = 0; taken_out < 32; ++taken_out) {
    SCOPED_TRACE(taken_out);
    UnexpectedMessages messages;
    std::vector<Unexpected*> all;
    for (int i = 0; i < 5; ++i) all.push_back(&messages.add(nullptr, tagged(7)));
    List<Unexpected, InOrder> taken;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((taken_out >> i & 1) == 0) continue;
      messages.take_out(*all[i]);
      taken.push_back(all[i]);
    }
    messages.put_back(taken);
    Unexpected& last = messages.add(nullptr, tagged(7));
    all.push_back(&last);
    for (Unexpected* message : all) {
      ASSERT_EQ(messages.find(7, kFullMask), message);
      messages.take_out(*message);
      messages.forget(*message);
    }
  }
}

TEST(PersistentReceives, TheFirstPostedThatFitsIsFound) {
  PersistentReceives receives;
  receives.post({0x10, 0xF0});
  receives.post({0x15, kFullMask});
  ASSERT_NE(receives.find(0x15), nullptr);
  EXPECT_EQ(receives.find(0x15)->tag, 0x10u);
  EXPECT_EQ(receives.find(0x25), nullptr);
}

}  // namespace
}  // namespace periapt::ucx
