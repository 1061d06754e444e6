// Members of a group and elements of an array stream items to each other over grids of one to three directions, in
// buffers of every size; some items lead to others when they arrive, and elements move meanwhile. At the end that the
// streamer tells of, all of them have been delivered, or it was told too early.
#include <array>
#include <cstring>
#include <vector>

#include "NDMeshStreamer.h"
#include "mesh_streamer_item.h"
#include "mesh_streamer_steps.decl.h"
#include "mesh_streamer_types.h"

CProxy_Main mainProxy;
CProxy_Sink sinks;
CProxy_Cell cells;

using GroupStreamer = GroupMeshStreamer<Item, Sink, SimpleMeshRouter, take_item>;
using GroupStreamers = CProxy_GroupMeshStreamer<Item, Sink, SimpleMeshRouter, take_item>;
using ArrayStreamer = ArrayMeshStreamer<CELL_TYPES>;
using ArrayStreamers = CProxy_ArrayMeshStreamer<CELL_TYPES>;

namespace {
constexpr int side = 4, further = 3;
enum Way { by_pe, by_elements, by_number, by_quiescence, ways };

int items_of(int round) { return std::array{0, 1, 17, 80}[static_cast<std::size_t>(round % 4)]; }
// Every tenth item leads to others.
int further_of(int item) { return item % 10 == 0 ? further : 0; }

struct Totals {
  CmiInt8 items = 0, sum = 0;
  void add(int value) {
    ++items;
    sum += value;
  }
  bool operator==(const Totals& o) const { return items == o.items && sum == o.sum; }
};

// What `senders` send to `receivers` in a round, with what comes of it.
Totals expected(int round, int senders, int receivers) {
  Totals totals;
  for (int sender = 0; sender < senders; ++sender)
    for (int to = 0; to < receivers; ++to)
      for (int i = 0; i < items_of(round); ++i)
        for (int k = 0; k <= further_of(i); ++k) totals.add(sender + i);
  return totals;
}

// The PEs in `directions` ones: 12 in three are 2 x 2 x 3.
std::vector<int> grid(int directions) {
  std::vector<int> sizes(static_cast<std::size_t>(directions), 1);
  int rest = CkNumPes();
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d)
    if (rest % 2 == 0) rest /= sizes[d] = 2;
  sizes.back() = rest;
  return sizes;
}
}  // namespace

class Main : public CBase_Main {
  int round_ = 0;
  bool group_ = true;
  std::vector<GroupStreamers> group_streamers_;
  std::vector<ArrayStreamers> array_streamers_;
  Totals expected_;

  template <class Streamer>
  const Streamer& of_round(const std::vector<Streamer>& streamers) const {
    return streamers[static_cast<std::size_t>(round_) % streamers.size()];
  }
  Way way() const { return static_cast<Way>(round_ / 4 % ways); }
  CkCallback streamed_callback() const { return CkCallback(CkReductionTarget(Main, streamed), thisProxy); }

  void make_streamers() {
    for (int directions = 1; directions <= 3; ++directions) {
      std::vector<int> sizes = grid(directions);
      group_streamers_.push_back(GroupStreamers::ckNew(64 * directions, directions, sizes.data(), sinks, 1));
      group_streamers_.push_back(GroupStreamers::ckNew(directions, sizes.data(), sinks, 5, false, 0.5));
      group_streamers_.push_back(
          GroupStreamers::ckNew(directions, sizes.data(), sinks, 7, false, 0.5, 100, 1, 2, 1, 2));
      array_streamers_.push_back(ArrayStreamers::ckNew(100, directions, sizes.data(), cells, false));
      array_streamers_.push_back(ArrayStreamers::ckNew(directions, sizes.data(), cells, 1));
      array_streamers_.push_back(
          ArrayStreamers::ckNew(directions, sizes.data(), cells, 7, false, 0.5, 100, 1, 2, 1, 2));
    }
  }
  template <class Streamer>
  void begin_stream(Streamer streamer, int contributors) {
    const CkCallback start(CkReductionTarget(Main, started), thisProxy);
    const int priority = round_ % 3 - 1;
    const bool periodic = round_ % 2;
    if (way() == by_pe && group_)
      streamer.init(1, start, streamed_callback(), priority, periodic);
    else if (way() == by_elements && !group_)
      streamer.init(static_cast<CkArrayID>(cells), start, streamed_callback(), priority, periodic);
    else
      streamer.init(contributors, start, streamed_callback(), CProxy_CompletionDetector::ckNew(), priority, periodic);
  }
  void begin_round() {
    if (group_) {
      expected_ = expected(round_, CkNumPes(), CkNumPes());
      if (way() == by_quiescence) {
        of_round(group_streamers_).init(CkCallback(CkReductionTarget(Main, started), thisProxy), 0);
      } else {
        begin_stream(of_round(group_streamers_), CkNumPes());
      }
    } else {
      expected_ = expected(round_, side * side, side * side);
      begin_stream(of_round(array_streamers_), side * side);
    }
  }

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    sinks = CProxy_Sink::ckNew();
    cells = CProxy_Cell::ckNew(side, side);
    if (m->argc > 1) {
      mistake(m->argv[1]);
    } else {
      make_streamers();
      CkStartQD(CkCallback(CkIndex_Main::made(), thisProxy));  // elements contribute where they are then
    }
    delete m;
  }
  void made() { begin_round(); }
  void started() {
    if (!group_) return cells.stream(of_round(array_streamers_), round_);
    sinks.stream(of_round(group_streamers_), round_, way() == by_quiescence);
    if (way() == by_quiescence) CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void quiet() { streamed(); }
  void streamed() { group_ ? sinks.count() : cells.count(); }
  void counted(CmiInt8 items, CmiInt8 sum) {
    if (!(Totals{items, sum} == expected_))
      CkAbort("round %d, %s: %" PRId64 " items of %" PRId64 ", their sum %" PRId64 " of %" PRId64, round_,
              group_ ? "group" : "array", items, expected_.items, sum, expected_.sum);
    group_ = !group_;
    if (group_ && ++round_ == 4 * ways + 8) {
      CkPrintf("all checks passed\n");
      return CkExit();
    }
    begin_round();
  }

 private:
  void mistake(const char* which) {
    std::vector<int> sizes = grid(2);
    if (std::strcmp(which, "grid") == 0) sizes[0] = 7;
    GroupStreamers streamer = GroupStreamers::ckNew(std::strcmp(which, "buffer") == 0 ? 0 : 64, 2, sizes.data(), sinks);
    if (std::strcmp(which, "twice") == 0)
      for (int i = 0; i < 2; ++i)
        streamer.init(1, CkCallback(CkCallback::invalid), CkCallback(CkCallback::ckExit), 0, false);
    if (std::strcmp(which, "pe") == 0)
      streamer.ckLocalBranch()->insertData({1, 0, streamer.ckGetGroupID()}, CkNumPes());
    if (std::strcmp(which, "done") == 0) {
      streamer.init(1, CkCallback(CkCallback::invalid), CkCallback(CkCallback::ckExit), 0, false);
      streamer.ckLocalBranch()->done(5 * CkNumPes());
    }
  }
};

