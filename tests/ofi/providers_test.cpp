// Which provider is chosen, and what is said of the others: a pure function of what libfabric says. And how errors of
// providers end operations.
#include "machine/ofi/providers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "machine/ofi/transport.h"

namespace periapt::ofi {
namespace {

using ::testing::HasSubstr;

Provider provider(const std::string& name, const std::string& domain) {
  Provider made;
  made.provider = name;
  made.domain = domain;
  made.memory = true;
  made.software = is_software(name);
  made.loopback = domain == "lo";
  made.max_message = ~std::uint64_t{0};
  return made;
}
std::string used(const std::vector<Choice>& choices) {
  std::string names;
  for (const Choice& choice : choices) names += choice.device.usable ? choice.device.name + " " : "";
  return names;
}
const std::vector<Provider> kSeveral = {provider("cxi", "cxi0"), provider("cxi", "cxi1"),
                                        provider("tcp;ofi_rxm", "eth0"), provider("tcp;ofi_rxm", "lo"),
                                        provider("shm", "shm")};
const std::vector<Provider> kSoftware(kSeveral.begin() + 2, kSeveral.end());

TEST(OfiProviders, TheFirstThatDrivesAnAdapterIsUsed) {
  const std::vector<Choice> choices = choose(kSeveral, "", false);
  EXPECT_EQ(used(choices), "cxi/cxi0 ");
  EXPECT_EQ(choices[1].device.detail, "adapter: another is used");
  EXPECT_EQ(choices[1].device.remedy, "+ofi-provider 'cxi/cxi1'");
}

TEST(OfiProviders, ThoseThatAreSoftwareAreUsedWhenTheyAreNamed) {
  const std::vector<Choice> choices = choose(kSoftware, "", true);
  EXPECT_EQ(used(choices), "");
  for (const Choice& choice : choices) EXPECT_EQ(choice.device.detail, "software: used only when it is named");
  EXPECT_EQ(used(choose(kSeveral, "shm", false)), "shm/shm ");
  EXPECT_EQ(used(choose(kSeveral, "tcp;ofi_rxm", false)), "tcp;ofi_rxm/eth0 ");
  EXPECT_EQ(used(choose(kSeveral, "cxi/cxi1", false)), "cxi/cxi1 ");
}

TEST(OfiProviders, ARunOnOneHostUsesItsLoopback) {
  EXPECT_EQ(used(choose(kSeveral, "tcp", true)), "tcp;ofi_rxm/lo ");
  EXPECT_EQ(used(choose(kSeveral, "tcp", false)), "tcp;ofi_rxm/eth0 ");
  EXPECT_EQ(used(choose(kSeveral, "tcp/eth0", true)), "tcp;ofi_rxm/eth0 ");
  EXPECT_EQ(used(choose(kSeveral, "cxi", true)), "cxi/cxi0 ");
}

TEST(OfiProviders, AWishThatNoneMeetsIsSaidWithThoseThereAre) {
  for (const char* wish : {"bananas", "tcp/eth7", "tc", "/lo"}) {
    const std::vector<Choice> choices = choose(kSeveral, wish, false);
    ASSERT_EQ(choices.size(), 1u) << wish;
    EXPECT_EQ(choices[0].device.name, wish);
    EXPECT_FALSE(choices[0].device.usable);
    EXPECT_THAT(choices[0].device.detail, HasSubstr("there are: cxi/cxi0 cxi/cxi1 tcp;ofi_rxm/eth0"));
  }
}

TEST(OfiProviders, WhatAProviderCannotIsNotOffered) {
  Provider messages_only = provider("efa", "efa_0");
  messages_only.memory = false;
  const ucx::Device device = choose({messages_only}, "", false)[0].device;
  EXPECT_TRUE(device.usable);
  EXPECT_EQ(device.detail, "adapter, messages only");
  EXPECT_EQ(device.can.max_put + device.can.max_get, 0u);
  EXPECT_EQ(choose(kSeveral, "shm", true)[0].device.can.reach, ucx::Reach::same_host);
}

TEST(OfiProviders, ErrorsOfProvidersAreOutcomes) {
  EXPECT_EQ(outcome_of(FI_EACCES), ucx::Outcome::bad_key);
  EXPECT_EQ(outcome_of(FI_ENOKEY), ucx::Outcome::bad_key);
  EXPECT_EQ(outcome_of(FI_ENOMEM), ucx::Outcome::no_memory);
  EXPECT_EQ(outcome_of(FI_EOVERFLOW), ucx::Outcome::failed);
  EXPECT_EQ(breakage_of(FI_EACCES), Breakage::none);
  EXPECT_EQ(breakage_of(FI_ECANCELED), Breakage::during);
  EXPECT_EQ(breakage_of(EPIPE), Breakage::before);
}

}  // namespace
}  // namespace periapt::ofi
