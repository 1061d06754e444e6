// What each strategy is for, on random databases: a failure prints the seed. What all of them have to keep to is in
// conformance_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "runtime/pup/memory.h"
#include "tests/loadbalance/random_databases.h"
#include "tests/loadbalance/solve.h"

using namespace periapt::loadbalance;

namespace {

periapt::Complaint refusal(const std::string& text) {
  periapt::Complaint complaint;
  EXPECT_FALSE(read_strategy(text, &complaint)) << text;
  return complaint;
}

// Graham's bounds, against the lower bound instead of the optimum: list scheduling of sorted objects ends below
// mean + largest object.
TEST(Greedy, StaysWithinGrahamsBound) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const LoadDatabase db = random_database(seed, {});
    double work = 0, largest = 0;
    for (const ObjectLoad& o : db.objects) {
      work += o.seconds;
      largest = std::max(largest, o.seconds);
    }
    const double max = balance_of(db, solve("Greedy", db)).max;
    ASSERT_LE(max, work / db.pes.size() + largest + 1e-9) << "seed " << seed;
    ASSERT_GE(max, lower_bound(db) - 1e-9) << "seed " << seed;
  }
}

TEST(GreedyRefine, IsNeverWorseThanBeforeAndNearlyAsGoodAsGreedy) {
  for (unsigned seed = 0; seed < 500; ++seed)
    for (const Kind& kind : {kinds[0], kinds[1], kinds[2], kinds[5]}) {
      const LoadDatabase db = random_database(seed, kind);
      const double before = balance_of(db, present(db)).max, after = balance_of(db, solve("GreedyRefine", db)).max;
      ASSERT_LE(after, before + 1e-9) << "seed " << seed;
      ASSERT_LE(after, 1.03 * 1.03 * balance_of(db, solve("Greedy", db)).max + 1e-9) << "seed " << seed;
      ASSERT_GE(after, lower_bound(db) - 1e-9) << "seed " << seed;
    }
}

TEST(GreedyRefine, MovesLessThanGreedy) {
  int moved = 0, greedily = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[1]);
    moved += balance_of(db, solve("GreedyRefine", db)).migrations;
    greedily += balance_of(db, solve("Greedy", db)).migrations;
  }
  EXPECT_LT(moved, 0.7 * greedily);
}

TEST(GreedyRefine, LeavesAlmostEvenLoadsAlone) {
  LoadDatabase db;
  db.pes.resize(8);
  for (int i = 0; i < 80; ++i)
    db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 8, 1 + 1e-3 * (i % 3), 0, true});
  EXPECT_EQ(balance_of(db, solve("GreedyRefine", db)).migrations, 0);
}

TEST(GreedyRefine, GoesRoundAPeThatIsBusyWithOtherThings) {
  LoadDatabase db;
  db.pes.resize(4);
  db.pes[2].background = 10;
  for (int i = 0; i < 16; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 4, 1, 0, true});
  const Assignment result = solve("GreedyRefine", db);
  EXPECT_EQ(std::count(result.begin(), result.end(), 2), 0);
}

TEST(Refine, IsNeverWorseThanBefore) {
  for (unsigned seed = 0; seed < 500; ++seed)
    for (const Kind& kind : {kinds[0], kinds[1], kinds[2], kinds[5]}) {
      const LoadDatabase db = random_database(seed, kind);
      ASSERT_LE(balance_of(db, solve("Refine", db)).max, balance_of(db, present(db)).max + 1e-9) << "seed " << seed;
    }
}

TEST(Rotate, MovesEverythingToTheNextPe) {
  LoadDatabase db;
  db.pes.resize(3);
  for (int i = 0; i < 6; ++i) db.objects.push_back({1, static_cast<std::uint64_t>(i), i % 3, 1, 0, true});
  EXPECT_EQ(solve("Rotate", db), (Assignment{1, 2, 0, 1, 2, 0}));
  db.pes[1].available = false;
  EXPECT_EQ(solve("Rotate", db), (Assignment{2, 2, 0, 2, 2, 0}));
}

TEST(Model, CountsWorkByTheSpeedOfThePe) {
  LoadDatabase db;
  db.pes.resize(2);
  db.pes[1].speed = 2;
  db.objects = {{1, 0, 0, 4, 0, true}, {1, 1, 1, 3, 0, true}};
  EXPECT_EQ(pe_loads(db, {0, 1}), (std::vector<double>{4, 3}));
  EXPECT_EQ(pe_loads(db, {1, 0}), (std::vector<double>{6, 2}));
  EXPECT_EQ(balance_of(db, {1, 0}).migrations, 2);
}

