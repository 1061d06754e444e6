// A stream has an item for an element that is inserted when all contributors are done, behind messages of a lower
// priority than the stream has: what looks for the end of the stream lets them run.
#include <array>
#include <vector>

#include "NDMeshStreamer.h"

struct Item {
  int round;
};
#include "late_receiver_steps.decl.h"

CProxy_Main mainProxy;
CProxy_Cell cells;

using Streamers = CProxy_ArrayMeshStreamer<Item, int, Cell, SimpleMeshRouter>;

namespace {
struct Priorities {
  int stream, messages;
};
constexpr std::array<Priorities, 5> rounds = {{{0, 0}, {0, 5}, {3, 5}, {5, 5}, {-1, 5}}};
constexpr int messages = 50;
}  // namespace

class Main : public CBase_Main {
  std::size_t round_ = 0;
  int left_ = 0;
  Streamers streamer_;

  void begin_round() {
    std::array<int, 1> sizes = {CkNumPes()};
    streamer_ = Streamers::ckNew(1, sizes.data(), cells, 64, false, 0.5);
    streamer_.init(1, CkCallback(CkReductionTarget(Main, started), thisProxy),
                   CkCallback(CkReductionTarget(Main, streamed), thisProxy), CProxy_CompletionDetector::ckNew(),
                   rounds[round_].stream, false);
  }
  int late() const { return static_cast<int>(round_) + 1; }

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew();
    cells[0].insert();
    begin_round();
  }
  void started() {
    cells[0].stream(streamer_);
    left_ = messages;
    later();
  }
  void later() {
    if (left_-- == 0) return cells[late()].insert();
    CkEntryOptions options;
    options.setPriority(rounds[round_].messages);
    thisProxy.later(&options);
  }
  void streamed() {
    if (left_ >= 0) CkAbort("round %zu: the stream ends before its last item has a receiver", round_);
    if (++round_ < rounds.size()) return begin_round();
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Cell : public CBase_Cell {
  int round_ = 0;

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void stream(Streamers streamers) {
    auto* const streamer = streamers.ckLocalBranch();
    streamer->insertData(Item{round_}, round_ + 1);
    ++round_;
    streamer->done();
  }
  void process(const Item& item) {
    if (thisIndex != item.round + 1) CkAbort("an item of round %d comes to element %d", item.round, thisIndex);
  }
};

#include "late_receiver_steps.def.h"
