// A CkCache over a restart, also on other PEs: cached FOLDER WAY, and then cached FOLDER WAY +restart FOLDER.
//
// In each of four rounds each part reads values of others through the cache of its PE, and then moves. The checkpoint
// is made behind the second round: WAY "between"; or before its end: "within", after which the parts begin it again in
// the run that comes back, and "forgets", when they go on with it, which the cache refuses. FOLDER "": the checkpoint
// is in memory, and a process is killed behind it.
#include <cstring>
#include <string>

#include "CkCache.h"
#include "cached.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Part parts;
/*readonly*/ CProxy_CkCacheManager<CmiUInt8> cache;
/*readonly*/ std::string folder;
/*readonly*/ std::string way;

namespace {
constexpr int part_count = 19, reads = 7;
CmiUInt8 key_of(int part) { return static_cast<CmiUInt8>(part) << 20 | 5; }
// Which parts are read: some by several parts of a PE.
int read_by(int part, int round, int number) { return (part / 2 * 3 + round * round + number * 4) % part_count; }
// Of all parts; in each round each adds the round to its value.
CmiInt8 value_of(int part, int round) { return 10 * part + round * (round - 1) / 2; }
}  // namespace

class Main : public CBase_Main {
  Main_SDAG_CODE int round = 0;
  bool begin_again = false, came_back = false;

 public:
  explicit Main(CkArgMsg* m) {
    folder = m->argv[1];
    way = m->argv[2];
    delete m;
    mainProxy = thisProxy;
    parts = CProxy_Part::ckNew(part_count);
    cache = CProxy_CkCacheManager<CmiUInt8>::ckNew(16, parts.ckLocMgr()->getGroupID());
    thisProxy.live();
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) { p | round; }
  static bool within() { return way != "between"; }
  void check(CmiInt8 sum) {
    CmiInt8 right = 0;
    for (int part = 0; part < part_count; ++part)
      for (int i = 0; i < reads; ++i) right += value_of(read_by(part, round, i), round);
    if (sum != right)
      CkAbort("round %d: the sum is %lld in place of %lld", round, static_cast<long long>(sum),
              static_cast<long long>(right));
  }
  void make_checkpoint() {
    const CkCallback go_on(CkIndex_Main::saved(), thisProxy);
    if (folder.empty())
      CkStartMemCheckpoint(go_on);
    else
      CkStartCheckpoint(folder.c_str(), go_on);
  }
  // Whether the round is to begin again.
  bool comes_back() {
    came_back = _restarted;
    if (folder.empty() && !_restarted) parts[part_count - 1].die();
    return _restarted && way == "within";
  }
  void end() {
    CkPrintf("cached: all rounds are right%s\n", came_back ? " after the restart" : "");
    CkExit(0);
  }
};

class Values : public CkCacheEntryType<CmiUInt8> {
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

class Part : public CBase_Part {
  Values type_;
  CmiInt8 value_, sum_ = 0;
  int round_ = 0, waits_ = 0;

 public:
  Part() : value_(value_of(thisIndex, 1)) {}
  explicit Part(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | value_;
    p | round_;
  }
  CmiInt8 value() const { return value_; }

  void read(int round) {
    round_ = round;
    sum_ = 0;
    CkCacheManager<CmiUInt8>& here = *cache.ckLocalBranch();
    int chunks = 1, place = 0;
    CkArrayIndex1D self(thisIndex);
    here.cacheSync(chunks, self, place);
    waits_ = 1;  // until all has been asked for
    for (int i = 0; i < reads; ++i) want(here, read_by(thisIndex, round, i));
    has_one();
  }
  void want(CkCacheManager<CmiUInt8>& here, int of) {
    CkCacheUserData data{0, 0};
    CProxyElement_ArrayElement self(thisArrayID, CkArrayIndex1D(thisIndex));
    CkCacheRequestorData<CmiUInt8> requestor(self, &Part::has_come, data);
    CkArrayIndex1D home(of);
    ++waits_;
    if (void* there = here.requestData(key_of(of), home, 0, &type_, requestor)) take(there);
  }
  static void has_come(CkArrayID, CkArrayIndex& index, CmiUInt8, CkCacheUserData&, void* data, int) {
    parts[index.data()[0]].ckLocal()->take(data);
  }
  void take(void* data) {
    sum_ += *static_cast<CmiInt8*>(data);
    has_one();
  }
  void has_one() {
    if (--waits_ == 0)
      contribute(sizeof sum_, &sum_, CkReduction::sum_long_long,
                 CkCallback(CkReductionTarget(Main, have_read), mainProxy));
  }
  void wanted(CkCacheRequestMsg<CmiUInt8>* m) {
    auto* answer = new (static_cast<int>(sizeof value_), 0) CkCacheFillMsg<CmiUInt8>(m->key);
    std::memcpy(answer->data, &value_, sizeof value_);
    cache[m->replyTo].recvData(answer);
    delete m;
  }
  void finish() {
    cache.ckLocalBranch()->finishedChunk(0, 0);
    value_ += round_;
    contribute(CkCallback(CkReductionTarget(Main, finished), mainProxy));
  }
  void move() { migrateMe((CkMyPe() + thisIndex + 1) % CkNumPes()); }
  void die() { CkDieNow(); }
};

void* Values::request(CkArrayIndex& home, CmiUInt8 key) {
  const int index = home.data()[0];
  if (Part* part = parts[index].ckLocal()) return new CmiInt8(part->value());
  parts[index].wanted(new CkCacheRequestMsg<CmiUInt8>(key, CkMyPe()));
  return nullptr;
}

#include "cached.def.h"
