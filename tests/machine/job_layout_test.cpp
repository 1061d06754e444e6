// The layout of a run that a launcher started: numbering host by host, sharing of cpus, and what is refused.
#include "machine/bootstrap/job_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/bootstrap/frames.h"

namespace periapt::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Member member(int host, int pes, std::vector<int> cpus) {
  Member member;
  member.host = host;
  member.pes = pes;
  member.usable.cpus = std::move(cpus);
  return member;
}

TEST(JobLayout, NumbersPesHostByHostWhateverTheOrderOfRanks) {
  std::vector<Member> members = {member(7, 2, {0, 1, 2, 3}), member(3, 2, {0, 1, 2, 3}), member(7, 2, {0, 1, 2, 3}),
                                 member(3, 2, {0, 1, 2, 3})};
  auto job = resolve_job({}, members, 1);
  ASSERT_TRUE(job) << job.message();
  EXPECT_THAT(job->member_of, ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(job->process, 2);
  const HostLayout& layout = job->layout;
  EXPECT_EQ(layout.pes, 8);
  ASSERT_EQ(layout.host_count(), 2);
  EXPECT_EQ(layout.host, 1);
  EXPECT_EQ(layout.this_host().first_pe, 4);
  EXPECT_EQ(layout.this_host().first_process, 2);
  EXPECT_THAT(layout.process_of, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(layout.carrier_of, ElementsAre(-1, -1, -1, -1, 0, 1, 2, 3));
  EXPECT_THAT(layout.carriers[2].pes, ElementsAre(6));
  EXPECT_EQ(layout.carriers[2].process, 3);
  EXPECT_EQ(layout.processes[2].first_carrier, 0);
  EXPECT_EQ(layout.processes[3].first_carrier, 2);
  EXPECT_EQ(layout.host_of(3), 0);
  EXPECT_EQ(layout.host_of(4), 1);
  EXPECT_THAT(layout.describe(), HasSubstr("8 PEs in 4 processes of 2 on 2 hosts"));
}

TEST(JobLayout, ProcessesOfOneHostShareItsCpus) {
  std::vector<Member> members = {member(0, 1, {4, 5}), member(0, 1, {4, 5})};
  auto job = resolve_job({}, members, 0);
  ASSERT_TRUE(job) << job.message();
  EXPECT_EQ(job->layout.carriers[0].cpu, 4);
  EXPECT_EQ(job->layout.carriers[1].cpu, 5);
}

// Of 64 cpus four are wanted: threads that one start leaves to the kernel stay free where its processes count as hosts.
TEST(JobLayout, ForkedHostsBindNoThreadThatTheStartDidNotBind) {
  UsableCpus usable;
  for (int cpu = 0; cpu < 64; ++cpu) usable.cpus.push_back((cpu + 17) % 64);
  LayoutRequest request;
  request.pes = 4;
  request.pes_a_process = 2;
  auto start = resolve_layout(request, usable);
  ASSERT_TRUE(start) << start.message();
  std::vector<Member> members;
  for (int process = 0; process < 2; ++process) {
    members.push_back(forked_member(*start, process, usable));
    members.back().host = process;
  }
  auto job = resolve_job(request, members, 1);
  ASSERT_TRUE(job) << job.message();
  EXPECT_EQ(job->layout.carrier_count(), 2);
  for (const Carrier& carrier : job->layout.carriers) EXPECT_EQ(carrier.cpu, -1);
  EXPECT_EQ(job->layout.binding, "not bound to a cpu");
}

TEST(JobLayout, ForkedHostsKeepTheThreadsThatTheStartGaveThem) {
  LayoutRequest request;
  request.pes = 4;
  request.pes_a_process = 2;
  for (const double quota : {0.0, 2.0}) {  // two cpus, and two of eight
    UsableCpus usable;
    for (int cpu = 0; cpu < (quota > 0 ? 8 : 2); ++cpu) usable.cpus.push_back(cpu);
    usable.quota = quota;
    auto start = resolve_layout(request, usable);
    ASSERT_TRUE(start) << start.message();
    for (int process = 0; process < 2; ++process) {
      std::vector<Member> members = {forked_member(*start, 0, usable), forked_member(*start, 1, usable)};
      members[1].host = 1;
      auto job = resolve_job(request, members, process);
      ASSERT_TRUE(job) << job.message();
      ASSERT_EQ(job->layout.carrier_count(), 1);
      EXPECT_EQ(job->layout.carriers[0].cpu, quota > 0 ? -1 : process);
      EXPECT_TRUE(job->layout.oversubscribed);
    }
  }
}

TEST(JobLayout, CpusThatTheLauncherDealtOutAreKept) {
  std::vector<Member> members = {member(0, 2, {2, 3}), member(0, 2, {6, 7})};
  auto job = resolve_job({}, members, 0);
  ASSERT_TRUE(job) << job.message();
  EXPECT_EQ(job->layout.carriers[2].cpu, 6);
  EXPECT_THAT(job->layout.carriers[2].pes, ElementsAre(2));
  EXPECT_EQ(job->layout.carriers[3].cpu, 7);
}

TEST(JobLayout, EveryProcessSeesTheSameRun) {
  std::vector<Member> members;
  for (int i = 0; i < 6; ++i) members.push_back(member(i % 3, 1 + i % 3, {0, 1}));
  auto first = resolve_job({}, members, 0);
  ASSERT_TRUE(first);
  for (int self = 1; self < 6; ++self) {
    auto job = resolve_job({}, members, self);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->layout.process_of, first->layout.process_of);
    EXPECT_EQ(job->member_of, first->member_of);
    EXPECT_EQ(job->member_of[static_cast<std::size_t>(job->process)], self);
  }
}

TEST(JobLayout, PesOfAProcessComeFromWhatWasAskedFor) {
  LayoutRequest request;
  EXPECT_EQ(*pes_of_member(request, 4), 1);
  request.pes_a_process = 3;
  EXPECT_EQ(*pes_of_member(request, 4), 3);
  request.pes = 12;
  EXPECT_EQ(*pes_of_member(request, 4), 3);
  request.pes_a_process = -1;
  EXPECT_EQ(*pes_of_member(request, 4), 3);
  request.pes = 13;
  EXPECT_THAT(pes_of_member(request, 4).message(), HasSubstr("13 is not a multiple of 4"));
  request.pes = 12;
  request.pes_a_process = 2;
  EXPECT_THAT(pes_of_member(request, 4).message(), HasSubstr("4 * 2 = 8 PEs, but +p says 12"));
  request.processes = 2;
  EXPECT_THAT(pes_of_member(request, 4).message(), HasSubstr("+np says 2"));
}

TEST(JobLayout, WhatAMemberTellsIsReadBackAndNotTrusted) {
  Member told = member(0, 3, {1, 5});
  told.usable.quota = 1.5;
  told.program = "4af3 /opt/jacobi";
  told.options = "+p 6 +transports tcp";
  auto read = Member::decode(told.encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pes, 3);
  EXPECT_EQ(read->usable.quota, 1.5);
  EXPECT_EQ(read->program, told.program);
  EXPECT_EQ(read->options, told.options);
  EXPECT_THAT(read->usable.cpus, ElementsAre(1, 5));
  for (const char* wrong : {"", "0 0 0 1", "x", "1 0 0", "1 0 0 1 y", "99999999 0 0 1"}) {
    EXPECT_FALSE(Member::decode(pack_texts({"member 2", "", "", "", wrong}))) << wrong;
  }
}

TEST(JobLayout, AMemberOfAnotherVersionIsToldFromDamage) {
  for (const std::string& other :
       {std::string("2 0 0 0 1"), std::string(), pack_texts({"member 1", "", "", "", "1 0 0 1"})})
    EXPECT_THAT(Member::decode(other).message(), HasSubstr("another version of Periapt")) << other;
}

// One that leaves before the others have heard why is taken by launchers for a crash: what was printed is lost.
TEST(JobLayout, AMemberThatRefusesIsAFailureOfAll) {
  std::vector<Member> members = {member(0, 1, {0}), member(0, 1, {1}), member(1, 1, {0})};
  members[1].refusal = "+p 4 is not a multiple of 3";
  auto told = Member::decode(members[1].encode());
  ASSERT_TRUE(told);
  members[1] = *told;
  for (int self = 0; self < 3; ++self)
    EXPECT_EQ(resolve_job({}, members, self).message(), "+p 4 is not a multiple of 3");
}

TEST(JobLayout, TheFirstThatRefusesSpeaks) {
  std::vector<Member> members = {member(0, 1, {0}), member(0, 1, {1}), member(1, 1, {0})};
  EXPECT_EQ(speaker_of(members), 0);
  members[2].refusal = "no";
  EXPECT_EQ(speaker_of(members), 2);
  members[1].refusal = "neither";
  EXPECT_EQ(speaker_of(members), 1);
}

TEST(JobLayout, AllExecuteTheSameProgram) {
  std::vector<Member> members = {member(0, 1, {0}), member(1, 1, {0})};
  members[0].program = "4af3 /opt/jacobi";
  members[1].program = "4af3 /home2/jacobi";  // the same build in another place
  EXPECT_TRUE(resolve_job({}, members, 0));
  members[1].program = "99ab /opt/jacobi";
  for (int self : {0, 1}) {
    const std::string said = resolve_job({}, members, self).message();
    EXPECT_THAT(said, HasSubstr("process 0 runs /opt/jacobi (build 4af3), process 1 runs /opt/jacobi (build 99ab)"));
    EXPECT_THAT(said, HasSubstr("the same program"));
  }
}

TEST(JobLayout, OptionsOfTheRunAreTheSameForAll) {
  std::vector<Member> members = {member(0, 1, {0}), member(1, 1, {0})};
  members[1].options = "+transports tcp";
  for (int self : {0, 1}) {
    EXPECT_THAT(
        resolve_job({}, members, self).message(),
        HasSubstr("process 0 was started without options of the run, process 1 was started with +transports tcp"));
  }
}

// A process of a host where all is well must not go on while those of another host can't.
TEST(JobLayout, ALayoutThatIsImpossibleOnOneHostIsAFailureOfAll) {
  std::vector<Member> members = {member(0, 1, {0, 1}), member(1, 1, {4, 5})};
  LayoutRequest request;
  request.pe_map = "0";
  const std::string said = resolve_job(request, members, 0).message();
  EXPECT_THAT(said, HasSubstr("+pemap 0 names cpu 0, which we may not use"));
  EXPECT_EQ(resolve_job(request, members, 1).message(), said);
}

}  // namespace
}  // namespace periapt::bootstrap
