// What the command line says about the network: taken out, understood, or refused with what was meant.
#include "machine/layer/net_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace periapt::machine {
namespace {

using ::testing::HasSubstr;

struct Line {
  explicit Line(std::vector<std::string> given) : words(std::move(given)) {
    words.insert(words.begin(), "./pgm");
    for (std::string& word : words) argv.push_back(word.data());
    argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
  }
  std::vector<std::string> words;
  std::vector<char*> argv;
  int argc;
};

TEST(NetOptions, AreTakenAndTheRestStays) {
  Line line(
      {"+transports", "tcp", "file", "++explain-transport", "+net-devices", "eth0", "+p4", "+rendezvous-min", "64k"});
  auto options = take_net_options(line.argc, line.argv.data());
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(line.argc, 3);
  EXPECT_STREQ(line.argv[1], "file");
  EXPECT_STREQ(line.argv[2], "+p4");
  EXPECT_EQ(line.argv[3], nullptr);
  EXPECT_EQ(options->transports, "tcp");
  EXPECT_TRUE(options->explain);
  EXPECT_EQ(options->others["+net-devices"], "eth0");
  EXPECT_EQ(options->limits.rendezvous_min, 64u << 10);
}

TEST(NetOptions, ProcessesAreApartWhenSharedMemoryIsNotWanted) {
  NetOptions options;
  EXPECT_FALSE(options.apart());
  options.transports = "shm,tcp";
  EXPECT_FALSE(options.apart());
  options.transports = "tcp";
  EXPECT_TRUE(options.apart());
  options.transports = "shm";
  options.no_shared_memory = true;
  EXPECT_TRUE(options.apart());
}

// Two transports that declare options, as one in a shared object would.
constexpr ucx::TransportOption kWindow[] = {{"ether-window", "N", "how many frames may be under way"},
                                            {"ether-quiet", nullptr, "no warnings"}};
constexpr ucx::TransportOption kWindowAgain[] = {{"ether-window", "N", "of the other one"}};
constexpr ucx::TransportOption kPpn[] = {{"ppn", "N", "ports on each network"}};
constexpr ucx::TransportOption kCredit[] = {{"credit-bytes", "N", "credit of its own"}};
const ucx::TransportFactory ether{.name = "ether", .probe = nullptr, .open = nullptr, .options = kWindow};
const ucx::TransportFactory other{.name = "other", .probe = nullptr, .open = nullptr, .options = kWindowAgain};
const ucx::TransportFactory greedy{.name = "greedy", .probe = nullptr, .open = nullptr, .options = kPpn};
const ucx::TransportFactory lender{.name = "lender", .probe = nullptr, .open = nullptr, .options = kCredit};

TEST(NetOptions, AreTheOnesThatTransportsDeclareToo) {
  Line line({"+ether-window", "12", "+ether-quiet", "file"});
  auto options = take_net_options(line.argc, line.argv.data(), {&ether});
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(line.argc, 2);
  EXPECT_EQ(options->texts()("+ether-window"), "12");
  EXPECT_EQ(options->texts()("+ether-quiet"), "on");
  EXPECT_EQ(options->texts()("+net-devices"), "");
  Line misspelt({"+ether-widow", "12"});
  EXPECT_THAT(take_net_options(misspelt.argc, misspelt.argv.data(), {&ether}).message(),
              HasSubstr("did you mean +ether-window? It says how many frames may be under way."));
  // What no transport declares is none of ours.
  Line unknown({"+ether-window", "12"});
  ASSERT_TRUE(take_net_options(unknown.argc, unknown.argv.data(), {}));
  EXPECT_EQ(unknown.argc, 3);
}

TEST(NetOptions, OfTransportsHaveNamesOfTheirOwn) {
  EXPECT_TRUE(check_option_names(transports()));
  EXPECT_THAT(
      check_option_names({&ether, &other}).message(),
      HasSubstr("the transport other declares the option +ether-window, and there is one of that name already, of "
                "the transport ether"));
  for (const auto& [transport, option] : {std::pair{&greedy, "+ppn"}, std::pair{&lender, "+credit-bytes"}}) {
    EXPECT_THAT(check_option_names({transport}).message(),
                HasSubstr(std::string("declares the option ") + option +
                          ", and there is one of that name already, of every run"));
  }
}

std::string refusal(std::vector<std::string> words) {
  Line line(std::move(words));
  auto options = take_net_options(line.argc, line.argv.data());
  return options ? "taken" : options.message();
}

TEST(NetOptions, MistakesAreExplained) {
  EXPECT_THAT(refusal({"+net-device", "eth0"}), HasSubstr("did you mean +net-devices?"));
  EXPECT_THAT(refusal({"+transport", "tcp"}), HasSubstr("did you mean +transports?"));
  EXPECT_THAT(refusal({"+transports"}), HasSubstr("wants a value behind it"));
  EXPECT_THAT(refusal({"+credit-bytes", "many"}), HasSubstr("64K or 1M, not \"many\""));
  EXPECT_THAT(refusal({"+credit-bytes", "-1"}), HasSubstr("not \"-1\""));
  EXPECT_EQ(refusal({"+balancer", "GreedyLB", "+p", "4"}), "taken");
}

TEST(NetOptions, TheNumberOfWorkersIsANumberThatAProcessCanHave) {
  Line line({"+workers", "4"});
  auto options = take_net_options(line.argc, line.argv.data());
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options->workers, 4);
  EXPECT_EQ(line.argc, 1);
  for (const char* wrong : {"0", "17", "-1", "2x", ""}) {
    Line other({"+workers", wrong});
    EXPECT_THAT(take_net_options(other.argc, other.argv.data()).message(), HasSubstr("a number from 1 to 16")) << wrong;
  }
}

TEST(NetOptions, TheCourierIsOnOrOffOrWhatIsFaster) {
  for (const auto& [word, use] : {std::pair{"on", gpu::CourierUse::on}, {"off", gpu::CourierUse::off}}) {
    Line line({"+gpu-courier", word});
    auto options = take_net_options(line.argc, line.argv.data());
    ASSERT_TRUE(options) << options.message();
    EXPECT_EQ(options->gpu_courier(), use);
  }
  EXPECT_EQ(NetOptions().gpu_courier(), gpu::CourierUse::automatic);
  Line line({"+gpu-courier", "maybe"});
  EXPECT_THAT(take_net_options(line.argc, line.argv.data()).message(),
              HasSubstr("+gpu-courier wants on or off, not \"maybe\""));
}

TEST(NetOptions, SizesThatAreNoSizesAreRefused) {
  for (const char* wrong : {"", "much", "-1", "64Q", "1 K", "64KK", "99999999999999999999", "99999999999T", "K"}) {
    Line line({"+eager-copy-max", wrong});
    EXPECT_THAT(take_net_options(line.argc, line.argv.data()).message(), HasSubstr("wants a number of bytes")) << wrong;
  }
  Line line({"+eager-copy-max", "3g", "+credit-bytes", "0"});
  auto options = take_net_options(line.argc, line.argv.data());
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options->limits.eager_copy_max, std::uint64_t{3} << 30);
}

TEST(NetOptions, ATransportWithShmInItsNameIsNotSharedMemory) {
  NetOptions options;
  options.transports = "tcp,myshm";
  EXPECT_TRUE(options.apart());
  options.transports = "tcp,shm";
  EXPECT_FALSE(options.apart());
}

}  // namespace
}  // namespace periapt::machine
