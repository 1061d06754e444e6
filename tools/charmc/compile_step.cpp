// Sources: the command that compiles one, with the languages' own standards.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tools/charmc/explain.h"
#include "tools/charmc/process.h"
#include "tools/charmc/steps.h"
#include "tools/charmc/unlinked.h"

namespace periapt::charmc {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool isStandard(const std::string& flag) { return flag.rfind("-std=", 0) == 0; }
bool isCxxStandard(const std::string& flag) { return isStandard(flag) && flag.find("++") != flag.npos; }
bool isCxx14(const std::string& flag) { return flag == "-std=c++14" || flag == "-std=gnu++14"; }

constexpr const char* default_standard = "-std=gnu++17";

/// Whether the program says no standard: it is compiled as C++17 then, or as what that has taken away.
bool saysNoStandard(const Options& options) {
  return std::none_of(options.compile.begin(), options.compile.end(), isCxxStandard) &&
         std::none_of(options.cxxOptions.begin(), options.cxxOptions.end(), isCxxStandard);
}

/// Of a compiler that the command line names; it is asked once. What keeps it from running it says itself when it is
/// to compile.
const std::string& versionOf(const Job& job) {
  static std::map<std::vector<std::string>, std::string> known;
  std::vector<std::string> command = job.cxx();
  const auto [version, fresh] = known.try_emplace(command);
  command.push_back("--version");
  if (std::string text; fresh && runProcessQuietly(command, text) == 0) version->second = text;
  return version->second;
}
bool isBuildsCompiler(const Job& job) { return job.options.cxx.empty() && job.layout.cxxIsGnu != Gnu::unknown; }
bool isGnu(const Job& job) {
  if (isBuildsCompiler(job)) return job.layout.cxxIsGnu == Gnu::yes;
  return versionOf(job).find("Free Software Foundation") != std::string::npos;
}

void show(const Job& job, const std::vector<std::string>& command) {
  if (job.options.verbose) std::fprintf(stderr, "charmc> %s\n", commandText(command).c_str());
}
bool runHolding(const Job& job, const std::vector<std::string>& command, std::string& printed) {
  show(job, command);
  return runProcessHoldingErrors(command, printed) == 0;
}

/// The headers are C++14 but for what GCC and Clang take as extensions; they say nothing about these then.
std::vector<std::string> flagsOfCxx14(const Job& job) {
  if (!isBuildsCompiler(job) && !isGnu(job) && versionOf(job).find("clang") == std::string::npos) return {};
  return {"-Wno-c++17-extensions"};
}

/// A compiler colours what it prints to a terminal, and does not see ours any more.
void keepColours(std::vector<std::string>& command) {
  const bool said = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find("diagnostics-color") != std::string::npos;
  });
  if (!said && ::isatty(STDERR_FILENO) && !std::getenv("NO_COLOR")) command.push_back("-fdiagnostics-color=always");
}

/// Charm++ compiles as C++11 what says no standard. What was right then and is an error in C++17 is compiled once more,
/// as C++14. What the compiler prints is held until then: of a file that is wrong in both, C++17's errors are shown.
bool compileWithoutAStandard(const Job& job, std::vector<std::string> command) {
  keepColours(command);
  std::string printed;
  const bool compiles = runHolding(job, command, printed);
  const std::string reason = compiles ? "" : errorSinceCxx17(printed);
  if (!reason.empty()) {
    const auto standard = std::find(command.begin(), command.end(), default_standard);
    *standard = "-std=gnu++14";
    const std::vector<std::string> more = flagsOfCxx14(job);
    command.insert(standard, more.begin(), more.end());
    std::string asOlder;
    if (runHolding(job, command, asOlder)) {
      std::fprintf(
          stderr,
          "charmc: note: compiled as C++14 (-std=c++14 says so at once), since C++17 has an error in it: %s\n%s",
          reason.c_str(), asOlder.c_str());
      return true;
    }
  }
  std::fputs(printed.c_str(), stderr);
  if (!compiles && !job.options.seq) printExplanations(explainCompiler(printed));
  return compiles;
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
  show(job, argv);
  return runProcess(argv, output);
}

bool runTool(const Job& job, std::vector<std::string> argv, Tool tool) {
  show(job, argv);
  if (tool == Tool::compiler) keepColours(argv);
  std::string errors;
  if (runProcessShowingErrors(argv, errors) == 0) return true;
  if (job.options.seq) return false;
  if (tool == Tool::compiler) {
    printExplanations(explainCompiler(errors));
  } else {
    UnlinkedObjects others(argv);
    printExplanations(explainLinker(errors, [&others](const std::string& symbol) { return others.defining(symbol); }));
  }
  return false;
}

std::vector<std::string> compileCommand(const Job& job, const std::string& source) {
  const bool isC = kindOf(source) == InputKind::c;
  const std::vector<std::string>& flags = job.options.compile;
  std::vector<std::string> command = isC ? job.cc() : job.cxx();
  const bool forced = std::find(flags.begin(), flags.end(), "-x") != flags.end();
  if (!isC && !forced && kindOf(source) == InputKind::cxx && saysNoStandard(job.options))
    command.push_back(default_standard);
  append(command, job.quickFlags());
  for (const std::string& flag : flags)  // each language's standard goes to its own compiler
    if (!isStandard(flag) || isCxxStandard(flag) != isC) command.push_back(flag);
  if (!isC && std::any_of(flags.begin(), flags.end(), isCxx14)) append(command, flagsOfCxx14(job));
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
  if (std::find(command.begin(), command.end(), default_standard) != command.end() && saysNoStandard(job.options))
    return compileWithoutAStandard(job, std::move(command));
  return runTool(job, std::move(command), Tool::compiler);
}

}  // namespace periapt::charmc
