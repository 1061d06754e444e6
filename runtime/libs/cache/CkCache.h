// Caches (-module CkCache): on each PE one of what the elements there have asked other elements for. C++17: programs
// include it.
//
//   CProxy_CkCacheManager<CmiUInt8> cache = CProxy_CkCacheManager<CmiUInt8>::ckNew(megabytes, elements.ckLocMgrID());
//
// In a round each element of a PE takes part once:
//   1. cacheSync(chunks, its index, number) before it asks. The first one of the PE says how many chunks the keys are
//      divided into, and later ones are told; `number` is 1 for the first element of the PE, 2 for the next.
//   2. requestData(key, home, chunk, type, requestor) answers with the data, or null: the requestor's function is
//   called
//      with them when they have come. What is not there yet is asked for by type->request(), once for all elements of
//      the PE: it returns data that are on this PE, or null when it has sent for them. The home answers with
//      recvData().
//   3. writebackChunk(chunk), in caches that write: when all elements of those arrays have called it, type->writeback()
//      is called for all of the chunk.
//   4. finishedChunk(chunk, 0): when all have called it for a chunk, type->free() is called for all that is in it.
//      When all chunks are finished the next round may begin.
//
// What is used against these rules ends the run with a sentence. A key that is not answered is named when the run comes
// to a standstill (`waiting`).
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/api/array_map.h"
#include "runtime/api/objects.h"
#include "runtime/containers/hashtable.h"
#include "runtime/converse/streams.h"

typedef struct _CkCacheUserData {
  CmiUInt8 d0;
  CmiUInt8 d1;
} CkCacheUserData;

template <class CkCacheKey>
class CkCacheEntryType;
template <class CkCacheKey>
class CkCacheRequestorData;
template <class CkCacheKey>
class CkCacheEntry;

#include "CkCache.decl.h"

// What caches did in their last round: collectStatistics() sums it over all PEs.
class CkCacheStatistics {
 public:
  CkCacheStatistics(CmiUInt8 messages, CmiUInt8 entries, CmiUInt8 misses, CmiUInt8 local, CmiUInt8 unasked,
                    CmiUInt8 requests, CmiUInt8 most, int pe)
      : messages_(messages),
        entries_(entries),
        misses_(misses),
        local_(local),
        unasked_(unasked),
        requests_(requests),
        most_(most),
        pe_(pe) {}
  void printTo(CkOStream& out);

  static CkReduction::reducerType sum;
  static CkReductionMsg* sumFn(int count, CkReductionMsg** parts);

 private:
  CkCacheStatistics() = default;
  CmiUInt8 messages_ = 0, entries_ = 0;  // that came from other PEs, and what was in them
  CmiUInt8 misses_ = 0, local_ = 0, unasked_ = 0, requests_ = 0;
  CmiUInt8 most_ = 0;  // data that one PE kept at a time, as type->size() counts
  int pe_ = -1;        // which
};

template <class CkCacheKey>
class CkCacheRequestMsg : public CMessage_CkCacheRequestMsg<CkCacheKey> {
 public:
  CkCacheKey key;
  int replyTo;  // PE
  CkCacheRequestMsg(CkCacheKey key, int reply_to) : key(key), replyTo(reply_to) {}
};

template <class CkCacheKey>
class CkCacheFillMsg : public CMessage_CkCacheFillMsg<CkCacheKey> {
 public:
  CkCacheKey key;
  char* data;
  explicit CkCacheFillMsg(CkCacheKey key) : key(key) {}
};

// An element that waits for data, and its function for them.
template <class CkCacheKey>
class CkCacheRequestorData {
 public:
  typedef void (*CkCacheCallback)(CkArrayID, CkArrayIndex&, CkCacheKey, CkCacheUserData&, void* data, int chunk);
  CkCacheUserData userData;
  CkCacheCallback fn;
  CkArrayID requestorID;
  CkArrayIndex requestorIdx;

  CkCacheRequestorData(CProxyElement_ArrayElement& element, CkCacheCallback function, CkCacheUserData& data)
      : userData(data), fn(function), requestorID(element.ckGetArrayID()), requestorIdx(element.ckGetIndex()) {}
  void deliver(CkCacheKey key, void* data, int chunk) { fn(requestorID, requestorIdx, key, userData, data, chunk); }
};

