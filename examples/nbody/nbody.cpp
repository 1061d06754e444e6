// The N-body program. Main drives: one phase after the other (nbody.ci), each a broadcast to all pieces and a reduction
// that its thread waits for. What happens in a phase stands in tree_piece.cpp; read serial.cpp for the same without
// messages.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "examples/nbody/cache.h"
#include "examples/nbody/decompose.h"
#include "examples/nbody/density.h"
#include "examples/nbody/ewald.h"
#include "examples/nbody/files.h"
#include "examples/nbody/options.h"
#include "examples/nbody/tree_piece.h"

using namespace periapt::nbody;

/*readonly*/ CProxy_TreePiece pieces;
/*readonly*/ CProxy_Cache cache;
/*readonly*/ CProxy_Helper helpers;
/*readonly*/ Settings settings;

namespace {

// More can be given out more evenly, but each walks down from the top of the tree: of a few hundred particles that is
// much of its work.
constexpr int most_pieces_a_pe = 8, fewest_pieces_a_pe = 4, particles_a_piece = 500;
// In one process all trees are at hand, and the trunk is made once.
constexpr int most_branches = 64;

/// What a reduction brought.
class Sum {
 public:
  explicit Sum(void* message) : message_(static_cast<CkReductionMsg*>(message)) {}
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(message_->getSize() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), message_->getData(), values.size() * sizeof(T));
    return values;
  }

 private:
  struct Free {
    void operator()(CkReductionMsg* m) const { delete m; }
  };
  std::unique_ptr<CkReductionMsg, Free> message_;
};

/// Runs one phase: `start` is given the callback that ends it. Only in a thread.
template <class Start>
Sum phase(Start start) {
  void* message = nullptr;
  {
    const CkCallbackResumeThread done(message);  // waits at the end of its life
    start(done);
  }
  return Sum(message);
}

}  // namespace

// Seconds of the phases of an evaluation.
struct Took {
  double move = 0, count = 0, exchange = 0, plant = 0, walk = 0;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    int exitCode = 0;
    const bool good = parseOptions(args->argc, args->argv, "nbody", options_, exitCode);
    delete args;
    if (!good) {
      CkExit(exitCode);
      return;
    }
    try {
      start_ = startOf(options_);
    } catch (const std::exception& e) {
      fail(e);
      return;
    }
    settings.cosmology = options_.cosmology;
    settings.stepping = Stepping{options_.eta, options_.bigStep};
    settings.period = options_.period;
    settings.domains = options_.domains;
    settings.view = options_.period > 0 ? options_.period / 2 : viewOf(start_.particles);
    settings.bucket = options_.bucket;
    settings.pixels = options_.pixels;
    settings.gpusOnHost = options_.gpusOnHost;
    if (options_.gpu || options_.gpusOnHost) {
      const std::string whyNot = GpuWalks::whyNot();
      onGpu_ = whyNot.empty();
      if (!onGpu_) fmt::print(stderr, "nbody: no GPU is used: {}\n", whyNot);
    }
    if (options_.pieces == 0)
      options_.pieces = std::clamp(int(start_.particles.size()) / particles_a_piece, fewest_pieces_a_pe * CkNumPes(),
                                   most_pieces_a_pe * CkNumPes());
    if (CkNumNodes() > 1) settings.piecesABranch = (options_.pieces + most_branches - 1) / most_branches;
    cache = CProxy_Cache::ckNew();
    helpers = CProxy_Helper::ckNew();
    pieces = CProxy_TreePiece::ckNew(options_.pieces);
    thisProxy.drive();
  }

  void drive() {
    try {
      run();
      CkExit();
    } catch (const std::exception& e) {
      fail(e);
    }
  }

 private:
  void run();
  void handOut();
  Tally evaluate(const Motion& motion, const BlockStep::Kicks& closing, int rung);
  void tellWork(const Tally& tally, int rung, int rounds, const Took& took);
  void tellMakespan();
  void shuffle();
  void write(int step);
  void progress(int step, double share);
  void clearProgress();
  struct Busy {
    double all = 0, imbalance = 1;  // of all PEs together; the busiest one's over the average
  };
  Busy busy();
  void printHeader(const Tally& first, double seconds);
  void timeForces();
  std::vector<Particle> timedForces(const char* where);

  static void fail(const std::exception& e) {
    std::fflush(stdout);
    fmt::print(stderr, "nbody: {}\n", e.what());
    CkExit(1);
  }

  Options options_;
  Snapshot start_;
  double time_ = 0, a_ = 1;
  double tests_ = 0, busy_ = 0;       // of all walks, and seconds of all PEs, since the last balancing
  double fullest_ = 0, average_ = 0;  // tests of PEs, summed over the evaluations of a step
  std::vector<Key> cuts_;             // of the last evaluation
  Count shuffled_ = 0;
  bool onGpu_ = false;
  const bool isTerminal_ = isatty(STDOUT_FILENO) != 0;
};

