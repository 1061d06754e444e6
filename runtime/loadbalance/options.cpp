// See options.h.
#include "runtime/loadbalance/options.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fatal.h"
#include "base/log.h"
#include "machine/bootstrap/resized_start.h"
#include "runtime/converse/cmi.h"
#include "runtime/loadbalance/classic/balancer_options.h"
#include "runtime/loadbalance/classic/balancers.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "runtime/loadbalance/tree_file.h"
#include "runtime/scheduler/process.h"

namespace periapt::loadbalance {

namespace {
Options the_options;
std::vector<std::string> linked;  // by charmc -balancer; each once, as they come

[[noreturn]] void list_strategies() {
  std::printf("Strategies for +balancer:\n");
  for (const StrategyInfo& s : strategies()) {
    std::printf("  %-16s %s\n", s.classic, s.summary);
    if (const std::string missing = s.missing ? s.missing() : ""; !missing.empty())
      std::printf("    (cannot run here: %s)\n", missing.c_str());
    for (const StrategyOption& o : s.options) std::printf("    :%s=%g  %s\n", o.name, o.standard, o.meaning);
  }
  for (const std::string& name : class_balancers()) std::printf("  %-16s a class of this program\n", name.c_str());
  std::printf("Options follow a colon, separated by commas: GreedyCommLB:tolerance=1.2,message_bytes=500.\n");
  std::printf("Several +balancer options are used one after the other, a step each.\n");
  std::printf("Load models for +LBModel: what strategies take an object's load to be until the next step.\n");
  for (const LoadModelInfo& m : load_models()) {
    std::printf("  %-16s %s\n", m.name, m.summary);
    for (const StrategyOption& o : m.options) std::printf("    :%s=%g  %s\n", o.name, o.standard, o.meaning);
  }
  std::exit(0);
}

LoadModel wanted_model(const std::string& text) {
  Complaint complaint;
  if (std::optional<LoadModel> model = read_load_model(text, &complaint)) return *model;
  complaint.where = "the command line";
  fatal(complaint);
}

Strategy wanted(const std::string& text, const char* where) {
  Complaint complaint;
  if (std::optional<Strategy> strategy = read_strategy(text, &complaint)) return *strategy;
  complaint.where = where;
  fatal(complaint);
}
}  // namespace

const Options& options() { return the_options; }

namespace {
bool is_tree(const Strategy& strategy) {
  static constexpr const char* names[] = {"TreeLB",     "GreedyLB", "GreedyRefineLB", "RefineLB",
                                          "RandCentLB", "RotateLB", "DummyLB"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](const char* name) { return name == std::string_view(strategy.info->classic); });
}
// As set_tree() has made it last; those before are kept, as another PE may still be asking one.
std::atomic<const Strategy*> the_tree{nullptr};
}  // namespace

bool Options::has_tree() const { return std::any_of(sequence.begin(), sequence.end(), is_tree); }

bool set_tree(const std::string& text, std::uint32_t first, const std::string& where) {
  static std::mutex one_at_a_time;
  static std::string last;
  static std::deque<std::pair<StrategyInfo, std::optional<Strategy>>> kept;
  const std::lock_guard lock(one_at_a_time);
  if (the_tree.load(std::memory_order_relaxed) && text == last) return false;
  Complaint complaint;
  std::optional<StrategyInfo> info = read_tree(text, "the text of configureTreeLB()", &complaint, first);
  if (!info) {
    complaint.where = where;
    fatal(complaint);
  }
  last = text;
  // Partner: the acquire of Options::strategy(), which reads what is made here.
  auto& [named, strategy] = kept.emplace_back(std::move(*info), std::nullopt);
  the_tree.store(&strategy.emplace(named), std::memory_order_release);
  return true;
}

namespace {
std::atomic<const Strategy*> the_made{nullptr};
}
void set_made(const Strategy* strategy) {
  const Strategy* none = nullptr;
  // Partner: the acquire of Options::strategy(), which reads what the balancer says of itself.
  the_made.compare_exchange_strong(none, strategy, std::memory_order_release, std::memory_order_relaxed);
}

