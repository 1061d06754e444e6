// Partitions of a run: which processes each has, and what layout it sees.
#include "machine/bootstrap/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/layer/partition_output.h"

namespace periapt::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> sizes_of(const Result<Partitions>& partitions) {
  std::vector<int> sizes;
  if (!partitions) return sizes;
  for (int i = 0; i < partitions->count(); ++i) sizes.push_back(partitions->processes(i));
  return sizes;
}

Result<Partitions> of(std::vector<std::string> words, int processes) {
  words.insert(words.begin(), "./pgm");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  PartitionRequest request;
  Status taken = take_partition_options(argc, argv.data(), request);
  if (!taken) return taken;
  EXPECT_EQ(argc, 1);
  return Partitions::resolve(request, processes);
}

TEST(Partitions, ShareTheProcessesEvenly) {
  EXPECT_THAT(sizes_of(of({"+partitions", "3"}, 6)), ElementsAre(2, 2, 2));
  EXPECT_THAT(sizes_of(of({"++replicas", "2", "+partition_topology_scheme", "1"}, 6)), ElementsAre(3, 3));
  EXPECT_THAT(of({"+partitions", "4"}, 6).message(), HasSubstr("6 / 4 is not whole"));
  EXPECT_THAT(of({"+partitions", "7"}, 6).message(), HasSubstr("6 / 7 is less than one"));
}

TEST(Partitions, AMasterHasOneProcess) {
  EXPECT_THAT(sizes_of(of({"+partitions", "3", "+master_partition"}, 7)), ElementsAre(1, 3, 3));
  EXPECT_THAT(of({"+partitions", "3", "+master_partition"}, 6).message(), HasSubstr("5 / 2 is not whole"));
}

TEST(Partitions, SizesAreRangesWithStridesAndBlocks) {
  EXPECT_THAT(sizes_of(of({"+partitions", "5", "+partition_sizes", "0-4:2#3,1#2,3#1"}, 12)),
              ElementsAre(3, 2, 3, 1, 3));
  EXPECT_THAT(sizes_of(of({"+partitions", "6", "+partition_sizes", "0-5:3.2#2,2-5:3#1"}, 10)),
              ElementsAre(2, 2, 1, 2, 2, 1));
  EXPECT_THAT(sizes_of(of({"+partitions", "3", "+partition_sizes", "0-2#4"}, 12)), ElementsAre(4, 4, 4));
  for (const char* wrong : {"", "1", "#2", "0-#2", "0#0", "1-0#2", "0-1:0#2", "0-1#2x", "0-1#2,", "0-1#99999999999"}) {
    if (*wrong == '\0') continue;
    EXPECT_THAT(of({"+partitions", "2", "+partition_sizes", wrong}, 4).message(), HasSubstr("write it as")) << wrong;
  }
}

// Processes of 2 PEs on hosts of 2 processes; we are on the second host.
HostLayout run_of_three_hosts() {
  HostLayout run;
  run.pes = 12;
  run.host = 1;
  for (int host = 0; host < 3; ++host) run.hosts.push_back({4 * host, 4, 2 * host, 2});
  for (int i = 0; i < 6; ++i) {
    Process process;
    process.first_pe = 2 * i;
    process.pes = 2;
    process.host = i / 2;
    if (process.host == run.host) {
      process.first_carrier = i - 2;
      process.carriers = 1;
      run.carriers.push_back({i, i, {2 * i, 2 * i + 1}});
    }
    run.processes.push_back(process);
    for (int rank = 0; rank < 2; ++rank) {
      run.process_of.push_back(i);
      run.carrier_of.push_back(process.host == run.host ? i - 2 : -1);
    }
  }
  return run;
}

TEST(Partitions, OneSeesItsOwnHostsProcessesAndPesFromZero) {
  const HostLayout run = run_of_three_hosts();
  const Result<Partitions> partitions = of({"+partitions", "2", "+partition_sizes", "0#3,1#3"}, 6);
  EXPECT_EQ(partitions->of_process(2), 0);
  EXPECT_EQ(partitions->of_process(3), 1);

  const HostLayout part =
      layout_of_partition(run, *partitions, 1);  // the second process of our host, and the third host
  EXPECT_EQ(part.pes, 6);
  EXPECT_EQ(part.host, 0);
  ASSERT_EQ(part.host_count(), 2);
  EXPECT_EQ(part.hosts[0].pes, 2);
  EXPECT_EQ(part.hosts[1].first_pe, 2);
  EXPECT_EQ(part.hosts[1].first_process, 1);
  EXPECT_EQ(part.hosts[1].processes, 2);
  EXPECT_THAT(part.process_of, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(part.carrier_of, ElementsAre(0, 0, -1, -1, -1, -1));
  ASSERT_EQ(part.carrier_count(), 1);
  EXPECT_THAT(part.carriers[0].pes, ElementsAre(0, 1));
  EXPECT_EQ(part.carriers[0].process, 0);
  EXPECT_EQ(part.carriers[0].cpu, 3);
  EXPECT_EQ(part.processes[0].first_carrier, 0);
  EXPECT_EQ(part.processes[2].first_pe, 4);
  EXPECT_EQ(part.host_of(5), 1);

  EXPECT_EQ(layout_of_partition(run, *partitions, 0).host, 1);
}

TEST(Partitions, AreToldInWords) {
  EXPECT_EQ(of({"+partitions", "2"}, 6)->describe(), "2 partitions of 3 processes");
  EXPECT_EQ(of({"+partitions", "3", "+master_partition"}, 5)->describe(), "3 partitions of 1, 2 and 2 processes");
}

TEST(PartitionOutput, HasTheNumberOfThePartition) {
  using machine::PartitionOutput;
  EXPECT_EQ(PartitionOutput::path_of("log", 3), "log.3");
  EXPECT_EQ(PartitionOutput::path_of("out/%d/log%d", 12), "out/12/log12");
  EXPECT_EQ(PartitionOutput::path_of("%d%d%d%d", 1), "111%d");
}

}  // namespace
}  // namespace periapt::bootstrap
