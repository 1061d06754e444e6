// The command line, and starts.
#include "examples/nbody/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "examples/nbody/initial.h"

namespace periapt::nbody {

Gravity Options::gravityAt(double a) const {
  Gravity gravity;
  gravity.theta = !comoving || a > 1 / 3. ? theta2 : theta;
  gravity.periodic = period > 0;
  gravity.period = period > 0 ? period : 1;
  gravity.bucket = bucket;
  return gravity;
}

bool parseOptions(int argc, char** argv, const char* name, Options& o, int& exitCode) {
  CLI::App app{"Gravity of many bodies by a Barnes-Hut tree, in steps of their own length.", name};
  app.set_help_flag("-h,--help", "Show this and stop");
  app.option_defaults()->take_last();  // so that a script's options can be followed by the user's
  bool isolated = false;
  auto* tipsy = app.add_option("--tipsy", o.tipsy, "Start from this Tipsy file");
  app.add_option("--ic", o.ic,
                 "Or make a start: plummer, hernquist, galaxy, collision, or zeldovich (periodic, comoving)")
      ->check(CLI::IsMember({"plummer", "hernquist", "galaxy", "collision", "zeldovich"}))
      ->capture_default_str()
      ->excludes(tipsy);
  app.add_option("-n,--particles", o.particles, "Of a made start (zeldovich: the nearest cube)")
      ->check(CLI::Range(2, 1000000000))
      ->capture_default_str();
  app.add_option("--softening", o.softening, "Softening length of all particles (default: from the file)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "Of a made start")->capture_default_str();
  app.add_flag("--comoving", o.comoving, "The file holds comoving coordinates and its time is the expansion factor");
  app.add_option("--period", o.period,
                 "Side of the periodic box, centred on the origin (default: 1 if comoving, else none)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--isolated", isolated, "No periodic images, even if comoving");
  app.add_option("--omega0", o.cosmology.omega0, "Matter density")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--lambda", o.cosmology.lambda, "Vacuum density")->capture_default_str();
  app.add_option("--h0", o.cosmology.h0, "Hubble's constant, G being 1")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--until", o.endExpansion, "Expansion factor at the end")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps", o.steps, "Big steps")->check(CLI::Range(0, 100000000))->capture_default_str();
  app.add_option("--dt", o.bigStep, "Big step in time (comoving: what --until and --steps make)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--eta", o.eta, "Accuracy of time steps: eta sqrt(softening / acceleration)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  auto* theta =
      app.add_option("--theta", o.theta, "Opening angle (comoving: until redshift 2; default 0.525, else 0.7)")
          ->check(CLI::Range(0.05, 1.15));
  auto* theta2 = app.add_option("--theta2", o.theta2, "Opening angle after redshift 2")
                     ->check(CLI::Range(0.05, 1.15))
                     ->capture_default_str();
  app.add_option("--bucket", o.bucket, "Most particles in a leaf of the tree")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--pieces", o.pieces, "Tree pieces (default: as fits the PEs)")->check(CLI::Range(1, 10000000));
  app.add_option("--balance-every,--balance", o.balanceEvery, "Balance the load every so many big steps; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("!--no-sharing", o.share, "PEs that have nothing to do walk no parts of others' walks in their process");
  auto* gpu = app.add_flag("--gpu", o.gpu, "Walk the trees on GPUs, if there are any; in one process");
  app.add_flag("--gpu-on-host", o.gpusOnHost, "For tests: what --gpu does, by the processor")->excludes(gpu);
  app.add_flag(
      "--evaluations", o.evaluations,
      "A line for each force evaluation: how uneven its work is over the PEs, what was fetched, what its phases took; "
      "and for each step what the fullest PE of each evaluation adds up to");
  app.add_option("--time-forces", o.timeForces,
                 "Evaluate the first forces so many times more and say what it took; with --gpu by processors too, and "
                 "how far apart they are")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-o,--out", o.out, "Files are named after this")->capture_default_str();
  app.add_option("--frames", o.frames, "Write a picture every so many big steps")->check(CLI::NonNegativeNumber);
  app.add_flag("--domains", o.domains, "With each picture another one, of which PE the particles are on");
  app.add_option("--snapshots", o.snapshots, "Write a Tipsy file every so many big steps")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--pixels", o.pixels, "Side of a picture")->check(CLI::Range(16, 16384))->capture_default_str();
  app.add_option("--shuffle-seed", o.shuffleSeed,
                 "For tests: between all phases pieces go to PEs drawn from this seed");
  app.add_flag("--json", o.json, "A line of JSON for each step instead of a table");
  try {
    app.parse(argc, argv);
    if (theta->count() > 0 && theta2->count() == 0 && !o.comoving) o.theta2 = o.theta;
    if (o.tipsy.empty() && o.ic == "zeldovich") o.comoving = true;
    if (o.comoving && o.period == 0) o.period = 1;
    if (isolated) o.period = 0;
  } catch (const CLI::ParseError& e) {
    exitCode = app.exit(e);
    return false;
  }
  return true;
}

Snapshot startOf(Options& o) {
  Snapshot start;
  const auto count = std::size_t(o.particles);
  const double softening = o.softening > 0 ? o.softening : 0.8 / std::cbrt(double(count));
  if (!o.tipsy.empty()) {
    start = readTipsy(o.tipsy);
    if (start.particles.empty()) throw std::runtime_error(fmt::format("{}: holds no particles", o.tipsy));
  } else if (o.ic == "plummer") {
    start.particles = plummer(count, softening, o.seed);
  } else if (o.ic == "hernquist") {
    start.particles = hernquist(count, softening, o.seed);
  } else if (o.ic == "galaxy") {
    start.particles = galaxy(count, softening, o.seed);
  } else if (o.ic == "collision") {
    start.particles = collision(count, softening, o.seed);
  } else {
    start.time = 0.05;
    start.particles =
        zeldovich(std::max(2, int(std::lround(std::cbrt(double(count))))), start.time, o.cosmology, o.seed);
  }
  if (o.softening > 0) {
    for (Particle& p : start.particles) p.softening = float(o.softening);
  }
  if (o.comoving) {
    if (!(start.time > 0 && start.time < o.endExpansion)) {
      throw std::runtime_error(fmt::format(
          "a comoving run must start between expansion factors 0 and {} (--until), but the file's time is {}; "
          "is it a comoving file?",
          o.endExpansion, start.time));
    }
    const Cosmology c = o.cosmology;
    if (o.steps > 0) o.bigStep = (c.timeAt(o.endExpansion) - c.timeAt(start.time)) / o.steps;
    if (!o.tipsy.empty()) {
      for (Particle& p : start.particles) p.velocity *= start.time * start.time;
    }
  }
  o.cosmology.comoving = o.comoving;
  drift(start.particles, 0, o.period);  // into the box
  return start;
}

Snapshot snapshotOf(std::vector<Particle> particles, double a, double time, bool comoving) {
  Snapshot snapshot{comoving ? a : time, std::move(particles)};
  for (Particle& p : snapshot.particles) p.velocity *= 1 / (a * a);
  return snapshot;
}

}  // namespace periapt::nbody
