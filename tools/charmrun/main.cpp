// charmrun: reads the command line (command_line.cpp) and becomes the program. The program starts its own processes.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/charmrun/command_line.h"

int main(int argc, char** argv) {
  using namespace periapt::charmrun;
  Run run = parseCommandLine({argv + 1, argv + argc});
  if (!run.error.empty()) {
    std::fprintf(stderr, "charmrun: error: %s\n", run.error.c_str());
    return 1;
  }
  if (run.help) return std::fputs(helpText().c_str(), stdout), 0;
  if (run.version) return std::puts("charmrun (Periapt)"), 0;
  if (run.verbose)
    for (const std::string& remark : run.remarks) std::fprintf(stderr, "charmrun: %s\n", remark.c_str());
  if (!run.quiet) {
    std::printf("\nRunning command:");
    for (const std::string& argument : run.argv) std::printf(" %s", argument.c_str());
    std::printf("\n\n");
    std::fflush(stdout);
  }
  std::vector<std::string> words = run.argv;
  if (!run.timeout.empty()) words.insert(words.begin(), {"timeout", run.timeout});
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execvp(raw[0], raw.data());
  std::fprintf(stderr, "charmrun: error: cannot start %s: %s\n", raw[0], std::strerror(errno));
  if (errno == ENOENT) std::fprintf(stderr, "      is it built, and are you in its folder?\n");
  return errno == ENOENT ? 127 : 126;
}
