// -print-building-blocks: compilers, their flags and paths, for a build system that runs them itself. Such a build
// writes the function that registers modules, _registerExternalModules(char**), itself too.
#include <cstdio>
#include <string>
#include <vector>

#include "base/joined.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace {

using Words = std::vector<std::string>;

void print(const char* name, const std::string& value) { std::printf("%s='%s'\n", name, value.c_str()); }

// Without the words that run the compiler.
std::string flagsOf(const Job& job, const Words& compiler, const char* source) {
  Words command = compileCommand(job, source);
  command.erase(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(compiler.size()));
  return joined(command);
}

}  // namespace

bool printBuildingBlocks(const Job& job) {
  const auto line = programLine(job);
  if (!line) return false;
  Words link = job.options.compile;
  link.insert(link.end(), job.options.ldOptions.begin(), job.options.ldOptions.end());
  link.insert(link.end(), line->begin(), line->end());
  print("CHARM_CC", joined(job.cc()));
  print("CHARM_CXX", joined(job.cxx()));
  print("CHARM_LD", joined(job.cc()));
  print("CHARM_LDXX", joined(job.ldxx()));
  print("CHARMBIN", job.layout.bin.string());
  print("CHARMINC", job.layout.includes.front());
  print("CHARMLIB", job.layout.libraries.front());
  print("CHARMLIBSO", "");  // there are no shared ones
  print("CHARM_CC_FLAGS", flagsOf(job, job.cc(), "source.c"));
  print("CHARM_CXX_FLAGS", flagsOf(job, job.cxx(), "source.cpp"));
  print("CHARM_LD_FLAGS", joined(link) + " -lstdc++ -lm");
  print("CHARM_LDXX_FLAGS", joined(link));
  return true;
}

}  // namespace periapt::charmc