// How one kind of data is fetched, read, written back and freed.
template <class CkCacheKey>
class CkCacheEntryType {
 public:
  virtual ~CkCacheEntryType() = default;
  // Sends for it; or returns it, when it is on this PE.
  virtual void* request(CkArrayIndex& home, CkCacheKey key) = 0;
  // The data of an answer, which are the type's own from now on, like the message.
  virtual void* unpack(CkCacheFillMsg<CkCacheKey>* message, int chunk, CkArrayIndex& home) = 0;
  virtual void writeback(CkArrayIndex& home, CkCacheKey key, void* data) = 0;
  virtual void free(void* data) = 0;
  virtual int size(void* data) = 0;
};

template <class CkCacheKey>
class CkCacheEntry {
 public:
  CkCacheKey key;
  CkArrayIndex home;
  CkCacheEntryType<CkCacheKey>* type;
  std::vector<CkCacheRequestorData<CkCacheKey>> requestorVec;  // they wait for the data
  void* data = nullptr;
  bool requestSent = false, replyRecvd = false, writtenBack = false;

  CkCacheEntry(CkCacheKey key, CkArrayIndex& home, CkCacheEntryType<CkCacheKey>* type)
      : key(key), home(home), type(type) {}
  ~CkCacheEntry() {
    if (!writtenBack) writeback();
    type->free(data);
  }
  void writeback() {
    type->writeback(home, key, data);
    writtenBack = true;
  }
};

// Numbers the elements of this PE, from 1.
class CkCacheArrayCounter : public CkLocIterator {
 public:
  int count = 0;
  CkHashtableT<CkArrayIndex, int> registered;
  void addLocation(CkLocation& location) override { registered.put(location.getIndex()) = ++count; }
  void reset() {
    count = 0;
    registered.empty();
  }
};

// What a cache waits for: said when the run comes to a standstill. And whether a round is open, which the run could not
// go on with on another number of PEs.
class CkCacheWaiting {
 public:
  CkCacheWaiting();
  virtual ~CkCacheWaiting();
  virtual std::string describe_waiting() const = 0;  // a line, or nothing
  virtual bool in_round() const = 0;
};

template <class CkCacheKey>
class CkCacheManager : public CBase_CkCacheManager<CkCacheKey>, private CkCacheWaiting {
 public:
  using Entry = CkCacheEntry<CkCacheKey>;
  using Type = CkCacheEntryType<CkCacheKey>;
  using Table = std::map<CkCacheKey, Entry*>;

  // `of`: the location managers of the arrays whose elements ask; `written_by`: of those that write, too. (What more
  // than `megabytes` would be is kept all the same: an element may use it until its chunk is finished.)
  CkCacheManager(int megabytes, CkGroupID of) : CkCacheManager(megabytes, 1, &of) {}
  CkCacheManager(int megabytes, int arrays, CkGroupID* of) : CkCacheManager(megabytes, arrays, of, 0, nullptr) {}
  CkCacheManager(int megabytes, int arrays, CkGroupID* of, int writing, CkGroupID* written_by)
      : arrays_(of, of + arrays), writing_(written_by, written_by + writing), megabytes_(megabytes) {}
  explicit CkCacheManager(CkMigrateMessage* m) : CBase_CkCacheManager<CkCacheKey>(m) {}
  // Of a round nothing comes back but that there was one.
  void pup(PUP::er& p) override {
    p | arrays_;
    p | writing_;
    p | megabytes_;
    bool cut_off = in_round_ || cut_off_;
    p | cut_off;
    if (p.isUnpacking()) cut_off_ = cut_off;
  }

