// Topologies and the model against values worked out by hand.
#include "machine/sim/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace periapt::sim {
namespace {

std::unique_ptr<Topology> topology(const std::string& text, int nodes = 0) {
  auto made = Topology::parse(text, nodes);
  if (!made) throw std::runtime_error(made.message());
  return std::move(*made);
}

std::vector<LinkId> route(const Topology& t, int from, int to) {
  std::vector<LinkId> path;
  t.route(from, to, path);
  return path;
}

// Every route uses existing links, no link twice, and hops() is its length.
void check_all_routes(const Topology& t, int longest) {
  int seen = 0;
  for (int a = 0; a < t.nodes(); ++a) {
    for (int b = 0; b < t.nodes(); ++b) {
      std::vector<LinkId> path = route(t, a, b);
      for (LinkId link : path) {
        ASSERT_GE(link, 0);
        ASSERT_LT(link, t.links());
        ASSERT_FALSE(t.name_of(link).empty());
      }
      ASSERT_EQ(std::set<LinkId>(path.begin(), path.end()).size(), path.size());
      ASSERT_EQ(t.hops(a, b), static_cast<int>(path.size()));
      ASSERT_TRUE(a != b || path.empty());
      seen = std::max(seen, static_cast<int>(path.size()));
    }
  }
  EXPECT_EQ(seen, longest) << t.describe();
}

TEST(Torus, HopsAreTheShorterWayRoundInEachDimension) {
  auto t = topology("torus:8x8x16");
  EXPECT_EQ(t->nodes(), 1024);
  EXPECT_EQ(t->links(), 1024 * 6);
  EXPECT_EQ(t->describe(), "3D torus 8x8x16");
  auto at = [](int x, int y, int z) { return (z * 8 + y) * 8 + x; };
  EXPECT_EQ(t->coordinates(at(3, 5, 11)), (std::vector<int>{3, 5, 11}));
  EXPECT_EQ(t->hops(at(0, 0, 0), at(1, 0, 0)), 1);
  EXPECT_EQ(t->hops(at(0, 0, 0), at(7, 0, 0)), 1) << "round the back";
  EXPECT_EQ(t->hops(at(0, 0, 0), at(4, 4, 8)), 16) << "the farthest";
  EXPECT_EQ(t->hops(at(1, 6, 14), at(6, 1, 2)), 3 + 3 + 4);
}

TEST(Torus, GoesDimensionByDimension) {
  auto t = topology("torus:4x3");
  // Node (x, y) is 4y + x. From (3,0) to (1,2): x up 3 -> 0 -> 1 (a tie goes up), y down 0 -> 2.
  // Links: (node * 2 dimensions + dimension) * 2 + (0 up, 1 down).
  EXPECT_EQ(route(*t, 3, 9), (std::vector<LinkId>{(3 * 2 + 0) * 2, (0 * 2 + 0) * 2, (1 * 2 + 1) * 2 + 1}));
  EXPECT_EQ(t->name_of((3 * 2 + 1) * 2 + 1), "torus link of node (3,0), down in dimension 1");
}

TEST(Torus, AllDimensionsFromOneToFour) {
  check_all_routes(*topology("torus:7"), 3);
  check_all_routes(*topology("torus:4x5"), 2 + 2);
  check_all_routes(*topology("torus:2x3x4"), 1 + 1 + 2);
  check_all_routes(*topology("torus:2x3x2x4"), 1 + 1 + 1 + 2);
  check_all_routes(*topology("torus:1x1x1"), 0);
}

TEST(FatTree, ClimbsAsFarAsItMust) {
  auto t = topology("fattree:4x3x2");
  EXPECT_EQ(t->nodes(), 24);
  EXPECT_EQ(t->hops(0, 3), 0) << "one leaf switch";
  EXPECT_EQ(t->hops(0, 4), 2) << "leaf, middle, leaf";
  EXPECT_EQ(t->hops(0, 12), 4) << "over the top";
  // Level 1: 6 leaves of 4 lanes up (0-23) and down (24-47). From node 1 to node 6: lane 6 % 4 = 2.
  EXPECT_EQ(route(*t, 1, 6), (std::vector<LinkId>{0 * 4 + 2, 24 + 1 * 4 + 2}));
  // Level 2: 2 subtrees of 12 lanes up (48-71) and down (72-95). To node 17: lanes 17 % 4 = 1 and 17 % 12 = 5.
  EXPECT_EQ(route(*t, 1, 17), (std::vector<LinkId>{1, 48 + 5, 72 + 12 + 5, 24 + 4 * 4 + 1}));
  check_all_routes(*t, 4);
}

TEST(FatTree, FullBisectionGivesEachDestinationItsOwnLane) {
  auto t = topology("fattree:8x4");
  std::set<LinkId> used;
  // Nodes 0-7 to nodes 8-15, a permutation: no two share a link.
  for (int i = 0; i < 8; ++i)
    for (LinkId link : route(*t, i, 8 + (i + 3) % 8)) EXPECT_TRUE(used.insert(link).second);
  auto tapered = topology("fattree:8x4/2");
  EXPECT_EQ(tapered->links(), t->links() / 2);
  EXPECT_EQ(route(*tapered, 0, 8), route(*tapered, 0, 12)) << "4 lanes for 8 destinations";
  check_all_routes(*tapered, 2);
}

TEST(FatTree, WithoutSizesHasLeavesOfSixteen) {
  EXPECT_EQ(topology("fattree", 100)->nodes(), 112);
  EXPECT_EQ(topology("fattree", 100)->hops(0, 15), 0);
}

TEST(Dragonfly, AtMostLocalGlobalLocal) {
  auto t = topology("dragonfly:2x4x5");
  EXPECT_EQ(t->nodes(), 40);
  EXPECT_EQ(t->hops(0, 1), 0) << "one router";
  EXPECT_EQ(t->hops(0, 2), 1) << "another router of the group";
  // h = ceil(4 / 4) = 1: group 0 reaches group j at router j - 1; group j reaches group 0 at router 0.
  EXPECT_EQ(route(*t, 0, 8), (std::vector<LinkId>{5 * 16 + 0 * 5 + 1})) << "router 0 of group 0 to router 0 of group 1";
  EXPECT_EQ(t->hops(2, 8 + 2), 3) << "router 1 -> 0, group 0 -> 1, router 0 -> 1";
  check_all_routes(*t, 3);
  check_all_routes(*topology("dragonfly:1x2x7"), 3);
}

TEST(Topology, WhatMakesNoSenseIsRefused) {
  for (const char* text : {"torus", "torus:", "torus:0x4", "torus:4x", "torus:x4", "torus:2x2x2x2x2", "torus:-4",
                           "torus:4000x4000", "flat:4", "dragonfly:4x4", "fattree:4/", "fattree:4x4/0", "ring:4", ""})
    EXPECT_FALSE(Topology::parse(text, 0).ok()) << text;
  EXPECT_NE(Topology::parse("tours:8x8", 0).message().find("did you mean torus"), std::string::npos);
  EXPECT_NE(Topology::parse("torus:2x2", 5).message().find("room for 4 nodes, but nodes=5"), std::string::npos);
}

LogGP round_numbers() {
  LogGP costs;
  costs.L = 1000;
  costs.g = 7;
  costs.G = 10;
  costs.link_G = 10;
  costs.hop = 100;
  return costs;
}

TEST(Model, AnUnloadedMessageTakesLogGP) {
  Model flat(round_numbers(), topology("flat", 4));
  EXPECT_EQ(flat.send(5000, 0, 1, 1), 5000 + 1000u);
  EXPECT_EQ(flat.send(5000, 2, 3, 101), 5000 + 1000 + 100 * 10u);
  Model torus(round_numbers(), topology("torus:8"));
  EXPECT_EQ(torus.send(0, 0, 3, 101), 1000 + 3 * 100 + 100 * 10u);
  EXPECT_EQ(torus.unloaded(0, 0, 3, 101), 2300u);
  EXPECT_EQ(torus.waited(), 0u);
}

TEST(Model, TheSlowestPartOfTheWaySetsThePace) {
  LogGP costs = round_numbers();
  costs.link_G = 25;
  Model torus(costs, topology("torus:8"));
  EXPECT_EQ(torus.send(0, 0, 1, 101), 1000 + 100 + 100 * 25u);
}

TEST(Model, AnAdapterSendsOneAfterAnotherWithAGap) {
  Model flat(round_numbers(), topology("flat", 4));
  // LogGP: the second message starts (k - 1) G + g after the first.
  EXPECT_EQ(flat.send(0, 0, 1, 101), 2000u);
  EXPECT_EQ(flat.send(0, 0, 2, 101), 2000 + 1007u);
  EXPECT_EQ(flat.waited(), 1007u);
}

TEST(Model, AnAdapterReceivesOneAfterAnother) {
  Model flat(round_numbers(), topology("flat", 8));
  Time last = 0;
  for (int from = 1; from < 8; ++from) last = flat.send(0, from, 0, 101);
  EXPECT_EQ(last, 2000 + 6 * 1007u);
}

TEST(Model, MessagesThatShareALinkWaitForEachOther) {
  Model torus(round_numbers(), topology("torus:8"));
  // Both need the link 1 -> 2. The first takes it from 100 (a hop later) to 1100; the second could from 0.
  EXPECT_EQ(torus.send(0, 0, 2, 101), 1000 + 200 + 1000u);
  EXPECT_EQ(torus.send(0, 1, 3, 101), 1100 + 200 + 1000 + 1000u);
  EXPECT_EQ(torus.waited(), 1100u);
  // The other direction is another link.
  EXPECT_EQ(torus.send(0, 3, 1, 101), 2200u);
  EXPECT_EQ(torus.link(1 * 2).messages, 2u);
  EXPECT_EQ(torus.link(1 * 2).bytes, 202u);
}

TEST(Model, KeepsAccounts) {
  Model torus(round_numbers(), topology("torus:8"));
  std::string name;
  EXPECT_EQ(torus.busiest(&name), nullptr);
  torus.send(0, 0, 2, 1000);
  torus.send(0, 1, 2, 2000);
  torus.send(0, 5, 6, 500);
  ASSERT_EQ(torus.by_hops().size(), 3u);
  EXPECT_EQ(torus.by_hops()[1].messages, 2u);
  EXPECT_EQ(torus.by_hops()[1].bytes, 2500u);
  EXPECT_EQ(torus.by_hops()[2].messages, 1u);
  const LinkUse* most = torus.busiest(&name);
  ASSERT_NE(most, nullptr);
  // The adapter has the gaps too: 999 * 10 + 1999 * 10 + 2 * 7.
  EXPECT_EQ(name, "adapter of node 2, receiving");
  EXPECT_EQ(most->busy, 29994u);
  EXPECT_EQ(most->bytes, 3000u);
}

}  // namespace
}  // namespace periapt::sim
