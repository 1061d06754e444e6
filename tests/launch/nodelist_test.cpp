// The nodelist and what follows from it: hosts, shares, plans of runs, remote shells and the causes of their failures.
#include "tools/charmrun/nodelist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/charmrun/launch.h"
#include "tools/charmrun/plan.h"
#include "tools/charmrun/remote_shell.h"
#include "tools/charmrun/slurm.h"

namespace periapt::charmrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

std::vector<Host> hosts_of(const std::string& text, const std::string& group = "main") {
  Result<std::vector<Host>> hosts = parse_nodelist(text, group, "hosts");
  EXPECT_TRUE(hosts.ok()) << hosts.message();
  return hosts.ok() ? *hosts : std::vector<Host>();
}
std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}
std::string refusal(const std::string& text, const std::string& group = "main") {
  Result<std::vector<Host>> hosts = parse_nodelist(text, group, "hosts");
  EXPECT_FALSE(hosts.ok()) << text;
  return hosts.message();
}

TEST(Nodelist, TheExampleOfCharmsManual) {
  const std::string text =
      "group kale-sun ++cpus 1\n  host charm.cs.illinois.edu ++shell ssh\n  host dp.cs.illinois.edu\n"
      "group kale-sol\n  host beauty.cs.illinois.edu ++cpus 2\ngroup main\n  host localhost\n";
  EXPECT_THAT(names_of(hosts_of(text)), ElementsAre("localhost"));
  std::vector<Host> sun = hosts_of(text, "kale-sun");
  EXPECT_THAT(names_of(sun), ElementsAre("charm.cs.illinois.edu", "dp.cs.illinois.edu"));
  EXPECT_EQ(sun[0].shell, "ssh");
  EXPECT_EQ(sun[1].shell, "");
  EXPECT_EQ(hosts_of(text, "kale-sol")[0].cpus, 2);
}

TEST(Nodelist, QualifiersHoldForWhatFollows) {
  std::vector<Host> hosts = hosts_of(
      "# all\nlogin guest\npathfix /a /b\ngroup main ++shell \"rsh -x\"\nhost one\ncpus 4\nhost two ++login me ++ext "
      ".x\n"
      "login *\nhost three\npathfix *\nhost four ++setup cd /x; ulimit -l unlimited\n");
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_EQ(hosts[0].login, "guest");
  EXPECT_EQ(hosts[0].shell, "rsh -x");
  EXPECT_EQ(hosts[0].cpus, 1);
  EXPECT_EQ(hosts[1].login, "me");
  EXPECT_EQ(hosts[1].cpus, 4);
  EXPECT_EQ(hosts[1].ext, ".x");
  EXPECT_EQ(hosts[2].login, "");
  EXPECT_THAT(hosts[2].pathfixes, ElementsAre(Pair("/a", "/b")));
  EXPECT_TRUE(hosts[3].pathfixes.empty());
  EXPECT_EQ(hosts[3].setup, "cd /x; ulimit -l unlimited");
}

TEST(Nodelist, HostsBeforeAnyGroupAreOfGroupMain) {
  EXPECT_THAT(names_of(hosts_of("host a\r\n\n  host b\n")), ElementsAre("a", "b"));
}

TEST(Nodelist, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_THAT(refusal("host a\nhots b\n"),
              HasSubstr("hosts, line 2: \"hots\" is not known; a line begins with host, group"));
  EXPECT_THAT(refusal("host a ++cpu 2\n"), HasSubstr("line 1: \"++cpu\" is not known"));
  EXPECT_THAT(refusal("host a ++cpus many\n"), HasSubstr("a number greater than 0"));
  EXPECT_THAT(refusal("host a ++cpus 0\n"), HasSubstr("a number greater than 0"));
  EXPECT_THAT(refusal("host a ++cpus\n"), HasSubstr("wants a value"));
  EXPECT_THAT(refusal("host\n"), HasSubstr("\"host\" wants a name"));
  EXPECT_THAT(refusal("group\n"), HasSubstr("\"group\" wants a name"));
  EXPECT_THAT(refusal("host \"a\n"), HasSubstr("is not closed"));
  EXPECT_THAT(refusal("host -oProxyCommand=x\n"), HasSubstr("is no name of a host"));
  EXPECT_THAT(refusal("host a\nhost b\nhost a\n"), HasSubstr("line 3: host a is listed already, in line 1"));
  EXPECT_THAT(refusal("group x\nhost a\n"), HasSubstr("no host in group main (groups with hosts: x; ++nodegroup"));
  EXPECT_THAT(refusal(""), HasSubstr("no host in group main"));
}

TEST(Nodelist, TheSameHostInTwoGroupsIsFine) {
  EXPECT_THAT(names_of(hosts_of("group x\nhost a\ngroup main\nhost a\n")), ElementsAre("a"));
}

TEST(Nodelist, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(read_nodelist("/nowhere/hosts", "main").message(),
              HasSubstr("cannot read the nodelist /nowhere/hosts: No such file"));
}

