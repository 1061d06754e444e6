// How good strategies are at what they are for: loads, traffic, nearness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/loadbalance/distance.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "tests/loadbalance/random_databases.h"
#include "tests/loadbalance/solve.h"

using namespace periapt::loadbalance;

namespace {

bool is_here(const std::string& name) {
  const StrategyInfo* const info = find_strategy(name);
  return !info->missing || info->missing().empty();
}

// Work enough for each PE, three quarters of it on the first quarter of them.
LoadDatabase crowded(unsigned seed, bool equal_speeds) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(0, 1);
  LoadDatabase db;
  db.step = seed;
  db.pes.resize(16);
  for (PeLoad& pe : db.pes) pe.speed = equal_speeds ? 1 : 0.5 + real(random);
  for (int i = 0; i < 1600; ++i) {
    const int pe = static_cast<int>(random() % (i % 4 == 0 ? 16 : 4));
    db.objects.push_back({1, static_cast<std::uint64_t>(i), pe, real(random), 0, true});
    db.positions.push_back({static_cast<float>(real(random)), static_cast<float>(real(random)), 0});
    for (const int to : {i + 1, i + 40})
      db.communication.push_back({{1, static_cast<std::uint64_t>(i)}, {1, static_cast<std::uint64_t>(to)}, 1, 100});
  }
  return db;
}

// A grid of objects that talk to their neighbours, in squares of four by four, which lie on the PEs of a torus as
// chance has it.
LoadDatabase scattered(const char* topology, int pes_of_a_host) {
  LoadDatabase db;
  db.topology = topology;
  db.pes.resize(64);
  for (int pe = 0; pe < 64; ++pe) db.pes[pe].host = db.pes[pe].process = pe / pes_of_a_host;
  std::vector<int> where(64);
  std::iota(where.begin(), where.end(), 0);
  std::shuffle(where.begin(), where.end(), std::mt19937(1));
  for (int i = 0; i < 32 * 32; ++i) {
    const int x = i % 32, y = i / 32;
    db.objects.push_back({1, static_cast<std::uint64_t>(i), where[x / 4 + y / 4 * 8], 1, 0, true});
    for (const int to : {(x + 1) % 32 + y * 32, x + (y + 1) % 32 * 32})
      db.communication.push_back({{1, static_cast<std::uint64_t>(i)}, {1, static_cast<std::uint64_t>(to)}, 1, 1000});
  }
  return db;
}

TEST(RefineTopo, BringsWhatTalksNearerWithoutAnyLossOfBalance) {
  for (const auto& [topology, pes_of_a_host] : {std::pair{"torus:8x8", 1}, {"torus:4x4", 4}, {"", 8}}) {
    const LoadDatabase db = scattered(topology, pes_of_a_host);
    const Assignment assignment = solve("RefineTopo:sweeps=40", db);
    EXPECT_LE(hop_bytes_of(db, assignment), 0.8 * hop_bytes_of(db, present(db))) << topology;
    EXPECT_LE(balance_of(db, assignment).ratio(), 1.07) << topology;
  }
}
TEST(RefineTopo, BalancesWhatIsUneven) {
  LoadDatabase db = scattered("torus:8x8", 1);
  for (std::size_t i = 0; i < db.objects.size(); ++i) db.objects[i].pe = static_cast<int>(i % 16);
  EXPECT_LE(balance_of(db, solve("RefineTopo", db)).ratio(), 1.07);
}

TEST(Distance, GrowsFromTheProcessToTheFarEndOfTheNetwork) {
  LoadDatabase db;
  db.topology = "torus:4x4";
  db.pes.resize(64);
  for (int pe = 0; pe < 64; ++pe) {
    db.pes[pe].host = pe / 4;
    db.pes[pe].process = pe / 2;
  }
  const Distance distance(db);
  EXPECT_EQ(distance(0, 0), 0);
  EXPECT_EQ(distance(0, 1), 1);
  EXPECT_EQ(distance(0, 2), 2);
  EXPECT_EQ(distance(0, 4), 3 + 1);
  EXPECT_EQ(distance(0, 4 * 3), 3 + 1) << "the other way round";
  EXPECT_EQ(distance(0, 4 * 10), 3 + 4);
  db.topology.clear();
  EXPECT_EQ(Distance(db)(0, 4 * 10), 3);
}

