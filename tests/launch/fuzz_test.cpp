// Every parser of launchers' texts on bytes that nobody meant: random ones, and good ones with bytes changed, cut, or
// doubled. Seeds are fixed; a failure prints its own. What is asked: no crash (sanitizers look on), sensible results.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "machine/bootstrap/frames.h"
#include "machine/bootstrap/pmi_text.h"
#include "machine/bootstrap/process_mapping.h"
#include "tools/charmrun/nodelist.h"
#include "tools/charmrun/plan.h"
#include "tools/charmrun/remote_shell.h"

namespace periapt::bootstrap {
namespace {

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string operator()(const std::vector<std::string>& good) {
    std::string text = good[pick(good.size())];
    for (std::size_t change = pick(6); change > 0; --change) {
      std::size_t at = pick(text.size() + 1);
      switch (pick(5)) {
        case 0:
          text.insert(at, 1, byte());
          break;
        case 1:
          text.erase(at, pick(8));
          break;
        case 2:
          if (at < text.size()) text[at] = byte();
          break;
        case 3:
          text.insert(at, text.substr(pick(text.size() + 1), pick(40)));
          break;
        default:
          text.insert(at, std::to_string(random_()));
          break;
      }
    }
    return text;
  }
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  char byte() {
    constexpr char kLikely[] = " =;,()\n\0-0129";
    return pick(2) == 0 ? kLikely[pick(sizeof(kLikely))] : static_cast<char>(pick(256));
  }
  std::mt19937_64 random_;
};

constexpr unsigned kRounds = 200'000;

TEST(Fuzz, ProcessMapping) {
  std::vector<std::string> good = {"(vector,(0,4,2))", "(vector,(0,1,4),(1,1,2),(2,2,1))", ""};
  for (unsigned seed = 1; seed <= kRounds; ++seed) {
    Mutator mutate(seed);
    std::string text = mutate(good);
    int size = 1 + static_cast<int>(mutate.pick(64));
    Result<std::vector<int>> hosts = parse_process_mapping(text, size);
    ASSERT_TRUE(hosts.ok() ? static_cast<int>(hosts->size()) == size : !hosts.message().empty()) << "seed " << seed;
  }
}

TEST(Fuzz, PmiTexts) {
  std::vector<std::string> good = {
      "cmd=get_result rc=0 value=x", "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
      "    26cmd=kvs-put;value=a;;b;", "cmd=kvs-get-response;found=TRUE;value=a;;b;rc=0;", ""};
  for (unsigned seed = 1; seed <= kRounds; ++seed) {
    std::string text = Mutator(seed)(good);
    for (const PmiFields& fields : {parse_pmi1(text), parse_pmi2(text)}) {
      for (const auto& [name, value] : fields) ASSERT_FALSE(name.empty()) << "seed " << seed;
      static_cast<void>(pmi_number(fields, "rc", 0));
    }
    long length = parse_pmi2_length(text.substr(0, kPmi2LengthDigits));
    ASSERT_TRUE(length >= -1 && length <= 999'999) << "seed " << seed;
    std::string bytes;
    bool decoded = decode_text(text, bytes);
    ASSERT_TRUE(!decoded || encode_text(bytes).size() == text.size()) << "seed " << seed;
  }
}

// A stream of frames, damaged, and cut at random places: frames come out or a failure, and a failure stays one.
TEST(Fuzz, Frames) {
  std::string put = encode_frame({FrameKind::put, 1, 0, pack_texts({"0-a-0", "value"})});
  std::vector<std::string> good = {put + encode_frame({FrameKind::arrive, 1, 0, {}}),
                                   encode_frame({FrameKind::hello, 0, 4, "x"}), put + put + put, ""};
  for (unsigned seed = 1; seed <= kRounds; ++seed) {
    Mutator mutate(seed);
    std::string stream = mutate(good);
    FrameReader reader;
    bool failed = false;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < stream.size();) {
      std::size_t piece = std::min(1 + mutate.pick(40), stream.size() - at);
      reader.feed(stream.data() + at, piece);
      at += piece;
      for (;;) {
        Result<std::optional<Frame>> next = reader.next();
        ASSERT_TRUE(!failed || !next.ok()) << "seed " << seed;
        failed = !next.ok();
        if (failed || !next->has_value()) break;
        taken += kFrameHead + (**next).body.size();
        std::vector<std::string> texts;
        bool packed = unpack_texts((**next).body, texts);
        ASSERT_TRUE(!packed || pack_texts(texts) == (**next).body) << "seed " << seed;
      }
    }
    ASSERT_LE(taken, stream.size()) << "seed " << seed;
  }
}

TEST(Fuzz, Plans) {
  charmrun::RunPlan plan;
  plan.size = 4;
  plan.arguments = {"+p4", "x"};
  plan.here.name = "a";
  plan.here.ranks = 2;
  plan.here.below.resize(2);
  std::vector<std::string> good = {charmrun::encode_plan(plan)};
  for (unsigned seed = 1; seed <= kRounds / 4; ++seed) {
    Result<charmrun::RunPlan> back = charmrun::decode_plan(Mutator(seed)(good));
    if (!back.ok()) continue;
    ASSERT_LE(back->here.first_rank + back->here.ranks, back->size) << "seed " << seed;
  }
}

TEST(Fuzz, Nodelist) {
  std::vector<std::string> good = {"group main ++shell ssh\n host a ++cpus 2\n host b ++login c\n",
                                   "pathfix /a /b\nsetup cd x\nhost \"q\"\n", "host a\nhost a\n"};
  for (unsigned seed = 1; seed <= kRounds / 4; ++seed) {
    Mutator mutate(seed);
    std::string text = mutate(good);
    Result<std::vector<charmrun::Host>> hosts = charmrun::parse_nodelist(text, "main", "fuzz");
    ASSERT_TRUE(hosts.ok() ? !hosts->empty() : hosts.message().find("fuzz") == 0) << "seed " << seed;
    if (!hosts.ok()) continue;
    int sum = 0;
    for (int count : charmrun::share_processes(*hosts, 17)) sum += count;
    ASSERT_EQ(sum, 17) << "seed " << seed;
    for (const charmrun::Host& host : *hosts) ASSERT_NE(host.name[0], '-') << "seed " << seed;
    static_cast<void>(charmrun::split_command(text));
  }
}

}  // namespace
}  // namespace periapt::bootstrap
