// The two balancers of docs/first-balancer.md that are plug-ins. FOLDER has them, HOST can be the process of a library,
// PYTHON has NumPy or is empty.
#include <cstdlib>

#include "runtime/loadbalance/plugin/plugin.h"
#include "tests/loadbalance/conformance.h"

namespace periapt::loadbalance {
const std::vector<const StrategyInfo*>& tested_strategies() {
  static const std::vector<const StrategyInfo*> all = [] {
    host_program = HOST;
    ::setenv("PERIAPT_PYTHON", PYTHON, 1);
    std::vector<std::string> files = {FOLDER "/mine.so"};
    if (PYTHON[0] != 0) files.push_back(FOLDER "/mine.py");
    std::vector<const StrategyInfo*> list;
    for (const std::string& file : files) {
      Complaint complaint;
      const StrategyInfo* const info = add_plugin(file, &complaint);
      if (!info) fatal(complaint);
      list.push_back(info);
    }
    return list;
  }();
  return all;
}
}  // namespace periapt::loadbalance
