// Sessions of libraries that are open while a run is shrunk and expanded: sessions FOLDER, for sessions_test.py.
//
// All the time a session of CkIO reads a file and clients may ask liveViz for pictures. A round begins when a client
// asks to `go`: each cell reads its part of the file, and values of others through a CkCache; all wait in AtSync, and a
// line is printed: its sum is the same on all PEs. The request's byte says what is open besides while all wait: 'w', a
// session that writes, of which half has come, and with 'o' until a later round with 'f'; 'c', the round of the cache.
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "CkCache.h"
#include "ckcallback-ccs.h"
#include "ckio.h"
#include "liveViz.h"
#include "sessions.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_CkCacheManager<CmiUInt8> cache;
/*readonly*/ std::string folder;

namespace {
constexpr int cell_count = 17, piece = 6;
char byte_at(int at) { return static_cast<char>('a' + at % 26); }
CmiUInt8 key_of(int index) { return 1000 + static_cast<CmiUInt8>(index); }
}  // namespace

class Main : public CBase_Main {
  Main_SDAG_CODE int round = 0;
  char way = ' ';
  CmiInt8 sum = 0;
  Ck::IO::File file;
  Ck::IO::Session reading, writing;

 public:
  explicit Main(CkArgMsg* m) {
    folder = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    cache = CProxy_CkCacheManager<CmiUInt8>::ckNew(16, cells.ckLocMgr()->getGroupID());
    liveVizConfig config(false, false);
    liveVizInit(config, cells, CkCallback(CkIndex_Cell::draw(nullptr), cells));
    CcsRegisterHandler("go", CkCallback(CkIndex_Main::go(nullptr), thisProxy));
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
    std::ofstream out(folder + "/in");
    for (int i = 0; i < cell_count * piece; ++i) out << byte_at(i);
    out.close();
    thisProxy.live();
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | round;
    p | way;
    p | sum;
    p | file;
    p | reading;
    p | writing;
  }
  // Each PE holds some of it.
  void open(const char* name) {
    Ck::IO::Options options;
    options.peStripe = 2 * piece + 3;
    options.activePEs = CkNumPes();
    Ck::IO::open(folder + "/" + name, CkCallback(CkIndex_Main::opened(nullptr), thisProxy), options);
  }
  void begin_reading(Ck::IO::FileReadyMsg* m) {
    Ck::IO::startReadSession(m->file, cell_count * piece, 0, CkCallback(CkIndex_Main::ready(nullptr), thisProxy));
    delete m;
  }
  void wait_for_clients(Ck::IO::SessionReadyMsg* m) {
    reading = m->session;
    delete m;
    CkPrintf("sessions: there is a server\n");
  }
  void begin(CkCcsRequestMsg* m) {
    way = m->length > 0 ? m->data[0] : ' ';
    CcsSendDelayedReply(m->reply, 0, nullptr);
    delete m;
  }
  void begin_writing(Ck::IO::FileReadyMsg* m) {
    file = m->file;
    delete m;
    Ck::IO::startSession(file, cell_count * piece, 0, CkCallback(CkIndex_Main::ready(nullptr), thisProxy),
                         CkCallback(CkReductionTarget(Main, written), thisProxy));
  }
  void write_half(Ck::IO::SessionReadyMsg* m) {
    writing = m->session;
    delete m;
    cells.write(writing, 0);
  }
  void close_written() { Ck::IO::close(file, CkCallback(CkReductionTarget(Main, closed), thisProxy)); }
  void check_written() {
    std::ifstream in(folder + "/out");
    for (int i = 0; i < cell_count * piece; ++i)
      if (const int byte = in.get(); byte != byte_at(i)) CkAbort("byte %d of what was written is '%c'", i, byte);
  }
  void tell() { CkPrintf("sessions: round %d, sum %lld, %d PEs\n", round, static_cast<long long>(sum), CkNumPes()); }
  void stop(CkCcsRequestMsg* m) {
    CcsSendDelayedReply(m->reply, 0, nullptr);
    delete m;
    CkExit(0);
  }
};

class Numbers : public CkCacheEntryType<CmiUInt8> {
 public:
  void* request(CkArrayIndex& home, CmiUInt8 key) override;
  void* unpack(CkCacheFillMsg<CmiUInt8>* answer, int, CkArrayIndex&) override {
    auto* value = new CmiInt8;
    std::memcpy(value, answer->data, sizeof *value);
    delete answer;
    return value;
  }
  void writeback(CkArrayIndex&, CmiUInt8, void*) override {}
  void free(void* data) override { delete static_cast<CmiInt8*>(data); }
  int size(void*) override { return sizeof(CmiInt8); }
};