// On the first PEs what takes long, on the last ones what is large.
TEST(Vector, BalancesSecondsAndMemoryTogether) {
  LoadDatabase db;
  db.pes.resize(8);
  for (int i = 0; i < 400; ++i) {
    const bool large = i >= 200;
    db.objects.push_back({1, static_cast<std::uint64_t>(i), large ? 4 + i % 4 : i % 4, large ? 0.01 : 1.0,
                          large ? 1'000'000u : 1'000u, true});
  }
  const auto fullest = [&db](const Assignment& assignment) {
    std::vector<double> bytes(db.pes.size());
    for (std::size_t i = 0; i < assignment.size(); ++i)
      bytes[assignment[i]] += static_cast<double>(db.objects[i].bytes);
    return *std::max_element(bytes.begin(), bytes.end());
  };
  EXPECT_GT(fullest(solve("GreedyRefine", db)), 1.2 * 25'025'000) << "or the test shows nothing";
  const Assignment both = solve("Vector", db);
  EXPECT_LE(fullest(both), 1.06 * 25'025'000);
  EXPECT_LE(balance_of(db, both).ratio(), 1.06);
  // What fits 30 large ones: they may stay uneven up to there.
  const Assignment limited = solve("Vector:memory=30.5e6", db);
  EXPECT_LE(fullest(limited), 30.5e6);
  EXPECT_LE(balance_of(db, limited).ratio(), 1.06);
  EXPECT_LT(balance_of(db, limited).migrations, balance_of(db, both).migrations);
}

// On the first PEs what processors work for, on the last ones what GPUs do.
TEST(Vector, BalancesTheSecondsOfGpusToo) {
  LoadDatabase db;
  db.pes.resize(8);
  db.pes[7].background_gpu = 10;
  for (int i = 0; i < 400; ++i) {
    const bool on_gpu = i >= 200;
    db.objects.push_back({1, static_cast<std::uint64_t>(i), on_gpu ? 4 + i % 4 : i % 4, on_gpu ? 0.01 : 1.0, 0, true});
    db.objects.back().gpu = on_gpu ? 1.0 : 0;
  }
  const auto busiest_gpu = [&db](const Assignment& assignment) {
    std::vector<double> seconds(db.pes.size());
    for (std::size_t pe = 0; pe < seconds.size(); ++pe) seconds[pe] = db.pes[pe].background_gpu;
    for (std::size_t i = 0; i < assignment.size(); ++i) seconds[assignment[i]] += db.objects[i].gpu;
    return *std::max_element(seconds.begin(), seconds.end());
  };
  EXPECT_GT(busiest_gpu(solve("GreedyRefine", db)), 1.2 * 210 / 8) << "or the test shows nothing";
  const Assignment both = solve("Vector", db);
  EXPECT_LE(busiest_gpu(both), 1.07 * 210 / 8);
  EXPECT_LE(balance_of(db, both).ratio(), 1.06);
}

struct Reach {
  const char* name;
  double times_the_bound;
};
class Balances : public testing::TestWithParam<Reach> {};

TEST_P(Balances, NearTheLowerBoundOnPesOfAnySpeed) {
  const auto [name, times] = GetParam();
  if (!is_here(name)) GTEST_SKIP() << find_strategy(name)->missing();
  for (unsigned seed = 0; seed < 6; ++seed)
    for (const bool equal_speeds : {true, false}) {
      const LoadDatabase db = crowded(seed, equal_speeds);
      EXPECT_LE(balance_of(db, solve(name, db)).max, times * lower_bound(db))
          << "seed " << seed << (equal_speeds ? "" : ", speeds differ") << ", before "
          << balance_of(db, present(db)).max / lower_bound(db);
    }
}
INSTANTIATE_TEST_SUITE_P(Strategies, Balances,
                         testing::Values(Reach{"Greedy", 1.01}, Reach{"GreedyRefine", 1.04}, Reach{"GreedyComm", 1.12},
                                         Reach{"Refine", 1.04}, Reach{"RefineSwap", 1.02}, Reach{"RefineComm", 1.04},
                                         Reach{"RefineTopo", 1.05}, Reach{"RecBipart", 1.1}, Reach{"Metis", 1.1},
                                         Reach{"Scotch", 1.15}, Reach{"Orb", 1.05}, Reach{"Sfc", 1.03},
                                         Reach{"Diffusion", 1.3}, Reach{"Gossip", 1.2}, Reach{"Tempered", 1.05},
                                         Reach{"Tree", 1.05}, Reach{"Hybrid", 1.06}, Reach{"Vector", 1.06},
                                         Reach{"Phases", 1.06}),
                         [](const auto& info) { return std::string(info.param.name); });

// Objects on a grid that talk to their neighbours, dealt out like cards.
LoadDatabase grid(int side, int pes) {
  LoadDatabase db;
  db.pes.resize(pes);
  for (int i = 0; i < side * side; ++i) {
    const int x = i % side, y = i / side;
    const auto name = [&](int dx, int dy) { return ElementName{1, static_cast<std::uint64_t>(i + dx + side * dy)}; };
    db.objects.push_back({1, name(0, 0).element, i % pes, 1e-3, 0, true});
    db.positions.push_back({static_cast<float>(x), static_cast<float>(y), 0});
    if (x + 1 < side) db.communication.push_back({name(0, 0), name(1, 0), 1, 1000});
    if (y + 1 < side) db.communication.push_back({name(0, 0), name(0, 1), 1, 1000});
  }
  return db;
}

class KeepsTogether : public testing::TestWithParam<Reach> {};
// Of 480 pairs of neighbours; sixteen squares have 96 across their borders.
TEST_P(KeepsTogether, WhatIsNear) {
  const auto [name, crossing] = GetParam();
  if (!is_here(name)) GTEST_SKIP() << find_strategy(name)->missing();
  const LoadDatabase db = grid(16, 16);
  const Assignment result = solve(name, db);
  EXPECT_LE(crossing_of(db, result).messages, crossing);
  EXPECT_LE(balance_of(db, result).ratio(), 1.13);
}
INSTANTIATE_TEST_SUITE_P(Strategies, KeepsTogether,
                         testing::Values(Reach{"Orb", 96}, Reach{"Sfc", 100}, Reach{"RecBipart", 140},
                                         Reach{"Metis", 130}, Reach{"Scotch", 130}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RefineSwap, ComesFurtherThanRefineWhereNothingFits) {
  LoadDatabase db;
  db.pes.resize(2);
  db.objects = {{1, 0, 0, 5, 0, true}, {1, 1, 0, 4, 0, true}, {1, 2, 1, 3, 0, true}, {1, 3, 1, 3, 0, true}};
  EXPECT_EQ(balance_of(db, solve("Refine", db)).max, 9);
  EXPECT_EQ(balance_of(db, solve("RefineSwap", db)).max, 8);
}

// Both processes have work for their PEs; the emptiest PE of all is in the second, the next full one in the first.
TEST(Refine, TakesAPeOfTheSameProcessFirstAndSoDoesGreedyRefine) {
  LoadDatabase db;
  db.pes.resize(4);
  db.pes[2].process = db.pes[3].process = 1;
  const int objects[] = {8, 4, 3, 9};
  for (int pe = 0; pe < 4; ++pe)
    for (int k = 0; k < objects[pe]; ++k) db.objects.push_back({1, db.objects.size(), pe, 0.5, 0, true});
  for (const char* name : {"Refine", "GreedyRefine"}) {
    const Assignment after = solve(name, db);
    EXPECT_EQ(balance_of(db, after).max, 3) << name;
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(db.pes[after[i]].process, db.pes[db.objects[i].pe].process) << name << ", object " << i;
  }
}

// Each PE has the same to do in all, but what is of the second phase lies together, as those of a galaxy's particles do
// that step twice as often.
LoadDatabase two_phases(int pes, int each) {
  LoadDatabase db;
  db.pes.resize(static_cast<std::size_t>(pes));
  for (int pe = 0; pe < pes; ++pe) db.pes[static_cast<std::size_t>(pe)].process = pe / 4;
  for (int i = 0; i < pes * each; ++i) {
    db.objects.push_back({1, static_cast<std::uint64_t>(i), i / each, 1, 0, true});
    const float second = i < 3 * pes ? 0.5f : 0;
    db.phases.push_back({{1 - second, 0, second}});
  }
  return db;
}

TEST(Phases, MakesEachPhaseEvenAndNotTheirSum) {
  const LoadDatabase db = two_phases(16, 12);
  EXPECT_DOUBLE_EQ(phases_makespan(db, present(db)), 12 + 6);
  EXPECT_EQ(solve("GreedyRefine", db), present(db));
  const double even = 3 * 0.5 + 3 * 0.5 + 9;  // three on each PE
  EXPECT_LE(phases_makespan(db, solve("Phases", db)), 1.05 * even);
}

// In a line, along which what is of the second phase comes first.
LoadDatabase two_phases_in_a_line(int pes, int each) {
  LoadDatabase db = two_phases(pes, each);
  for (std::size_t i = 0; i < db.objects.size(); ++i) db.positions.push_back({static_cast<float>(i), 0, 0});
  return db;
}

TEST(Sfc, CutsWhatIsOfAPhaseByItself) {
  const LoadDatabase db = two_phases_in_a_line(16, 12);
  const Assignment cut = solve("Sfc", db);
  EXPECT_LE(phases_makespan(db, cut), 1.05 * 12);
  // A PE has a stretch of each.
  for (std::size_t i = 1; i < cut.size(); ++i) EXPECT_TRUE(cut[i] >= cut[i - 1] || i == 48) << "object " << i;
}

TEST(Phases, GivesAProcessAStretchOfWhatIsOfEachPhase) {
  const LoadDatabase db = two_phases_in_a_line(16, 12);
  const Assignment cut = solve("Phases", db);
  EXPECT_LE(phases_makespan(db, cut), 1.05 * 12);
  for (std::size_t i = 1; i < cut.size(); ++i)
    EXPECT_TRUE(db.pes[cut[i]].process >= db.pes[cut[i - 1]].process || i == 48) << "object " << i;
}

// Where some objects stay, PEs are of several speeds, or no PE of a process is available.
TEST(Phases, KeepsToWhatIsPossibleWhereObjectsSayWhereTheyAre) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    LoadDatabase db = random_database(seed, kinds[8]);
    for (std::size_t pe = 0; pe < db.pes.size(); ++pe) db.pes[pe].process = static_cast<int>(pe / 2);
    const Assignment assignment = solve("Phases", db);
    ASSERT_EQ(check_assignment(db, assignment), "") << "seed " << seed;
    for (std::size_t i = 0; i < assignment.size(); ++i)
      ASSERT_TRUE(!db.objects[i].migratable || db.pes[assignment[i]].available) << "seed " << seed << ", object " << i;
  }
}

TEST(Phases, LeavesWhatIsEvenWhereItIs) {
  LoadDatabase db = two_phases(16, 12);
  const Assignment even = solve("Phases", db);
  for (std::size_t i = 0; i < even.size(); ++i) db.objects[i].pe = even[i];
  EXPECT_EQ(solve("Phases", db), even);
  for (PhaseParts& parts : db.phases) parts = {};
  for (std::size_t i = 0; i < even.size(); ++i) db.objects[i].pe = static_cast<int>(i) / 12;
  EXPECT_EQ(solve("Phases", db), present(db));
}

TEST(Phases, BalancesWhereNothingIsSaidOfPhases) {
  LoadDatabase db = two_phases(16, 12);
  db.phases.clear();
  for (std::size_t i = 0; i < db.objects.size(); ++i) db.objects[i].pe = static_cast<int>(i % 4);
  EXPECT_LE(balance_of(db, solve("Phases", db)).ratio(), 1.05);
}

TEST(Phases, GivesFasterPesMoreOfEach) {
  LoadDatabase db = two_phases(16, 24);
  for (std::size_t pe = 0; pe < 8; ++pe) db.pes[pe].speed = 2;
  for (ObjectLoad& object : db.objects) object.seconds /= db.pes[object.pe].speed;
  EXPECT_LE(phases_makespan(db, solve("Phases", db)), 1.15 * 16 * 24 / 24);
}

TEST(RefineComm, MovesToWhereItTalks) {
  std::uint64_t with = 0, without = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const LoadDatabase db = crowded(seed, true);
    with += crossing_of(db, solve("RefineComm", db)).messages;
    without += crossing_of(db, solve("Refine", db)).messages;
  }
  EXPECT_LT(with, without);
}

