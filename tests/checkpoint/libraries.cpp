// The groups of the libraries go on after a restart, also on another number of PEs: streams to a group and to an array,
// the detection of completion, all-gather, loops, files.
//
//   libraries FOLDER WAY, and then libraries FOLDER WAY +restart FOLDER
//
// Each does the same before the checkpoint and after it; a stream to the group has begun before it. A second file is
// kept open over it where the way says so: `reads`, with a session that reads; `writes`, with one more, of which half
// has been written: of its first stripe all. `memory` is as `writes`, with a checkpoint in memory, after which process
// 1 is killed.
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "CkLoop.h"
#include "NDMeshStreamer.h"
#include "allGather.h"
#include "ckio.h"

struct Item {
  int value, further;
  CkGroupID streamer;
};
#include "libraries.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Member members;
/*readonly*/ CProxy_CompletionDetector detector;
/*readonly*/ std::string folder;
/*readonly*/ std::string way;

using GroupStreamer = GroupMeshStreamer<Item, Member, SimpleMeshRouter>;
using GroupStreamers = CProxy_GroupMeshStreamer<Item, Member, SimpleMeshRouter>;
using ArrayStreamer = ArrayMeshStreamer<Item, int, Cell, SimpleMeshRouter>;
using ArrayStreamers = CProxy_ArrayMeshStreamer<Item, int, Cell, SimpleMeshRouter>;

namespace {
constexpr int cell_count = 13, items = 20, piece = 5;

struct Totals {
  CmiInt8 count = 0, sum = 0;
  void take(int value) {
    ++count;
    sum += value;
  }
  void pup(PUP::er& p) {
    p | count;
    p | sum;
  }
};
char byte_at(int at) { return static_cast<char>('a' + at % 26); }
char written_at(int at) { return static_cast<char>('A' + at % 26); }
void sum_up(int first, int last, void* result, int, void*) {
  for (int i = first; i <= last; ++i) *static_cast<int*>(result) += i;
}
// Of a hybrid loop, whose ranges end behind the last one.
void sum_up_to(int first, int last, void* result, int, void*) {
  for (int i = first; i < last; ++i) *static_cast<double*>(result) += i;
}
}  // namespace

// In place of the C library's: how often the file that is kept open has been brought to the disk.
static std::atomic<int> syncs_of_kept{0};
extern "C" int fdatasync(int descriptor) {
  char name[PATH_MAX];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), name, sizeof name);
  const std::string_view end = ".kept";
  if (length >= 0 && std::string_view(name, static_cast<std::size_t>(length)).ends_with(end)) ++syncs_of_kept;
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

class Main : public CBase_Main {
  Main_SDAG_CODE int round = 0;
  bool restarted = false;
  GroupStreamers group_streamer;
  ArrayStreamers array_streamer;
  CProxy_AllGather gather;
  CProxy_FuncCkLoop loops;
  Ck::IO::File file, kept;
  Ck::IO::Session reading, writing;

  CkCallback on_start() { return CkCallback(CkReductionTarget(Main, started), thisProxy); }
  CkCallback on_end() { return CkCallback(CkReductionTarget(Main, streamed), thisProxy); }

