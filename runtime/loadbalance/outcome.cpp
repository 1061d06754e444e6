// See outcome.h.
#include "runtime/loadbalance/outcome.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

namespace periapt::loadbalance {

Outcome outcome_of(const LoadDatabase& database, const Assignment& assignment, double bound,
                   std::optional<double> optimum) {
  Outcome outcome;
  const std::vector<double> loads = pe_loads(database, assignment);
  double average = 0, count = 0;
  for (std::size_t pe = 0; pe < loads.size(); ++pe) {
    outcome.max_load = std::max(outcome.max_load, loads[pe]);
    if (!database.pes[pe].available) continue;
    average += loads[pe];
    ++count;
  }
  average /= std::max(count, 1.0);
  outcome.ratio = average > 0 ? outcome.max_load / average : 1;
  for (std::size_t pe = 0; pe < loads.size(); ++pe)
    if (database.pes[pe].available) outcome.sigma += (loads[pe] - average) * (loads[pe] - average);
  outcome.sigma = std::sqrt(outcome.sigma / std::max(count, 1.0));
  if (bound > 0) outcome.above_bound = outcome.max_load / bound - 1;
  if (optimum && *optimum > 0) outcome.above_optimum = outcome.max_load / *optimum - 1;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i] == database.objects[i].pe) continue;
    ++outcome.migrations;
    outcome.bytes_moved += database.objects[i].bytes;
  }
  outcome.crossing = crossing_of(database, assignment);
  return outcome;
}

namespace {
unsigned long long whole(std::uint64_t number) { return number; }

template <class... Values>
void line(std::ostream& out, const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  out << text;
}
}  // namespace

void print_table(std::ostream& out, const StepOutcomes& step) {
  line(out, "step %u: %zu objects on %zu PEs; no assignment has less than %.4f s on the fullest PE", step.step,
       step.objects, step.pes, step.bound);
  if (step.optimum) line(out, ", and the best one has %.4f s", *step.optimum);
  line(out, "\n  %-28s %10s %8s %10s %8s %9s %12s %12s %14s %10s %9s\n", "", "max load s", "max/avg", "sigma s",
       "gap %", "migrated", "bytes moved", "messages", "bytes", "took ms", "memory MB");
  for (const Outcome& row : step.rows)
    line(out, "  %-28s %10.4f %8.3f %10.4g %8.2f %9llu %12llu %12llu %14llu %10.2f %9.1f\n", row.strategy.c_str(),
         row.max_load, row.ratio, row.sigma, 100 * row.above_optimum.value_or(row.above_bound), whole(row.migrations),
         whole(row.bytes_moved), whole(row.crossing.messages), whole(row.crossing.bytes), 1e3 * row.seconds,
         1e-6 * static_cast<double>(row.memory_bytes));
}

void print_csv(std::ostream& out, const std::vector<StepOutcomes>& steps) {
  out << "step,objects,pes,strategy,max_load_s,max_over_avg,sigma_s,above_bound,above_optimum,migrations,bytes_moved,"
         "cut_messages,cut_bytes,seconds,memory_bytes\n";
  for (const StepOutcomes& step : steps)
    for (const Outcome& row : step.rows) {
      line(out, "%u,%zu,%zu,\"%s\",%.9g,%.6g,%.9g,%.6g,", step.step, step.objects, step.pes, row.strategy.c_str(),
           row.max_load, row.ratio, row.sigma, row.above_bound);
      if (row.above_optimum) line(out, "%.6g", *row.above_optimum);
      line(out, ",%llu,%llu,%llu,%llu,%.6g,%llu\n", whole(row.migrations), whole(row.bytes_moved),
           whole(row.crossing.messages), whole(row.crossing.bytes), row.seconds, whole(row.memory_bytes));
    }
}

void print_json(std::ostream& out, const std::vector<StepOutcomes>& steps) {
  using nlohmann::json;
  json all = json::array();
  for (const StepOutcomes& step : steps) {
    json rows = json::array();
    for (const Outcome& row : step.rows) {
      rows.push_back({{"strategy", row.strategy},
                      {"max_load_s", row.max_load},
                      {"max_over_avg", row.ratio},
                      {"sigma_s", row.sigma},
                      {"above_bound", row.above_bound},
                      {"migrations", row.migrations},
                      {"bytes_moved", row.bytes_moved},
                      {"cut_messages", row.crossing.messages},
                      {"cut_bytes", row.crossing.bytes},
                      {"seconds", row.seconds},
                      {"memory_bytes", row.memory_bytes}});
      if (row.above_optimum) rows.back()["above_optimum"] = *row.above_optimum;
    }
    all.push_back({{"step", step.step},
                   {"objects", step.objects},
                   {"pes", step.pes},
                   {"lower_bound_s", step.bound},
                   {"strategies", rows}});
    if (step.optimum) all.back()["optimum_s"] = *step.optimum;
  }
  out << json{{"version", 1}, {"steps", all}}.dump(2) << '\n';
}

}  // namespace periapt::loadbalance
