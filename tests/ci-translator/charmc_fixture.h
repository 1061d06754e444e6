// A folder of its own for each test, and charmc to run in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tools/charmc/files.h"

namespace periapt::charmc {

class CharmcFixture : public testing::Test {
 protected:
  struct Outcome {
    int status = -1;
    std::string text;  ///< stdout and stderr together
  };

  /// Runs a shell command in the test's folder.
  Outcome run(const std::string& command) {
    Outcome out;
    FILE* pipe = ::popen(("cd '" + folder_.path().string() + "' && (" + command + ") 2>&1").c_str(), "r");
    if (!pipe) return out;
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) out.text.append(block, n);
    const int status = ::pclose(pipe);
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return out;
  }
  Outcome charmc(const std::string& arguments) { return run(std::string(PERIAPT_CHARMC) + " " + arguments); }
  /// The same of sources that include charm++.h, which is compiled once for all that use this; GCC takes it where
  /// options let it.
  Outcome charmcQuickly(const std::string& arguments) {
    return charmc("-include '" + compiledHeader() + "' " + arguments);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_.path() / name); }

  static std::string compiledHeader() {
    static const TemporaryFolder folder;
    static const std::string header = [] {
      std::string path = (folder.path() / "charm++_first.h").string();
      std::ofstream(path) << "#include \"charm++.h\"\n";
      const std::string command =
          std::string(PERIAPT_CHARMC) + " -c -x c++-header '" + path + "' -o '" + path + ".gch'";
      EXPECT_EQ(std::system(command.c_str()), 0);
      return path;
    }();
    return header;
  }

  TemporaryFolder folder_;
};

}  // namespace periapt::charmc
