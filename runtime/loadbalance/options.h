// What the command line says about balancing.
#pragma once
#include <string>
#include <vector>

#include "runtime/loadbalance/load_model.h"

namespace periapt {
class Pe;
}

namespace periapt::loadbalance {

struct Options {
  std::vector<Strategy> sequence;  // +balancer: one step each, the last one from then on
  std::vector<std::string> names;  // the same as it was written, until resolve() has made `sequence` of it
  std::string record;              // +LBRecord: a file that gets the database of each step, a line each
  std::optional<LoadModel> model;  // +LBModel: what loads strategies see; none: as measured
  std::string model_name;          // the same as it was written, until resolve() has made `model` of it
  // Intervals. +LBPredictorWindow: of +LBPredictor and LBTurnPredictorOn(), where nothing is said; +LBPredictorDelay:
  // before these are known a function of LBTurnPredictorOn() is not asked.
  int predictor_window = 20, predictor_delay = 10;
  int debug = 0;             // +LBDebug: 1 a line a step, 2 the load of each PE too
  bool explain = false;      // +lb-explain: what each step found, did, and why
  int center = 0;            // +LBCentPE: where strategies run
  bool off = false;          // +LBOff: nothing is measured or moved
  bool object_only = false;  // +LBObjOnly, +LBNoBackground: as if nothing else ran
  bool test_speed = false;   // +LBTestPESpeed: PEs are timed, not taken to be equal
  bool meta = false;         // +MetaLB: most AtSyncs go on at once; `sequence` is what a balancing chooses from
  LoadClock clock = LoadClock::wall;  // +LBUseCpuTime, +LBUseGpuTime: what loads are
  double period = -1;                 // +LBPeriod: seconds between balancings at any time; -1: at AtSync
  // +LBCommOn: in all steps; +LBCommOff: in none. Otherwise where the strategy of the step wants it.
  bool count_messages = false, never_count_messages = false;

  // Steps of +LBDump and +LBSim count from 0, as LBManager::step() does.
  std::string dump_file = "lbdata.dat";  // +LBDumpFile: a step is in the file of this name, a point and its number
  int dump_first = -1, dump_steps = 1;   // +LBDump: the first step that is written; -1: none. +LBDumpSteps
  int simulated_first = -1, simulated_steps = 1;  // +LBSim: the first step that is tried; -1: none. +LBSimSteps
  int simulated_pes = 0;                          // +LBSimProcs: 0: as many as were recorded
  bool show_moves = false;                        // +LBShowDecisions: +LBSim writes what moves where
  std::string dump_name(int step) const { return dump_file + "." + std::to_string(step); }
  bool dumps(std::uint32_t step) const { return dump_first >= 0 && static_cast<int>(step) > dump_first; }

  // A balancer of the command line is TreeLB, or one that Charm++ has as a level of it (GreedyLB ...).
  bool has_tree() const;
  // Whether CkStartLB() has something to begin: a balancing, an output of loads; or, with +LBOff, a step that does
  // nothing.
  bool can_begin(std::uint32_t step) const;
  // Null: AtSync is a barrier, or +MetaLB chooses from several.
  const Strategy* strategy(std::uint32_t step) const;
  // Whether messages between elements are recorded for that step.
  bool communication(std::uint32_t step) const;
  // Whether the sizes of objects are measured for it.
  bool sizes(std::uint32_t step) const;

 private:
  // Whether the strategy of a step wants that, or one that +MetaLB may choose; +LBRecord wants all.
  bool wants(bool StrategyInfo::*what, std::uint32_t step) const;
};
const Options& options();
// Removes the options from argv.
void take_options(char** argv);
// Once the program's initnode functions have registered its balancers. On every PE.
void resolve(const Pe& pe);
// What configureTreeLB() was given: in this process that takes the place of TreeLB from step `first` on. False: it does
// so already.
bool set_tree(const std::string& text, std::uint32_t first, const std::string& where);
// The balancer that the program has made itself is asked where +balancer names none. The first one stays; it lives
// until the end.
void set_made(const Strategy* strategy);
// A number of seconds, or -1 for none; everything else is refused. `what`: that is said to be wrong.
void check_period(double seconds, const std::string& what, const std::string& where);
// Called before there are PEs.
void set_first_period(double seconds);
// Where the command line names no balancer: the one that the program was linked with, as +balancer would name it.
void add_default_strategy(const char* text);

}  // namespace periapt::loadbalance