class Sink : public CBase_Sink {
  Totals totals_;

 public:
  Sink() = default;
  void process(const Item& item) {
    if (!item.is_whole()) CkAbort("the item %d of a group has lost what it owns", item.value);
    totals_.add(item.value);
    if (item.further == 0) return;
    GroupStreamer* const streamer = GroupStreamers(item.streamer).ckLocalBranch();
    streamer->insertData({item.value, item.further - 1, item.streamer}, (CkMyPe() + item.further) % CkNumPes());
  }
  void stream(GroupStreamers streamers, int round, bool quiescence) {
    GroupStreamer* const streamer = streamers.ckLocalBranch();
    for (int i = 0; i < items_of(round); ++i) {
      const Item item{CkMyPe() + i, further_of(i), streamers.ckGetGroupID()};
      // One to each: by one call, or by calls for each.
      if (i % 5 == 0)
        streamer->broadcast(item);
      else
        for (int pe = 0; pe < CkNumPes(); ++pe) streamer->insertData(item, pe);
    }
    if (!quiescence) streamer->done();
  }
  void count() {
    contribute(sizeof totals_, &totals_, CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, counted), mainProxy));
    totals_ = {};
  }
};

int take_item(char* item, void* sink) {
#ifdef OWNING
  return defaultMeshStreamerDeliver<Item, Sink>(item, sink);
#else
  static_cast<Sink*>(sink)->process(*reinterpret_cast<const Item*>(item));
  return 0;
#endif
}

class Cell : public CBase_Cell {
  Totals totals_;
  bool inserts_ = false;

  // Nothing is delivered inside of it, unless it is asked for.
  void insert(ArrayStreamer* streamer, const Item& item, const CkArrayIndex2D& to) {
    inserts_ = true;
    streamer->insertData(item, to);
    inserts_ = false;
  }

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | totals_.items;
    p | totals_.sum;
  }
  void process(const Item& item) {
    if (!item.is_whole()) CkAbort("the item %d of an array has lost what it owns", item.value);
    if (inserts_) CkAbort("the item %d of an array is delivered inside of insertData()", item.value);
    totals_.add(item.value);
    if (item.further == 0) return;
    insert(ArrayStreamers(item.streamer).ckLocalBranch(), {item.value, item.further - 1, item.streamer},
           CkArrayIndex2D((thisIndex.x + item.further) % side, thisIndex.y));
  }
  void stream(ArrayStreamers streamers, int round) {
    send(streamers, round, 0, items_of(round) / 2);
    thisProxy(thisIndex.x, thisIndex.y).goOn(streamers, round);
    if (round % 2 == 1) migrateMe((CkMyPe() + thisIndex.x + 1) % CkNumPes());
  }
  void goOn(ArrayStreamers streamers, int round) {
    send(streamers, round, items_of(round) / 2, items_of(round));
    streamers.ckLocalBranch()->done();
  }
  void count() {
    contribute(sizeof totals_, &totals_, CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, counted), mainProxy));
    totals_ = {};
  }

 private:
  void send(ArrayStreamers streamers, int round, int begin, int end) {
    ArrayStreamer* const streamer = streamers.ckLocalBranch();
    for (int i = begin; i < end; ++i)
      for (int x = 0; x < side; ++x)
        for (int y = 0; y < side; ++y) {
          const Item item{thisIndex.x * side + thisIndex.y + i, further_of(i), streamers.ckGetGroupID()};
          const bool at_once = x == thisIndex.x && y == thisIndex.y && i % 2 == 1;
          const CmiInt8 had = totals_.items;
          if (at_once)
            streamer->insertData<true>(item, CkArrayIndex2D(x, y));
          else
            insert(streamer, item, CkArrayIndex2D(x, y));
          if (totals_.items != had + (at_once ? 1 : 0)) CkAbort("the item %d is delivered at another time", item.value);
        }
  }
};

#include "mesh_streamer_steps.def.h"
