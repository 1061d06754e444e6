// The N-body program without chares: one thread, one address space. A reference for results and for time, and the
// shortest way to see how the parts fit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "examples/nbody/density.h"
#include "examples/nbody/files.h"
#include "examples/nbody/options.h"
#include "examples/nbody/serial.h"

namespace {

using namespace periapt::nbody;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run(Options options) {
  Snapshot start = startOf(options);
  std::vector<Particle>& particles = start.particles;
  const SerialOptions serial{std::max(1, options.pieces)};
  const Stepping stepping{options.eta, options.bigStep};
  const Cosmology& cosmology = options.cosmology;
  const double view = options.period > 0 ? options.period / 2 : viewOf(particles);
  double time = options.comoving ? cosmology.timeAt(start.time) : start.time;
  double a = options.comoving ? start.time : 1;

  const auto write = [&](int step) {
    if (options.frames > 0 && step % options.frames == 0) {
      DensityMap map(options.pixels, {}, view);
      map.add(particles);
      writePng(fmt::format("{}.{:06}.png", options.out, step), map.image());
    }
    if (options.snapshots > 0 && step % options.snapshots == 0) {
      writeTipsy(fmt::format("{}.{:06}.tipsy", options.out, step), snapshotOf(particles, a, time, options.comoving));
    }
  };

  const double began = seconds();
  evaluateGravity(particles, options.gravityAt(a), 0, serial);
  int deepest = chooseRungs(particles, stepping, a, 0);
  const Totals first = totalsOf(particles, a);
  EnergyAccount account(first, a);
  fmt::print("{} particles, {} kernels; first forces in {:.3f} s; energy {:.6g}\n", particles.size(), kernels().name,
             seconds() - began, first.energy());
  fmt::print("step  {}  substeps  rung  forces/particle  Gpair/s   energy drift  |momentum|  seconds\n",
             options.comoving ? "   a   " : "  time ");
  write(0);
  for (int step = 1; step <= options.steps; ++step) {
    const double from = seconds();
    BlockStep block(cosmology, stepping, time, deepest);
    Work work;
    double forces = 0;
    int substeps = 0, lowest = deepest;
    while (!block.isDone()) {
      kick(particles, block.openKick(), block.rung());
      drift(particles, block.advance(), options.period);
      a = block.expansion();
      const int rung = block.rung();
      for (const Particle& p : particles) forces += p.rung >= rung;
      work += evaluateGravity(particles, options.gravityAt(a), rung, serial);
      kick(particles, block.closeKick(), rung);
      deepest = chooseRungs(particles, stepping, a, rung);
      lowest = std::max(lowest, deepest);
      block.next(deepest);
      if (options.comoving) account.pass(totalsOf(particles, a).kinetic, a);
      ++substeps;
    }
    time = block.time();
    const Totals now = totalsOf(particles, a);
    const double took = seconds() - from;
    fmt::print("{:4}  {:7.4f}  {:8}  {:4}  {:15.2f}  {:7.3f}  {:13.3e}  {:10.2e}  {:7.2f}\n", step,
               options.comoving ? a : time, substeps, lowest, forces / particles.size(),
               1e-9 * work.particlePairs / took, account.drift(now, a), norm(now.momentum), took);
    std::fflush(stdout);
    write(step);
  }
  fmt::print("{:.2f} s in all\n", seconds() - began);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int exitCode = 0;
  if (!parseOptions(argc, argv, "nbody_serial", options, exitCode)) return exitCode;
  if (options.gpu || options.gpusOnHost || options.timeForces > 0 || options.evaluations || options.domains) {
    fmt::print(stderr, "nbody_serial: --gpu, --time-forces, --evaluations and --domains are nbody's\n");
    return 1;
  }
  try {
    run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "nbody_serial: {}\n", e.what());
    return 1;
  }
}
