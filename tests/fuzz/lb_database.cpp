// Recorded steps of load balancing, as lb-lab reads them: what is taken is whole, and every strategy can be asked of
// it.
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  using namespace loadbalance;
  LoadDatabase database;
  std::string error;
  if (!from_json(input.text(), &database, &error)) return expect(!error.empty(), "a failure says why");
  const std::string text = to_json(database);
  LoadDatabase again;
  expect(from_json(text, &again, &error) && to_json(again) == text, "what was read can be written and read again");
  if (database.pes.size() > 1000 || database.objects.size() > 1000) return;
  crossing_of(database, present(database));
  for (const StrategyInfo& info : strategies()) {
    const Assignment assignment = Strategy(info).solve(database);
    expect(check_assignment(database, assignment).empty() || !check_assignment(database, present(database)).empty(),
           "an assignment can be carried out");
  }
}

}  // namespace periapt::fuzz