  void cacheSync(int& chunks, CkArrayIndex& element, int& number);
  void* requestData(CkCacheKey key, CkArrayIndex& home, int chunk, Type* type,
                    CkCacheRequestorData<CkCacheKey>& requestor);
  // Null where it is not there.
  void* requestDataNoFetch(CkCacheKey key, int chunk) {
    Entry* entry = requestCacheEntryNoFetch(key, chunk);
    return entry ? entry->data : nullptr;
  }
  Entry* requestCacheEntryNoFetch(CkCacheKey key, int chunk) {
    Table& table = chunk_at(chunk, "requestCacheEntryNoFetch").table();
    const auto found = table.find(key);
    return found == table.end() ? nullptr : found->second;
  }
  // The answer: as a message, or as data that a local element has made.
  void recvData(CkCacheFillMsg<CkCacheKey>* message) { answered(message->key, nullptr, message); }
  void recvData(CkCacheKey key, void* data, CkCacheFillMsg<CkCacheKey>* message = nullptr) {
    answered(key, data, message);
  }
  // Data that were not asked for, as part of a larger answer. What is there of that key is written back first.
  void recvData(CkCacheKey key, CkArrayIndex& home, Type* type, int chunk, void* data);
  void writebackChunk(int chunk);
  void finishedChunk(int chunk, CmiUInt8 weight);
  void collectStatistics(CkCallback& to) {
    CkCacheStatistics here(messages_, entries_, misses_, local_, 0, requests_, most_, CkMyPe());
    this->contribute(sizeof here, &here, CkCacheStatistics::sum, to);
  }
  std::string describe_waiting() const override {
    if (waiting_.empty()) return "";
    return "a cache on PE " + std::to_string(CkMyPe()) + " waits for " + std::to_string(waiting_.size()) +
           (waiting_.size() == 1 ? " answer: " : " answers, the first of them: ") + name(waiting_.begin()->first) +
           "\n";
  }
  bool in_round() const override { return in_round_; }
  // The tables, one a chunk.
  Table* getCache() { return tables_.data(); }

 private:
  // A chunk of the keys: its table is tables_[number].
  struct Chunk {
    CkCacheManager* of;
    int number;
    int unfinished;  // elements that use it
    int unwritten;   // elements that may write
    Table& table() { return of->tables_[number]; }
  };

  [[noreturn]] void refuse(const std::string& what, const char* hint) {
    CkAbort("CkCacheManager on PE %d: %s\n  %s", CkMyPe(), what.c_str(), hint);
  }
  // For keys that are numbers.
  static std::string name(const CkCacheKey& key) {
    if constexpr (std::is_integral<CkCacheKey>::value && sizeof(CkCacheKey) <= 8)
      return "key " + std::to_string(key);
    else
      return "a key";
  }
  Chunk& chunk_at(int chunk, const char* call) {
    if (cut_off_)
      refuse(std::string(call) + "() in a round that a checkpoint was made in: a restart keeps nothing of it",
             "make checkpoints between rounds, or begin the round again with cacheSync()");
    if (chunk < 0 || chunk >= static_cast<int>(chunks_.size()))
      refuse(
          std::string(call) + "() of chunk " + std::to_string(chunk) + ": there are " + std::to_string(chunks_.size()),
          "cacheSync() says how many chunks the round has; call it before anything else");
    return chunks_[chunk];
  }
  void begin_round(int chunks);
  void answered(CkCacheKey key, void* data, CkCacheFillMsg<CkCacheKey>* message);
  // The data have come: to the entry, and to the requestors that wait.
  void fill(Entry& entry, void* data, int chunk);

  std::vector<CkGroupID> arrays_, writing_;
  CmiUInt8 megabytes_ = 0;

  bool in_round_ = false;
  bool cut_off_ = false;  // of a checkpoint that was made in a round, until the next begins
  int unfinished_ = 0;    // chunks
  std::vector<Chunk> chunks_;
  std::vector<Table> tables_;
  CkCacheArrayCounter asking_, writers_;
  std::map<CkCacheKey, int> waiting_;  // what has been sent for, with its chunk

  CmiUInt8 stored_ = 0;  // as type->size() counts
  CmiUInt8 messages_ = 0, entries_ = 0, misses_ = 0, local_ = 0, requests_ = 0, most_ = 0;
};

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::begin_round(int chunks) {
  if (chunks < 1) refuse("cacheSync() with " + std::to_string(chunks) + " chunks", "say at least 1");
  in_round_ = true;
  cut_off_ = false;
  asking_.reset();
  writers_.reset();
  const auto count = [](const std::vector<CkGroupID>& arrays, CkCacheArrayCounter& counter) {
    for (CkGroupID id : arrays) static_cast<CkLocMgr*>(CkLocalBranch(id))->iterate(counter);
  };
  count(arrays_, asking_);
  count(writing_, asking_);
  count(writing_, writers_);
  unfinished_ = chunks;
  tables_.resize(chunks);
  chunks_.clear();
  for (int i = 0; i < chunks; ++i) chunks_.push_back({this, i, asking_.count, writers_.count});
  stored_ = messages_ = entries_ = misses_ = local_ = requests_ = most_ = 0;
}

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::cacheSync(int& chunks, CkArrayIndex& element, int& number) {
  if (!in_round_) begin_round(chunks);
  chunks = static_cast<int>(chunks_.size());
  number = asking_.registered.get(element);
  if (number == 0)
    refuse("cacheSync() of an element that was not on this PE when the round began",
           "elements come and go between rounds only, and are of the arrays that the cache was made for");
}

