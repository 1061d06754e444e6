// Jacobi's iteration for Laplace's equation in three dimensions: a domain of cells, cut into blocks that exchange the
// cells at their faces in each step.
//
//   jacobi3d +p2 --size 512 512 1024 --compare          two GPUs, 512^3 cells on each: with and without overlap
//   jacobi3d +p4 --size 96 --blocks 2 2 3               on processors where no GPU is in use
//   jacobi3d --help
//
// PE k uses GPU k modulo their number. There should be a PE a GPU and a few blocks a PE: while one exchanges, the
// others' cells keep the GPU at work.
//
// Every run checks itself: what comes out is known in closed form (stencil.h).
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "examples/jacobi3d/block.h"
#include "examples/jacobi3d/rival.h"

using namespace periapt::jacobi3d;

/*readonly*/ CProxy_Block blocks;
/*readonly*/ Plan plan;

namespace {

constexpr double largest_error = 1e-12;

/// Runs one phase: `start` is given the callback that ends it. Only in a thread.
template <class Start>
CkReductionMsg* phase(Start start) {
  void* message = nullptr;
  {
    const CkCallbackResumeThread done(message);  // waits at the end of its life
    start(done);
  }
  return static_cast<CkReductionMsg*>(message);
}

const char* const names[] = {"compute alone", "without overlap", "with overlap"};

}  // namespace

class Main : public CBase_Main {
  Options options_;
  double alone_ = 0;  // seconds of all steps
  bool good_ = true;

  const Domain& domain() const { return options_.plan.domain; }

 public:
  explicit Main(CkArgMsg* args) {
    int status = 0;
    const bool good = parseOptions(args->argc, args->argv, CkNumPes(), options_, status);
    delete args;
    if (!good) {
      CkExit(status);
      return;
    }
    plan = options_.plan;
    blocks = CProxy_Block::ckNew(domain().count());
    thisProxy.drive();
  }

  void drive() {
    header();
    if (options_.compare) {
      for (const Way way : {alone, apart, overlap}) row(way);
      rival();
    } else {
      row(options_.way);
    }
    std::fflush(stdout);
    CkExit(good_ ? 0 : 1);
  }

 private:
  void header() const {
    const int* cells = domain().cells;
    const int* cut = domain().blocks;
    const Device& mine = device(plan.wants_gpu);
    if (plan.wants_gpu && !why_no_gpu().empty()) fmt::print("jacobi3d: no GPU is used: {}\n", why_no_gpu());
    fmt::print("{} x {} x {} cells in {} x {} x {} blocks, on {} PEs in {} processes; {}\n", cells[0], cells[1],
               cells[2], cut[0], cut[1], cut[2], CkNumPes(), CkNumNodes(), mine.name());
    double halos = 0;
    for (int block = 0; block < domain().count(); ++block)
      for (int face = 0; face < faces; ++face)
        if (domain().neighbours(block).has(face)) halos += 8. * static_cast<double>(domain().shape().face_size(face));
    fmt::print("a step reads and writes {:.1f} MB of cells, and sends {:.2f} MB of halos ({:.2f} %)\n",
               bytes_a_step() / 1e6, halos / 1e6, 100 * halos / bytes_a_step());
    fmt::print("{:28} {:>12} {:>10} {:>16} {:>10} {:>10}\n", "", "us a step", "GB/s", "of compute alone", "error",
               "residual");
  }
  double bytes_a_step() const { return 16. * domain().cells[0] * domain().cells[1] * domain().cells[2]; }

  void steps(int count, Way way) const {
    while (count > 0) {
      const int now = options_.balance_every > 0 ? std::min(count, options_.balance_every) : count;
      delete phase([&](const CkCallback& done) { blocks.run(now, way, done); });
      if (options_.balance_every > 0) delete phase([&](const CkCallback& done) { blocks.balance(done); });
      count -= now;
    }
  }

  void row(Way way) {
    delete phase([&](const CkCallback& done) { blocks.begin(done); });
    steps(options_.warm_up, way);
    const double began = CkWallTimer();
    steps(options_.steps, way);
    const double seconds = CkWallTimer() - began;
    Largest largest;
    CkReductionMsg* const message = phase([&](const CkCallback& done) { blocks.compare(done); });
    std::memcpy(&largest, message->getData(), sizeof largest);
    delete message;
    if (way == alone) alone_ = seconds;
    print(names[way], seconds, way == alone && domain().count() > 1 ? nullptr : &largest);
  }

  void rival() {
    if (run_rival == nullptr) return;
    const Rival rival = run_rival(domain(), options_.warm_up, options_.steps);
    if (rival.why_not.empty())
      print(rival.name, rival.seconds, &rival.largest);
    else
      fmt::print("{}: not run: {}\n", rival.name, rival.why_not);
  }

  /// No largest values: the result is not right, and not meant to be.
  void print(const std::string& name, double seconds, const Largest* largest) {
    const double step = seconds / options_.steps;
    fmt::print("{:28} {:12.1f} {:10.1f} {:>16}", name, 1e6 * step, bytes_a_step() / step / 1e9,
               alone_ > 0 ? fmt::format("{:.1f} %", 100 * seconds / alone_) : "");
    if (largest != nullptr) fmt::print(" {:10.1e} {:10.3e}", largest->error, largest->residual);
    fmt::print("\n");
    std::fflush(stdout);
    if (largest == nullptr || largest->error <= largest_error) return;
    good_ = false;
    fmt::print(
        stderr,
        "jacobi3d: {}: a cell is {:.1e} from what it has to hold after {} steps, {:.0e} is the most: an error of "
        "the program or the machine\n",
        name, largest->error, options_.warm_up + options_.steps, largest_error);
  }
};

#include "jacobi3d.def.h"
