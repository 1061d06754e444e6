// Caches: each element of an array reads values of all others, twice, through the cache of its PE, and adds to what is
// cached of some, which is written back to them; then elements move and the next round begins. Each value is fetched
// once for a PE. Keys are numbers of 64 bits, or of 128 (cache_key.h). An argument makes a mistake instead.
#include <cstring>
#include <string>
#include <vector>

#include "CkCache.h"
#include "cache_key.h"
#include "cache_steps.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Part parts;
/*readonly*/ CProxy_CkCacheManager<CacheKey> cache;

namespace {
constexpr int elements = 23, values = 5, chunks = 3, rounds = 4;
std::string mistake;

// The upper half of a key is not all zeros.
constexpr CacheKey first_key = CacheKey{1} << (4 * sizeof(CacheKey));
CacheKey key_of(int element, int value) { return first_key + static_cast<CacheKey>(element * values + value); }
int number_of(CacheKey key) { return static_cast<int>(key - first_key); }
std::size_t index_of(CacheKey key) { return static_cast<std::size_t>(number_of(key) % values); }
int chunk_of(CacheKey key) { return number_of(key) % chunks; }
void expect(bool holds, const char* what) {
  if (!holds) CkAbort("does not hold: %s", what);
}
}  // namespace

// A cached value, and what is to be added to it.
struct Value {
  CmiUInt8 value, more;
  CkCacheFillMsg<CacheKey>* answer;
};

class Values : public CkCacheEntryType<CacheKey> {
 public:
  void* request(CkArrayIndex& home, CacheKey key) override;
  void* unpack(CkCacheFillMsg<CacheKey>* answer, int chunk, CkArrayIndex& home) override {
    expect(chunk == chunk_of(answer->key), "the chunk of an answer is that of its request");
    expect(home.data()[0] == number_of(answer->key) / values, "the home of an answer is that of its request");
    auto* value = new Value{0, 0, answer};
    std::memcpy(&value->value, answer->data, sizeof value->value);
    return value;
  }
  void writeback(CkArrayIndex& home, CacheKey key, void* data) override {
    const auto* value = static_cast<Value*>(data);
    if (value->more > 0) parts[home.data()[0]].add(key, value->more);
  }
  void free(void* data) override {
    auto* value = static_cast<Value*>(data);
    delete value->answer;
    delete value;
  }
  int size(void*) override { return 1; }
};

class Part : public CBase_Part {
  std::vector<CmiUInt8> own_;
  Values type_;
  int round_ = 0, chunks_ = 0, waits_ = 0;
  CmiUInt8 sum_ = 0;

 public:
  Part() {
    for (int i = 0; i < values; ++i) own_.push_back(100 * static_cast<CmiUInt8>(number_of(key_of(thisIndex, i))));
  }
  explicit Part(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | own_; }
  Value* local_value(CacheKey key) { return new Value{own_.at(index_of(key)), 0, nullptr}; }

