// Sources: the command that compiles one, with the languages' own standards.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/charmc/explain.h"
#include "tools/charmc/process.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool isStandard(const std::string& flag) { return flag.rfind("-std=", 0) == 0; }
bool isCxxStandard(const std::string& flag) { return isStandard(flag) && flag.find("++") != flag.npos; }

/// What is right as C++11, as which Charm++'s charmc compiles, and an error since C++17: the command as C++14, which
/// the headers compile as too, without a word for what they have of C++17. Empty: nothing in these errors is of that
/// kind.
std::vector<std::string> asOlderStandard(std::vector<std::string> command, const std::string& errors) {
  const auto standard = std::find_if(command.begin(), command.end(), [](const std::string& flag) {
    return flag == "-std=gnu++17" || flag == "-std=c++17";
  });
  if (standard == command.end() || !isOfNewerStandard(errors)) return {};
  standard->replace(standard->size() - 2, 2, "14");
  command.insert(command.begin() + 1, "-Wno-c++17-extensions");
  return command;
}

bool isGnu(const Job& job) {
  if (job.options.cxx.empty() && job.layout.cxxIsGnu != Gnu::unknown) return job.layout.cxxIsGnu == Gnu::yes;
  std::string text;
  return runProcess({job.cxx(), "--version"}, &text) == 0 && text.find("Free Software Foundation") != text.npos;
}

}  // namespace

// A message's operator new sets the pointers to its arrays. GCC takes what lies in an object before its constructor for
// dead, and leaves the setting out.
std::vector<std::string> Job::neededFlags() const {
  return isGnu(*this) ? std::vector<std::string>{"-fno-lifetime-dse"} : std::vector<std::string>{};
}

// Ubuntu's compiler guards the stack and checks copies in every program, which costs numerical code some percent;
// Charm++ turns both off too. They come first: a program's own flags hold.
std::vector<std::string> Job::quickFlags() const {
  return isGnu(*this) ? std::vector<std::string>{"-fno-stack-protector", "-U_FORTIFY_SOURCE"}
                      : std::vector<std::string>{};
}

int runStep(const Job& job, const std::vector<std::string>& argv, std::string* output) {
  if (job.options.verbose) std::fprintf(stderr, "charmc> %s\n", commandText(argv).c_str());
  return runProcess(argv, output);
}

bool runTool(const Job& job, std::vector<std::string> argv, Tool tool) {
  if (job.options.verbose) std::fprintf(stderr, "charmc> %s\n", commandText(argv).c_str());
  // A compiler colours what it prints to a terminal, and does not see ours any more.
  if (tool == Tool::compiler && ::isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"))
    argv.insert(argv.begin() + 1, "-fdiagnostics-color=always");
  std::string errors;
  if (runProcessShowingErrors(argv, errors) == 0) return true;
  if (tool == Tool::compiler) {
    if (const std::vector<std::string> older = asOlderStandard(argv, errors); !older.empty()) {
      std::fprintf(stderr, "charmc: note: that is an error since C++17; once more, as C++14\n");
      return runTool(job, older, tool);
    }
  }
  if (!job.options.seq) printExplanations(tool == Tool::compiler ? explainCompiler(errors) : explainLinker(errors));
  return false;
}

std::vector<std::string> compileCommand(const Job& job, const std::string& source) {
  const bool isC = kindOf(source) == InputKind::c;
  const std::vector<std::string>& flags = job.options.compile;
  std::vector<std::string> command = {isC ? job.cc() : job.cxx()};
  const bool forced = std::find(flags.begin(), flags.end(), "-x") != flags.end();
  if (!isC && !forced && kindOf(source) == InputKind::cxx && std::none_of(flags.begin(), flags.end(), isStandard))
    command.push_back("-std=gnu++17");
  append(command, job.quickFlags());
  for (const std::string& flag : flags)  // each language's standard goes to its own compiler
    if (!isStandard(flag) || isCxxStandard(flag) != isC) command.push_back(flag);
  if (!isC) append(command, job.neededFlags());
  append(command, isC ? job.options.ccOptions : job.options.cxxOptions);
  command.push_back(charmc_macro);
  append(command, job.options.preprocess);
  for (const std::string& folder : job.layout.includes) command.push_back("-I" + folder);
  return command;
}

bool compileSource(const Job& job, const std::string& source, const std::string& object) {
  std::vector<std::string> command = compileCommand(job, source);
  append(command, job.options.depend);
  if (job.options.shared && std::find(command.begin(), command.end(), "-fPIC") == command.end())
    command.push_back("-fPIC");
  if (job.options.preprocessOnly)
    command.push_back("-E");
  else if (job.options.dependOnly) {
  }  // -M says it all
  else
    command.push_back(job.options.assembleOnly ? "-S" : "-c");
  command.push_back(source);
  if (!object.empty()) append(command, {"-o", object});
  return runTool(job, std::move(command), Tool::compiler);
}

}  // namespace periapt::charmc
