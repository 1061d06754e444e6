// Files that cannot be written to their end are not left half written.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "examples/nbody/files.h"

namespace periapt::nbody {
namespace {

std::string somewhere(const char* name) {
  return (std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name)).string();
}

TEST(Files, AreWrittenWhole) {
  const std::string path = somewhere("whole");
  writeWhole(path, std::vector<std::byte>(5000));
  EXPECT_EQ(std::filesystem::file_size(path), 5000u);
  std::filesystem::remove(path);
}

TEST(Files, ThatFindNoRoomAreNotLeftBehind) {
  const std::string path = somewhere("half");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(writeWhole(path, std::vector<std::byte>(100000)), std::runtime_error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Files, ThatCannotBeOpenedAreRefused) {
  EXPECT_THROW(writeWhole(somewhere("none") + "/file", {}), std::runtime_error);
}

}  // namespace
}  // namespace periapt::nbody
