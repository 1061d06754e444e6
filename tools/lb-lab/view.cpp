// See view.h.
#include "tools/lb-lab/view.h"

#include <algorithm>

#include "runtime/loadbalance/model.h"

namespace periapt::lab {

using namespace loadbalance;

namespace {
constexpr std::size_t bars_max = 200, flows_max = 32;

// By bar, of the PEs that it stands for: the fullest.
std::vector<double> bars(const std::vector<double>& loads) {
  std::vector<double> heights(std::min(bars_max, loads.size()));
  for (std::size_t pe = 0; pe < loads.size(); ++pe) {
    double& height = heights[pe * heights.size() / loads.size()];
    height = std::max(height, loads[pe]);
  }
  return heights;
}
}  // namespace

View view_of(const LoadDatabase& database, const std::string& strategy, const Assignment& assignment) {
  const Balance before = balance_of(database, present(database)), after = balance_of(database, assignment);
  const std::size_t pes = database.pes.size(), size = std::min(flows_max, pes);
  View view{database.step,
            strategy,
            database.objects.size(),
            pes,
            before.max,
            after.max,
            after.average,
            static_cast<std::uint64_t>(after.migrations),
            bars(pe_loads(database, present(database))),
            {},
            {}};
  view.after = bars(pe_loads(database, assignment));
  view.flows.assign(size, std::vector<std::uint64_t>(size));
  for (std::size_t i = 0; i < assignment.size(); ++i)
    if (const int from = database.objects[i].pe; from != assignment[i])
      ++view.flows[static_cast<std::size_t>(from) * size / pes][static_cast<std::size_t>(assignment[i]) * size / pes];
  return view;
}

}  // namespace periapt::lab