TEST(Nodelist, WhatIsNoFileIsNotReadToItsEnd) {
  EXPECT_THAT(read_nodelist("/dev/zero", "main").message(),
              HasSubstr("cannot read the nodelist /dev/zero: it is a device, not a file"));
  EXPECT_THAT(read_nodelist("/tmp", "main").message(), HasSubstr("cannot read the nodelist /tmp: it is a folder"));
}

TEST(Shares, InProportionAndAddingUp) {
  auto shares = [](std::vector<int> cpus, int processes) {
    std::vector<Host> hosts(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) hosts[i].cpus = cpus[i];
    return share_processes(hosts, processes);
  };
  EXPECT_THAT(shares({1, 1}, 4), ElementsAre(2, 2));
  EXPECT_THAT(shares({1, 1, 1}, 4), ElementsAre(2, 1, 1));
  EXPECT_THAT(shares({1, 2}, 6), ElementsAre(2, 4));
  EXPECT_THAT(shares({1, 1, 1, 1}, 2), ElementsAre(1, 0, 1, 0));
  for (int processes = 1; processes < 200; ++processes) {
    int sum = 0;
    for (int count : shares({3, 1, 4, 1, 5, 9, 2, 6}, processes)) sum += count;
    ASSERT_EQ(sum, processes);
  }
}

Result<RunPlan> planned(const std::vector<std::string>& words, std::size_t hosts, charmrun::Run* out = nullptr) {
  std::vector<std::string> all = {"++nodelist", "x"};
  all.insert(all.end(), words.begin(), words.end());
  charmrun::Run run = parseCommandLine(all);
  EXPECT_EQ(run.error, "");
  std::vector<Host> list(hosts);
  for (std::size_t i = 0; i < hosts; ++i) list[i].name = "h" + std::to_string(i);
  Result<RunPlan> plan = plan_run(run, list, "/bin/charmrun", "/tmp");
  if (out) *out = run;
  return plan;
}

TEST(Plan, ProcessesFollowFromWhatIsGiven) {
  struct Case {
    std::vector<std::string> words;
    int processes;
    std::string mapping;
  };
  for (const Case& c :
       {Case{{"/p"}, 4, "(vector,(0,4,1))"}, Case{{"+p8", "/p"}, 4, "(vector,(0,4,1))"},
        Case{{"+p2", "/p"}, 2, "(vector,(0,2,1))"}, Case{{"++n", "6", "/p"}, 6, "(vector,(0,2,2),(2,2,1))"},
        Case{{"+p8", "++ppn", "1", "/p"}, 8, "(vector,(0,4,2))"},
        Case{{"++processPerHost", "2", "++ppn", "3", "/p"}, 8, "(vector,(0,4,2))"},
        Case{{"++numHosts", "1", "++n", "3", "/p"}, 3, "(vector,(0,1,3))"}}) {
    Result<RunPlan> plan = planned(c.words, 4);
    ASSERT_TRUE(plan.ok()) << plan.message();
    EXPECT_EQ(plan->size, c.processes);
    EXPECT_EQ(plan->here.all_ranks(), c.processes);
    if (c.words[0] == "++n") continue;  // which hosts take one more is not fixed here
    EXPECT_EQ(plan->mapping, c.mapping);
  }
  charmrun::Run run;
  ASSERT_TRUE(planned({"+p8", "/p", "x"}, 4, &run).ok());
  EXPECT_THAT(run.argv, ElementsAre("/p", "+p8", "+ppn", "2", "x"));
}

TEST(Plan, Contradictions) {
  EXPECT_THAT(planned({"+p7", "/p"}, 4).message(), HasSubstr("+p7 PEs cannot be shared evenly by 4 processes"));
  EXPECT_THAT(planned({"+p8", "++ppn", "3", "/p"}, 4).message(), HasSubstr("leave one of them out"));
  EXPECT_THAT(planned({"++numHosts", "9", "/p"}, 4).message(),
              HasSubstr("++numHosts 9, but group main of the nodelist has only 4"));
  EXPECT_THAT(planned({"++n", "9", "++processPerHost", "2", "/p"}, 4).message(), HasSubstr("do not fit"));
}

TEST(Plan, ATreeHoldsEveryHostInTheOrderOfRanks) {
  Result<RunPlan> plan = planned({"++hierarchical-start", "++n", "300", "/p"}, 100);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->here.all_hosts(), 101);
  EXPECT_EQ(plan->here.all_ranks(), 300);
  EXPECT_EQ(plan->here.below.size(), 8u);
  EXPECT_EQ(plan->here.below[0].first_rank, 0);
}

TEST(Plan, ComesOutOfItsBytesAgain) {
  Result<RunPlan> plan = planned({"++hierarchical-start", "++n", "40", "/p", "", "a b", "\xff"}, 20);
  ASSERT_TRUE(plan.ok());
  plan->environment = {"A=1", "B=\n"};
  Result<RunPlan> back = decode_plan(encode_plan(*plan));
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(encode_plan(*back), encode_plan(*plan));
  EXPECT_EQ(back->arguments, plan->arguments);
  EXPECT_EQ(back->secret, plan->secret);
  EXPECT_FALSE(decode_plan("").ok());
  EXPECT_FALSE(decode_plan(encode_plan(*plan).substr(1)).ok());
}