TEST(Model, SaysWhatIsWrongWithAnAssignment) {
  LoadDatabase db;
  db.pes.resize(3);
  db.pes[2].available = false;
  db.objects = {{1, 0, 0, 1, 0, true}, {1, 1, 1, 1, 0, false}};
  EXPECT_EQ(check_assignment(db, {1, 1}), "");
  EXPECT_THAT(check_assignment(db, {1}), testing::HasSubstr("1 places for 2 objects"));
  EXPECT_THAT(check_assignment(db, {3, 1}), testing::HasSubstr("PE 3 of 3"));
  EXPECT_THAT(check_assignment(db, {-1, 1}), testing::HasSubstr("PE -1"));
  EXPECT_THAT(check_assignment(db, {0, 0}), testing::HasSubstr("cannot migrate"));
  EXPECT_THAT(check_assignment(db, {2, 1}), testing::HasSubstr("not available"));
}

TEST(Names, AreFoundInBothFormsAndSuggestedWhenNearlyRight) {
  EXPECT_EQ(find_strategy("GreedyRefineLB"), find_strategy("GreedyRefine"));
  EXPECT_STREQ(find_strategy("RandCentLB")->name, "Random");
  EXPECT_EQ(find_strategy("NoSuchLB"), nullptr);
  EXPECT_EQ(refusal("GredyLB").why, "did you mean GreedyLB?");
  EXPECT_EQ(refusal("greedyrefine").why, "did you mean GreedyRefine?");
}

TEST(Options, HaveAStandardValueAndTakeThatOfTheCommandLine) {
  periapt::Complaint complaint;
  EXPECT_EQ(read_strategy("GreedyRefineLB", &complaint)->options["tolerance"], 1.03);
  EXPECT_EQ(read_strategy("GreedyRefineLB:tolerance=1.5", &complaint)->options["tolerance"], 1.5);
  const auto two = read_strategy("GreedyComm:message_bytes=4,tolerance=3", &complaint);
  EXPECT_EQ(two->options["tolerance"], 3);
  EXPECT_EQ(two->options["message_bytes"], 4);
}

TEST(Options, AreRefusedWithWhatToWriteInstead) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("Refine:tolerence=2").what, HasSubstr("RefineLB has no option tolerence"));
  EXPECT_THAT(refusal("Refine:tolerence=2").why, HasSubstr("did you mean tolerance?"));
  EXPECT_THAT(refusal("Greedy:tolerance=2").why, HasSubstr("it has no options"));
  for (const char* text : {"Refine:tolerance", "Refine:tolerance=", "Refine:tolerance=much", "Refine:tolerance=1.1x",
                           "Refine:tolerance=nan", "Refine:tolerance=inf"}) {
    EXPECT_THAT(refusal(text).what, HasSubstr("which is no number")) << text;
    EXPECT_THAT(refusal(text).what_next, HasSubstr("Refine:tolerance=1.03")) << text;
  }
  EXPECT_THAT(refusal("Refine:tolerance=0.5").what, HasSubstr("tolerance of the balancer RefineLB cannot be 0.5"));
  EXPECT_THAT(refusal("Refine:tolerance=0.5").what_next, HasSubstr("from 1 to 100"));
  EXPECT_THAT(refusal("Refine:").what, HasSubstr("no option"));
  EXPECT_THAT(refusal("GreedyComm:tolerance=1,,message_bytes=1").what, HasSubstr("no option"));
}

TEST(Refine, LeavesMoreInPlaceTheMoreItTolerates) {
  int strictly = 0, loosely = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[1]);
    for (const char* name : {"Refine", "GreedyRefine"}) {
      strictly += balance_of(db, solve(std::string(name) + ":tolerance=1", db)).migrations;
      loosely += balance_of(db, solve(std::string(name) + ":tolerance=1.5", db)).migrations;
    }
  }
  EXPECT_LT(loosely, 0.8 * strictly);
}

// Objects of a ring, dealt out to the PEs like cards: all neighbours are apart.
LoadDatabase ring(int pes, int objects, std::uint64_t bytes) {
  LoadDatabase db;
  db.pes.resize(pes);
  for (int i = 0; i < objects; ++i) {
    const auto name = [&](int n) { return ElementName{1, static_cast<std::uint64_t>((n + objects) % objects)}; };
    db.objects.push_back({1, name(i).element, i % pes, 1e-3, 0, true});
    for (int neighbour : {i - 1, i + 1}) db.communication.push_back({name(i), name(neighbour), 10, bytes});
    db.communication.push_back({name(i), {2, 7}, 1000, 1});  // no object
  }
  return db;
}

