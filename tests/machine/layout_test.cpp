// The layout of a run: what the options mean, which thread runs which PEs, and which contradictions are refused.
#include "machine/bootstrap/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace periapt::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

UsableCpus cpus_of(int cpus, double quota = 0) {
  UsableCpus usable;
  usable.cpus.resize(static_cast<std::size_t>(cpus));
  std::iota(usable.cpus.begin(), usable.cpus.end(), 0);
  usable.quota = quota;
  return usable;
}

// A command line, as main() gets it.
struct Line {
  explicit Line(std::vector<std::string> words) : words(std::move(words)) {
    for (std::string& word : this->words) pointers.push_back(word.data());
    argc = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> rest() const {
    EXPECT_EQ(pointers[static_cast<std::size_t>(argc)], nullptr);
    return {pointers.begin(), pointers.begin() + argc};
  }
  std::vector<std::string> words;
  std::vector<char*> pointers;
  int argc;
};

Result<HostLayout> layout_of(std::vector<std::string> words, const UsableCpus& usable) {
  words.insert(words.begin(), "./pgm");
  Line line(std::move(words));
  Result<LayoutRequest> request = take_layout_options(line.argc, line.pointers.data());
  if (!request) return request.status();
  return resolve_layout(*request, usable);
}

TEST(LayoutOptions, AreTakenAndTheRestStays) {
  Line line({"./pgm", "input", "+p4", "-x", "++ppn", "2", "+balancer", "GreedyLB", "+partitions", "3", "7"});
  Result<LayoutRequest> request = take_layout_options(line.argc, line.pointers.data());
  ASSERT_TRUE(request.ok()) << request.message();
  EXPECT_EQ(request->pes, 4);
  EXPECT_EQ(request->pes_a_process, 2);
  EXPECT_THAT(line.rest(), ElementsAre("./pgm", "input", "-x", "+balancer", "GreedyLB", "+partitions", "3", "7"));
}

TEST(LayoutOptions, EverySpellingMeansTheSame) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"+p4", "+ppn2"},
                                                                 {"+p", "4", "+ppn", "2"},
                                                                 {"++p", "4", "++ppn", "2"},
                                                                 {"+pe", "4", "++np", "2"},
                                                                 {"++p4", "+n", "2"},
                                                                 {"++np2", "++ppn2"},
                                                                 {"+p4", "++n2"},
                                                                 {"+p4", "++processPerHost", "2"}}) {
    Result<HostLayout> layout = layout_of(words, cpus_of(8));
    ASSERT_TRUE(layout.ok()) << words[0] << ": " << layout.message();
    EXPECT_EQ(layout->pes, 4) << words[0];
    EXPECT_EQ(layout->process_count(), 2) << words[0];
  }
}

TEST(LayoutOptions, WithoutAnyThereIsOnePe) {
  Result<HostLayout> layout = layout_of({}, cpus_of(2));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->pes, 1);
  EXPECT_EQ(layout->process_count(), 1);
  EXPECT_EQ(layout->describe(), "1 PE in 1 process, 1 thread on 2 cpus, not bound to a cpu");
}

TEST(Layout, GivesEachPeItsThreadAndCpuWhileThereAreCpus) {
  Result<HostLayout> layout = layout_of({"+p4", "+ppn", "2"}, cpus_of(4));
  ASSERT_TRUE(layout.ok());
  EXPECT_THAT(layout->process_of, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(layout->carrier_of, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(layout->oversubscribed);
  for (int c = 0; c < 4; ++c) EXPECT_EQ(layout->carriers[static_cast<std::size_t>(c)].cpu, c);
  EXPECT_EQ(layout->describe(), "4 PEs in 2 processes of 2, 4 threads on 4 cpus, bound to cpus 0-3");
}

// Several such runs share a host: bound, they could sit on the same cpus for good.
TEST(Layout, ThreadsOfARunThatLeavesCpusAreNotBound) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"+p4"}, {"+p4", "+ppn", "2"}}) {
    Result<HostLayout> layout = layout_of(words, cpus_of(5));
    ASSERT_TRUE(layout.ok());
    EXPECT_EQ(layout->carrier_count(), 4);
    for (const Carrier& carrier : layout->carriers) EXPECT_EQ(carrier.cpu, -1);
    EXPECT_THAT(layout->describe(), HasSubstr("not bound to a cpu"));
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"+p4", "+setcpuaffinity"}, {"+p4", "+excludecore", "4"}}) {
    Result<HostLayout> layout = layout_of(words, cpus_of(5));
    ASSERT_TRUE(layout.ok());
    EXPECT_THAT(layout->describe(), HasSubstr("bound to cpus 0-3"));
  }
}