/// The particles of a made start or a file, in order as they come; the first decomposition puts them right.
void Main::handOut() {
  const std::span<const Particle> all = start_.particles;
  phase([&](const CkCallback& done) {
    for (std::size_t piece = 0, n = options_.pieces; piece < n; ++piece) {
      const std::size_t first = all.size() * piece / n, last = all.size() * (piece + 1) / n;
      pieces[int(piece)].begin(int(last - first), CkSendBuffer(all.data() + first), done);
    }
  });
  start_.particles = {};
}

void Main::shuffle() {
  if (options_.shuffleSeed == 0) return;
  const Count seed = options_.shuffleSeed + options_.pieces * ++shuffled_;
  phase([&](const CkCallback& done) { pieces.shuffle(seed, done); });
}

/// Moves all particles, then forces on rungs >= `rung`, and what follows from them.
Tally Main::evaluate(const Motion& motion, const BlockStep::Kicks& closing, int rung) {
  const Forces forces{options_.gravityAt(a_), closing, rung, a_, onGpu_};
  Took took;
  auto lap = [last = CkWallTimer()]() mutable {
    const double from = std::exchange(last, CkWallTimer());
    return last - from;
  };
  const std::vector<double> extent = phase([&](const CkCallback& done) { pieces.move(motion, done); }).as<double>();
  Box box;
  std::vector<double> farField;
  if (forces.gravity.periodic) {
    box = forces.gravity.box({});
    farField = FarImages(box).field(extent);
  } else {
    Particle corners[2];
    corners[0].position = {-extent[0], -extent[1], -extent[2]};
    corners[1].position = {extent[3], extent[4], extent[5]};
    box = boundingBox(corners);
  }
  shuffle();
  took.move = lap();

  bool isNew = true;
  const auto count = [&](std::span<const Key> keys) {
    const Sum counts =
        phase([&](const CkCallback& done) { pieces.count(box, isNew, int(keys.size()), keys.data(), done); });
    isNew = false;
    shuffle();
    return counts.as<Filled>();
  };
  Decomposer decomposer(options_.pieces, options_.bucket, cuts_);
  int rounds = 0;
  for (; !decomposer.isDone(); ++rounds) decomposer.counted(count(decomposer.probes()));
  cuts_ = decomposer.cuts();
  const std::vector<Count> totals = decomposer.totals();
  took.count = lap();

  std::vector<Root> roots = phase([&](const CkCallback& done) {
                              pieces.exchange(int(cuts_.size()), cuts_.data(), totals.data(), done);
                            }).as<Root>();
  std::ranges::sort(roots, {}, [](const Root& r) { return r.node.cell.begin(); });
  took.exchange = lap();
  phase([&](const CkCallback& done) { cache.plant(int(roots.size()), roots.data(), forces.onGpu, done); });
  took.plant = lap();
  const Sum sum = phase([&](const CkCallback& done) {
    pieces.walk(forces, int(farField.size()), farField.data(), done);
    if (options_.share && !forces.onGpu) helpers.help(Helper::whenIdle());
  });
  took.walk = lap();
  shuffle();
  const Tally tally = sum.as<Tally>().at(0);
  tests_ += tally.tests;
  if (options_.evaluations) tellWork(tally, rung, rounds, took);
  return tally;
}

