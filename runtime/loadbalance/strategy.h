// A strategy: a function from a load database and the values of its options to an assignment, and nothing else. No
// state, no runtime, no clock; chance comes from the step's number. Where PEs can decide for themselves it has a second
// function, for one PE's part in that (member.h). A new one is a .cpp in strategies/, which describes
// it in a StrategyInfo, and one line in strategies/list.inc.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fatal.h"
#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/member.h"

namespace periapt::loadbalance {

// An option of a strategy is a number: the tolerance of +balancer GreedyRefine:tolerance=1.05.
struct StrategyOption {
  const char* name;
  double standard;     // its value where nothing else is said
  double least, most;  // which values are taken
  const char* meaning;
};

// The values of one strategy's options.
class StrategyOptions {
 public:
  StrategyOptions() = default;
  explicit StrategyOptions(const std::vector<StrategyOption>& options);
  // The strategy names its own options only.
  double operator[](std::string_view name) const;
  double& operator[](std::string_view name);

 private:
  std::vector<std::pair<std::string_view, double>> values_;
};

// What has options that a person writes behind a colon.
struct OptionOwner {
  const char* kind;     // "balancer"
  const char* title;    // as messages name it: "GreedyRefineLB"
  const char* example;  // as it is written: "GreedyRefine"
  const std::vector<StrategyOption>& options;
};
// Reads "NAME:option=value,..." into *values. False, and a complaint, when something is wrong with it.
bool read_options(const std::string& text, const OptionOwner& owner, StrategyOptions& values, Complaint* complaint);

// A plain function, but for balancers that come with the program or as plug-ins.
using Solve = std::function<Assignment(const LoadDatabase&, const StrategyOptions&)>;

struct StrategyInfo {
  const char* name;     // "GreedyRefine"
  const char* classic;  // "GreedyRefineLB", as programs written for Charm++ ask for it
  const char* summary;
  Solve solve;
  // Set where PEs can decide for themselves, too: makes one PE's part in a step. In a run whose PEs are all available
  // the members come to what solve() says of their loads together.
  std::function<std::unique_ptr<Member>(const StrategyOptions&, Seat)> member = {};
  std::vector<StrategyOption> options = {};
  bool communication = false;  // wants LoadDatabase::communication, which is recorded for this strategy alone
  bool sizes = false;          // wants ObjectLoad::bytes, for which each object is packed to be measured
  bool positions = false;      // wants LoadDatabase::positions, which objects say
  bool phases = false;         // makes each of LoadDatabase::phases even, and not their sum; or looks at no load
  // Why it cannot run on this machine; empty when it can. Null: it runs everywhere.
  std::string (*missing)() = nullptr;
  // --- of balancers written for Charm++ (runtime/loadbalance/classic) ---
  std::function<bool(std::uint32_t step)> wants = {};  // null: it decides at every step
  int group = 0;                                       // its members on the PEs; 0: it has none
  bool distributed = false;                            // they agree by messages, and solve() is not called
  std::function<const char*()> own_name = {};          // of one that the program has made: what it calls itself now

  // For lines about a step.
  const char* title() const { return own_name ? own_name() : classic; }
};

// A strategy with values for its options.
struct Strategy {
  explicit Strategy(const StrategyInfo& info) : info(&info), options(info.options) {}
  Assignment solve(const LoadDatabase& database) const { return info->solve(database, options); }
  // The same between two looks: at the database, and at what came out. Empty: *assignment can be carried out.
  // Otherwise, what is wrong, and *assignment is to leave all where it is.
  std::string answer(const LoadDatabase& database, Assignment* assignment) const;

  const StrategyInfo* info;
  StrategyOptions options;
};

// In the order of list.inc.
const std::vector<StrategyInfo>& strategies();
// One that is not in that list, for this process. Its name must be new.
const StrategyInfo* add_strategy(StrategyInfo info);
// The same text, as long as the process lives.
const char* keep_text(const std::string& text);
// By either name; null when there is none.
const StrategyInfo* find_strategy(std::string_view name);
// What a person writes, "GreedyRefine:tolerance=1.05" with commas between several options; or what is wrong with it, in
// *complaint, whose `where` is left to the caller.
std::optional<Strategy> read_strategy(const std::string& text, Complaint* complaint);

}  // namespace periapt::loadbalance
