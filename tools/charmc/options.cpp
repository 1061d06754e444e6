#include "tools/charmc/options.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "lang/ci-translator/diagnostics.h"
#include "runtime/seeds/names.h"
#include "tools/charmc/balancers.h"
#include "tools/charmc/files.h"

namespace periapt::charmc {
namespace {

bool startsWith(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

bool isOneOf(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

void appendList(std::vector<std::string>& out, const std::string& names) {
  std::size_t begin = 0;
  while (begin <= names.size()) {
    const std::size_t end = std::min(names.find_first_of(", ", begin), names.size());
    if (end > begin) out.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Walks over the arguments; each handler takes its flag and, where it has one, the value behind it.
class OptionParser {
 public:
  explicit OptionParser(const std::vector<std::string>& arguments) : arguments_(arguments) { defineFlags(); }

  Options run() {
    while (at_ < arguments_.size() && out_.error.empty()) {
      const std::string argument = arguments_[at_++];
      if (argument.empty() || startsWith(argument, "@CMAKE_")) continue;
      if (argument[0] != '-' || argument == "-") {
        input(argument);
      } else if (auto own = flags_.find(argument); own != flags_.end()) {
        own->second();
      } else {
        passed(argument);
      }
    }
    if (out_.defaultOutput && out_.output.empty() && !out_.compileOnly) out_.output = "a.out";
    return std::move(out_);
  }

 private:
  std::string value(const std::string& flag) {
    if (at_ < arguments_.size()) return arguments_[at_++];
    out_.error = "the option " + flag + " needs a value behind it";
    return {};
  }

  void on(std::initializer_list<const char*> names, std::function<void()> action) {
    for (const char* name : names) flags_[name] = action;
  }
  void set(std::initializer_list<const char*> names, bool Options::*field) {
    on(names, [this, field] { out_.*field = true; });
  }
  void text(const char* name, std::string Options::*field) {
    on({name}, [this, name, field] { out_.*field = value(name); });
  }
  void list(const char* name, std::vector<std::string> Options::*field) {
    on({name}, [this, name, field] { appendList(out_.*field, value(name)); });
  }

  void defineFlags() {
    text("-o", &Options::output);
    set({"-c"}, &Options::compileOnly);
    set({"-E"}, &Options::preprocessOnly);
    set({"-S"}, &Options::assembleOnly);
    set({"-seq"}, &Options::seq);
    set({"-verbose"}, &Options::verbose);
    set({"-save"}, &Options::save);
    set({"-nomain"}, &Options::noMain);
    set({"-nomain-module"}, &Options::noMainModule);
    set({"-no-charmrun"}, &Options::noCharmrun);
    set({"-no-preprocess-ci"}, &Options::noPreprocessCi);
    set({"-print-building-blocks"}, &Options::printBuildingBlocks);
    set({"-h", "-help", "--help"}, &Options::help);
    set({"--version"}, &Options::version);
    set({"-V"}, &Options::charmVersion);
    set({"-standalone", "-skip-module-init"}, &Options::noModuleInit);
    set({"-flib", "-flibs", "-fortran", "-fortran77", "-f77lib", "-f77libs"}, &Options::fortran);
    set({"-touch-on-failure"}, &Options::touchOnFailure);
    set({"-default-to-aout"}, &Options::defaultOutput);
    on({"-language"}, [this] { language(value("-language")); });
    on({"-gen-cpm"}, [this] { out_.cpmFiles.push_back(value("-gen-cpm")); });
    for (const char* name : {"-module", "-modules"}) list(name, &Options::modules);
    for (const char* name : {"-balancer", "-lb"}) on({name}, [this, name] { balancers(value(name)); });
    on({"-balance"}, [this] { seedBalancer(value("-balance")); });
    list("-tracemode", &Options::traceModes);
    text("-c++", &Options::cxx);
    text("-cc", &Options::cc);
    text("-ld++", &Options::ldxx);
    text("-cp", &Options::copyTo);
    splitInto("-cpp-option", &Options::preprocess);
    splitInto("-c++-option", &Options::cxxOptions);
    splitInto("-cc-option", &Options::ccOptions);
    splitInto("-ld++-option", &Options::ldOptions);
    splitInto("-ld-option", &Options::ldOptions);
    splitInto("-ldro-option", &Options::sharedOptions);
    on({"-O", "-optimize"}, [this] { out_.compile.push_back("-O3"); });
    on({"-production"}, [this] {
      out_.compile.push_back("-O3");
      out_.preprocess.push_back("-DCMK_ERROR_CHECKING=0");
    });
    on({"-no-optimize", "-no-production"}, [] {});
    on({"-openmp"}, [this] { out_.compile.push_back("-fopenmp"); });
    on({"-mpi"}, [this] { out_.noMain = true; });
    on({"-clear-input"}, [this] { clearInput(); });
    defineLinking();
    defineDependencies();
    defineModes();
    defineIgnored();
  }

  /// The older words for the same, and those of C and C++ in capitals.
  void language(const std::string& name) {
    static const std::map<std::string, std::string> same = {
        {"charm", "charm++"}, {"charm++f", "charm++"}, {"f90charm", "charm++"}, {"converse", "converse++"},
        {"C", "c"},           {"C++", "c++"}};
    const auto known = same.find(name);
    out_.fortran |= name == "f90charm";
    out_.language = known == same.end() ? name : known->second;
  }

  void balancers(const std::string& names) {
    std::vector<std::string> pieces;
    appendList(pieces, names);
    appendBalancers(out_.balancers, pieces);
  }

  void seedBalancer(const std::string& name) {
    if (!out_.error.empty()) return;
    const std::vector<std::string_view> known = seeds::names();
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      out_.seedBalancer = name;
    } else if (isOneOf(name, {"test", "prioritycentralized"})) {
      out_.warnings.push_back("-balance " + name + " is not there; chares that are made without a PE go to any");
    } else {
      const std::string_view near = ci::nearest(name, known);
      out_.error =
          "there is no seed balancer called " + name + ": -balance takes rand, neighbor, spray, workstealing or none";
      if (!near.empty()) out_.error += "; did you mean " + std::string(near) + "?";
    }
  }

  void defineLinking() {
    on({"-shared", "-build-shared", "-G"}, [this] { out_.shared = true; });
    on({"-rpath"}, [this] { out_.link.push_back({"-Wl,-rpath," + value("-rpath")}); });
    on({"-rpath-origin"}, [this] { out_.link.push_back({"-Wl,-rpath,$ORIGIN"}); });
    for (const char* name : {"-install_name", "-current_version", "-compatibility_version"})  // libtool's
      on({name}, [this, name] { out_.link.push_back({std::string("-Wl,") + name + "," + value(name)}); });
  }

  /// What was named to be compiled or linked so far is not: a Makefile's flags may hold files.
  void clearInput() {
    out_.ciFiles.clear();
    out_.sources.clear();
    out_.link.clear();
  }

  void splitInto(const char* name, std::vector<std::string> Options::*field) {
    on({name}, [this, name, field] {
      for (std::string& word : splitCommandLine(value(name))) (out_.*field).push_back(std::move(word));
    });
  }

  void defineDependencies() {
    on({"-M", "-MM"}, [this] {
      out_.dependOnly = true;
      out_.depend.push_back(arguments_[at_ - 1]);
    });
    on({"-MD", "-MMD"}, [this] {
      out_.dependAlso = true;
      out_.depend.push_back(arguments_[at_ - 1]);
    });
    on({"-MP", "-MG"}, [this] { out_.depend.push_back(arguments_[at_ - 1]); });
    on({"-MF"}, [this] { dependencyValue("-MF", &Options::dependFile); });
    for (const char* name : {"-MT", "-MQ"}) on({name}, [this, name] { dependencyValue(name, &Options::dependTarget); });
  }

  void dependencyValue(const char* flag, std::string Options::*field) {
    out_.*field = value(flag);
    out_.depend.push_back(flag);
    out_.depend.push_back(out_.*field);
  }

  /// The modes of allocators and threads, of which there is one here: a name that Charm++ has is taken without effect.
  void defineModes() {
    on({"-memory"}, [this] {
      static constexpr std::string_view named[] = {
          "default", "os",      "gnu",        "isomalloc",       "leak",           "lock", "paranoid", "record",
          "verbose", "wrapper", "charmdebug", "charmdebug-mmap", "charmdebug-slot"};
      const std::string name = value("-memory");
      mode("-memory", name,
           startsWith(name, "os-")    ? name.substr(3)
           : startsWith(name, "gnu-") ? name.substr(4)
                                      : name,
           {std::begin(named), std::end(named)});
    });
    on({"-thread"}, [this] {
      static constexpr std::string_view named[] = {"default",   "context",   "pthreads", "qt",
                                                   "stackcopy", "uFcontext", "uJcontext"};
      const std::string name = value("-thread");
      mode("-thread", name, name.substr(0, name.find('-')), {std::begin(named), std::end(named)});
    });
    on({"-swapglobal", "-swapglobals"}, [this] {
      out_.error =
          "-swapglobals is not there: global variables belong to a process. Make them members of chares, or Ctv "
          "variables of threads";
    });
    on({"-tlsglobal", "-tlsglobals"}, [this] {
      out_.warnings.push_back(
          "-tlsglobals is not there: thread_local variables belong to threads of the system, which run many of the "
          "program's; Ctv variables belong to one of these");
    });
  }

  void mode(const std::string& flag, const std::string& name, const std::string& base,
            const std::vector<std::string_view>& known) {
    if (!out_.error.empty()) return;
    if (std::find(known.begin(), known.end(), base) != known.end()) {
      out_.remarks.push_back(flag + " " + name + " has no effect here");
      return;
    }
    out_.linkError = "there is no mode " + name + " for " + flag + ", nor would one have an effect here: leave it out";
    const std::string_view near = ci::nearest(base, known);
    if (!near.empty()) out_.linkError += "; did you mean " + std::string(near) + "?";
  }

  /// Flags of Charm++ that choose between builds, of which there is one here, and those of languages that are not.
  void defineIgnored() {
    for (const char* name : {"-machine", "-queue", "-cpmod", "-isysroot", "-f90", "-f90-option", "-fmoddir", "-ld"})
      on({name},
         [this, name] { out_.remarks.push_back(std::string(name) + " " + value(name) + " has no effect here"); });
    for (const char* name :
         {"-charm-shared",      "-cs",          "-no-build-shared", "-count-tokens",      "-no-trace-mpi",
          "-whole-archive",     "-custom-part", "-use-fastest-cc",  "-use-reliable-cc",   "-use-new-std",
          "-no-use-new-std",    "-host",        "-intrinsic",       "-use-build-options", "-noinclude-charm",
          "-roseomptlsglobals", "-pieglobals",  "-debug",           "-debug-script",      "-purify",
          "-preprocess",        "-f77",         "-f90main",         "-nof90main",         "-c++stl"})
      on({name}, [this, name] { out_.remarks.push_back(std::string(name) + " has no effect here"); });
  }

  void input(const std::string& file) {
    switch (kindOf(file)) {
      case InputKind::ci:
        out_.ciFiles.push_back(file);
        return;
      case InputKind::link:
        if (!forcedLanguage_) {
          out_.link.push_back({file, false, true});
          return;
        }
        [[fallthrough]];
      default:
        out_.sources.push_back(file);
        out_.link.push_back({file, true, true});
    }
  }

  /// A flag that is not ours.
  void passed(const std::string& flag) {
    if (flag == "--include-path") return out_.preprocess.push_back("-I" + value(flag));
    if (flag == "--pre-include" || flag == "--system-include") {
      const std::string known = flag == "--pre-include" ? "-include" : "-isystem";
      out_.preprocess.insert(out_.preprocess.end(), {known, value(flag)});
      return;
    }
    static const std::vector<std::string> preprocessor = {"-D",       "-U",      "-I",         "-include",
                                                          "-isystem", "-iquote", "-idirafter", "-imacros"};
    for (const std::string& known : preprocessor) {
      if (flag == known) {
        out_.preprocess.push_back(flag);
        out_.preprocess.push_back(value(flag));
        return;
      }
      if (startsWith(flag, known)) return out_.preprocess.push_back(flag);
    }
    if (startsWith(flag, "-M")) return out_.depend.push_back(flag);
    if (isLinkFlag(flag)) {
      if (isOneOf(flag, {"-l", "-L"})) return out_.link.push_back({flag + value(flag)});
      out_.link.push_back({flag});
      if (isOneOf(flag, {"-T", "-u", "-z", "-Xlinker", "-framework"})) out_.link.push_back({value(flag)});
      return;
    }
    if (startsWith(flag, "-std=")) return out_.compile.push_back(raised(flag));
    out_.compile.push_back(flag);
    if (flag == "-x") forcedLanguage_ = true;
    if (isOneOf(flag, {"-x", "-Xpreprocessor", "-Xassembler", "-Xclang", "--param", "-aux-info", "-arch", "-iprefix",
                       "-iwithprefix", "-Xcompiler", "-target", "-wrapper"}))
      out_.compile.push_back(value(flag));
  }

  std::string raised(const std::string& flag) {
    std::string out = raisedStandard(flag);
    if (out != flag) out_.remarks.push_back(flag + " is raised to " + out + ", which the headers need");
    return out;
  }

  static bool isLinkFlag(const std::string& flag) {
    for (const char* prefix : {"-l", "-L", "-Wl,"})
      if (startsWith(flag, prefix)) return true;
    return isOneOf(flag, {"-Xlinker", "-rdynamic", "-static", "-static-libgcc", "-static-libstdc++", "-pie", "-no-pie",
                          "-s", "-nostdlib", "-nodefaultlibs", "-nostartfiles", "-framework", "-r", "-T", "-u", "-z"});
  }

  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;
  bool forcedLanguage_ = false;
  Options out_;
  std::map<std::string, std::function<void()>> flags_;
};

}  // namespace

Options parseOptions(const std::vector<std::string>& arguments) { return OptionParser(arguments).run(); }

Options parseCharmxiOptions(const std::vector<std::string>& arguments) {
  Options out;
  out.noPreprocessCi = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-orig-file" && i + 1 < arguments.size())
      out.originalFile = arguments[++i];
    else if (startsWith(argument, "-D"))
      out.preprocess.push_back(argument);
    else if (startsWith(argument, "-M"))
      out.dependOnly = true;
    else if (!startsWith(argument, "-"))
      out.ciFiles.push_back(argument);
    else if (!isOneOf(argument, {"-ansi", "-intrinsic", "-f90"}))
      out.error = "charmxi has no option " + argument +
                  "; it takes -orig-file FILE, -DNAME and -M, and charmc FILE.ci does all that it does";
  }
  if (out.error.empty() && out.ciFiles.size() != 1)
    out.error = "charmxi translates one .ci file; charmc as many as named";
  return out;
}

InputKind kindOf(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  const std::size_t dot = file.find_last_of('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return InputKind::link;
  const std::string suffix = file.substr(dot + 1);
  if (suffix == "ci") return InputKind::ci;
  if (suffix == "c") return InputKind::c;
  if (isOneOf(suffix, {"C", "cc", "cxx", "cpp", "c++", "cu", "CPP", "cp", "ii", "cppm", "hpp", "h"}))
    return InputKind::cxx;
  if (isOneOf(suffix, {"s", "S", "i", "f", "F", "f77", "f90", "F90", "fpp"})) return InputKind::other;
  return InputKind::link;
}

std::string raisedStandard(const std::string& flag) {
  for (const char* dialect : {"c++", "gnu++"}) {
    const std::string prefix = std::string("-std=") + dialect;
    if (!startsWith(flag, prefix)) continue;
    const std::string version = flag.substr(prefix.size());
    if (isOneOf(version, {"98", "03", "0x", "11", "1y"})) return prefix + "14";
  }
  return flag;
}

std::string helpText() {
  return R"(charmc: compiles and links Charm++ programs

  charmc hello.ci                          translates: writes <module>.decl.h and <module>.def.h here
  charmc -c hello.cpp [-o hello.o]         compiles
  charmc hello.o -o hello -language charm++    links, and puts charmrun beside the program
  charmc hello.cpp -o hello                compiles and links
  charmc -o libmoduleX.a x.o y.o           makes an archive, for -module X

Without -o nothing is linked. Flags that are not listed here go to the compiler and the linker.

  -language charm++|converse++   what the program is written in (charm++); charm, charm++f, f90charm and converse mean
                                 these; with -seq also c, c++
  -module M[,N]                  links libmoduleM.a and registers the module M
  -balancer NAME                 the load balancer to start with
  -balance NAME                  where chares go that are made without a PE: rand (to any), neighbor, spray,
                                 workstealing, none (they stay)
  -tracemode MODE                links tracing of that kind
  -O, -optimize                  -O3;   -g and all other levels as usual
  -production                    the same, without the checks of CkAssert and of indices into CkVec
  -c++ CXX, -cc CC, -ld++ LD     uses other compilers, of several words too ('ccache g++'); -c++-option, -cc-option,
                                 -ld++-option give them flags, -cpp-option the preprocessor, -ldro-option the linker
                                 of shared objects
  -E FILE.ci                     translates, as does FILE.ci alone
  -M, -MD, -MF FILE, -MT NAME    writes dependencies, of .ci files too
  -no-preprocess-ci              does not run the C preprocessor over .ci files
  -nomain, -nomain-module        the program brings its own main(), or has no mainmodule
  -no-charmrun                   does not put charmrun beside the program
  -flib, -fortran, -f77lib       links what objects of a Fortran compiler need (-lgfortran)
  -cp DIR                        copies the result into DIR as well
  -seq                           a program without Charm++: calls the compiler alone
  -save                          keeps intermediate files
  -print-building-blocks         prints compilers, flags and paths, for other build systems
  -clear-input                   forgets the files named so far
  -touch-on-failure              an empty file in place of what does not compile or link, and goes on
  -verbose                       shows each command
  -h, --help, --version          -V: the version of Charm++ that programs may count on
)";
}

}  // namespace periapt::charmc