TEST(Orb, PutsObjectsWithoutAPositionWhereThereIsRoom) {
  LoadDatabase db = grid(8, 4);
  for (int i = 0; i < 32; ++i) db.positions[i] = {};
  for (const char* name : {"Orb", "Sfc"}) EXPECT_LE(balance_of(db, solve(name, db)).ratio(), 1.01) << name;
  db.positions.clear();
  for (const char* name : {"Orb", "Sfc"}) EXPECT_LE(balance_of(db, solve(name, db)).ratio(), 1.01) << name;
}

// An object for each PE, so an object's PE is its place on the curve.
TEST(Sfc, KeepsTheOrderOfALineAndStepsToNeighboursInAPlane) {
  LoadDatabase db;
  constexpr int side = 8, count = side * side;
  db.pes.resize(count);
  for (int i = 0; i < count; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i, 1, 0, true});
  for (int axis = 0; axis < 3; ++axis) {
    db.positions.clear();
    for (int i = 0; i < count; ++i) {
      float at[3] = {5, 5, 5};
      at[axis] = static_cast<float>(i);
      db.positions.push_back({at[0], at[1], at[2]});
    }
    const Assignment line = solve("Sfc", db);
    for (int i = 0; i < count; ++i) EXPECT_EQ(line[i], i) << "axis " << axis;

    for (int i = 0; i < count; ++i) {
      float at[3] = {static_cast<float>(i % side), static_cast<float>(i % side), static_cast<float>(i % side)};
      at[axis] = 5;
      at[(axis + 1) % 3] = static_cast<float>(i / side);
      db.positions[i] = {at[0], at[1], at[2]};
    }
    const Assignment plane = solve("Sfc", db);
    std::vector<int> on(count);
    for (int i = 0; i < count; ++i) on[plane[i]] = i;
    for (int k = 1; k < count; ++k) {
      const int apart = std::abs(on[k] % side - on[k - 1] % side) + std::abs(on[k] / side - on[k - 1] / side);
      EXPECT_EQ(apart, 1) << "axis " << axis << ", step " << k;
    }
  }
}