class Cell : public CBase_Cell {
  Numbers type_;
  CmiInt8 value_, next_ = 0;
  char way_ = ' ', read_[piece] = {};
  int round_ = 0, waits_ = 0;

 public:
  Cell() : value_(thisIndex + 1) { usesAtSync = true; }
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | value_;
    p | next_;
    p | way_;
    p | round_;
  }
  CmiInt8 value() const { return value_; }

  void go(int round, char way, Ck::IO::Session reading) {
    round_ = round;
    way_ = way;
    next_ = 7 * value_ % 1000003;
    std::memset(read_, 0, sizeof read_);
    Ck::IO::read(reading, piece, static_cast<std::size_t>(thisIndex) * piece, read_,
                 CkCallback(CkIndex_Cell::came(nullptr), thisProxy[thisIndex]));
  }
  void came(Ck::IO::ReadCompleteMsg* m) {
    delete m;
    for (int i = 0; i < piece; ++i)
      if (read_[i] != byte_at(thisIndex * piece + i)) CkAbort("byte %d of cell %d is read wrongly", i, thisIndex);
    CkCacheManager<CmiUInt8>& here = *cache.ckLocalBranch();
    int chunks = 1, place = 0;
    CkArrayIndex1D self(thisIndex);
    here.cacheSync(chunks, self, place);
    waits_ = 1;  // until all has been asked for
    for (int i = 0; i < 3; ++i) want(here, (thisIndex * 5 + round_ + i * i) % cell_count);
    has_one();
  }
  void want(CkCacheManager<CmiUInt8>& here, int of) {
    CkCacheUserData data{static_cast<CmiUInt8>(thisIndex), 0};
    CProxyElement_ArrayElement self(thisArrayID, CkArrayIndex1D(thisIndex));
    CkCacheRequestorData<CmiUInt8> requestor(self, &Cell::has_come, data);
    CkArrayIndex1D home(of);
    ++waits_;
    if (void* there = here.requestData(key_of(of), home, 0, &type_, requestor)) take(there);
  }
  static void has_come(CkArrayID, CkArrayIndex& index, CmiUInt8, CkCacheUserData&, void* data, int) {
    cells[index.data()[0]].ckLocal()->take(data);
  }
  void take(void* data) {
    next_ += *static_cast<CmiInt8*>(data);  // in whatever order they come
    has_one();
  }
  void has_one() {
    if (--waits_ > 0) return;
    if (way_ != 'c') cache.ckLocalBranch()->finishedChunk(0, 0);
    contribute(sizeof next_, &next_, CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }
  void wanted(CkCacheRequestMsg<CmiUInt8>* m) {
    auto* answer = new (static_cast<int>(sizeof value_), 0) CkCacheFillMsg<CmiUInt8>(m->key);
    std::memcpy(answer->data, &value_, sizeof value_);
    cache[m->replyTo].recvData(answer);
    delete m;
  }
  void wait() { AtSync(); }
  void ResumeFromSync() override {
    value_ = next_;
    contribute(CkCallback(CkReductionTarget(Main, resumed), mainProxy));
  }
  void finish_late() {
    cache.ckLocalBranch()->finishedChunk(0, 0);
    contribute(CkCallback(CkReductionTarget(Main, late), mainProxy));
  }
  void write(Ck::IO::Session session, int half) {
    char bytes[piece / 2];
    const int first = thisIndex * piece + half * piece / 2;
    for (int i = 0; i < piece / 2; ++i) bytes[i] = byte_at(first + i);
    Ck::IO::write(session, bytes, sizeof bytes, static_cast<std::size_t>(first));
  }
  void draw(liveVizRequestMsg* m) {
    const std::vector<byte> row(static_cast<std::size_t>(m->req.wid), static_cast<byte>(m->req.code + thisIndex));
    liveVizDeposit(m->req, 0, thisIndex, m->req.wid, 1, row.data(), this);
    delete m;
  }
};

void* Numbers::request(CkArrayIndex& home, CmiUInt8 key) {
  const int index = home.data()[0];
  if (Cell* cell = cells[index].ckLocal()) return new CmiInt8(cell->value());
  cells[index].wanted(new CkCacheRequestMsg<CmiUInt8>(key, CkMyPe()));
  return nullptr;
}

#include "sessions.def.h"
