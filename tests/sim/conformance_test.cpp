// The simulated transport passes the suite: on a network without faults and on bad ones. The name of a failing test has
// the seed: the same seed fails in the same way.
#include "tests/machine/conformance.h"

#include "machine/sim/transport.h"

namespace periapt::conformance {
namespace {
Subject simulated(const std::string& options) {
  Subject subject;
  subject.factory = &sim::factory;
  subject.options = {{"sim", options}};
  subject.outlives_peer = false;  // its own tests kill workers
  return subject;
}
std::vector<Subject> bad_networks() {
  std::vector<Subject> all;
  for (int seed = 1; seed <= 6; ++seed)
    all.push_back(
        simulated("loss=0.15,delay=5us,dup=0.1,reorder=0.3,no-resource=0.2,rto=30us,seed=" + std::to_string(seed)));
  return all;
}
}  // namespace

INSTANTIATE_TEST_SUITE_P(Sim, Conformance, testing::Values(simulated("")));
INSTANTIATE_TEST_SUITE_P(SimTorus, Conformance, testing::Values(simulated("topology=torus:4x4,delay=2us,seed=3")));
INSTANTIATE_TEST_SUITE_P(SimBad, Conformance, testing::ValuesIn(bad_networks()), [](const auto& info) {
  return "Seed" + info.param.options.at("sim").substr(info.param.options.at("sim").rfind('=') + 1);
});

}  // namespace periapt::conformance