/// Work is counted in tests of the walk, to which its time is proportional: that is the same however busy the machine
/// is. All PEs wait for the fullest one in each evaluation.
void Main::tellWork(const Tally& tally, int rung, int rounds, const Took& took) {
  const auto work = phase([&](const CkCallback& done) { helpers.report(done); }).as<PeWork>();
  double fullest = 0, blocks = 0;
  for (const PeWork& pe : work) fullest = std::max(fullest, pe.tests), blocks += pe.blocks;
  const double average = tally.tests / double(work.size());
  fullest_ += fullest, average_ += average;
  clearProgress();
  if (options_.json) {
    fmt::print(
        "{{\"rung\": {}, \"forces\": {}, \"tests\": {}, \"fullest_tests\": {}, \"blocks\": {}, \"rounds\": {}, "
        "\"move_s\": {}, \"count_s\": {}, \"exchange_s\": {}, \"plant_s\": {}, \"walk_s\": {}}}\n",
        rung, tally.forces, tally.tests, fullest, blocks, rounds, took.move, took.count, took.exchange, took.plant,
        took.walk);
  } else {
    fmt::print(
        "     forces on {:.0f} particles, rungs from {}: {:.4g} tests, {:.2f} times the average on the fullest "
        "PE; {:.0f} blocks fetched, {} rounds of counting; ms: move {:.1f}, count {:.1f}, exchange {:.1f}, plant "
        "{:.1f}, "
        "walk {:.1f}\n",
        tally.forces, rung, tally.tests, average > 0 ? fullest / average : 1, blocks, rounds, 1e3 * took.move,
        1e3 * took.count, 1e3 * took.exchange, 1e3 * took.plant, 1e3 * took.walk);
  }
  std::fflush(stdout);
}

/// What all evaluations since the last time take if nothing but walks takes time.
void Main::tellMakespan() {
  if (options_.json) {
    fmt::print("{{\"makespan_tests\": {}, \"average_tests\": {}}}\n", fullest_, average_);
  } else {
    fmt::print("     makespan {:.4g} tests, {:.2f} times the average\n", fullest_,
               average_ > 0 ? fullest_ / average_ : 1);
  }
  fullest_ = average_ = 0;
}

/// Seconds since this was last asked.
Main::Busy Main::busy() {
  const auto busy = phase([&](const CkCallback& done) { pieces.report(done); }).as<double>();
  const double all = std::reduce(busy.begin(), busy.end());
  return {all, all > 0 ? std::ranges::max(busy) * busy.size() / all : 1};
}

/// In the order of the file.
std::vector<Particle> Main::timedForces(const char* where) {
  std::vector<double> took;
  for (int i = 0; i < options_.timeForces; ++i) {
    const double began = CkWallTimer();
    evaluate({}, {}, 0);
    took.push_back(CkWallTimer() - began);
  }
  std::ranges::sort(took);
  fmt::print("all forces by {}: {:.4f} s, median of {}; least {:.4f}, most {:.4f}\n", where, took[took.size() / 2],
             took.size(), took.front(), took.back());
  auto particles = phase([&](const CkCallback& done) { pieces.save(done); }).as<Particle>();
  std::ranges::sort(particles, {}, &Particle::order);
  return particles;
}

void Main::timeForces() {
  const std::vector<Particle> mine = timedForces(onGpu_ ? GpuWalks::name().c_str() : "processors");
  if (!onGpu_) return;
  onGpu_ = false;
  const std::vector<Particle> reference = timedForces("processors");
  onGpu_ = true;
  std::vector<double> apart;
  for (std::size_t i = 0; i < mine.size(); ++i)
    apart.push_back(norm(mine[i].acceleration - reference[i].acceleration) / norm(reference[i].acceleration));
  std::ranges::sort(apart);
  fmt::print("accelerations are apart by {:.1e} of themselves, median; 99 % within {:.1e}, all within {:.1e}\n",
             apart[apart.size() / 2], apart[apart.size() * 99 / 100], apart.back());
}

void Main::write(int step) {
  if (options_.frames > 0 && step % options_.frames == 0) {
    DensityMap map(options_.pixels, {}, settings.view, settings.domains);
    phase([&](const CkCallback& done) { pieces.draw(done); });
    map.grid() = phase([&](const CkCallback& done) { cache.picture(done); }).as<float>();
    writePng(fmt::format("{}.{:06}.png", options_.out, step), map.image());
    if (options_.domains) writePng(fmt::format("{}.{:06}.domains.png", options_.out, step), map.domains());
  }
  if (options_.snapshots > 0 && step % options_.snapshots == 0) {
    auto particles = phase([&](const CkCallback& done) { pieces.save(done); }).as<Particle>();
    writeTipsy(fmt::format("{}.{:06}.tipsy", options_.out, step),
               snapshotOf(std::move(particles), a_, time_, options_.comoving));
  }
}

