// What charmc does, one step a file: .ci files, sources, link. Each prints its own errors and answers false on failure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/charmc/layout.h"
#include "tools/charmc/options.h"
#include "tools/charmc/process.h"

namespace periapt::charmc {

/// Sources and .ci files ask by it whether they are compiled as a Charm++ program.
constexpr const char* charmc_macro = "-D__CHARMC__=1";

struct Job {
  Options options;
  Layout layout;
  std::filesystem::path temporary;  ///< for intermediate files

  /// What runs a compiler: one word, or several such as `ccache g++`.
  std::vector<std::string> cxx() const { return commandWords(options.cxx.empty() ? layout.cxx : options.cxx); }
  std::vector<std::string> cc() const { return commandWords(options.cc.empty() ? layout.cc : options.cc); }
  /// Flags that sources with messages cannot do without.
  std::vector<std::string> neededFlags() const;
  /// Flags that undo what some distributions add, at a cost.
  std::vector<std::string> quickFlags() const;
  std::vector<std::string> ldxx() const { return options.ldxx.empty() ? cxx() : commandWords(options.ldxx); }
};

/// Shows a command when asked to, and runs it.
int runStep(const Job& job, const std::vector<std::string>& argv, std::string* output = nullptr);

/// The same for a compiler or linker: what a failure means for a Charm++ program is said behind its own words.
enum class Tool { compiler, linker };
bool runTool(const Job& job, std::vector<std::string> argv, Tool tool);

/// Translates one .ci file into the current folder.
bool translateCi(const Job& job, const std::string& file);

/// Writes source.cpm.h beside a source, for its CpmInvokable functions.
bool generateCpm(const Job& job, const std::string& file);

/// The command that compiles one source, without its output: compiler, standard, flags, include paths.
std::vector<std::string> compileCommand(const Job& job, const std::string& source);
bool compileSource(const Job& job, const std::string& source, const std::string& object);

/// Links, archives or makes a shared object, by the name of the output. `objects` replace the sources of the link line.
bool link(const Job& job, const std::vector<LinkItem>& items);
/// Text of the C++ file that registers the modules of a program.
std::string moduleInit(const Job& job, const std::vector<std::string>& modules,
                       const std::vector<std::string>& traceModes);

/// What stands behind a program's own objects on its link line: flags, modules, libraries. None: a module is missing,
/// which has been said.
std::optional<std::vector<std::string>> programLine(const Job& job);

/// For build systems that run compilers and linkers themselves: in the names of Charm++'s charmc, with what the options
/// add. False where a module is missing.
bool printBuildingBlocks(const Job& job);

}  // namespace periapt::charmc