template <class CkCacheKey>
void* CkCacheManager<CkCacheKey>::requestData(CkCacheKey key, CkArrayIndex& home, int number, Type* type,
                                              CkCacheRequestorData<CkCacheKey>& requestor) {
  Chunk& chunk = chunk_at(number, "requestData");
  if (chunk.unfinished <= 0)
    refuse(
        "requestData() of " + name(key) + " in chunk " + std::to_string(number) + ", which all elements have finished",
        "call finishedChunk() when the last answer has been used");
  ++requests_;
  Entry*& entry = chunk.table()[key];
  if (!entry) entry = new Entry(key, home, type);
  if (entry->data) return entry->data;
  if (!entry->requestSent) {
    entry->requestSent = true;
    if ((entry->data = type->request(home, key))) {
      entry->replyRecvd = true;
      ++local_;
      return entry->data;
    }
  }
  ++misses_;
  entry->requestorVec.push_back(requestor);
  waiting_[key] = number;
  return nullptr;
}

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::answered(CkCacheKey key, void* data, CkCacheFillMsg<CkCacheKey>* message) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end())
    refuse("recvData() of " + name(key) + ", which was not asked for",
           "answer each request once; data beside what was asked for come with recvData(key, home, type, chunk, data)");
  const int chunk = found->second;
  waiting_.erase(found);
  Entry& entry = *tables_[chunk].at(key);
  if (message) {
    ++messages_;
    data = entry.type->unpack(message, chunk, entry.home);
  }
  fill(entry, data, chunk);
}

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::recvData(CkCacheKey key, CkArrayIndex& home, Type* type, int number, void* data) {
  Entry*& entry = chunk_at(number, "recvData").table()[key];
  if (!entry) {
    entry = new Entry(key, home, type);
  } else if (entry->data) {
    stored_ -= entry->type->size(entry->data);
    entry->type->writeback(entry->home, key, entry->data);
  }
  entry->requestSent = true;
  fill(*entry, data, number);
}

// The functions of requestors may ask for more, also of this key.
template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::fill(Entry& entry, void* data, int chunk) {
  entry.data = data;
  entry.replyRecvd = true;
  ++entries_;
  stored_ += entry.type->size(data);
  if (stored_ > most_) most_ = stored_;
  std::vector<CkCacheRequestorData<CkCacheKey>> requestors;
  requestors.swap(entry.requestorVec);
  for (CkCacheRequestorData<CkCacheKey>& requestor : requestors) requestor.deliver(entry.key, data, chunk);
}

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::writebackChunk(int number) {
  Chunk& chunk = chunk_at(number, "writebackChunk");
  if (chunk.unwritten <= 0)
    refuse("writebackChunk(" + std::to_string(number) + ") is called more often than there are elements that write",
           "each element of the arrays that the cache was made for writing with calls it once in a round");
  if (--chunk.unwritten > 0) return;
  for (auto& [key, entry] : chunk.table()) entry->writeback();
}

template <class CkCacheKey>
void CkCacheManager<CkCacheKey>::finishedChunk(int number, CmiUInt8) {
  Chunk& chunk = chunk_at(number, "finishedChunk");
  if (chunk.unfinished <= 0)
    refuse("finishedChunk(" + std::to_string(number) + ") is called more often than there are elements",
           "each element on the PE calls it once in a round");
  if (--chunk.unfinished > 0) return;
  for (auto& [key, entry] : chunk.table()) {
    if (!entry->requestorVec.empty())
      refuse("finishedChunk(" + std::to_string(number) + ") by all elements while " + name(key) + " has not come",
             "an element finishes a chunk when all that it asked for has been delivered");
    delete entry;
  }
  chunk.table().clear();
  if (--unfinished_ == 0) in_round_ = false;
}

#define CK_TEMPLATES_ONLY
#include "CkCache.def.h"
#undef CK_TEMPLATES_ONLY
