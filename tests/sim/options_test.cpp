// What +sim understands, and what it says when it doesn't.
#include "machine/sim/options.h"

#include <gtest/gtest.h>

namespace periapt::sim {
namespace {

Options good(const std::string& text) {
  auto options = parse_options(text);
  EXPECT_TRUE(options.ok()) << text << ": " << options.message();
  return options.ok() ? *options : Options();
}

TEST(SimOptions, TheExampleOfTheManual) {
  Options o = good("nodes=1024,ppn=4,topology=torus:8x8x16,L=1us,o=250ns,g=10ns,G=12.5GB/s,seed=7,loss=0.01");
  EXPECT_EQ(o.pes(), 4096);
  EXPECT_EQ(o.topology, "torus:8x8x16");
  EXPECT_EQ(o.costs.L, 1'000'000u);
  EXPECT_EQ(o.costs.o, 250'000u);
  EXPECT_EQ(o.costs.g, 10'000u);
  EXPECT_DOUBLE_EQ(o.costs.G, 80);
  EXPECT_EQ(o.faults.seed, 7u);
  EXPECT_DOUBLE_EQ(o.faults.loss, 0.01);
  EXPECT_GT(o.faults.rto, o.costs.L) << "chosen when it is not given";
}

TEST(SimOptions, NodesFollowFromTheTopology) {
  EXPECT_EQ(good("topology=torus:4x4,ppn=2").pes(), 32);
  EXPECT_EQ(good("topology=dragonfly:4x8x9").pes(), 288);
  EXPECT_EQ(good("nodes=30,topology=fattree:8x4").pes(), 30) << "not all of it need be used";
  EXPECT_EQ(good("").pes(), 1);
}

TEST(SimOptions, Times) {
  EXPECT_EQ(*parse_time("L", "1.5us"), 1'500'000u);
  EXPECT_EQ(*parse_time("L", "2"), 2'000'000u) << "us without a unit";
  EXPECT_EQ(*parse_time("L", "300ns"), 300'000u);
  EXPECT_EQ(*parse_time("L", "2ms"), 2'000'000'000u);
  for (const char* bad : {"", "us", "1h", "-1us", "1e30s", "nan", "inf", "0x10", "1 us"})
    EXPECT_FALSE(parse_time("L", bad).ok()) << bad;
  EXPECT_EQ(in_words(1'234'567), "1.235 us");
  EXPECT_EQ(in_words(0), "0 ps");
}

TEST(SimOptions, Work) {
  EXPECT_FALSE(good("nodes=2").fixed_cost);
  EXPECT_TRUE(good("cost=1us").fixed_cost);
  EXPECT_EQ(good("cost=1us").cost, kUs);
  EXPECT_DOUBLE_EQ(good("scale=0.5").scale, 0.5);
}

TEST(SimOptions, MistakesAreNamedWithWhatWasProbablyMeant) {
  auto complaint = [](const std::string& text) {
    auto options = parse_options(text);
    EXPECT_FALSE(options.ok()) << text;
    return options.message();
  };
  EXPECT_NE(complaint("node=4").find("did you mean nodes="), std::string::npos);
  EXPECT_NE(complaint("topolgy=flat").find("did you mean topology="), std::string::npos);
  EXPECT_NE(complaint("topology=fatree:4x4").find("did you mean fattree"), std::string::npos);
  EXPECT_NE(complaint("nodes=4,nodes=5").find("given twice"), std::string::npos);
  EXPECT_NE(complaint("nodes").find("nodes=..."), std::string::npos);
  EXPECT_NE(complaint("nodes=5,topology=torus:2x2").find("room for 4 nodes"), std::string::npos);
  for (const char* bad :
       {"nodes=0", "nodes=-1", "nodes=2.5", "nodes=x", "ppn=", "G=fast", "G=0GB/s", "loss=1", "loss=x", "raw=yes",
        "seed=-1", "seed=", "scale=0", "cost=1h", "nodes=2000000", ",nodes=2", "nodes=65536,ppn=4096", "=3"})
    complaint(bad);
}

}  // namespace
}  // namespace periapt::sim
