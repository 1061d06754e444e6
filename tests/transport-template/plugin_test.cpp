// Transports that are loaded at run time: found, refused with a reason, and the same as if they had been linked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "machine/layer/transports.h"
#include "tests/machine/job.h"

namespace periapt::machine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string plugin(const std::string& name) { return std::string(PLUGINS) + "/" + name + "/" + name + ".so"; }

void refused(const std::string& path, const auto& says) {
  auto all = transports_with(path);
  ASSERT_FALSE(all) << path;
  EXPECT_THAT(all.message(), HasSubstr("+transport-path: "));
  EXPECT_THAT(all.message(), says);
}

TEST(Plugins, NoneAreThoseOfTheBuild) {
  auto all = transports_with("");
  ASSERT_TRUE(all) << all.message();
  EXPECT_EQ(*all, transports());
}

TEST(Plugins, AFileAndAFolderGiveTheTransportBehindThoseOfTheBuild) {
  for (const std::string& path :
       {plugin("plugin"), std::string(PLUGINS) + "/plugin", plugin("plugin") + ":" + plugin("plugin")}) {
    auto all = transports_with(path);
    ASSERT_TRUE(all) << all.message();
    ASSERT_EQ(all->size(), transports().size() + 1) << path;
    EXPECT_STREQ(all->back()->name, "template");
    ASSERT_EQ(all->back()->probe({}).size(), 1u);
    EXPECT_TRUE(all->back()->probe({}).front().usable);
  }
}

TEST(Plugins, AFileOfTheFolderWeAreInNeedsNoSlash) {
  std::filesystem::current_path(std::string(PLUGINS) + "/plugin");
  auto all = transports_with("plugin.so");
  ASSERT_TRUE(all) << all.message();
  EXPECT_STREQ(all->back()->name, "template");
}

TEST(Plugins, WhatIsNotThereIsNamed) {
  refused("/nowhere/mine.so", AllOf(HasSubstr("/nowhere/mine.so does not exist"), HasSubstr("shared object")));
  const std::string empty = testing::TempDir() + "periapt-plugins-" + std::to_string(::getpid());
  std::filesystem::create_directory(empty);
  refused(empty, HasSubstr("holds no file whose name ends in .so"));
  std::filesystem::remove(empty);
}

TEST(Plugins, WhatCannotBeLoadedSaysWhy) {
  const std::string text = testing::TempDir() + "periapt-plugin-" + std::to_string(::getpid()) + ".so";
  std::ofstream(text) << "no shared object\n";
  refused(text, HasSubstr("cannot be loaded"));
  std::filesystem::remove(text);
  refused(plugin("plugin_unresolved"), AllOf(HasSubstr("cannot be loaded"), HasSubstr("what_nobody_has")));
}

TEST(Plugins, WhatIsNoTransportIsRefused) {
  refused(plugin("plugin_nothing"), AllOf(HasSubstr("is no transport"), HasSubstr("PERIAPT_TRANSPORT_PLUGIN")));
}

TEST(Plugins, AnotherVersionOfTheContractIsRefused) {
  refused(plugin("plugin_old"), AllOf(HasSubstr("version 0 of the contract"), HasSubstr("Build it again")));
}

TEST(Plugins, AnotherWayOfBuildingIsRefused) {
  refused(plugin("plugin_other_way"), AllOf(HasSubstr("built in another way"), HasSubstr("same compiler")));
}

TEST(Plugins, ANameThatIsTakenIsRefused) {
  refused(plugin("plugin_taken_name"), HasSubstr("a transport with the name tcp, and there is one"));
}

TEST(Plugins, OneThatCannotBeOpenedBesideOneThatCanIsToldWithTheReason) {
  test::JobResult job = test::run_job({"+p2", "+ppn", "1", "+no-shared-memory", "+transport-path",
                                       plugin("plugin_shut"), "+verbose", "+explain-transport"},
                                      [](MachineLayer&) { return 0; });
  EXPECT_EQ(job.status, 0) << job.errors;
  const std::string why = "could not be opened: it only says its name";
  EXPECT_THAT(job.errors, HasSubstr("transport shut, door: not usable, " + why));
  EXPECT_THAT(job.errors, HasSubstr("shut/door: not used: " + why));
  // Alone it ends the run, as before.
  job = test::run_job({"+p2", "+ppn", "1", "+transports", "shut", "+transport-path", plugin("plugin_shut")},
                      [](MachineLayer&) { return 0; });
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors,
              AllOf(HasSubstr("no transport could be opened:\n"), HasSubstr("not used: shut/door: " + why)));
}

std::string failure_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"+p2", "+ppn", "1", "+no-shared-memory", "+transport-path"});
  return test::run_job(words, [](MachineLayer&) { return 0; }).errors;
}

TEST(Plugins, BringTheirOwnOptions) {
  EXPECT_THAT(failure_of({plugin("plugin_shut"), "+shut-for", "fun"}), HasSubstr("+shut-for fun is no reason"));
  EXPECT_THAT(failure_of({plugin("plugin_shut"), "+shut-fro", "lunch"}),
              HasSubstr("did you mean +shut-for? It says why it does not open."));
  EXPECT_EQ(failure_of({plugin("plugin_shut"), "+shut-for", "lunch"}), "");
}

TEST(Plugins, WhoseOptionIsTakenAreRefused) {
  EXPECT_THAT(failure_of({plugin("plugin_clash")}),
              HasSubstr("declares the option +ppn, and there is one of that name already, of every run"));
}

}  // namespace
}  // namespace periapt::machine
