#include "tools/charmrun/command_line.h"

#include <algorithm>
#include <string_view>

#include "base/nearest.h"

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
  ignored,    // means nothing here
  passedOn,   // is the program's
  window,     // of a terminal: said to be without effect
  provision,  // is the program's on one host
  nodelist,   // these begin runs over several hosts
  group,
  hostsAtMost,
  remoteShell,  // and these say how
  atOnce,
  timeout,
  perHost,
  tree,
  slurm,
  recover,
  local,
  runscript,
  mpiexec,
  mpiexecNoN,
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
    {"local", false, Meaning::local},
    {"timeout", true, Meaning::timeout},
    {"remote-shell", true, Meaning::remoteShell},
    {"maxssh", true, Meaning::atOnce},
    {"maxrsh", true, Meaning::atOnce},
    {"batch", true, Meaning::atOnce},
    {"scalable-start", false, Meaning::ignored},
    {"hierarchical-start", false, Meaning::tree},
    {"slurm", false, Meaning::slurm},
    {"recover", false, Meaning::recover},
    {"useip", true, Meaning::ignored},
    {"usehostname", false, Meaning::ignored},
    {"charmrun_port", true, Meaning::ignored},
    {"interactive", false, Meaning::ignored},
    {"auto-provision", false, Meaning::provision},
    {"autoProvision", false, Meaning::provision},
    {"oneWthPerHost", false, Meaning::provision},
    {"oneWthPerCore", false, Meaning::provision},
    {"oneWthPerPU", false, Meaning::provision},
    {"ipcpoolsize", true, Meaning::ignored},
    {"ipccutoff", true, Meaning::ignored},
    {"skipmaster", false, Meaning::ignored},
    {"va-randomization", false, Meaning::ignored},
    {"no-xrdb", false, Meaning::ignored},
    {"runscript", true, Meaning::runscript},
    {"server", false, Meaning::passedOn},
    {"server-port", true, Meaning::passedOn},
    {"server-address", true, Meaning::passedOn},
    {"server-open", false, Meaning::passedOn},
    {"server-auth", true, Meaning::passedOn},
    {"debug", false, Meaning::unsupported},
    {"debug-no-pause", false, Meaning::unsupported},
    {"debug-no-xrdb", false, Meaning::unsupported},
    {"debug-commands", true, Meaning::unsupported},
    {"debugger", true, Meaning::unsupported},
    {"xterm", true, Meaning::window},
    {"in-xterm", false, Meaning::window},
    {"display", true, Meaning::window},
    {"ssh-display", false, Meaning::window},
    {"shrinkexpand", false, Meaning::passedOn},
    {"newp", true, Meaning::unsupported},
    {"oldp", true, Meaning::unsupported},
    {"processPerHost", true, Meaning::perHost},
    {"processPerSocket", true, Meaning::unsupported},
    {"processPerCore", true, Meaning::unsupported},
    {"processPerPU", true, Meaning::unsupported},
    {"oneWthPerSocket", false, Meaning::unsupported},
    {"nodelist", true, Meaning::nodelist},
    {"nodegroup", true, Meaning::group},
    {"numHosts", true, Meaning::hostsAtMost},
    {"mpiexec", false, Meaning::mpiexec},
    {"mpiexec-no-n", false, Meaning::mpiexecNoN},
};

const Option* find(std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

/// Empty when none looks like it.
std::string nearestOption(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : options) known.push_back(option.name);
  return nearest(name, known, 2 + name.size() / 3);
}

