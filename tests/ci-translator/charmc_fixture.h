// A folder of its own for each test, and charmc to run in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
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
  /// The same of sources that include charm++.h, which is compiled once, in charmc's usual standard, for all that use
  /// this; GCC takes it where options let it, Clang says where they do not. `compiler`: what -c++ names, if not the
  /// library's.
  Outcome charmcQuickly(const std::string& arguments, const std::string& compiler = "") {
    return charmc(named(compiler) + "-include '" + compiledHeader(compiler) + "' " + arguments);
  }
  static std::string named(const std::string& compiler) { return compiler.empty() ? "" : "-c++ " + compiler + " "; }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_.path() / name); }

  static std::string compiledHeader(const std::string& compiler) {
    static const TemporaryFolder folder;
    static std::map<std::string, std::string> headers;  // by compiler
    std::string& path = headers[compiler];
    if (path.empty()) {
      path = (folder.path() / ("charm++_first" + std::to_string(headers.size()) + ".h")).string();
      std::ofstream(path) << "#include \"charm++.h\"\n";
      const std::string command = std::string(PERIAPT_CHARMC) + " " + named(compiler) +
                                  "-std=gnu++17 -c -x c++-header '" + path + "' -o '" + path + ".gch'";
      EXPECT_EQ(std::system(command.c_str()), 0);
    }
    return path;
  }

  TemporaryFolder folder_;
};

}  // namespace periapt::charmc
