// See policies.h.
#include "runtime/seeds/policies.h"

#include <algorithm>
#include <string>

#include "base/fatal.h"
#include "base/log.h"
#include "base/nearest.h"
#include "runtime/converse/cld.h"
#include "runtime/converse/cmi.h"
#include "runtime/scheduler/process.h"
#include "runtime/seeds/names.h"
#include "runtime/seeds/pool.h"

namespace periapt::seeds {

namespace {
enum class First : bool { here, by_chance };
struct Balancer {
  const char* name;
  First first;
  Pool::Make make;  // null: seeds wait nowhere
};
constexpr Balancer balancers[] = {
    {"rand", First::by_chance, nullptr},  // where nothing is said
    // Each in its file.
    {"neighbor", First::here, neighbor},
    {"spray", First::here, spray},
    {"workstealing", First::here, workstealing},
    {"none", First::here, nullptr},
};
const Balancer* chosen = &balancers[0];

void choose(const std::string& name, const char* where) {
  for (const Balancer& balancer : balancers)
    if (balancer.name == name) {
      chosen = &balancer;
      const bool stay = balancer.first == First::here && !balancer.make;
      return cld_strategy(balancer.name, stay ? SeedsStay::yes : SeedsStay::no);
    }
  fatal("there is no seed balancer called " + name, where, "", "did you mean " + nearest(name, names()) + "?");
}
}  // namespace

void take_option(char** argv) {
  char* text;
  while (CmiGetArgString(argv, "+seed-balancer", &text)) choose(text, "the command line");
}

void begin(Pe& pe) {
  if (!chosen->make || pe.process.pes() == 1) return;
  if (pe.ordering() && pe.ordering()->is_recorded()) {
    // Which PE is idle when depends on time.
    if (pe.index == 0)
      log::note(std::string("chares that are made without a PE go to one by chance, not by ") + chosen->name +
                ": a recording could not tell where they went");
    return;
  }
  pe.objects->seeds = std::make_shared<Pool>(pe, chosen->make);
}

int first_place(Pe& pe) {
  const bool stays = pe.objects->seeds || (chosen->first == First::here && !chosen->make);
  return stays || pe.process.pes() == 1 ? pe.index : by_chance(pe, pe.process.pes());
}

int by_chance(Pe& pe, int count) {
  pe.random_state = pe.random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((pe.random_state >> 33) % static_cast<unsigned>(count));
}

}  // namespace periapt::seeds

void CldDefaultStrategy(const char* name) { periapt::seeds::choose(name, "linking with -balance"); }