bool isNumber(std::string_view text) {
  return !text.empty() && text.size() < 8 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class CommandLineParser {
 public:
  explicit CommandLineParser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

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
    if (!known && name.rfind("no-", 0) == 0)
      if (const Option* flag = find(std::string_view(name).substr(3)); flag && !flag->takesValue)
        return apply(*flag, written, {}, false);
    if (!known) {
      const std::string near = nearestOption(name);
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

  /// The field of an option that is a number; null of another.
  std::string* numberOf(Meaning meaning) {
    switch (meaning) {
      case Meaning::pes:
        return &out_.pes;
      case Meaning::pesPerProcess:
        return &out_.pes_a_process;
      case Meaning::processes:
        return &out_.processes;
      case Meaning::timeLimit:
        return &out_.time_limit;
      case Meaning::hostsAtMost:
        return &out_.hosts.hosts_at_most;
      case Meaning::atOnce:
        return &out_.hosts.at_once;
      case Meaning::timeout:
        return &out_.hosts.timeout;
      case Meaning::perHost:
        return &out_.hosts.per_host;
      default:
        return nullptr;
    }
  }

  /// The field of an option that is a text; null of another.
  std::string* textOf(Meaning meaning) {
    switch (meaning) {
      case Meaning::nodelist:
        return &out_.hosts.nodelist;
      case Meaning::group:
        return &out_.hosts.group;
      case Meaning::remoteShell:
        return &out_.hosts.shell;
      case Meaning::runscript:
        return &out_.runscript;
      default:
        return nullptr;
    }
  }

  /// The field of an option that ++no-FLAG takes back; null of another.
  bool* flagOf(Meaning meaning) {
    switch (meaning) {
      case Meaning::verbose:
        return &out_.verbose;
      case Meaning::quiet:
        return &out_.quiet;
      case Meaning::tree:
        return &out_.hosts.tree;
      case Meaning::slurm:
        return &out_.hosts.slurm;
      case Meaning::recover:
        return &out_.hosts.recovers;
      case Meaning::local:
        return &local_;
      default:
        return nullptr;
    }
  }

  /// `given`: false of ++no-FLAG, after which it is as if the flag had not been given so far.
  void apply(const Option& option, const std::string& written, const std::string& value, bool given = true) {
    const Meaning meaning = option.meaning;
    if (meaning == Meaning::nodelist || meaning == Meaning::group || meaning == Meaning::hostsAtMost)
      out_.hosts.wanted = true;
    if (std::string* field = numberOf(meaning)) return number(*field, written, value);
    if (std::string* field = textOf(meaning)) {
      *field = value;
    } else if (bool* flag = flagOf(meaning)) {
      *flag = given;
    } else if (meaning == Meaning::passedOn) {
      passOn(option, written, value, given);
    } else if (meaning == Meaning::provision) {
      provision_ = given ? written : "";
    } else if (meaning == Meaning::mpiexec) {
      out_.mpiexec = given;
      out_.mpiexec_no_n &= given;
    } else if (meaning == Meaning::mpiexecNoN) {
      out_.mpiexec |= given;
      out_.mpiexec_no_n = given;
    } else if (!given || meaning == Meaning::ignored) {
      out_.remarks.push_back(written + " has no effect");
    } else if (meaning == Meaning::help) {
      out_.help = true;
    } else if (meaning == Meaning::version) {
      out_.version = true;
    } else if (meaning == Meaning::window) {
      out_.notes.push_back(written + ": no windows are opened, the output of all processes comes here");
    } else {
      out_.error = written + " is not supported yet";
    }
  }

  void passOn(const Option& option, const std::string& written, const std::string& value, bool given) {
    if (!given) {
      runtime_.erase(std::remove(runtime_.begin(), runtime_.end(), "++" + std::string(option.name)), runtime_.end());
      return;
    }
    runtime_.push_back(written);
    if (option.takesValue) runtime_.push_back(value);
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
    out_.hosts.wanted |= out_.hosts.slurm;
    if (local_ && out_.hosts.wanted) out_.remarks.push_back("++local: the nodelist is not used");
    out_.hosts.wanted = out_.hosts.wanted && !local_;
    out_.hosts.one = local_;
    if (out_.hosts.wanted && out_.mpiexec) {
      out_.error =
          "++mpiexec and ++nodelist exclude each other\n      the hosts of a run under mpiexec are mpiexec's: its own "
          "options name them";
      return;
    }
    if (out_.hosts.slurm && !out_.hosts.nodelist.empty()) {
      out_.error = "++slurm and ++nodelist exclude each other: with ++slurm the hosts are those of the allocation";
      return;
    }
    if (!out_.hosts.wanted) hintUnused();
    if (!provision_.empty() && out_.hosts.wanted)
      out_.notes.push_back(provision_ + " has no effect with ++nodelist: +p N says how many PEs there are in all");
    else if (!provision_.empty())
      runtime_.push_back(provision_.substr(1));  // as the program has it
    if (program_.find('/') == std::string::npos) program_ = "./" + program_;
    out_.argv.push_back(program_);
    out_.argv.insert(out_.argv.end(), runtime_.begin(), runtime_.end());
    out_.argv.insert(out_.argv.end(), rest_.begin(), rest_.end());
    if (!out_.hosts.wanted) layout();
  }

  void hintUnused() {
    const HostRequest& hosts = out_.hosts;
    if (!hosts.shell.empty() && !out_.mpiexec)
      out_.remarks.push_back("++remote-shell has no effect without ++nodelist");
    if (!hosts.timeout.empty()) out_.remarks.push_back("++timeout has no effect without ++nodelist");
    if (!hosts.at_once.empty()) out_.remarks.push_back("++batch has no effect without ++nodelist");
    if (hosts.tree) out_.remarks.push_back("++hierarchical-start has no effect without ++nodelist");
    if (!hosts.per_host.empty() && out_.processes.empty()) out_.processes = hosts.per_host;  // one host
  }

  /// PEs, processes and PEs a process: any two give the third.
  void layout() {
    const std::string &pes = out_.pes, &perProcess = out_.pes_a_process, &processes = out_.processes;
    const long p = pes.empty() ? 0 : std::stol(pes), m = perProcess.empty() ? 0 : std::stol(perProcess);
    if (processes.empty()) return add_layout(out_, p, m);
    const long n = std::stol(processes);
    if (m > 0 && p > 0 && m * n != p) {
      out_.error = "++n " + processes + " times ++ppn " + perProcess + " is " + std::to_string(n * m) +
                   " PEs, but +p says " + pes + "\n      leave one of the three out";
      return;
    }
    const long all = p > 0 ? p : n * std::max(m, 1L);
    if (all % n != 0) {
      out_.error = "+p" + pes + " PEs cannot be shared evenly by ++n " + processes + " processes";
      return;
    }
    add_layout(out_, all, all / n);
  }

  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;
  std::string program_;
  bool local_ = false;
  std::string provision_;
  std::vector<std::string> runtime_;  // the runtime's options from in front of the program
  std::vector<std::string> rest_;
  Run out_;
};

}  // namespace

Run parseCommandLine(const std::vector<std::string>& arguments) { return CommandLineParser(arguments).run(); }

void add_layout(Run& run, long pes, long pes_a_process) {
  std::vector<std::string> options;
  if (pes > 0) options.push_back("+p" + std::to_string(pes));
  if (pes_a_process > 0) options.insert(options.end(), {"+ppn", std::to_string(pes_a_process)});
  run.argv.insert(run.argv.begin() + 1, options.begin(), options.end());
}

std::string helpText() {
  return R"(charmrun: starts a Charm++ program

  charmrun +p4 ./program arguments          options may stand on either side of the program

  +p N, ++p N, +pe N    how many PEs in all
  ++ppn N, +ppn N       how many of them in each process; without it, all are in one
  ++n N, ++np N         how many processes
  ++timelimit S         ends the program after S seconds
  ++runscript SCRIPT    starts SCRIPT ./program arguments instead of the program
  ++quiet, ++verbose    says less or more
  ++help                this page;  --version

Several hosts:
  ++nodelist FILE       the hosts: lines "host NAME" (docs/launching.md has the whole format); without FILE's option but with
                        ++nodegroup or ++numHosts: $NODELIST, ./nodelist or ~/.nodelist
  ++nodegroup NAME      the group of hosts in it (main)
  ++numHosts N          only the first N of them
  ++processPerHost N    N processes on each; without it and ++n, one on each
  ++remote-shell CMD    how to reach a host ($CONV_RSH; ssh)
  ++timeout S           until a host has to answer (60)
  ++batch N, ++maxssh N so many hosts are being reached at a time (64)
  ++hierarchical-start  hosts start further hosts; for hundreds
  ++slurm               the hosts of the allocation that charmrun runs in (salloc, sbatch), reached by srun
  ++recover             when a host is lost, or a process is killed, the run goes on without that host from its last
                        checkpoint on disk
  ++local               no nodelist: this host only
  ++mpiexec             starts the program under mpiexec (++remote-shell names another such command);
                        ++mpiexec-no-n: without giving it the number of processes

Everything else that begins with one + is for the runtime (+balancer, +setcpuaffinity ...) and is handed on, as are all other
arguments behind the program. Behind -- all arguments are the program's.
)";
}

}  // namespace periapt::charmrun