TEST(Model, CountsWhatPassesBetweenPes) {
  const LoadDatabase db = ring(2, 4, 100);
  EXPECT_EQ(crossing_of(db, {0, 1, 0, 1}).messages, 80u);
  EXPECT_EQ(crossing_of(db, {0, 0, 1, 1}).messages, 40u);
  EXPECT_EQ(crossing_of(db, {0, 0, 1, 1}).bytes, 400u);
  EXPECT_EQ(crossing_of(db, {1, 1, 1, 1}).bytes, 0u);
  const auto partners = partners_of(db);
  ASSERT_EQ(partners[0].size(), 2u);
  EXPECT_EQ(partners[0][0].object, 1u);
  EXPECT_EQ(partners[0][0].messages, 20u);
  EXPECT_EQ(partners[0][1].object, 3u);
  EXPECT_EQ(partners[0][1].bytes, 200u);
}

TEST(GreedyComm, KeepsNeighboursTogetherWithoutUpsettingTheBalance) {
  const LoadDatabase db = ring(4, 64, 100);
  const Assignment near = solve("GreedyComm", db), greedy = solve("Greedy", db);
  EXPECT_LE(crossing_of(db, near).messages, crossing_of(db, greedy).messages / 8);
  EXPECT_LE(balance_of(db, near).ratio(), 1.1);
}

TEST(GreedyComm, FillsPesUpToItsToleranceOnly) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    LoadDatabase db = random_database(seed, kinds[1]);
    std::mt19937 random(seed);
    for (const ObjectLoad& from : db.objects)
      for (int i = 0; i < 4; ++i) {
        const ObjectLoad& to = db.objects[random() % db.objects.size()];
        db.communication.push_back({{from.array, from.element}, {to.array, to.element}, 1, random() % 5000});
      }
    double largest = 0;
    for (const ObjectLoad& o : db.objects) largest = std::max(largest, o.seconds);
    const double greedy = balance_of(db, solve("Greedy", db)).max;
    ASSERT_LE(balance_of(db, solve("GreedyComm", db)).max, 1.1 * greedy + largest + 1e-9) << "seed " << seed;
  }
}

TEST(GreedyComm, PlacesAsGreedyDoesWhereNothingIsSaid) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const LoadDatabase db = random_database(seed, kinds[1]);
    ASSERT_EQ(solve("GreedyComm", db), solve("Greedy", db)) << "seed " << seed;
  }
}

TEST(GreedyComm, PutsAllOnOnePeWhereItTolerates) {
  const LoadDatabase db = ring(4, 12, 0);
  const Assignment result = solve("GreedyComm:tolerance=100", db);
  EXPECT_EQ(std::count(result.begin(), result.end(), result[0]), 12);
}

TEST(Database, SurvivesJsonAndBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    LoadDatabase db = random_database(seed, kinds[6]);
    db.communication = ring(3, 5, seed).communication;
    db.clock = static_cast<LoadClock>(seed % 3);
    const bool wall_besides = db.clock != LoadClock::wall;
    for (PeLoad& pe : db.pes) {
      pe.background_wall = wall_besides ? 2 * pe.background : 0;
      pe.background_gpu = seed % 5 == 0 ? 5 * pe.background : 0;
    }
    for (ObjectLoad& object : db.objects) {
      object.wall = wall_besides ? 3 * object.seconds : 0;
      object.gpu = seed % 4 == 0 ? 7 * object.seconds : 0;
    }
    for (std::size_t i = 0; seed % 3 == 0 && i < db.objects.size(); ++i)
      db.phases.push_back({{0.5f, static_cast<float>(i) / 1024, 0, 0.25f}});
    LoadDatabase read;
    std::string error;
    ASSERT_TRUE(from_json(to_json(db), &read, &error)) << error;
    EXPECT_EQ(to_json(read), to_json(db));
    EXPECT_EQ(read.clock, db.clock);
    for (std::size_t i = 0; i < db.objects.size(); ++i) {
      ASSERT_EQ(read.objects[i].wall, db.objects[i].wall);
      ASSERT_EQ(read.objects[i].gpu, db.objects[i].gpu);
      for (int k = 0; k < PhaseParts::most; ++k) ASSERT_EQ(read.seconds_in(k, i), db.seconds_in(k, i));
    }
    for (std::size_t pe = 0; pe < db.pes.size(); ++pe) {
      ASSERT_EQ(read.pes[pe].background_wall, db.pes[pe].background_wall);
      ASSERT_EQ(read.pes[pe].background_gpu, db.pes[pe].background_gpu);
    }
    PUP::sizer sizer;
    db.pup(sizer);
    std::vector<char> bytes(sizer.size());
    PUP::toMem out(bytes.data());
    db.pup(out);
    LoadDatabase again;
    PUP::fromMem in(bytes.data(), bytes.size());
    again.pup(in);
    EXPECT_EQ(to_json(again), to_json(db));
  }
}