const Strategy* Options::strategy(std::uint32_t step) const {
  if (off || (meta && sequence.size() > 1)) return nullptr;
  if (sequence.empty()) return the_made.load(std::memory_order_acquire);
  const Strategy& named = sequence[std::min<std::size_t>(step - 1, sequence.size() - 1)];
  const Strategy* const tree = the_tree.load(std::memory_order_acquire);
  return tree && is_tree(named) ? tree : &named;
}
bool Options::can_begin(std::uint32_t step) const {
  return off || debug > 0 || explain || !record.empty() || dump_first >= 0 || !sequence.empty() || strategy(step);
}
bool Options::wants(bool StrategyInfo::*what, std::uint32_t step) const {
  if (off) return false;
  if (meta && std::any_of(sequence.begin(), sequence.end(), [what](const Strategy& s) { return s.info->*what; }))
    return true;
  const Strategy* const chosen = strategy(step);
  return !record.empty() || dumps(step) || (chosen && chosen->info->*what);
}
bool Options::communication(std::uint32_t step) const {
  if (off || never_count_messages) return false;
  return count_messages || wants(&StrategyInfo::communication, step);
}
bool Options::sizes(std::uint32_t step) const { return wants(&StrategyInfo::sizes, step); }

namespace {
bool take_count(char** argv, const char* name, int least, int* value) {
  if (!CmiGetArgInt(argv, name, value)) return false;
  if (*value < least)
    fatal(std::string(name) + " " + std::to_string(*value) + " makes no sense", "the command line",
          "it is a number from " + std::to_string(least) + " on");
  return true;
}
void say_useless(bool given, const char* name, bool useful, const char* without) {
  if (given && !useful) log::note(std::string(name) + " has no effect without " + without);
}
// Recording of steps, and trying strategies on them, as Charm++ has it.
void take_files(char** argv) {
  Options& o = the_options;
  char* text;
  const bool file = CmiGetArgString(argv, "+LBDumpFile", &text);
  if (file) o.dump_file = text;
  if (CmiGetArgInt(argv, "+LBDump", &o.dump_first) && o.dump_first < 0) {
    log::note("+LBDump " + std::to_string(o.dump_first) + " is taken as 0, as Charm++ does: steps count from there");
    o.dump_first = 0;
  }
  const bool dump_steps = take_count(argv, "+LBDumpSteps", 1, &o.dump_steps);
  take_count(argv, "+LBSim", 0, &o.simulated_first);
  const bool sim_steps = take_count(argv, "+LBSimSteps", 1, &o.simulated_steps);
  const bool sim_pes = take_count(argv, "+LBSimProcs", 1, &o.simulated_pes);
  o.show_moves = CmiGetArgFlag(argv, "+LBShowDecisions");
  const bool dumps = o.dump_first >= 0, simulates = o.simulated_first >= 0;
  say_useless(file, "+LBDumpFile", dumps || simulates, "+LBDump STEP or +LBSim STEP");
  say_useless(dump_steps, "+LBDumpSteps", dumps, "+LBDump STEP");
  say_useless(sim_steps, "+LBSimSteps", simulates, "+LBSim STEP");
  say_useless(sim_pes, "+LBSimProcs", simulates, "+LBSim STEP");
  say_useless(o.show_moves, "+LBShowDecisions", simulates, "+LBSim STEP");
}
}  // namespace

namespace {
// The options of Charm++'s DistributedLB, as those of ours. Where its own stand behind the name, they hold.
void take_distributed(char** argv) {
  std::string options;
  for (const auto& [flag, option] :
       {std::pair{"+DistLBTargetRatio", "overload="}, {"+DistLBMaxPhases", "iterations="}}) {
    char* text;
    if (!CmiGetArgString(argv, flag, &text)) continue;
    options += (options.empty() ? ":" : ",") + std::string(option) + text;
  }
  if (options.empty()) return;
  bool used = false;
  for (std::string& name : the_options.names) {
    if (name != "DistributedLB") continue;
    name += options;
    used = true;
  }
  if (!used) log::note("+DistLBTargetRatio and +DistLBMaxPhases have no effect without +balancer DistributedLB");
}
}  // namespace