 public:
  explicit Main(CkArgMsg* m) {
    folder = m->argv[1];
    way = m->argc > 2 ? m->argv[2] : "";
    delete m;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    members = CProxy_Member::ckNew();
    detector = CProxy_CompletionDetector::ckNew();
    std::array<int, 2> sizes = {CkNumPes() % 2 == 0 ? 2 : 1, CkNumPes() % 2 == 0 ? CkNumPes() / 2 : CkNumPes()};
    group_streamer = GroupStreamers::ckNew(2, sizes.data(), members, 5, false, 0.5);
    array_streamer = ArrayStreamers::ckNew(2, sizes.data(), cells, 5, false, 0.5);
    gather = CProxy_AllGather::ckNew(static_cast<int>(sizeof(int)), ALL_GATHER_HYPERCUBE, 0);
    loops = CkLoop_Init();
    thisProxy.life();
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | round;
    p | group_streamer;
    p | array_streamer;
    p | gather;
    p | loops;
    p | kept;
    p | reading;
    p | writing;
  }
  // Streams whose contributors are members, and elements wherever they are.
  void begin_group_stream() { group_streamer.init(1, on_start(), on_end(), 0, false); }
  void begin_array_stream() { array_streamer.init(static_cast<CkArrayID>(cells), on_start(), on_end(), 0, true); }
  // Each sends `items` items to each; of each item comes one more.
  void check(const char* what, int ends, CmiInt8 count, CmiInt8 sum) {
    const CmiInt8 sent = CmiInt8{2} * ends * ends * items;
    if (count != sent || sum != sent * (items - 1) / 2)
      CkAbort("a stream to %s: %" PRId64 " items of %" PRId64 ", their sum is %" PRId64, what, count, sent, sum);
  }
  void detect() {
    detector.start_detection(cell_count, CkCallback(), CkCallback(),
                             CkCallback(CkReductionTarget(Main, detected), thisProxy), 0);
    cells.produce();
  }
  void open() { Ck::IO::open(name(), CkCallback(CkIndex_Main::opened(nullptr), thisProxy), Ck::IO::Options()); }
  void begin_session(Ck::IO::FileReadyMsg* m) {
    file = m->file;
    delete m;
    Ck::IO::startSession(file, cell_count * piece, 0, CkCallback(CkIndex_Main::ready(nullptr), thisProxy),
                         CkCallback(CkReductionTarget(Main, written), thisProxy));
  }
  static bool writes() { return way == "writes" || way == "memory"; }
  static bool keeps() { return writes() || way == "reads"; }
  static std::string kept_name() { return folder + ".kept"; }
  // What is read lies behind what is written. Each PE holds some of both.
  void open_kept() {
    std::ofstream out(kept_name());
    for (int i = 0; i < 2 * cell_count * piece; ++i) out << byte_at(i);
    Ck::IO::Options options;
    options.peStripe = 2 * piece + 3;
    options.activePEs = CkNumPes();
    Ck::IO::open(kept_name(), CkCallback(CkIndex_Main::opened(nullptr), thisProxy), options);
  }
  void begin_kept(Ck::IO::FileReadyMsg* m) {
    kept = m->file;
    delete m;
    std::vector<int> pes;
    for (int pe = CkNumPes(); pe-- > 0;) pes.push_back(pe);
    Ck::IO::startReadSession(kept, cell_count * piece, cell_count * piece,
                             CkCallback(CkIndex_Main::ready(nullptr), thisProxy), pes);
  }
  void keep_reading(Ck::IO::SessionReadyMsg* m) {
    reading = m->session;
    delete m;
  }
  void begin_kept_writing() {
    Ck::IO::startSession(kept, cell_count * piece, 0, CkCallback(CkIndex_Main::ready(nullptr), thisProxy),
                         CkCallback(CkReductionTarget(Main, written), thisProxy));
  }
  void keep_writing(Ck::IO::SessionReadyMsg* m) {
    writing = m->session;
    delete m;
    cells.write_some(writing, 0);
  }
  void make_checkpoint() {
    const CkCallback go_on(CkIndex_Main::saved(), thisProxy);
    if (way == "memory")
      CkStartMemCheckpoint(go_on);
    else
      CkStartCheckpoint(folder.c_str(), go_on);
  }
  void go_on() {
    restarted = _restarted;
    if (way == "writes" && !restarted && CkNumNodes() == 1 && syncs_of_kept == 0)
      CkAbort("what has been written of the file that is kept open is not on the disk with the checkpoint");
    if (way == "memory" && !restarted) members[CkNumPes() - 1].die();
  }
  void check_kept() {
    std::ifstream in(kept_name());
    for (int i = 0; i < 2 * cell_count * piece; ++i)
      if (const int byte = in.get(); byte != (i < cell_count * piece ? written_at(i) : byte_at(i)))
        CkAbort("byte %d of the file that was kept open is '%c'", i, byte);
  }
  void check_file() {
    std::ifstream in(name());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (text.size() != std::size_t{cell_count * piece}) CkAbort("the file has %zu bytes", text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != byte_at(static_cast<int>(i))) CkAbort("byte %zu of the file is '%c'", i, text[i]);
  }
  void end() {
    CkPrintf("all libraries go on%s\n", restarted ? " after the restart" : "");
    CkExit(0);
  }

 private:
  std::string name() const { return folder + ".written" + std::to_string(round); }
};

class Member : public CBase_Member {
  Totals totals_;
  std::vector<int> all_;
  int mine_ = 0;

