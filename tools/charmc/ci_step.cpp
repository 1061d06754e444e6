// A .ci file: the C preprocessor, then the translator, then <module>.decl.h and <module>.def.h in the current folder.
#include <cstdio>
#include <functional>
#include <set>
#include <sstream>

#include "lang/ci-translator/translate.h"
#include "tools/charmc/files.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace {

/// Files that the preprocessor's line markers name: the .ci itself and what it includes.
std::set<std::string> filesIn(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() < 4 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9') continue;
    const std::size_t open = line.find('"');
    const std::size_t close = line.rfind('"');
    if (open == std::string::npos || close <= open + 1 || line[open + 1] == '<') continue;
    const std::string name = line.substr(open + 1, close - open - 1);
    if (name.find("stdc-predef.h") == std::string::npos) out.insert(name);
  }
  return out;
}

/// Comments are kept (-C), so that columns stay what they are; only line markers tell where a line was.
bool preprocess(const Job& job, const std::string& file, std::string& text) {
  std::vector<std::string> command = job.cxx();
  command.insert(command.end(), {"-E", "-C", "-w", "-x", "c++", "-std=c++17", charmc_macro});
  command.insert(command.end(), job.options.preprocess.begin(), job.options.preprocess.end());
  command.push_back(file);
  return runStep(job, command, &text) == 0;
}

std::set<std::string, std::less<>> definesOf(const Options& options) {
  std::set<std::string, std::less<>> out = {"__CHARMC__"};
  for (std::size_t i = 0; i < options.preprocess.size(); ++i) {
    std::string flag = options.preprocess[i];
    if (flag == "-D" && i + 1 < options.preprocess.size()) flag += options.preprocess[++i];
    if (flag.rfind("-D", 0) == 0)
      out.insert(flag.substr(2, flag.find('=') == flag.npos ? flag.npos : flag.find('=') - 2));
  }
  return out;
}

bool writeDependencies(const Job& job, const std::string& file, const std::set<std::string>& files,
                       const std::vector<ci::TranslatedModule>& modules) {
  std::string text = job.options.dependTarget;
  if (text.empty())
    for (const ci::TranslatedModule& m : modules)
      text += (text.empty() ? "" : " ") + m.name + ".decl.h " + m.name + ".def.h";
  text += ": " + file;
  for (const std::string& other : files)
    if (other != file) text += " \\\n  " + other;
  text += "\n";
  if (job.options.dependFile.empty()) {
    if (job.options.dependOnly) std::fputs(text.c_str(), stdout);
    return true;
  }
  const std::string error = replaceFile(job.options.dependFile, text);
  if (!error.empty()) std::fprintf(stderr, "charmc: %s\n", error.c_str());
  return error.empty();
}

}  // namespace

bool translateCi(const Job& job, const std::string& file) {
  ci::TranslateInput input;
  input.file = job.options.originalFile.empty() ? file : job.options.originalFile;
  std::string original;
  if (!readFile(file, original)) {
    std::fprintf(stderr, "charmc: cannot read %s\n", file.c_str());
    return false;
  }
  if (job.options.noPreprocessCi) {
    input.text = original;
    input.defines = definesOf(job.options);
  } else if (!preprocess(job, file, input.text)) {
    return false;
  }
  const std::set<std::string> files = filesIn(input.text);
  for (const std::string& name : files)
    if (std::string text; readFile(name, text)) input.originals[name] = std::move(text);
  const ci::TranslateOutput output = ci::translate(input);
  std::fputs(output.messages.c_str(), stderr);
  if (!output.ok) return false;
  if (job.options.dependOnly) return writeDependencies(job, file, files, output.modules);
  for (const ci::TranslatedModule& module : output.modules) {
    for (const auto& [name, text] :
         {std::pair{module.name + ".decl.h", &module.decl}, {module.name + ".def.h", &module.def}}) {
      if (job.options.verbose) std::fprintf(stderr, "charmc> write %s\n", name.c_str());
      const std::string error = replaceFile(name, *text);
      if (error.empty()) continue;
      std::fprintf(stderr, "charmc: %s\n", error.c_str());
      return false;
    }
  }
  return !job.options.dependAlso || writeDependencies(job, file, files, output.modules);
}

}  // namespace periapt::charmc