TEST(Sfc, MovesCutsNoFurtherThanTheyHaveTo) {
  LoadDatabase db;
  constexpr int pes = 16, each = 10;
  db.pes.resize(pes);
  for (int i = 0; i < pes * each; ++i) {
    db.objects.push_back({1, static_cast<std::uint64_t>(i), i / each, 1, 0, true});
    db.positions.push_back({static_cast<float>(i), 0, 0});
  }
  EXPECT_EQ(solve("Sfc", db), present(db));
  db.objects[5 * each].seconds = 2;  // so its PE has 12, which is tolerated
  db.objects[5 * each + 1].seconds = 2;
  Strategy sfc(*find_strategy("Sfc"));
  sfc.options["tolerance"] = 1.2;
  EXPECT_EQ(sfc.solve(db), present(db));
  // From the first PE one goes on from PE to PE to the ninth, which has room for two; those behind it keep theirs.
  db.objects.clear();
  db.positions.clear();
  for (int pe = 0; pe < pes; ++pe) {
    for (int k = 0; k < (pe == 0 ? 11 : pe == 8 ? 8 : each); ++k) {
      const auto i = db.objects.size();
      db.objects.push_back({1, i, pe, 1, 0, true});
      db.positions.push_back({static_cast<float>(i), 0, 0});
    }
  }
  const Balance after = balance_of(db, solve("Sfc", db));
  EXPECT_EQ(after.max, 10);
  EXPECT_EQ(after.migrations, 8);
}

