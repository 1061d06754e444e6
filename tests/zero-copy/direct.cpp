// The direct zero-copy API: every mode of registration, both directions, all kinds of callbacks, buffers used again,
// and objects that move on while their bytes are under way. What does not hold ends the program.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "charm++.h"

// One exchange between each PE and the next one.
struct Round {
  int number = 0;
  bool put = false;
  unsigned short source_mode = 0, destination_mode = 0, dereg = 0;
  std::uint64_t size = 0;
  int callbacks = 0;  // 0: entries, 1: C functions, 2: none
  int seed(int pe) const { return 1000 * number + pe; }
  void pup(PUP::er& p) {
    p | number;
    p | put;
    p | source_mode;
    p | destination_mode;
    p | dereg;
    p | size;
    p | callbacks;
  }
};

#include "direct.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Mover movers;
/*readonly*/ CProxy_Wanderer wanderers;

namespace {

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d on PE %d: this does not hold: %s", __LINE__, CkMyPe(), #condition)

unsigned char pattern(std::uint64_t i, int seed) {
  return static_cast<unsigned char>((i * 2654435761u + static_cast<unsigned>(seed) * 40503u) >> 9);
}
void fill(void* memory, std::uint64_t size, int seed) {
  for (std::uint64_t i = 0; i < size; ++i) static_cast<unsigned char*>(memory)[i] = pattern(i, seed);
}
bool holds(const void* memory, std::uint64_t size, int seed) {
  for (std::uint64_t i = 0; i < size; ++i)
    if (static_cast<const unsigned char*>(memory)[i] != pattern(i, seed)) return false;
  return true;
}
int next(int pe) { return (pe + 1) % CkNumPes(); }
int before(int pe) { return (pe + CkNumPes() - 1) % CkNumPes(); }

}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    movers = CProxy_Mover::ckNew();
    CkArrayOptions options(2 * CkNumPes());
    wanderers = CProxy_Wanderer::ckNew(options);
    thisProxy.run();
  }
  void run() {
    Round round;
    for (unsigned short source : {CK_BUFFER_UNREG, CK_BUFFER_REG, CK_BUFFER_PREREG})
      for (unsigned short destination : {CK_BUFFER_UNREG, CK_BUFFER_REG, CK_BUFFER_PREREG})
        for (unsigned short dereg : {CK_BUFFER_DEREG, CK_BUFFER_NODEREG}) {
          round.source_mode = source;
          round.destination_mode = destination;
          round.dereg = dereg;
          exchange(round, 5000 + 3 * static_cast<unsigned>(round.number));
        }
    round.callbacks = 1;
    exchange(round, 333);
    round.callbacks = 0;
    for (std::uint64_t size : {0, 1, 64, 2'000'003}) exchange(round, size);
    // Nothing is called back: quiescence knows when it is over.
    round.callbacks = 2;
    for (bool put : {false, true}) {
      ++round.number;
      round.put = put;
      round.size = 300'000;
      movers.begin(round);
      CkWaitQD();
      movers.checkSilent();
      wait_for(CkNumPes());
    }
    movers.waiting();
    wait_for(CkNumPes());
    // One pair alone: nothing else wakes the PE whose transfer fails, as the registration has ended, and is made again.
    movers[CkNumPes() > 1 ? CkNumPes() - 2 : 0].waiting();
    wait_for(1);
    for (int i = 0; i < 4; ++i) {
      wanderers.start(i);
      wait_for(2 * CkNumPes());
    }
    movers.clear();
    wait_for(CkNumPes());
    CkPrintf("direct: %d rounds, all well\n", round.number);
    CkExit();
  }
  void round() {
    if (--expected_ == 0) CthAwaken(waiting_);
  }

 private:
  void exchange(Round& round, std::uint64_t size) {
    round.size = size;
    for (bool put : {false, true}) {
      ++round.number;
      round.put = put;
      movers.begin(round);
      wait_for(2 * CkNumPes());
    }
  }
  void wait_for(int count) {
    expected_ += count;
    if (expected_ <= 0) return;
    waiting_ = CthSelf();
    CthSuspend();
  }
  int expected_ = 0;
  CthThread waiting_ = nullptr;
};

class Mover : public CBase_Mover {
 public:
  Mover() {}

