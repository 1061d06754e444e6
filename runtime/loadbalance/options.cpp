// See options.h.
#include "runtime/loadbalance/options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/fatal.h"
#include "base/log.h"
#include "runtime/converse/cmi.h"

namespace periapt::loadbalance {

namespace {
Options the_options;
std::optional<Strategy> linked;

[[noreturn]] void list_strategies() {
  std::printf("Strategies for +balancer:\n");
  for (const StrategyInfo& s : strategies()) {
    std::printf("  %-16s %s\n", s.classic, s.summary);
    if (const std::string missing = s.missing ? s.missing() : ""; !missing.empty())
      std::printf("    (cannot run here: %s)\n", missing.c_str());
    for (const StrategyOption& o : s.options) std::printf("    :%s=%g  %s\n", o.name, o.standard, o.meaning);
  }
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

const Strategy* Options::strategy(std::uint32_t step) const {
  if (off || sequence.empty()) return nullptr;
  return &sequence[std::min<std::size_t>(step - 1, sequence.size() - 1)];
}
bool Options::communication(std::uint32_t step) const {
  const Strategy* const chosen = strategy(step);
  return !off && (!record.empty() || (chosen && chosen->info->communication));
}

void set_default_strategy(const char* text) { linked = wanted(text, "linking with -balancer"); }

void take_options(char** argv) {
  Options& o = the_options;
  char* text;
  while (CmiGetArgString(argv, "+balancer", &text)) {
    if (std::string(text) == "help") list_strategies();
    o.sequence.push_back(wanted(text, "the command line"));
  }
  if (o.sequence.empty() && linked) o.sequence.push_back(*linked);
  if (CmiGetArgString(argv, "+LBRecord", &text)) o.record = text;
  if (CmiGetArgString(argv, "+LBModel", &text)) o.model = wanted_model(text);
  CmiGetArgInt(argv, "+LBDebug", &o.debug);
  o.explain = CmiGetArgFlag(argv, "+lb-explain");
  CmiGetArgInt(argv, "+LBCentPE", &o.center);
  if (o.center < 0) fatal("+LBCentPE " + std::to_string(o.center) + " is no PE", "the command line");
  o.off = CmiGetArgFlag(argv, "+LBOff");
  const bool no_background = CmiGetArgFlag(argv, "+LBNoBackground");
  o.object_only = CmiGetArgFlag(argv, "+LBObjOnly") || no_background;
  o.test_speed = CmiGetArgFlag(argv, "+LBTestPESpeed");
  // Asked for what always holds here: every element resumes after all have arrived; PEs count as equal unless tested.
  for (const char* name : {"+LBSyncResume", "+LBSameCpus", "+LBCommOff"}) CmiGetArgFlag(argv, name);
  for (const char* name : {"+LBCommOn", "+LBUseCpuTime", "+LBPrintSummary", "+LBShowDecisions", "+LBLoop", "+MetaLB"})
    if (CmiGetArgFlag(argv, name)) log::note(std::string(name) + " has no effect");
  double seconds;
  if (CmiGetArgDouble(argv, "+LBPeriod", &seconds)) log::note("+LBPeriod has no effect: balancing happens at AtSync");
  for (const char* name : {"+LBTopo", "+TreeLBFile", "+LBVersion", "+LBAlpha", "+LBBeta"})
    if (CmiGetArgString(argv, name, &text)) log::note(std::string(name) + " has no effect");
}

}  // namespace periapt::loadbalance