// As records were written before processor time was in them.
TEST(Database, ReadsARecordOfWallTimeAlone) {
  LoadDatabase read;
  std::string error;
  ASSERT_TRUE(from_json(R"({"version":1,"step":2,"communication":[],)"
                        R"("pes":[{"wall_s":3,"idle_s":1,"background_s":0.5,"speed":1,"available":true}],)"
                        R"("objects":[{"array":1,"element":4,"pe":0,"load_s":1.5,"bytes":8,"migratable":true}]})",
                        &read, &error))
      << error;
  EXPECT_EQ(read.clock, LoadClock::wall);
  EXPECT_EQ(read.objects.at(0).seconds, 1.5);
  EXPECT_EQ(to_json(read).find("wall_s\":0.0,"), std::string::npos) << "what is not measured is not written";
  EXPECT_EQ(to_json(read).find("gpu"), std::string::npos) << "no GPU has worked";
}
TEST(Database, IsOfProcessorTimeWhereAPartOfItIs) {
  LoadDatabase all, part;
  part.clock = LoadClock::processor;
  all.append(part);
  EXPECT_EQ(all.clock, LoadClock::processor);
  all.clear();
  EXPECT_EQ(all.clock, LoadClock::wall);
}

TEST(Database, OfObjectsThatSayNothingOfPhasesAllIsInTheFirst) {
  LoadDatabase all, part;
  all.objects.resize(2);
  part.objects.resize(1);
  for (LoadDatabase* const db : {&all, &part})
    for (ObjectLoad& object : db->objects) object.seconds = 3;
  EXPECT_EQ(all.seconds_in(0, 1), 3);
  EXPECT_EQ(all.seconds_in(1, 1), 0);
  part.phases.push_back({{0.25f, 0.75f}});
  all.append(part);
  EXPECT_EQ(all.seconds_in(0, 1), 3);
  EXPECT_EQ(all.seconds_in(1, 1), 0);
  EXPECT_EQ(all.seconds_in(1, 2), 2.25);
  all.phases[0].join(3, all.phases[2], 9);
  all.objects[0].seconds += 9;
  EXPECT_EQ(all.seconds_in(0, 0), 3 + 2.25);
  EXPECT_EQ(all.seconds_in(1, 0), 6.75);
}

TEST(Database, RefusesJsonThatIsNone) {
  LoadDatabase db;
  db.pes.resize(1);
  db.objects.resize(1);
  db.phases.resize(1);
  db.communication.push_back({{1, 2}, {3, 4}, 5, 6});
  const std::string good = to_json(db);
  LoadDatabase read;
  std::string error;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_TRUE(from_json(good, &read, &error));
  EXPECT_FALSE(from_json("", &read, &error));
  EXPECT_FALSE(from_json(good.substr(0, good.size() / 2), &read, &error));
  EXPECT_FALSE(from_json(with("\"version\":1", "\"version\":2"), &read, &error));
  EXPECT_FALSE(from_json(with("\"pe\":0", "\"pe\":1"), &read, &error));
  EXPECT_THAT(error, testing::HasSubstr("PE 1"));
  EXPECT_FALSE(from_json(with("\"load_s\":0.0", "\"load_s\":-1"), &read, &error));
  EXPECT_FALSE(from_json(with("\"load_s\":0.0", "\"load_s\":\"much\""), &read, &error));
  EXPECT_FALSE(from_json(with("\"from\":[1,2]", "\"from\":[1]"), &read, &error));
  EXPECT_FALSE(from_json(with("\"phases\":[1.0,", "\"phases\":["), &read, &error));
  EXPECT_THAT(error, testing::HasSubstr("no list of 8 parts"));
  EXPECT_FALSE(from_json(with("\"phases\":[1.0,", "\"phases\":[-1.0,"), &read, &error));
}

}  // namespace