  // A get: we show our source to the next PE. A put: our destination to the one before us.
  void begin(Round round) {
    round_ = round;
    CkNcpyBuffer buffer = round.put ? destination(round) : source(round);
    movers[round.put ? before(CkMyPe()) : next(CkMyPe())].theirs(round, buffer);
  }
  void theirs(Round round, CkNcpyBuffer other) {
    CkNcpyBuffer mine = round.put ? source(round) : destination(round);
    const int partner = round.put ? next(CkMyPe()) : before(CkMyPe());
    DEMAND(other.cnt == round.size && other.pe == partner);
    const int called = called_;
    const CkNcpyStatus status = round.put ? mine.put(other) : mine.get(other);
    DEMAND(called_ == called);  // never inline
    if (status == CkNcpyStatus::complete && !round.put) DEMAND(holds(mine.ptr, round.size, round.seed(partner)));
    if (CkNodeOf(partner) == CkMyNode()) DEMAND(status == CkNcpyStatus::complete);
  }
  void sent(CkDataMsg* message) {
    DEMAND(message->getSize() == static_cast<int>(sizeof(CkNcpyBuffer)));
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(message->data);
    DEMAND(CkGetRefNum(message) == 2 * round_.number);
    check_called(buffer, source_);
    delete message;
    mainProxy.round();
  }
  void got(CkDataMsg* message) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(message->data);
    DEMAND(CkGetRefNum(message) == 2 * round_.number + 1);
    DEMAND(holds(buffer->ptr, round_.size, round_.seed(before(CkMyPe()))));
    check_called(buffer, destination_);
    delete message;
    mainProxy.round();
  }
  void checkSilent() {
    DEMAND(holds(destination_, round_.size, round_.seed(before(CkMyPe()))));
    mainProxy.round();
  }
  void check(std::uint64_t at, int seed, std::uint64_t size) {
    DEMAND(holds(reinterpret_cast<void*>(at), size, seed));
    mainProxy.round();
  }

  // A thread waits for its own transfer, within the PE.
  void waiting() {
    std::vector<unsigned char> from(70'000), to(70'000);
    fill(from.data(), from.size(), CkMyPe());
    CkCallback done(CkCallback::resumeThread);
    CkNcpyBuffer source(from.data(), from.size(), CkCallback::ignore, CK_BUFFER_UNREG);
    CkNcpyBuffer destination(to.data(), to.size(), done);
    destination.get(source);
    CkFreeMsg(done.thread_delay());
    DEMAND(to == from);
    persistent_ = static_cast<unsigned char*>(CkRdmaAlloc(50'000));
    CkNcpyBuffer kept(persistent_, 50'000, CK_BUFFER_PREREG, CK_BUFFER_NODEREG);
    fill(persistent_, 50'000, 10'000 + CkMyPe());
    movers[next(CkMyPe())].persistent(kept, 5);
  }
  // The same two buffers again and again; the source's registration ends after the first time when it is not kept.
  void persistent(CkNcpyBuffer source, int left) {
    left_ = left;
    from_ = source;
    into_.assign(50'000, 0);
    mine_ =
        CkNcpyBuffer(into_.data(), into_.size(), CkCallback(CkIndex_Mover::persistentGot(nullptr), thisProxy[CkMyPe()]),
                     CK_BUFFER_NOREG, CK_BUFFER_NODEREG);
    mine_.setRef(&left_);
    DEMAND(mine_.getRef() == &left_);
    mine_.setMode(CK_BUFFER_REG);
    mine_.registerMem();
    mine_.get(from_);
  }
  void persistentGot(CkDataMsg* message) {
    delete message;
    DEMAND(holds(into_.data(), into_.size(), 10'000 + before(CkMyPe())));
    into_.assign(50'000, 0);
    if (--left_ > 0) {
      if (left_ == 2) from_.deregMode = CK_BUFFER_DEREG;  // registered anew for the last one
      mine_.get(from_);
      return;
    }
    mine_.deregisterMem();
    mine_.deregisterMem();
    mine_.registerMem();
    mine_.deregisterMem();
    from_.deregisterMem();  // not ours, mostly
    movers[before(CkMyPe())].endPersistent(from_);
  }
  void endPersistent(CkNcpyBuffer source) {
    source.deregisterMem();
    CkRdmaFree(persistent_);
    mainProxy.round();
  }
  void clear() {
    for (void* memory : kept_) std::free(memory);
    for (void* memory : rdma_) CkRdmaFree(memory);
    mainProxy.round();
  }
  void* keep(std::uint64_t size) {
    kept_.push_back(std::malloc(size + 1));
    return kept_.back();
  }

 private:
  void* memory(unsigned short mode, std::uint64_t size) {
    if (mode != CK_BUFFER_PREREG) return keep(size);
    rdma_.push_back(CkRdmaAlloc(size + 1));
    return rdma_.back();
  }
  CkCallback callback(const Round& round, bool of_source) {
    if (round.callbacks == 2) return CkCallback(CkCallback::ignore);
    if (round.callbacks == 1) return CkCallback(of_source ? sent_c : got_c, this);
    const int entry = of_source ? CkIndex_Mover::sent(nullptr) : CkIndex_Mover::got(nullptr);
    return CkCallback(entry, thisProxy[CkMyPe()]);
  }
  CkNcpyBuffer source(const Round& round) {
    round_ = round;
    source_ = memory(round.source_mode, round.size);
    fill(source_, round.size, round.seed(CkMyPe()));
    CkCallback cb = callback(round, true);
    cb.setRefNum(2 * round.number);
    CkNcpyBuffer buffer(source_, round.size, cb, round.source_mode, round.dereg);
    buffer.setRef(this);
    return buffer;
  }
  CkNcpyBuffer destination(const Round& round) {
    round_ = round;
    destination_ = memory(round.destination_mode, round.size);
    CkCallback cb = callback(round, false);
    cb.setRefNum(2 * round.number + 1);
    CkNcpyBuffer buffer;
    buffer.init(destination_, round.size, cb, round.destination_mode, round.dereg);
    buffer.setRef(this);
    return buffer;
  }
  void check_called(CkNcpyBuffer* buffer, void* memory) {
    ++called_;
    DEMAND(buffer->ptr == memory && buffer->ref == this && buffer->pe == CkMyPe() && buffer->cnt == round_.size);
    buffer->deregisterMem();  // also when it is not needed
  }
  static void sent_c(void* self, void* message) { static_cast<Mover*>(self)->sent(static_cast<CkDataMsg*>(message)); }
  static void got_c(void* self, void* message) { static_cast<Mover*>(self)->got(static_cast<CkDataMsg*>(message)); }

  Round round_;
  void* source_ = nullptr;
  void* destination_ = nullptr;
  int called_ = 0;
  std::vector<void*> kept_, rdma_;
  unsigned char* persistent_ = nullptr;
  CkNcpyBuffer from_, mine_;
  std::vector<unsigned char> into_;
  int left_ = 0;
};

// Shows its source to its partner and moves on at once; the partner gets the bytes and moves on at once. The memory
// stays with the group; the callbacks find the objects.
class Wanderer : public CBase_Wanderer {
 public:
  Wanderer() {}
  explicit Wanderer(CkMigrateMessage*) {}
  void start(int round) {
    constexpr std::uint64_t size = 100'000;
    void* memory = movers.ckLocalBranch()->keep(size);
    fill(memory, size, 77 * round + thisIndex);
    CkNcpyBuffer source(memory, size, CkCallback(CkIndex_Wanderer::sent(nullptr), thisProxy[thisIndex]),
                        round % 2 == 0 ? CK_BUFFER_UNREG : CK_BUFFER_REG);
    thisProxy[2 * CkNumPes() - 1 - thisIndex].source(source, round);
    migrateMe((CkMyPe() + 1 + round) % CkNumPes());
  }
  void source(CkNcpyBuffer buffer, int round) {
    round_ = round;
    void* memory = movers.ckLocalBranch()->keep(buffer.cnt);
    CkNcpyBuffer mine(memory, buffer.cnt, CkCallback(CkIndex_Wanderer::got(nullptr), thisProxy[thisIndex]),
                      CK_BUFFER_UNREG);
    mine.get(buffer);
    migrateMe((CkMyPe() + 2) % CkNumPes());
  }
  void sent(CkDataMsg* message) {
    delete message;
    ++sent_;
  }
  // The bytes are where we were.
  void got(CkDataMsg* message) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(message->data);
    movers[buffer->pe].check(reinterpret_cast<std::uintptr_t>(buffer->ptr),
                             77 * round_ + 2 * CkNumPes() - 1 - thisIndex, buffer->cnt);
    delete message;
  }
  void pup(PUP::er& p) {
    p | round_;
    p | sent_;
  }

 private:
  int round_ = 0, sent_ = 0;
};

#include "direct.def.h"
