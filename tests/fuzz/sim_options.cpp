// The description of a simulated machine (+sim), topology included.
#include "machine/sim/options.h"
#include "machine/sim/topology.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  Result<sim::Options> options = sim::parse_options(input.text());
  if (!options) return expect(!options.message().empty(), "a failure says why");
  expect(options->nodes >= 1 && options->ppn >= 1, "there is a PE");
  auto topology = sim::Topology::parse(options->topology, options->nodes);
  expect(topology.ok(), "a topology that was read can be made");
  expect((*topology)->nodes() >= options->nodes, "there is room for the nodes");
  // Ways to and fro between the ends and the middle.
  for (int to : {0, options->nodes / 2, options->nodes - 1}) {
    std::vector<sim::LinkId> path;
    (*topology)->route(0, to, path);
    (*topology)->route(to, 0, path);
    for (sim::LinkId link : path) {
      expect(link >= 0 && link < (*topology)->links(), "a way uses links that are there");
      expect(!(*topology)->name_of(link).empty(), "a link has a name");
    }
    static_cast<void>((*topology)->coordinates(to));
  }
  expect(!sim::in_words(options->costs.L).empty(), "times can be said");
}

}  // namespace periapt::fuzz
