// The command line.
#include "examples/jacobi3d/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr int blocks_a_pe = 2;
constexpr long most_cells = 2'000'000'000;  // of a block: nocopydevice arrays are counted by int

/// One number for all axes, or one for each.
void set(int (&to)[3], const std::vector<int>& given) {
  for (std::size_t axis = 0; axis < 3; ++axis) to[axis] = given.size() == 3 ? given[axis] : given[0];
}

/// Slabs along z, whose halos lie in one stretch of memory and need not be packed.
int slabs(int cells, int pes) {
  int count = std::min(cells, blocks_a_pe * pes);
  while (cells % count != 0) --count;
  return count;
}

}  // namespace

std::string wrongWith(const periapt::jacobi3d::Domain& domain) {
  for (int axis = 0; axis < 3; ++axis) {
    const int cells = domain.cells[axis], blocks = domain.blocks[axis];
    if (cells % blocks == 0) continue;
    return fmt::format("{} cells along {} cannot be cut into {} equal blocks: {} cells can (--size, --blocks)", cells,
                       "xyz"[axis], blocks, (cells + blocks - 1) / blocks * blocks);
  }
  if (const long cells = domain.shape().size(); cells > most_cells)
    return fmt::format("a block of {} cells is too large, {} is the most: more blocks (--blocks)", cells, most_cells);
  return "";
}

bool parseOptions(int argc, char** argv, int pes, Options& o, int& status) {
  CLI::App app{"Jacobi's iteration for Laplace's equation on a box of cells, by GPUs or processors.", "jacobi3d"};
  app.set_help_flag("-h,--help", "Show this and stop");
  app.option_defaults()->take_last();
  std::vector<int> size{128}, blocks;
  bool alone_only = false, processor = false, no_overlap = false;
  app.add_option("--size", size, "Cells in all: one number, or one for each of x, y, z")
      ->expected(1, 3)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--blocks", blocks, "Blocks along x, y, z (default: slabs along z, 2 a PE)")
      ->expected(1, 3)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", o.steps, "Steps that are timed")->check(CLI::Range(1, 100000000))->capture_default_str();
  app.add_option("--warm-up", o.warm_up, "Steps before them")->check(CLI::Range(0, 100000000))->capture_default_str();
  auto* no_overlap_flag = app.add_flag("--no-overlap", no_overlap, "Exchange all halos, then work on all cells");
  auto* alone_flag =
      app.add_flag("--compute-only", alone_only, "No exchange at all: a wrong result, and the least time possible")
          ->excludes(no_overlap_flag);
  app.add_flag("--compare", o.compare, "All three ways, one after another")->excludes(no_overlap_flag, alone_flag);
  app.add_option("--balance-every", o.balance_every, "Balance the load every so many steps; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--processor", processor, "Not on GPUs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = app.exit(e);
    return false;
  }
  std::string wrong;
  if (size.size() != 1 && size.size() != 3) {
    wrong = "--size takes one number, or three";
  } else if (!blocks.empty() && blocks.size() != 3) {
    wrong = "--blocks takes three numbers";
  } else {
    set(o.plan.domain.cells, size);
    if (blocks.empty()) blocks = {1, 1, slabs(o.plan.domain.cells[2], pes)};
    set(o.plan.domain.blocks, blocks);
    wrong = wrongWith(o.plan.domain);
  }
  if (!wrong.empty()) {
    fmt::print(stderr, "jacobi3d: {}\n", wrong);
    status = 1;
    return false;
  }
  o.plan.wants_gpu = !processor;
  o.plan.balances = o.balance_every > 0;
  o.way = alone_only ? alone : no_overlap ? apart : overlap;
  return true;
}