TEST(RemoteShell, SshIsAskedToAskNothing) {
  Host host;
  host.name = "ck1";
  host.login = "guest";
  EXPECT_THAT(shell_words(host, "ssh -p 22", 7), ElementsAre("ssh", "-p", "22", "-T", "-x", "-o", "BatchMode=yes", "-o",
                                                             "ConnectTimeout=7", "-l", "guest", "ck1"));
  host.shell = "/opt/my 'own shell'";
  EXPECT_THAT(shell_words(host, "ssh", 7), ElementsAre("/opt/my", "own shell", "-l", "guest", "ck1"));
  EXPECT_EQ(remote_text("module load x", "/a b/it's"), "module load x; exec '/a b/it'\\''s' ++agent");
}

TEST(RemoteShell, FailuresAreExplained) {
  auto why = [](int status, const std::string& said) {
    return explain_shell("ck1", {"ssh", "ck1"}, status << 8, said, "/bin/charmrun");
  };
  EXPECT_THAT(why(255, "guest@ck1: Permission denied (publickey).\n"), HasSubstr("host ck1 refused the login"));
  EXPECT_THAT(why(255, "guest@ck1: Permission denied (publickey).\n"), HasSubstr("ssh-copy-id ck1"));
  EXPECT_THAT(why(255, "ssh: Could not resolve hostname ck1: x\n"), HasSubstr("has no address"));
  EXPECT_THAT(why(255, "ssh: connect to host ck1 port 22: Connection refused\r\n"), HasSubstr("has no ssh server"));
  EXPECT_THAT(why(255, "connect: No route to host"), HasSubstr("cannot be reached"));
  EXPECT_THAT(why(255, "Host key verification failed."), HasSubstr("is not known to ssh"));
  EXPECT_THAT(why(127, "sh: 1: exec: /bin/charmrun: not found"), HasSubstr("has no program /bin/charmrun"));
  EXPECT_THAT(why(1, "?"), HasSubstr("try it by hand: ssh ck1 true"));
}

TEST(Environment, WhatSpeaksOfThisHostOrAnotherLauncherStays) {
  const char* variables[] = {"PATH=/bin",          "HOME=/h", "PMI_FD=3", "SLURM_STEP_ID=0", "OMP_NUM_THREADS=1",
                             "PERIAPT_WORLD_FD=5", nullptr};
  EXPECT_THAT(environment_to_take(const_cast<char**>(variables)), ElementsAre("PATH=/bin", "OMP_NUM_THREADS=1"));
}

TEST(LocalCommand, MpiexecGetsTheNumberOfProcesses) {
  auto command = [](const std::vector<std::string>& words) { return local_command(parseCommandLine(words)); };
  EXPECT_THAT(command({"++mpiexec", "+p4", "./p"}), ElementsAre("mpiexec", "-n", "4", "./p", "+p4"));
  EXPECT_THAT(command({"++mpiexec", "+p4", "++ppn", "2", "./p"}),
              ElementsAre("mpiexec", "-n", "2", "./p", "+p4", "+ppn", "2"));
  EXPECT_THAT(command({"++mpiexec-no-n", "++remote-shell", "srun --mpi=pmi2", "./p"}),
              ElementsAre("srun", "--mpi=pmi2", "./p"));
  EXPECT_THAT(command({"++runscript", "./s", "+p2", "./p"}), ElementsAre("./s", "./p", "+p2"));
  EXPECT_THAT(command({"++timelimit", "9", "./p"}), ElementsAre("timeout", "9", "./p"));
}

TEST(RemoteShell, SrunStartsAStepBesideOthersOfTheJob) {
  Host host;
  host.name = "n3";
  const std::vector<std::string> words = shell_words(host, "srun", 60);
  EXPECT_THAT(words, IsSupersetOf({"--overlap", "--unbuffered", "--ntasks=1", "--nodelist=n3"}));
  EXPECT_EQ(std::vector<std::string>(words.end() - 2, words.end()), (std::vector<std::string>{"sh", "-c"}));
}

TEST(Slurm, ProcessorsOfNodesAreReadAsSlurmWritesThem) {
  EXPECT_EQ(cpus_of_nodes("4(x2),2"), (std::vector<int>{4, 4, 2}));
  EXPECT_EQ(cpus_of_nodes("16"), std::vector<int>{16});
  for (const char* nonsense : {"", "x", "4(x", "4(x2", "4(x0)", "0", "4,,2", "4;2", "-1", "4(y2)", "99999999999"})
    EXPECT_TRUE(cpus_of_nodes(nonsense).empty()) << nonsense;
}

}  // namespace
}  // namespace periapt::charmrun