TEST(Layout, PutsBlocksOfPesOnAThreadWhenThereAreTooFewCpus) {
  Result<HostLayout> layout = layout_of({"+p16"}, cpus_of(2));
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout->carrier_count(), 2);
  EXPECT_THAT(layout->carriers[0].pes, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_TRUE(layout->oversubscribed);
  EXPECT_THAT(layout->describe(), HasSubstr("2 threads on 2 cpus (8 PEs a thread)"));
  EXPECT_THAT(layout->describe(), HasSubstr("more PEs than cpus"));
}

TEST(Layout, NeighbouringProcessesShareACpuWhenThereAreTooFew) {
  Result<HostLayout> layout = layout_of({"+p8", "+ppn", "2"}, cpus_of(2));
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout->carrier_count(), 4);
  std::vector<int> cpus;
  for (const Carrier& carrier : layout->carriers) cpus.push_back(carrier.cpu);
  EXPECT_THAT(cpus, ElementsAre(0, 0, 1, 1));
}

// Whatever is asked: every PE has one process and one thread of it, threads and processes are numbered in order.
TEST(Layout, IsConsistentForEveryShape) {
  for (int cpus = 1; cpus <= 7; ++cpus) {
    for (int processes = 1; processes <= 9; ++processes) {
      for (int a_process = 1; a_process <= 9; ++a_process) {
        LayoutRequest request;
        request.processes = processes;
        request.pes_a_process = a_process;
        Result<HostLayout> layout = resolve_layout(request, cpus_of(cpus));
        ASSERT_TRUE(layout.ok());
        ASSERT_EQ(layout->pes, processes * a_process);
        int pes_seen = 0, carriers_seen = 0;
        for (int i = 0; i < processes; ++i) {
          const Process& process = layout->processes[static_cast<std::size_t>(i)];
          ASSERT_EQ(process.first_carrier, carriers_seen);
          ASSERT_GE(process.carriers, 1);
          ASSERT_LE(process.carriers, a_process);
          for (int c = 0; c < process.carriers; ++c) {
            const Carrier& carrier = layout->carriers[static_cast<std::size_t>(carriers_seen)];
            ASSERT_EQ(carrier.process, i);
            ASSERT_FALSE(carrier.pes.empty());
            ASSERT_LT(carrier.cpu, cpus);
            for (int pe : carrier.pes) {
              ASSERT_EQ(pe, pes_seen++);
              ASSERT_EQ(layout->process_of[static_cast<std::size_t>(pe)], i);
              ASSERT_EQ(layout->carrier_of[static_cast<std::size_t>(pe)], carriers_seen);
            }
            ++carriers_seen;
          }
        }
        ASSERT_EQ(pes_seen, layout->pes);
        ASSERT_EQ(carriers_seen, layout->carrier_count());
        if (processes <= cpus && layout->pes > cpus) {
          ASSERT_EQ(layout->carrier_count(), cpus);
        }
      }
    }
  }
}

TEST(Layout, StaysWithinTheQuotaAndTheExclusions) {
  Result<HostLayout> layout = layout_of({"+p4"}, cpus_of(8, 2.5));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->cpus, 3);
  EXPECT_EQ(layout->carrier_count(), 3);
  layout = layout_of({"+p2", "+excludecore", "0-2"}, cpus_of(5));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->carriers[0].cpu, 3);
  EXPECT_EQ(layout->cpus, 2);
}

