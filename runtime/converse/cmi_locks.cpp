// Locks and barriers of a process. PEs may share an OS thread, so a waiting one lets others run instead of blocking
// it: the one that is waited for may be among them.
#include <sched.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <new>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/converse/per_pe.h"
#include "runtime/scheduler/process.h"

using namespace periapt;

struct CmiNodeLockStruct {
  std::atomic<bool> held{false};  // acquire when taken, release when given back: partners of each other
};

namespace {
constexpr int spins_before_yield = 100;

class Waiting {
 public:
  void once() {
    Pe* pe = Pe::current();
    if (pe && pe->carrier && pe->carrier->yield(false)) return;
    if (++rounds_ < spins_before_yield)
      Port::relax();
    else
      sched_yield();
  }

 private:
  int rounds_ = 0;
};

CmiNodeLockStruct memory_lock;

// PEs that have come, and how often all of them had. acq_rel on both: what each PE wrote before is seen by all after.
struct NodeBarrier {
  std::atomic<int> arrived{0};
  std::atomic<unsigned> generation{0};

  void wait(int for_so_many) {
    const unsigned before = generation.load(std::memory_order_acquire);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == for_so_many) {
      arrived.store(0, std::memory_order_relaxed);  // published by the next line
      generation.fetch_add(1, std::memory_order_acq_rel);
      return;
    }
    Waiting waiting;
    while (generation.load(std::memory_order_acquire) == before) waiting.once();
  }
};

// Of this process; on a simulated machine, of the one that runs.
NodeBarrier& node_barrier() {
  static std::deque<NodeBarrier> all(static_cast<std::size_t>(Process::current()->hosted_processes()));
  return all[Process::current()->is_simulated() ? static_cast<std::size_t>(Process::current()->rank()) : 0];
}
NodeBarrier simulated_barrier;
}  // namespace

extern "C" {

CmiNodeLock CmiCreateLock() { return new CmiNodeLockStruct; }
void CmiDestroyLock(CmiNodeLock lock) { delete lock; }
int CmiTryLock(CmiNodeLock lock) {
  return lock->held.load(std::memory_order_relaxed) || lock->held.exchange(true, std::memory_order_acquire);
}
void CmiLock(CmiNodeLock lock) {
  Waiting waiting;
  while (CmiTryLock(lock)) waiting.once();
}
void CmiUnlock(CmiNodeLock lock) { lock->held.store(false, std::memory_order_release); }
void CmiMemLock() { CmiLock(&memory_lock); }
void CmiMemUnlock() { CmiUnlock(&memory_lock); }

void CmiNodeBarrier() { node_barrier().wait(CmiMyNodeSize()); }
void CmiNodeAllBarrier() { CmiNodeBarrier(); }

// The machine's barrier is for OS threads, and blocks them: the first PE of each comes to it when all of its process
// have come here, and lets them go when it is back.
int CmiBarrier() {
  Pe& pe = require_pe("CmiBarrier");
  const bootstrap::HostLayout& layout = pe.process.layout();
  if (pe.process.is_simulated()) return simulated_barrier.wait(pe.process.pes()), 0;
  CmiNodeBarrier();
  if (pe.process.layer().whole_run().process_count() > 1 &&
      layout.carriers[layout.carrier_of[pe.index]].pes[0] == pe.index) {
    if (!pe.process.layer().barrier()) return -1;
  }
  CmiNodeBarrier();
  return 0;
}
int CmiBarrierZero() { return CmiBarrier(); }
}

namespace periapt {

void*& PerPeSlots::own() {
  CmiMemLock();
  void** slots = slots_.load(std::memory_order_relaxed);
  if (!slots) {
    slots = new void*[static_cast<std::size_t>(Process::current() ? Process::current()->hosted_pes() : 1)]();
    slots_.store(slots, std::memory_order_release);
  }
  CmiMemUnlock();
  return slots[pe_slot()];
}

int pe_slot() {
  Pe* pe = Pe::current();
  return pe ? pe->slot : 0;
}
int pe_slot_of_rank(int rank) {
  Pe* pe = Pe::current();
  return pe ? pe->slot - pe->rank + rank : rank;
}

}  // namespace periapt

static_assert(sizeof(periapt::PerPe<char>) == sizeof(char**), "per_pe.h declares it so in C");

extern "C" {
void CpvInitialize_(void* variable, size_t bytes) {
  void*& own = static_cast<periapt::PerPeSlots*>(variable)->own();
  ::operator delete(own);
  own = std::memset(::operator new(bytes), 0, bytes);
}
int CpvInitialized_(const void* variable) { return static_cast<const periapt::PerPeSlots*>(variable)->initialized(); }
int CpvSlot_() { return periapt::pe_slot(); }
int CpvSlotOfRank_(int rank) { return periapt::pe_slot_of_rank(rank); }
}
