// Linking. A program is its objects, a small file that registers the modules named on the command line, the modules'
// archives, and libperiapt.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "tools/charmc/balancers.h"
#include "tools/charmc/files.h"
#include "tools/charmc/process.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace fs = std::filesystem;
namespace {

/// Accepted, so that old link lines work.
const std::set<std::string> built_in_modules = {
#define PERIAPT_MODULE(name) #name,
#include "runtime/program/built_in_modules.inc"
#undef PERIAPT_MODULE
};

/// What libperiapt uses. hwloc is not among them, which is loaded at run time where it is there, nor fmt, which is
/// compiled into it, so that -static needs no archive that distributions do not have.
const std::vector<std::string> system_libraries = {"-lboost_context", "-lpthread", "-ldl", "-lrt"};

/// What every program can do (runtime/trace), when it is told to: +tracemode, or -tracemode for a default.
bool isOwnTraceMode(const std::string& mode) { return mode == "projections" || mode == "summary" || mode == "all"; }

/// Folders that -module looks in: those of -L, the current one, ours.
std::vector<std::string> libraryFolders(const Job& job) {
  std::vector<std::string> out;
  for (const LinkItem& item : job.options.link)
    if (item.text.rfind("-L", 0) == 0) out.push_back(item.text.substr(2));
  out.push_back(".");
  out.insert(out.end(), job.layout.libraries.begin(), job.layout.libraries.end());
  return out;
}

std::optional<fs::path> findIn(const std::vector<std::string>& folders, const std::string& name) {
  std::error_code error;
  for (const std::string& folder : folders)
    if (fs::path file = fs::path(folder) / name; fs::exists(file, error)) return file;
  return std::nullopt;
}

struct ModulePieces {
  std::vector<std::string> registered;  ///< names to register
  std::vector<std::string> archives;
  std::vector<std::string> flags;  ///< from libmoduleM.dep
};

/// Adds module `name` and, by way of its .dep file, the modules it needs.
bool gatherModule(const std::string& name, const std::vector<std::string>& folders, ModulePieces& out,
                  std::set<std::string>& seen) {
  if (!seen.insert(name).second) return true;
  const auto archive = findIn(folders, "libmodule" + name + ".a");
  if (!archive) {
    if (built_in_modules.count(name)) return true;
    std::fprintf(stderr, "charmc: error: -module %s: there is no libmodule%s.a in", name.c_str(), name.c_str());
    for (const std::string& folder : folders) std::fprintf(stderr, " %s", folder.c_str());
    std::fprintf(stderr, "\n      = hint: name its folder with -L, or build it: charmc -o libmodule%s.a ...\n",
                 name.c_str());
    return false;
  }
  out.registered.push_back(name);
  out.archives.push_back(archive->string());
  std::string text;
  if (!readFile(archive->parent_path() / ("libmodule" + name + ".dep"), text)) return true;
  const std::vector<std::string> words = splitCommandLine(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool isModule = (words[i] == "-module" || words[i] == "-modules") && i + 1 < words.size();
    if (!isModule) {
      out.flags.push_back(words[i]);
    } else if (!gatherModule(words[++i], folders, out, seen)) {
      return false;
    }
  }
  return true;
}

/// Whether an object or archive on the line has the function that makes the trace modules of that name.
bool isInObjects(const std::string& mode, const std::vector<LinkItem>& items) {
  const std::string function = "_createTrace" + mode;
  const std::string symbol = "_Z" + std::to_string(function.size()) + function + "PPc";
  std::string bytes;
  return std::any_of(items.begin(), items.end(), [&](const LinkItem& item) {
    return item.isFile && readFile(item.text, bytes) && bytes.find(symbol) != std::string::npos;
  });
}

/// Those that every program has, and those that an object or a library is there for; others are said and left out.
std::vector<std::string> traceModes(const Job& job, const std::vector<LinkItem>& items,
                                    std::vector<std::string>& archives) {
  std::vector<std::string> out;
  for (const std::string& mode : job.options.traceModes) {
    if (mode == "none") continue;
    if (isOwnTraceMode(mode) || isInObjects(mode, items)) {
      out.push_back(mode);
    } else if (const auto archive = findIn(libraryFolders(job), "libtrace-" + mode + ".a")) {
      out.push_back(mode);
      archives.push_back(archive->string());
    } else {
      std::fprintf(stderr,
                   "charmc: warning: -tracemode %s: there is no _createTrace%s(char**) in the objects and no "
                   "libtrace-%s.a; linked "
                   "without it\n",
                   mode.c_str(), mode.c_str(), mode.c_str());
    }
  }
  return out;
}

bool endsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool isLibrary(const LinkItem& item) {
  if (!item.isFile)
    return item.text.rfind("-l", 0) == 0 || item.text.rfind("-L", 0) == 0 || item.text.rfind("-Wl,", 0) == 0;
  return endsWith(item.text, ".a") || item.text.find(".so") != std::string::npos;
}

/// What is linked of our user's: files, those that -Wl, names, and libraries that -l finds in folders of -L.
std::vector<std::string> linkedFiles(const std::vector<LinkItem>& items, const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  std::error_code error;
  for (const LinkItem& item : items) {
    if (item.isFile) {
      out.push_back(item.text);
    } else if (item.text.rfind("-Wl,", 0) == 0) {
      for (std::size_t begin = 4; begin < item.text.size();) {
        const std::size_t end = std::min(item.text.find(',', begin), item.text.size());
        const std::string word = item.text.substr(begin, end - begin);
        if (fs::is_regular_file(word, error)) out.push_back(word);
        begin = end + 1;
      }
    } else if (item.text.rfind("-l", 0) == 0) {
      for (const char* suffix : {".so", ".a"})
        if (const auto found = findIn(folders, "lib" + item.text.substr(2) + suffix)) out.push_back(found->string());
    }
  }
  return out;
}

/// A name that the program would not know when it starts is refused here already.
bool haveBalancers(const Job& job, const std::vector<LinkItem>& items, const std::vector<std::string>& folders,
                   const ModulePieces& modules) {
  if (job.options.balancers.empty()) return true;
  std::vector<LinkItem> all = items;
  for (const std::string& flag : modules.flags) all.push_back({flag, false, fs::path(flag).extension() == ".a"});
  std::vector<std::string> files = linkedFiles(all, folders);
  files.insert(files.end(), modules.archives.begin(), modules.archives.end());
  for (const std::string& name : job.options.balancers) {
    if (hasBalancer(name, files)) continue;
    std::fprintf(stderr,
                 "charmc: error: -balancer %s: there is no balancer called so\n      = hint: %s One of your own has to "
                 "be registered (LBRegisterBalancer) in an object or library of this line, or in a libmodule%s.a that "
                 "lies in a folder of -L\n",
                 name.c_str(), likeBalancer(name).c_str(), name.substr(0, name.find(':')).c_str());
    return false;
  }
  return true;
}

/// A link line: objects and flags in the order given, then the libraries, which the linker searches again and again
/// until nothing more is found in them. So it does not matter where a Makefile names a library, nor in which order.
std::vector<std::string> linkLine(const std::vector<LinkItem>& items, const std::vector<std::string>& ours) {
  std::vector<std::string> out;
  std::vector<std::string> libraries;
  bool groups = true;
  for (const LinkItem& item : items) {
    (isLibrary(item) ? libraries : out).push_back(item.text);
    groups &= item.text.find("-group") == std::string::npos && item.text.find("-Wl,-(") == std::string::npos;
  }
  libraries.insert(libraries.end(), ours.begin(), ours.end());
  if (libraries.empty()) return out;
  if (groups) out.push_back("-Wl,--start-group");  // the linker knows no group in a group
  out.insert(out.end(), libraries.begin(), libraries.end());
  if (groups) out.push_back("-Wl,--end-group");
  return out;
}

/// Behind all objects, whatever stands before it on the line.
std::vector<std::string> languageLibraries(const Options& options) {
  return options.fortran ? std::vector<std::string>{"-lgfortran"} : std::vector<std::string>{};
}

bool archive(const Job& job, const std::vector<LinkItem>& items) {
  std::error_code error;
  fs::remove(job.options.output, error);  // `ar` would keep members that are no longer there
  std::vector<std::string> command = {"ar", "crs", job.options.output};
  for (const LinkItem& item : items)
    if (item.isFile) command.push_back(item.text);
  return runStep(job, command) == 0;
}

bool sharedObject(const Job& job, const std::vector<LinkItem>& items) {
  std::vector<std::string> command = job.ldxx();
  command.insert(command.end(), {"-shared", "-fPIC"});
  const Options& options = job.options;
  for (const auto* list : {&options.compile, &options.ldOptions, &options.sharedOptions})
    command.insert(command.end(), list->begin(), list->end());
  for (std::string& text : linkLine(items, languageLibraries(options))) command.push_back(std::move(text));
  command.insert(command.end(), {"-o", options.output});
  return runStep(job, command) == 0;
}

/// A program without Charm++, as a client of CCS (-lccs-client) is.
bool plainProgram(const Job& job, const std::vector<LinkItem>& items) {
  std::vector<std::string> command = job.ldxx();
  for (const auto* list : {&job.options.compile, &job.options.ldOptions})
    command.insert(command.end(), list->begin(), list->end());
  for (const std::string& folder : job.layout.libraries) command.push_back("-L" + folder);
  for (std::string& text : linkLine(items, languageLibraries(job.options))) command.push_back(std::move(text));
  command.insert(command.end(), {"-o", job.options.output});
  return runStep(job, command) == 0;
}

/// charmrun stands beside every program that was linked, as Makefiles expect.
void placeCharmrun(const Job& job) {
  const fs::path ours = job.layout.bin / "charmrun";
  std::error_code error;
  if (job.options.noCharmrun || !fs::exists(ours, error)) return;
  const fs::path theirs = fs::absolute(job.options.output, error).parent_path() / "charmrun";
  if (fs::equivalent(ours, theirs, error)) return;
  const fs::path beside = theirs.string() + ".tmp" + std::to_string(::getpid());
  if (fs::copy_file(ours, beside, fs::copy_options::overwrite_existing, error)) fs::rename(beside, theirs, error);
  if (error)
    std::fprintf(stderr, "charmc: warning: cannot put charmrun beside the program: %s\n", error.message().c_str());
}

/// -module PythonCCS brings the Python that it was built with. Makefiles name one beside it, with Charm++ a 2.7.
std::vector<LinkItem> withoutPython(const std::vector<LinkItem>& items) {
  std::vector<LinkItem> out;
  for (const LinkItem& item : items) {
    if (item.isFile || item.text.rfind("-lpython", 0) != 0) {
      out.push_back(item);
    } else {
      std::fprintf(stderr, "charmc: warning: %s is left out: -module PythonCCS brings the Python that it is for\n",
                   item.text.c_str());
    }
  }
  return out;
}

/// What a program consists of besides what registers its modules.
struct ProgramPieces {
  ModulePieces modules;
  std::vector<std::string> traces;
  std::vector<std::string> line;  ///< files, flags and libraries, in the linker's order
};

std::optional<ProgramPieces> programPieces(const Job& job, const std::vector<LinkItem>& items) {
  ProgramPieces out;
  std::set<std::string> seen;
  const std::vector<std::string> folders = libraryFolders(job);
  for (const std::string& name : job.options.modules)
    if (!gatherModule(name, folders, out.modules, seen)) return std::nullopt;
  for (const std::string& text : job.options.balancers) {  // one of the user's own is a module too
    const std::string name = text.substr(0, text.find(':'));
    if (findIn(folders, "libmodule" + name + ".a") && !gatherModule(name, folders, out.modules, seen))
      return std::nullopt;
  }
  std::vector<std::string> libraries = out.modules.archives;
  auto add = [&libraries](const std::vector<std::string>& words) {
    libraries.insert(libraries.end(), words.begin(), words.end());
  };
  std::vector<std::string> traceArchives;
  out.traces = traceModes(job, items, traceArchives);
  for (const std::string& folder : job.layout.libraries) libraries.push_back("-L" + folder);
  add(out.modules.flags);
  add(traceArchives);
  add(languageLibraries(job.options));
  libraries.push_back("-lperiapt");
  add(system_libraries);
  out.line = linkLine(seen.count("PythonCCS") != 0 ? withoutPython(items) : items, libraries);
  out.line.insert(out.line.end(), job.layout.linkFlags.begin(), job.layout.linkFlags.end());
  return out;
}

std::optional<fs::path> compileModuleInit(const Job& job, const ModulePieces& modules,
                                          const std::vector<std::string>& traces) {
  const fs::path folder = job.options.save ? fs::path(".") : job.temporary;
  const std::string stem = job.options.save ? "moduleinit" + std::to_string(::getpid()) : "moduleinit";
  const fs::path source = folder / (stem + ".cpp");
  const fs::path object = folder / (stem + ".o");
  const std::string error = replaceFile(source, moduleInit(job, modules.registered, traces));
  if (!error.empty()) {
    std::fprintf(stderr, "charmc: %s\n", error.c_str());
    return std::nullopt;
  }
  std::vector<std::string> command = job.cxx();
  command.insert(command.end(), {"-std=gnu++17", "-fPIC", "-c", source.string(), "-o", object.string()});
  if (runStep(job, command) != 0) return std::nullopt;
  return object;
}

bool program(const Job& job, const std::vector<LinkItem>& items) {
  const auto pieces = programPieces(job, items);
  if (!pieces) return false;
  if (!job.options.noModuleInit && !haveBalancers(job, items, libraryFolders(job), pieces->modules)) return false;
  std::vector<std::string> command = job.ldxx();
  auto add = [&command](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add(job.options.compile);
  add(job.options.ldOptions);
  if (!job.options.noModuleInit) {
    const auto init = compileModuleInit(job, pieces->modules, pieces->traces);
    if (!init) return false;
    command.push_back(init->string());
  }
  add(pieces->line);
  add({"-o", job.options.output});
  if (!runTool(job, std::move(command), Tool::linker)) return false;
  placeCharmrun(job);
  return true;
}

}  // namespace

std::string moduleInit(const Job& job, const std::vector<std::string>& modules,
                       const std::vector<std::string>& traces) {
  std::string out = "// Written by charmc for " + job.options.output + ": which modules the program is linked with.\n";
  for (const std::string& m : modules) out += "void _register" + m + "(void);\n";
  bool ownTraces = false;
  for (const std::string& t : traces) {
    ownTraces |= isOwnTraceMode(t);
    if (!isOwnTraceMode(t)) out += "void _createTrace" + t + "(char** argv);\n";
  }
  if (ownTraces) out += "void TraceDefaultMode(const char* mode);\n";
  if (!job.options.seedBalancer.empty()) out += "void CldDefaultStrategy(const char* name);\n";
  if (!job.options.balancers.empty()) out += "void LBDefaultCreate(const char* name);\n";
  out += "void _registerExternalModules(char**) {\n";
  for (const std::string& m : modules) out += "  _register" + m + "();\n";
  for (const std::string& b : job.options.balancers) out += "  LBDefaultCreate(\"" + b + "\");\n";
  if (!job.options.seedBalancer.empty()) out += "  CldDefaultStrategy(\"" + job.options.seedBalancer + "\");\n";
  for (const std::string& t : traces)
    if (isOwnTraceMode(t)) out += "  TraceDefaultMode(\"" + t + "\");\n";
  out += "}\n";
  // The runtime prepares what modules are told where there is this function.
  std::string makers;
  for (const std::string& t : traces)
    if (!isOwnTraceMode(t)) makers += "  _createTrace" + t + "(argv);\n";
  if (!makers.empty()) out += "void _createTraces(char** argv) {\n" + makers + "}\n";
  const bool noMainModule =
      job.options.noMainModule || job.options.noMain || job.options.language.rfind("converse", 0) == 0;
  if (noMainModule) {
    out += "void CkRegisterNoMainModule(void);\n";
    out += "extern \"C\" __attribute__((weak)) void CkRegisterMainModule(void) { CkRegisterNoMainModule(); }\n";
  }
  return out;
}

std::optional<std::vector<std::string>> programLine(const Job& job) {
  auto pieces = programPieces(job, job.options.link);
  if (!pieces) return std::nullopt;
  return std::move(pieces->line);
}

bool link(const Job& job, const std::vector<LinkItem>& items) {
  bool done = false;
  if (endsWith(job.options.output, ".a")) {
    done = archive(job, items);
  } else if (job.options.shared || endsWith(job.options.output, ".so")) {
    done = sharedObject(job, items);
  } else if (job.options.seq) {
    done = plainProgram(job, items);
  } else {
    done = program(job, items);
  }
  if (!done) {
    std::error_code error;
    fs::remove(job.options.output, error);
  }
  return done;
}

}  // namespace periapt::charmc
