#include "tools/charmrun/command_line.h"

#include <algorithm>
#include <string_view>

namespace periapt::charmrun {
namespace {

enum class Meaning {
  pes,            // +p N: how many PEs in all
  pesPerProcess,  // ++ppn N
  processes,      // ++n N
  timeLimit,
  verbose,
  quiet,
  help,
  version,
  ignored,      // means nothing on one host
  network,      // needs several hosts
  unsupported,  // means something that is not there yet
};

struct Option {
  std::string_view name;  // without its plus signs
  bool takesValue;
  Meaning meaning;
};

constexpr Option options[] = {
    {"p", true, Meaning::pes},
    {"pe", true, Meaning::pes},
    {"ppn", true, Meaning::pesPerProcess},
    {"n", true, Meaning::processes},
    {"np", true, Meaning::processes},
    {"timelimit", true, Meaning::timeLimit},
    {"verbose", false, Meaning::verbose},
    {"quiet", false, Meaning::quiet},
    {"help", false, Meaning::help},
    {"h", false, Meaning::help},
    {"version", false, Meaning::version},
    {"local", false, Meaning::ignored},
    {"timeout", true, Meaning::ignored},
    {"remote-shell", true, Meaning::ignored},
    {"maxssh", true, Meaning::ignored},
    {"maxrsh", true, Meaning::ignored},
    {"batch", true, Meaning::ignored},
    {"scalable-start", false, Meaning::ignored},
    {"hierarchical-start", false, Meaning::ignored},
    {"useip", true, Meaning::ignored},
    {"usehostname", false, Meaning::ignored},
    {"charmrun_port", true, Meaning::ignored},
    {"interactive", false, Meaning::ignored},
    {"auto-provision", false, Meaning::ignored},
    {"autoProvision", false, Meaning::ignored},
    {"ipcpoolsize", true, Meaning::ignored},
    {"ipccutoff", true, Meaning::ignored},
    {"skipmaster", false, Meaning::ignored},
    {"no-va-randomization", false, Meaning::ignored},
    {"runscript", true, Meaning::unsupported},
    {"server", false, Meaning::unsupported},
    {"server-port", true, Meaning::unsupported},
    {"server-auth", true, Meaning::unsupported},
    {"debug", false, Meaning::unsupported},
    {"debug-no-pause", false, Meaning::unsupported},
    {"debug-no-xrdb", false, Meaning::unsupported},
    {"debug-commands", true, Meaning::unsupported},
    {"debugger", true, Meaning::unsupported},
    {"xterm", true, Meaning::unsupported},
    {"in-xterm", false, Meaning::unsupported},
    {"display", true, Meaning::unsupported},
    {"shrinkexpand", false, Meaning::unsupported},
    {"newp", true, Meaning::unsupported},
    {"oldp", true, Meaning::unsupported},
    {"processPerHost", true, Meaning::unsupported},
    {"processPerSocket", true, Meaning::unsupported},
    {"processPerCore", true, Meaning::unsupported},
    {"processPerPU", true, Meaning::unsupported},
    {"oneWthPerHost", false, Meaning::unsupported},
    {"oneWthPerSocket", false, Meaning::unsupported},
    {"oneWthPerCore", false, Meaning::unsupported},
    {"oneWthPerPU", false, Meaning::unsupported},
    {"nodelist", true, Meaning::network},
    {"nodegroup", true, Meaning::network},
    {"numHosts", true, Meaning::network},
    {"mpiexec", false, Meaning::network},
    {"mpiexec-no-n", false, Meaning::network},
};

const Option* find(std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

/// Edit distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name) {
  std::string_view best;
  std::size_t cost = 2 + name.size() / 3;
  for (const Option& option : options) {
    const std::size_t c = distance(name.substr(0, 64), option.name);
    if (c < cost) {
      cost = c;
      best = option.name;
    }
  }
  return std::string(best);
}

bool isNumber(std::string_view text) {
  return !text.empty() && text.size() < 8 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Run run() {
    while (at_ < arguments_.size() && out_.error.empty()) {
      const std::string& argument = arguments_[at_++];
      if (argument == "--" && !program_.empty()) {  // what follows is the program's own
        rest_.insert(rest_.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(at_), arguments_.end());
        break;
      }
      if (argument.rfind("++", 0) == 0)
        plusPlus(argument);
      else if (isOwnPlus(argument))
        option(argument, argument.substr(1));
      else if (argument.rfind("+", 0) == 0)
        forRuntime(argument);
      else if (program_.empty() && (argument == "-h" || argument == "--help"))
        out_.help = true;
      else if (program_.empty() && argument == "--version")
        out_.version = true;
      else if (program_.empty())
        program_ = argument;
      else
        rest_.push_back(argument);
    }
    if (out_.error.empty() && !out_.help && !out_.version) assemble();
    return std::move(out_);
  }

 private:
  /// +p4, +p 4, +pe 4, +ppn 2, +n 2: with one plus these mean the same as with two.
  static bool isOwnPlus(const std::string& argument) {
    for (const char* name : {"+p", "+pe", "+ppn", "+n", "+np", "+quiet", "+verbose"})
      if (argument == name) return true;
    for (const char* name : {"+ppn", "+pe", "+p"}) {
      const std::string_view rest =
          std::string_view(argument).substr(std::min(argument.size(), std::string_view(name).size()));
      if (argument.rfind(name, 0) == 0 && isNumber(rest)) return true;
    }
    return false;
  }

  void plusPlus(const std::string& argument) { option(argument, argument.substr(2)); }

  void option(const std::string& written, std::string name) {
    std::string value;
    const Option* known = find(name);
    for (std::string_view prefix : {"ppn", "pe", "np", "p", "n"}) {  // ++p4
      if (known || name.rfind(prefix, 0) != 0 || !isNumber(std::string_view(name).substr(prefix.size()))) continue;
      value = name.substr(prefix.size());
      known = find(prefix);
    }
    if (!known) {
      const std::string near = nearest(name);
      out_.error = "unknown option " + written + (near.empty() ? "" : "; did you mean ++" + near + "?") +
                   "\n      charmrun ++help lists what there is; an option of the program goes behind --";
      return;
    }
    if (known->takesValue && value.empty()) {
      if (at_ == arguments_.size()) {
        out_.error = "the option " + written + " needs a value behind it";
        return;
      }
      value = arguments_[at_++];
    }
    apply(*known, written, value);
  }

  void number(std::string& field, const std::string& written, const std::string& value) {
    if (!isNumber(value) || value.find_first_not_of('0') == std::string::npos) {
      out_.error = "the option " + written + " needs a number greater than 0, found '" + value + "'";
      return;
    }
    if (!field.empty() && field != value) {
      out_.error = "the option " + written + " is given twice, with " + field + " and with " + value;
      return;
    }
    field = value;
  }

  void apply(const Option& option, const std::string& written, const std::string& value) {
    switch (option.meaning) {
      case Meaning::pes:
        return number(pes_, written, value);
      case Meaning::pesPerProcess:
        return number(perProcess_, written, value);
      case Meaning::processes:
        return number(processes_, written, value);
      case Meaning::timeLimit:
        return number(out_.timeout, written, value);
      case Meaning::verbose:
        out_.verbose = true;
        return;
      case Meaning::quiet:
        out_.quiet = true;
        return;
      case Meaning::help:
        out_.help = true;
        return;
      case Meaning::version:
        out_.version = true;
        return;
      case Meaning::ignored:
        out_.remarks.push_back(written + " has no effect on one host");
        return;
      case Meaning::network:
        out_.error =
            written + " is for several hosts, which are not supported yet\n      leave it out to run on this one";
        return;
      case Meaning::unsupported:
        out_.error = written + " is not supported yet";
        return;
    }
  }

  /// +LBDebug 1 and the like: in front of the program too they are the runtime's. How many values one takes is not
  /// known here; a value is what does not look like a program.
  void forRuntime(const std::string& argument) {
    if (!program_.empty()) return rest_.push_back(argument);  // beside its value, wherever that is
    runtime_.push_back(argument);
    while (at_ < arguments_.size() && isNumber(arguments_[at_])) runtime_.push_back(arguments_[at_++]);
    if (argument == "+balancer" && at_ + 1 < arguments_.size()) runtime_.push_back(arguments_[at_++]);
  }

  void assemble() {
    if (program_.empty()) {
      out_.error = "no program is named\n      write: charmrun +p4 ./program arguments";
      return;
    }
    layout();
    if (!out_.error.empty()) return;
    if (program_.find('/') == std::string::npos) program_ = "./" + program_;
    out_.argv.push_back(program_);
    if (!pes_.empty()) out_.argv.push_back("+p" + pes_);
    if (!perProcess_.empty()) out_.argv.insert(out_.argv.end(), {"+ppn", perProcess_});
    out_.argv.insert(out_.argv.end(), runtime_.begin(), runtime_.end());
    out_.argv.insert(out_.argv.end(), rest_.begin(), rest_.end());
  }

  /// PEs, processes and PEs a process: any two give the third.
  void layout() {
    if (processes_.empty()) return;
    const long n = std::stol(processes_);
    if (!perProcess_.empty() && !pes_.empty() && std::stol(perProcess_) * n != std::stol(pes_)) {
      out_.error = "++n " + processes_ + " times ++ppn " + perProcess_ + " is " +
                   std::to_string(n * std::stol(perProcess_)) + " PEs, but +p says " + pes_ +
                   "\n      leave one of the three out";
      return;
    }
    if (pes_.empty()) pes_ = std::to_string(n * (perProcess_.empty() ? 1 : std::stol(perProcess_)));
    if (!perProcess_.empty()) return;
    if (std::stol(pes_) % n != 0) {
      out_.error = "+p" + pes_ + " PEs cannot be shared evenly by ++n " + processes_ + " processes";
      return;
    }
    perProcess_ = std::to_string(std::stol(pes_) / n);
  }

  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;
  std::string program_;
  std::string pes_, perProcess_, processes_;
  std::vector<std::string> runtime_;  // the runtime's options from in front of the program
  std::vector<std::string> rest_;
  Run out_;
};

}  // namespace

Run parseCommandLine(const std::vector<std::string>& arguments) { return Reader(arguments).run(); }

std::string helpText() {
  return R"(charmrun: starts a Charm++ program

  charmrun +p4 ./program arguments          options may stand on either side of the program

  +p N, ++p N, +pe N    how many PEs in all
  ++ppn N, +ppn N       how many of them in each process; without it, all are in one
  ++n N, ++np N         how many processes
  ++timelimit S         ends the program after S seconds
  ++quiet, ++verbose    says less or more
  ++help                this page;  --version

Everything else that begins with one + is for the runtime (+balancer, +setcpuaffinity ...) and is handed on, as are all other
arguments behind the program. Behind -- all arguments are the program's. Options that only matter between hosts
(++remote-shell, ++timeout, ++local ...) are accepted without effect.
)";
}

}  // namespace periapt::charmrun