void check_period(double seconds, const std::string& what, const std::string& where) {
  if ((seconds > 0 && seconds < 1e9) || seconds == -1) return;
  fatal(what + " is no period of balancing", where,
        "it is a number of seconds from the end of one balancing to the next", "a few seconds are usual: +LBPeriod 5");
}
void set_first_period(double seconds) {
  check_period(seconds, "LBSetPeriod(" + std::to_string(seconds) + ")", "");
  the_options.period = seconds;
}

void add_default_strategy(const char* text) {
  if (std::find(linked.begin(), linked.end(), text) == linked.end()) linked.emplace_back(text);
}

namespace {
void read_names(const char* where) {
  for (const std::string& name : the_options.names) the_options.sequence.push_back(wanted(name, where));
  the_options.names.clear();
  if (!the_options.meta || the_options.sequence.size() < 2) return;
  for (const Strategy& strategy : the_options.sequence)
    if (strategy.info->distributed)
      fatal("+MetaLB cannot choose between " + std::string(strategy.info->classic) + " and other balancers", where,
            "its members decide by themselves, and what that would win is not known before",
            "name it alone, or leave +MetaLB away");
}
const char* where_from() { return linked.empty() ? "the command line" : "linking with -balancer"; }

// The same for balancers over the classes of Charm++, which ask for it themselves.
void tell_balancers(const Options& o) {
  _lb_args.debug() = o.debug;
  _lb_args.lbperiod() = o.period;
  _lb_args.ignoreBgLoad() = o.object_only;
  _lb_args.central_pe() = o.center;
  _lb_args.useCpuTime() = o.clock == LoadClock::processor;
  _lb_args.testPeSpeed() = o.test_speed;
  _lb_args.samePeSpeed() = !o.test_speed;
  _lb_args.traceComm() = !o.never_count_messages;
}

// One complaint, not one a process. A run that shrinks may lose that PE: PE 0 stands in then.
void check_center(const Process& process) {
  const int center = the_options.center, pes = process.pes();
  const bool shrunk = center >= pes && bootstrap::ResizedStart::current() != nullptr;
  if ((center >= 0 && center < pes) || shrunk || process.rank() != 0) return;
  const std::string what = "+LBCentPE " + std::to_string(center) + " is no PE of this run";
  const std::string hint = "leave it away for PE 0";
  if (pes == 1) fatal(what, "the command line", "the run has one PE, PE 0", hint);
  fatal(what, "the command line", "its " + std::to_string(pes) + " PEs are PE 0 to PE " + std::to_string(pes - 1),
        "name one of them, or " + hint);
}
}  // namespace

void resolve(const Pe& pe) {
  static std::once_flag once;
  std::call_once(once, [&pe] {
    check_center(pe.process);
    Complaint complaint;
    const std::vector<std::string>& names = the_options.names;
    const bool right = std::all_of(names.begin(), names.end(),
                                   [&](const std::string& name) { return read_strategy(name, &complaint); });
    if (right || pe.process.rank() == 0) read_names(where_from());  // one complaint, not one a process
    const std::string& model = the_options.model_name;
    if (!model.empty() && (read_load_model(model, &complaint) || pe.process.rank() == 0))
      the_options.model = wanted_model(model);
  });
}

namespace {
// Charm++'s own predictor of loads is a straight line, too.
void take_predictor(char** argv) {
  Options& o = the_options;
  take_count(argv, "+LBPredictorWindow", 2, &o.predictor_window);
  take_count(argv, "+LBPredictorDelay", 0, &o.predictor_delay);
  if (CmiGetArgFlag(argv, "+LBPredictor"))
    o.model_name = "trend:steps=" + std::to_string(std::min(o.predictor_window, 1000));
}
}  // namespace