TEST(Metis, LeavesPartsWhereMostOfThemIs) {
  if (!is_here("Metis")) GTEST_SKIP() << find_strategy("Metis")->missing();
  LoadDatabase db = grid(16, 4);
  const Assignment first = solve("Metis", db);
  for (std::size_t i = 0; i < first.size(); ++i) db.objects[i].pe = first[i];
  EXPECT_EQ(balance_of(db, solve("Metis", db)).migrations, 0);
}

// As it does with many PEs; and where some have no room for work, or there are hardly more objects than PEs.
TEST(Metis, CutsInHalvesAsWellAsAtOnce) {
  if (!is_here("Metis")) GTEST_SKIP() << find_strategy("Metis")->missing();
  LoadDatabase db = grid(64, 64);
  const Assignment once = solve("Metis:halves=1e9", db), halves = solve("Metis:halves=2", db);
  EXPECT_NE(once, halves);
  EXPECT_LE(crossing_of(db, halves).messages, crossing_of(db, once).messages * 1.1);
  EXPECT_LE(balance_of(db, halves).ratio(), balance_of(db, once).ratio() + 0.05);
  for (int pe = 0; pe < 64; pe += 3) db.pes[static_cast<std::size_t>(pe)].speed = pe % 2 == 0 ? 0.01 : 4;
  EXPECT_LE(balance_of(db, solve("Metis:halves=2", db)).ratio(), 1.5);
  const LoadDatabase few = grid(12, 70);
  EXPECT_EQ(check_assignment(few, solve("Metis:halves=2", few)), "");
}

