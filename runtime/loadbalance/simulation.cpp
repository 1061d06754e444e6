// See simulation.h.
#include "runtime/loadbalance/simulation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/converse/cmi.h"
#include "runtime/loadbalance/options.h"
#include "runtime/loadbalance/outcome.h"
#include "runtime/loadbalance/records.h"

namespace periapt::loadbalance {

namespace {
// The machine with another number of PEs (+LBSimProcs). What was on those that are gone is on the others in turn, and
// has to go somewhere; new PEs are like the first one, and idle. Processes and hosts hold as many PEs as before.
void resize(LoadDatabase& database, int pes) {
  const std::size_t before = database.pes.size(), count = static_cast<std::size_t>(pes);
  if (before == 0 || before == count) return;
  const auto width = [&](std::int32_t PeLoad::*number) {
    const std::int32_t first = database.pes[0].*number;
    return static_cast<std::size_t>(
        std::count_if(database.pes.begin(), database.pes.end(), [&](const PeLoad& pe) { return pe.*number == first; }));
  };
  const std::size_t process = width(&PeLoad::process), host = width(&PeLoad::host);
  for (std::size_t pe = before; pe < count; ++pe) {
    PeLoad added = database.pes[0];
    added.idle = added.wall;
    added.background = 0;
    added.available = true;
    added.process = static_cast<std::int32_t>(pe / process);
    added.host = static_cast<std::int32_t>(pe / host);
    database.pes.push_back(added);
  }
  database.pes.resize(count);
  for (ObjectLoad& object : database.objects) object.pe %= pes;
  for (Communication& c : database.communication)
    if (c.to_pe >= 0) c.to_pe %= pes;
}

std::vector<Strategy> entrants() {
  std::vector<Strategy> all = options().sequence;
  if (all.empty())
    for (const StrategyInfo& info : strategies())
      if (!info.missing || info.missing().empty()) all.emplace_back(info);
  for (const Strategy& strategy : all)
    if (strategy.info->distributed)
      fatal("+LBSim cannot try " + std::string(strategy.info->classic), "the command line",
            "its members on the PEs decide by themselves, with messages", "name a balancer that is central");
  return all;
}

// +LBShowDecisions: PEs and moves in the first line; in each other one an element, its PE and its array.
void write_moves(const std::string& name, const LoadDatabase& database, const Assignment& assignment,
                 std::uint64_t moves) {
  std::ofstream file(name);
  file << database.pes.size() << ' ' << moves << '\n';
  for (std::size_t i = 0; i < assignment.size(); ++i)
    if (assignment[i] != database.objects[i].pe)
      file << database.objects[i].element << ' ' << assignment[i] << ' ' << database.objects[i].array << '\n';
  if (!file.flush())
    fatal(name + " cannot be written: " + std::strerror(errno), "+LBShowDecisions", "",
          "let +LBDumpFile name a folder that can be written to");
}

void try_all(const std::vector<Strategy>& strategies, const LoadDatabase& database, const std::string& file) {
  StepOutcomes outcomes{database.step, database.objects.size(), database.pes.size(), lower_bound(database), {}, {}};
  outcomes.rows.push_back(outcome_of(database, present(database), outcomes.bound, {}));
  outcomes.rows.back().strategy = "(as it was)";
  for (const Strategy& strategy : strategies) {
    Assignment assignment;
    const double begin = clock::seconds();
    const std::string wrong = strategy.answer(database, &assignment);
    const double seconds = clock::seconds() - begin;
    if (!wrong.empty()) fatal(std::string(strategy.info->classic) + " cannot be tried: " + wrong, file);
    Outcome outcome = outcome_of(database, assignment, outcomes.bound, {});
    outcome.strategy = strategy.info->classic;
    outcome.seconds = seconds;
    if (options().show_moves)
      write_moves(file + (strategies.size() == 1 ? "" : "." + outcome.strategy) + ".results", database, assignment,
                  outcome.migrations);
    outcomes.rows.push_back(std::move(outcome));
  }
  std::ostringstream text;
  print_table(text, outcomes);
  CmiPrintf("%s", text.str().c_str());
}
}  // namespace

void simulate() {
  const Options& o = options();
  const std::vector<Strategy> strategies = entrants();
  for (int step = o.simulated_first; step < o.simulated_first + o.simulated_steps; ++step) {
    const std::string file = o.dump_name(step);
    std::vector<LoadDatabase> databases;
    Complaint complaint;
    bool good = read_records(file, &databases, &complaint);
    if (good && databases.empty()) {
      complaint = {file + " holds no step", "", "", "a program run with +LBDump STEP writes such a file"};
      good = false;
    }
    if (!good) {
      if (complaint.where.empty()) complaint.where = "+LBSim, step " + std::to_string(step);
      fatal(complaint);
    }
    for (LoadDatabase& database : databases) {
      if (o.simulated_pes > 0) resize(database, o.simulated_pes);
      try_all(strategies, database, file);
    }
  }
}

}  // namespace periapt::loadbalance