void take_options(char** argv) {
  Options& o = the_options;
  char* text;
  if (argv[0] && argv[1] && std::string(argv[1]) == host_option && argv[2]) run_plugin_host(argv[2]);
  while (CmiGetArgString(argv, "+balancer", &text)) {
    if (std::string(text) == "help") list_strategies();
    o.names.push_back(text);
  }
  if (!o.names.empty()) linked.clear();
  o.names.insert(o.names.end(), linked.begin(), linked.end());
  take_distributed(argv);
  char* tree_file = nullptr;
  CmiGetArgString(argv, "+TreeLBFile", &tree_file);
  if (std::find(o.names.begin(), o.names.end(), "TreeLB") != o.names.end()) take_tree_file(tree_file);
  o.meta = CmiGetArgFlag(argv, "+MetaLB");
  if (o.meta && o.names.empty()) log::note("+MetaLB has no effect without +balancer NAME");
  if (class_balancers().empty()) read_names(where_from());
  if (CmiGetArgString(argv, "+LBRecord", &text)) o.record = text;
  take_files(argv);
  take_predictor(argv);
  if (CmiGetArgString(argv, "+LBModel", &text)) o.model_name = text;
  take_count(argv, "+LBDebug", 0, &o.debug);
  if (CmiGetArgFlag(argv, "+LBPrintSummary")) {
    _lb_args.printSummary() = true;
    o.debug = std::max(o.debug, 1);
  }
  CmiGetArgDouble(argv, "+LBAlpha", &_lb_args.alpha());
  CmiGetArgDouble(argv, "+LBBeta", &_lb_args.beta());
  o.explain = CmiGetArgFlag(argv, "+lb-explain");
  CmiGetArgInt(argv, "+LBCentPE", &o.center);  // check_center() refuses what is no PE of the run
  o.off = CmiGetArgFlag(argv, "+LBOff");
  const bool no_background = CmiGetArgFlag(argv, "+LBNoBackground");
  o.object_only = CmiGetArgFlag(argv, "+LBObjOnly") || no_background;
  const bool processor_time = CmiGetArgFlag(argv, "+LBUseCpuTime");
  const bool gpu_time = CmiGetArgFlag(argv, "+LBUseGpuTime");
  if (processor_time && gpu_time)
    fatal("+LBUseCpuTime and +LBUseGpuTime are both given", "the command line", "loads are one of them",
          "leave one away; VectorLB balances seconds of PEs and of GPUs together");
  o.clock = processor_time ? LoadClock::processor : gpu_time ? LoadClock::gpu : LoadClock::wall;
  o.test_speed = CmiGetArgFlag(argv, "+LBTestPESpeed");
  o.count_messages = CmiGetArgFlag(argv, "+LBCommOn");
  o.never_count_messages = CmiGetArgFlag(argv, "+LBCommOff");
  if (CmiGetArgDouble(argv, "+LBPeriod", &o.period)) {
    char period[32];
    std::snprintf(period, sizeof period, "+LBPeriod %g", o.period);
    check_period(o.period > 0 ? o.period : 0, period, "the command line");
    // (The program may make one of its classes.)
    if (o.names.empty() && o.sequence.empty() && class_balancers().empty())
      log::note("+LBPeriod moves nothing without +balancer NAME");
  }
  tell_balancers(o);
  // Asked for what always holds here: every element resumes after all have arrived; PEs count as equal unless tested.
  for (const char* name : {"+LBSyncResume", "+LBSameCpus"}) CmiGetArgFlag(argv, name);
  if (CmiGetArgFlag(argv, "+LBLoop")) log::note("+LBLoop has no effect");
  for (const char* name : {"+LBTopo", "+LBVersion", "+MetaLBModelDir", "+MetaLBNoObjTimer"})
    if (CmiGetArgString(argv, name, &text)) log::note(std::string(name) + " has no effect");
}

}  // namespace periapt::loadbalance