// METIS alone fills PEs to a third above the average where each gets four objects.
TEST(Metis, BalancesWhereFewObjectsAreForEachPe) {
  if (!is_here("Metis")) GTEST_SKIP() << find_strategy("Metis")->missing();
  LoadDatabase db = grid(32, 256);
  for (std::size_t i = 0; i < db.objects.size(); ++i) db.objects[i].seconds *= 1 + static_cast<double>(i * i % 7) / 7;
  for (const char* name : {"Metis:halves=1e9", "Metis:halves=2"})
    EXPECT_LE(balance_of(db, solve(name, db)).ratio(), 1.15) << name;
}

// It would on the program's output: that it cannot make parts of nothing.
TEST(Metis, SaysNothingOfObjectsThatAreMoreThanAPesShare) {
  if (!is_here("Metis")) GTEST_SKIP() << find_strategy("Metis")->missing();
  LoadDatabase db = grid(32, 64);
  for (std::size_t i = 0; i < db.objects.size(); i += 200) db.objects[i].seconds *= 1000;
  for (const char* name : {"Metis:halves=1e9", "Metis:halves=2"}) {
    testing::internal::CaptureStdout();
    const Assignment result = solve(name, db);
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << name;
    EXPECT_LE(balance_of(db, result).max, 1.001 * lower_bound(db)) << name;
  }
}