 public:
  Member() = default;
  explicit Member(CkMigrateMessage* m) : CBase_Member(m) {}
  void pup(PUP::er& p) override {
    if (totals_.count != 0) CkAbort("counted too late");
  }
  void stream(GroupStreamers streamers) {
    GroupStreamer* const streamer = streamers.ckLocalBranch();
    for (int i = 0; i < items; ++i)
      for (int pe = 0; pe < CkNumPes(); ++pe) streamer->insertData({i, 1, streamers.ckGetGroupID()}, pe);
    streamer->done();
  }
  void process(const Item& item) {
    totals_.take(item.value);
    if (item.further == 0) return;
    GroupStreamers(item.streamer).ckLocalBranch()->insertData({item.value, 0, item.streamer}, CkNumPes() - 1);
  }
  void count() {
    const std::array<CmiInt8, 2> sums = {totals_.count, totals_.sum};
    totals_ = Totals();
    contribute(sizeof sums, sums.data(), CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
  void gather(CProxy_AllGather gather, CProxy_FuncCkLoop) {
    int sum = 0;
    CkLoop_Parallelize(sum_up, 0, nullptr, 7, 1, 100, 1, &sum, CKLOOP_INT_SUM);
    if (sum != 5050) CkAbort("a loop of 5050 gives %d", sum);
    double half = 0;
    CkLoop_ParallelizeHybrid(0.5F, sum_up_to, 0, nullptr, 7, 1, 101, 1, &half, CKLOOP_DOUBLE_SUM);
    if (half != 5050) CkAbort("a loop of 5050, of which half is shared, gives %f", half);
    mine_ = 100 + CkMyPe();
    all_.assign(static_cast<std::size_t>(CkNumPes()), 0);
    gather.ckLocalBranch()->init(all_.data(), &mine_, CkMyPe(),
                                 CkCallback(CkIndex_Member::all_here(nullptr), thisProxy[CkMyPe()]));
  }
  void die() { CkDieNow(); }
  void all_here(allGatherMsg* m) {
    delete m;
    for (int pe = 0; pe < CkNumPes(); ++pe)
      if (all_[static_cast<std::size_t>(pe)] != 100 + pe) CkAbort("the piece of PE %d is wrong", pe);
    contribute(CkCallback(CkReductionTarget(Main, gathered), mainProxy));
  }
};

class Cell : public CBase_Cell {
  Totals totals_;
  std::array<char, piece> read_{};

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage* m) : CBase_Cell(m) {}
  void pup(PUP::er& p) override { p | totals_; }
  void stream(ArrayStreamers streamers) {
    ArrayStreamer* const streamer = streamers.ckLocalBranch();
    for (int i = 0; i < items; ++i)
      for (int to = 0; to < cell_count; ++to) streamer->insertData({i, 1, streamers.ckGetGroupID()}, to);
    streamer->done();
  }
  void process(const Item& item) {
    totals_.take(item.value);
    if (item.further == 0) return;
    ArrayStreamers(item.streamer)
        .ckLocalBranch()
        ->insertData({item.value, 0, item.streamer}, (thisIndex + 1) % cell_count);
  }
  void count() {
    const std::array<CmiInt8, 2> sums = {totals_.count, totals_.sum};
    totals_ = Totals();
    contribute(sizeof sums, sums.data(), CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
  void produce() {
    CompletionDetector* const here = detector.ckLocalBranch();
    here->produce(2);
    for (int i = 1; i <= 2; ++i) cells[(thisIndex + i) % cell_count].consume(3);
    here->done();
  }
  void consume(int further) {
    CompletionDetector* const here = detector.ckLocalBranch();
    if (further > 0) {
      here->produce();
      cells[(thisIndex + further) % cell_count].consume(further - 1);
    }
    here->consume();
  }
  void write(Ck::IO::Session session) {
    std::array<char, piece> bytes;
    for (int i = 0; i < piece; ++i) bytes[static_cast<std::size_t>(i)] = byte_at(thisIndex * piece + i);
    Ck::IO::write(session, bytes.data(), bytes.size(), static_cast<std::size_t>(thisIndex) * piece);
  }
  void write_some(Ck::IO::Session session, int odd) {
    for (int i = 0; i < piece; ++i) {
      const int at = thisIndex * piece + i;
      const char byte = written_at(at);
      if ((at < 2 * piece + 3 ? 0 : at % 2) == odd) Ck::IO::write(session, &byte, 1, static_cast<std::size_t>(at));
    }
  }
  void read(Ck::IO::Session session) {
    Ck::IO::read(session, piece, static_cast<std::size_t>(cell_count + thisIndex) * piece, read_.data(),
                 CkCallback(CkIndex_Cell::came(nullptr), thisProxy[thisIndex]));
  }
  void came(Ck::IO::ReadCompleteMsg* m) {
    delete m;
    for (int i = 0; i < piece; ++i)
      if (read_[static_cast<std::size_t>(i)] != byte_at((cell_count + thisIndex) * piece + i))
        CkAbort("byte %d of the file that was kept open is read wrongly", i);
    contribute(CkCallback(CkReductionTarget(Main, were_read), mainProxy));
  }
};

#include "libraries.def.h"