TEST(Layout, FollowsAMap) {
  Result<HostLayout> layout = layout_of({"+p4", "+pemap", "3,1"}, cpus_of(4));
  ASSERT_TRUE(layout.ok()) << layout.message();
  ASSERT_EQ(layout->carrier_count(), 2);
  EXPECT_EQ(layout->carriers[0].cpu, 3);
  EXPECT_THAT(layout->carriers[0].pes, ElementsAre(0, 2));
  EXPECT_THAT(layout->carriers[1].pes, ElementsAre(1, 3));
}

TEST(Layout, TakesAllCpusWhenTold) {
  Result<HostLayout> layout = layout_of({"+auto-provision"}, cpus_of(6));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->pes, 6);
  EXPECT_EQ(layout->carrier_count(), 6);
  layout = layout_of({"+oneWthPerHost"}, cpus_of(6));
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->pes, 1);
}

TEST(PeMap, ReadsTheFormsOfTheManual) {
  EXPECT_THAT(*parse_pe_map("5"), ElementsAre(5));
  EXPECT_THAT(*parse_pe_map("0-3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*parse_pe_map("0-7:4.3"), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_THAT(*parse_pe_map("0-6:3"), ElementsAre(0, 3, 6));
  EXPECT_THAT(*parse_pe_map("0-1+12"), ElementsAre(0, 12, 1, 13));
  EXPECT_THAT(*parse_pe_map("1-3,5"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(*parse_pe_map("2x0-1"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(*parse_pe_map("0-5:3.2+6"), ElementsAre(0, 6, 1, 7, 3, 9, 4, 10));
}

TEST(PeMap, RefusesWhatItCannotRead) {
  for (const char* text : {"", "a", "1-", "3-1", "0-3:", "0-3:0", "0-3:2.3", "1,,2", "1 2", "0-3+", "0-999999999"}) {
    EXPECT_FALSE(parse_pe_map(text).ok()) << text;
  }
}

struct Refusal {
  std::vector<std::string> words;
  std::string says;
};

TEST(Layout, RefusesContradictionsWithTheArithmetic) {
  for (const Refusal& refusal :
       std::vector<Refusal>{{{"+p5", "+ppn", "2"},
                             "5 / 2 = 2.5 is not whole. Use +p 4 or +p 6 with +ppn 2, or with +p 5 a +ppn of 1, 5"},
                            {{"+p3", "+np", "2"}, "3 / 2 = 1.5 is not whole"},
                            {{"+p1", "+ppn", "4"}, "Use +p 4 with +ppn 4"},
                            {{"+p8", "+np", "2", "+ppn", "2"}, "2 * 2 = 4 PEs, but +p says 8"},
                            {{"+p0"}, "must be at least 1"},
                            {{"+p", "-3"}, "must be at least 1"},
                            {{"+p-3"}, "must be at least 1"},
                            {{"+p", "many"}, "wants a number, not \"many\""},
                            {{"+p4x"}, "wants a number, not \"4x\""},
                            {{"+ppn", "2.5"}, "wants a number"},
                            {{"+p"}, "last argument"},
                            {{"+p99999999999999999999"}, "too many"},
                            {{"+p5000"}, "at most 4096"},
                            {{"+np", "4000", "+ppn", "4000"}, "16000000 PEs"},
                            {{"+p2", "+p4"}, "given twice"},
                            {{"+p2", "+pemap", "9"}, "names cpu 9, which we may not use; we may use 0-3"},
                            {{"+p2", "+pemap", "0-"}, "expected a cpu number"},
                            {{"+excludecore", "0-3"}, "leaves no cpu"}}) {
    Result<HostLayout> layout = layout_of(refusal.words, cpus_of(4));
    ASSERT_FALSE(layout.ok()) << refusal.words[0];
    EXPECT_THAT(layout.message(), HasSubstr(refusal.says));
  }
}

TEST(UsableCpus, HasACpuForUs) {
  UsableCpus usable = find_usable_cpus(0);
  EXPECT_FALSE(usable.cpus.empty());
  UsableCpus again = find_usable_cpus(1);
  EXPECT_EQ(again.cpus.size(), usable.cpus.size());
}

}  // namespace
}  // namespace periapt::bootstrap