TEST(Diffusion, MovesLoadToNeighboursOnly) {
  LoadDatabase db;
  db.pes.resize(64);
  for (int i = 0; i < 640; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i / 10, 1, 0, true});
  for (int i = 0; i < 10; ++i) db.objects[300 + i].seconds = 3;  // PE 30
  const Assignment result = solve("Diffusion", db);
  EXPECT_LT(balance_of(db, result).ratio(), 1.5);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const int way = std::abs(result[i] - db.objects[i].pe);
    EXPECT_LE(std::min(way, 64 - way), 8) << i;
  }
}

// Few objects a PE, so that few PEs have room for one more, and all others hear of these.
TEST(Gossip, FillsNoPeThatManyHaveHeardOf) {
  for (std::uint32_t step = 0; step < 20; ++step) {
    std::mt19937 random(step);
    LoadDatabase db;
    db.step = step;
    db.pes.resize(256);
    for (int i = 0; i < 1024; ++i)
      db.objects.push_back({1, static_cast<std::uint64_t>(i), i / 4,
                            (i / 4 % 64 == 7 ? 0.3 : 0.8) + 0.4 * static_cast<double>(random() % 1000) / 1000, 0,
                            true});
    const Assignment result = solve("Gossip", db);
    EXPECT_NE(result, present(db));
    EXPECT_LE(balance_of(db, result).max, balance_of(db, present(db)).max) << "step " << step;
  }
}

TEST(Tempered, IsNeverWorseThanBeforeAndBetterThanGossip) {
  double gossip = 0, tempered = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[1]);
    const double after = balance_of(db, solve("Tempered", db)).max;
    ASSERT_LE(after, balance_of(db, present(db)).max + 1e-9) << "seed " << seed;
    tempered += after;
    gossip += balance_of(db, solve("Gossip", db)).max;
  }
  EXPECT_LT(tempered, gossip);
}

TEST(Tempered, LeavesNoPeFarAboveTheOthersWhereMostWorkIsInOneOfManyPlaces) {
  LoadDatabase db;
  std::mt19937 random(11);
  db.pes.resize(128);
  for (int i = 0; i < 12800; ++i)
    db.objects.push_back({1, static_cast<std::uint64_t>(i), static_cast<int>(random() % (i % 3 == 0 ? 128 : 8)),
                          0.5 + static_cast<double>(random() % 1000) / 1000, 0, true});
  EXPECT_LT(balance_of(db, solve("Tempered", db)).ratio(), 1.03);
}

TEST(Tree, MovesNothingBetweenGroupsThatAreEven) {
  LoadDatabase db;
  db.pes.resize(16);
  for (int i = 0; i < 160; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 4 * 4, 1, 0, true});
  const Assignment result = solve("Tree:levels=3", db);
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i] / 4, db.objects[i].pe / 4) << i;
  EXPECT_EQ(balance_of(db, result).ratio(), 1);
}

TEST(Tree, MovesNothingWhereTheFullestPeHasOneObject) {
  LoadDatabase db;
  db.pes.resize(64);
  for (int i = 0; i < 40; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i, 1.0 + i, 0, true});
  EXPECT_EQ(solve("Tree", db), present(db));
  EXPECT_EQ(solve("Hybrid", db), present(db));
  db.pes[63].available = false;  // nothing lies there
  EXPECT_EQ(solve("Tree", db), present(db));
  EXPECT_EQ(solve("Hybrid", db), present(db));
  db.pes[7].available = false;
  EXPECT_NE(solve("Tree", db)[7], 7);
}

TEST(Capacity, IsWhatTheLevelLeaves) {
  LoadDatabase db;
  db.pes.resize(4);
  db.pes[1].background = 5;
  db.pes[2].background = 100;
  db.pes[3].available = false;
  db.objects = {{1, 0, 3, 10, 0, true}};
  const Capacity capacity = capacity_of(db);
  EXPECT_EQ(capacity.level, 7.5);
  EXPECT_EQ(capacity.work, (std::vector<double>{7.5, 2.5, 0, 0}));
}

}  // namespace