void Main::progress(int step, double share) {
  if (!isTerminal_ || options_.json) return;
  fmt::print("\rstep {} of {}: {:3.0f} %", step, options_.steps, 100 * share);
  std::fflush(stdout);
}

void Main::clearProgress() {
  if (isTerminal_ && !options_.json) fmt::print("\r{:40}\r", "");
}

void Main::printHeader(const Tally& first, double seconds) {
  if (options_.json) return;
  fmt::print("{:.0f} particles in {} pieces on {} PEs, {} kernels; first forces in {:.3f} s; energy {:.6g}\n",
             first.forces, options_.pieces, CkNumPes(), kernels().name, seconds, first.totals.energy());
  fmt::print("step {:>8} {:>8} substeps rung forces/p {:>10} {:>11} {:>9} {:>9} Ginter/s max/avg seconds\n",
             options_.comoving ? "a" : "time", options_.comoving ? "z" : "", "kinetic", "potential", "drift", "|p|");
  std::fflush(stdout);
}

void Main::run() {
  const Cosmology& cosmology = options_.cosmology;
  time_ = options_.comoving ? cosmology.timeAt(start_.time) : start_.time;
  a_ = options_.comoving ? start_.time : 1;
  const double particles = double(start_.particles.size());

  const double began = CkWallTimer();
  handOut();
  const Tally first = evaluate({}, {}, 0);
  if (options_.evaluations) tellMakespan();
  int deepest = first.deepest();
  EnergyAccount account(first.totals, a_);
  printHeader(first, CkWallTimer() - began);
  if (options_.timeForces > 0) timeForces();
  write(0);
  for (int step = 1; step <= options_.steps; ++step) {
    const double from = CkWallTimer();
    BlockStep block(cosmology, settings.stepping, time_, deepest);
    Tally now;
    double forces = 0, interactions = 0;
    int substeps = 0, lowest = deepest;
    while (!block.isDone()) {
      progress(step, block.share());
      Motion motion{block.openKick(), block.rung(), 0};
      motion.drift = block.advance();
      a_ = block.expansion();
      now = evaluate(motion, block.closeKick(), block.rung());
      deepest = now.deepest();
      lowest = std::max(lowest, deepest);
      block.next(deepest);
      if (options_.comoving) account.pass(now.totals.kinetic, a_);
      forces += now.forces;
      interactions += now.particlePairs + now.cellPairs;
      ++substeps;
    }
    time_ = block.time();
    const double took = CkWallTimer() - from, drift = account.drift(now.totals, a_);
    const double rate = 1e-9 * interactions / took, momentum = norm(now.totals.momentum);
    if (options_.evaluations) tellMakespan();
    const auto [seconds, uneven] = busy();
    busy_ += seconds;
    clearProgress();
    if (options_.json) {
      fmt::print(
          "{{\"step\": {}, \"time\": {}, \"a\": {}, \"substeps\": {}, \"rung\": {}, \"forces\": {}, "
          "\"kinetic\": {}, \"potential\": {}, \"drift\": {}, \"momentum\": {}, \"interactions\": {}, "
          "\"imbalance\": {}, \"seconds\": {}}}\n",
          step, time_, a_, substeps, lowest, forces, now.totals.kinetic, now.totals.potential, drift, momentum,
          interactions, uneven, took);
    } else {
      fmt::print("{:4} {:8.4f} {:>8} {:8} {:4} {:8.2f} {:10.4g} {:11.4g} {:9.1e} {:9.1e} {:8.3f} {:7.2f} {:7.2f}\n",
                 step, options_.comoving ? a_ : time_, options_.comoving ? fmt::format("{:.3f}", 1 / a_ - 1) : "",
                 substeps, lowest, forces / particles, now.totals.kinetic, now.totals.potential, drift, momentum, rate,
                 uneven, took);
    }
    std::fflush(stdout);
    write(step);
    if (options_.balanceEvery > 0 && step % options_.balanceEvery == 0 && step < options_.steps) {
      const double secondsATest = onGpu_ || tests_ == 0 ? 0 : busy_ / tests_;
      phase([&](const CkCallback& done) { pieces.balance(secondsATest, done); });
      busy_ = tests_ = 0;
    }
  }
  if (!options_.json) fmt::print("{:.2f} s in all\n", CkWallTimer() - began);
  std::fflush(stdout);
}

#include "nbody.def.h"
