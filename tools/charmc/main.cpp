// charmc: compiles and links Charm++ programs. Reads its command line (options.cpp), then: .ci files (ci_step.cpp),
// sources (compile_step.cpp), link (link_step.cpp). What is none of these it hands to the compiler as it is.
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>

#include "base/child_processes.h"
#include "tools/charmc/files.h"
#include "tools/charmc/process.h"
#include "tools/charmc/steps.h"

namespace {

namespace fs = std::filesystem;
using namespace periapt::charmc;

int fail(const std::string& message) {
  std::fprintf(stderr, "charmc: error: %s\n", message.c_str());
  return 1;
}

bool endsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// No file at all: questions to the compiler, such as -dumpversion or -print-search-dirs.
int askCompiler(const Job& job) {
  std::vector<std::string> command = job.cxx();
  const Options& options = job.options;
  for (const auto* list : {&options.compile, &options.preprocess, &options.depend})
    command.insert(command.end(), list->begin(), list->end());
  for (const LinkItem& item : options.link) command.push_back(item.text);
  if (options.preprocessOnly) command.push_back("-E");
  if (options.version) command.push_back("--version");
  if (command.size() == job.cxx().size()) return fail("no input files; charmc --help says what there is");
  return runStep(job, command);
}

void copyResult(const Job& job) {
  if (job.options.copyTo.empty() || job.options.output.empty()) return;
  std::error_code error;
  fs::copy_file(job.options.output, fs::path(job.options.copyTo) / fs::path(job.options.output).filename(),
                fs::copy_options::overwrite_existing, error);
  if (error) std::fprintf(stderr, "charmc: warning: -cp %s: %s\n", job.options.copyTo.c_str(), error.message().c_str());
}

/// With -touch-on-failure: whether an empty file stands now for what did not come about.
bool goesOnWithout(const Job& job, const std::string& file) {
  if (!job.options.touchOnFailure || file.empty()) return false;
  const std::string error = replaceFile(file, "");
  if (!error.empty()) return fail(error) == 0;
  std::fprintf(stderr, "charmc: warning: %s is empty: -touch-on-failure goes on without it\n", file.c_str());
  return true;
}

/// Compiles every source to an object of its own name in the current folder, or to the one output.
int compileAll(const Job& job) {
  const Options& options = job.options;
  const bool toObject = !options.preprocessOnly && !options.dependOnly;
  if (!options.output.empty() && options.sources.size() > 1)
    return fail("-o " + options.output + " names one file, and there are " + std::to_string(options.sources.size()) +
                " sources to compile; leave -o out");
  for (const std::string& source : options.sources) {
    std::string object = options.output;
    if (object.empty() && toObject) object = fs::path(source).stem().string() + (options.assembleOnly ? ".s" : ".o");
    if (!compileSource(job, source, object) && !goesOnWithout(job, object)) return 1;
  }
  copyResult(job);
  return 0;
}

/// Compiles sources into the temporary folder and links.
int linkAll(const Job& job) {
  const Options& options = job.options;
  if (!options.linkError.empty()) return fail(options.linkError);
  std::vector<LinkItem> items;
  std::size_t count = 0;
  for (const LinkItem& item : options.link) {
    if (!item.isSource) {
      items.push_back(item);
      continue;
    }
    const fs::path folder = options.save ? fs::path(".") : job.temporary / std::to_string(count++);
    std::error_code error;
    fs::create_directories(folder, error);
    const std::string object = (folder / fs::path(item.text).stem()).string() + ".o";
    if (!compileSource(job, item.text, object)) return goesOnWithout(job, options.output) ? 0 : 1;
    items.push_back({object, false, true});
  }
  if (!link(job, items)) return goesOnWithout(job, options.output) ? 0 : 1;
  copyResult(job);
  return 0;
}

int run(Job& job) {
  const Options& options = job.options;
  if (!options.error.empty()) return fail(options.error);
  if (options.help) return std::fputs(helpText().c_str(), stdout), 0;
  if (options.charmVersion) return std::printf("%s\n", charmVersionText().c_str()), 0;
  for (const std::string& warning : options.warnings) std::fprintf(stderr, "charmc: warning: %s\n", warning.c_str());
  if (options.verbose)
    for (const std::string& remark : options.remarks) std::fprintf(stderr, "charmc: %s\n", remark.c_str());
  if (options.printBuildingBlocks) return printBuildingBlocks(job) ? 0 : 1;
  if (options.version) std::printf("%s\n", versionText().c_str());
  for (const std::string& file : options.ciFiles)
    if (!translateCi(job, file) && !options.touchOnFailure) return 1;
  for (const std::string& file : options.cpmFiles)
    if (!generateCpm(job, file)) return 1;
  bool hasFiles = !options.sources.empty();
  for (const LinkItem& item : options.link) hasFiles |= item.isFile;
  if (!hasFiles) return options.ciFiles.empty() && options.cpmFiles.empty() ? askCompiler(job) : 0;
  if (!options.language.empty() && options.language != "charm++" && options.language != "converse++" &&
      !(options.seq && (options.language == "c" || options.language == "c++")))
    return fail("-language " + options.language +
                " is not supported; there is charm++ and converse++, which charm, charm++f, f90charm and converse mean "
                "too");
  // `-o x.o` compiles, with or without -c; `-o x.a` makes an archive, likewise; without -o nothing is linked.
  const bool compiles = (options.compileOnly && !endsWith(options.output, ".a")) || options.preprocessOnly ||
                        options.assembleOnly || options.dependOnly ||
                        (!options.sources.empty() && (options.output.empty() || endsWith(options.output, ".o")));
  if (compiles) return compileAll(job);
  if (options.output.empty()) return 0;  // objects and nothing to make of them
  return linkAll(job);
}

}  // namespace

int main(int argc, char** argv) {
  periapt::keep_ended_children();
  // An interrupt ends the compiler, and with it charmc, which cleans up behind itself first.
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) {});
  try {
    TemporaryFolder temporary;
    const std::vector<std::string> arguments = expandResponseFiles({argv + 1, argv + argc});
    const bool isCharmxi = fs::path(argv[0]).filename() == "charmxi";
    Job job{isCharmxi ? parseCharmxiOptions(arguments) : parseOptions(arguments), findLayout(), temporary.path()};
    return run(job);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