  void round(int number) {
    CkCacheManager<CacheKey>& here = *cache.ckLocalBranch();
    round_ = number;
    waits_ = 0;
    sum_ = 0;
    chunks_ = chunks;
    int place = 0;
    CkArrayIndex1D self(thisIndex);
    here.cacheSync(chunks_, self, place);
    expect(chunks_ == chunks && place >= 1, "an element has a number");
    if (mistake == "chunk") here.finishedChunk(chunks, 0);
    if (mistake == "kept") come_back(here);
    if (mistake == "unasked" && CkMyPe() == 0) here.recvData(7, new Value{});
    ++waits_;  // until all has been asked for
    for (int again = 0; again < 2; ++again)
      for (int e = 0; e < elements; ++e)
        for (int v = 0; v < values; ++v) want(here, key_of(e, v));
    if (--waits_ == 0) finish();
  }
  // As after a restart from a checkpoint that is made now.
  void come_back(CkCacheManager<CacheKey>& here) {
    PUP::sizer size;
    here.pup(size);
    std::vector<char> bytes(size.size());
    PUP::toMem to(bytes.data());
    here.pup(to);
    expect(here.requestDataNoFetch(key_of(0, 0), 0) == nullptr, "a checkpoint does not end the round");
    PUP::fromMem from(bytes.data());
    here.pup(from);
    here.requestDataNoFetch(key_of(0, 0), 0);
  }
  void want(CkCacheManager<CacheKey>& here, CacheKey key) {
    CkCacheUserData data{static_cast<CmiUInt8>(thisIndex), static_cast<CmiUInt8>(number_of(key))};
    CProxyElement_ArrayElement self(thisArrayID, CkArrayIndex1D(thisIndex));
    CkCacheRequestorData<CacheKey> requestor(self, &Part::has_come, data);
    CkArrayIndex1D home(number_of(key) / values);
    if (void* there = here.requestData(key, home, chunk_of(key), &type_, requestor))
      take(*static_cast<Value*>(there));
    else
      ++waits_;
  }
  static void has_come(CkArrayID, CkArrayIndex& index, CacheKey key, CkCacheUserData& user, void* data, int chunk) {
    expect(user.d0 == static_cast<CmiUInt8>(index.data()[0]) && user.d1 == static_cast<CmiUInt8>(number_of(key)) &&
               chunk == chunk_of(key),
           "an answer comes with what its requestor said");
    Part* part = parts[index.data()[0]].ckLocal();
    part->take(*static_cast<Value*>(data));
    if (--part->waits_ == 0) part->finish();
  }
  void take(Value& value) {
    sum_ += value.value;
    ++value.more;  // each of the two times
  }
  void finish() {
    CkCacheManager<CacheKey>& here = *cache.ckLocalBranch();
    expect(here.requestDataNoFetch(key_of(0, 0), 0) && !here.requestDataNoFetch(key_of(0, 1), 0),
           "what has come is there, in its chunk");
    contribute(sizeof sum_, &sum_, CkReduction::sum_ulong_long, CkCallback(CkReductionTarget(Main, read), mainProxy));
  }
  // All have read: what is written back changes nothing for them.
  void write() {
    CkCacheManager<CacheKey>& here = *cache.ckLocalBranch();
    for (int chunk = 0; chunk < chunks_; ++chunk) here.writebackChunk(chunk);
    for (int chunk = 0; chunk < chunks_; ++chunk) here.finishedChunk(chunk, 1);
    if (mistake == "twice") here.finishedChunk(0, 1);
  }
  void wanted(CkCacheRequestMsg<CacheKey>* m) {
    const CacheKey key = m->key;
    if (mistake == "silent") return delete m;
    auto* answer = new (static_cast<int>(sizeof(CmiUInt8)), 0) CkCacheFillMsg<CacheKey>(key);
    std::memcpy(answer->data, &own_.at(index_of(key)), sizeof(CmiUInt8));
    cache[m->replyTo].recvData(answer);
    delete m;
  }
  void add(CacheKey key, CmiUInt8 value) { own_.at(index_of(key)) += value; }
  void check() {
    CmiUInt8 sum = 0;
    for (CmiUInt8 value : own_) sum += value;
    contribute(sizeof sum, &sum, CkReduction::sum_ulong_long, CkCallback(CkReductionTarget(Main, written), mainProxy));
    migrateMe((CkMyPe() + thisIndex + 1) % CkNumPes());
  }
};

void* Values::request(CkArrayIndex& home, CacheKey key) {
  if (Part* part = parts[home.data()[0]].ckLocal()) return part->local_value(key);
  parts[home.data()[0]].wanted(new CkCacheRequestMsg<CacheKey>(key, CkMyPe()));
  return nullptr;
}

class Main : public CBase_Main {
  int round_ = 1;
  CmiUInt8 sum_ = 0;  // of all values now

 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) mistake = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    parts = CProxy_Part::ckNew(elements);
    CkGroupID none[1] = {}, of[1] = {parts.ckLocMgr()->getGroupID()};
    cache = CProxy_CkCacheManager<CacheKey>::ckNew(16, 0, none, 1, of);
    for (int key = 0; key < elements * values; ++key) sum_ += 100 * key;
    parts.round(round_);
  }
  void read(CmiUInt8 sum) {
    expect(sum == 2 * elements * sum_, "each element has read all values twice");
    cache.collectStatistics(CkCallback(CkIndex_Main::statistics(nullptr), thisProxy));
  }
  void statistics(CkReductionMsg* m) {
    static_cast<CkCacheStatistics*>(m->getData())->printTo(ckout);
    delete m;
    parts.write();
    CkStartQD(CkCallback(CkIndex_Part::check(), parts));
  }
  void written(CmiUInt8 sum) {
    sum_ += 2 * elements * elements * values;  // each element has added 1 twice to each value
    expect(sum == sum_, "what was added in all caches has been written back");
    if (round_++ == rounds) return CkExit();
    CkStartQD(CkCallback(CkIndex_Main::next(), thisProxy));
  }
  void next() { parts.round(round_); }
};

#include "cache_steps.def.h"
