// Variables with a copy for each PE (Cpv), each user-level thread (Ctv), or one a process (Csv), as programs declare
// them. Plain C, and C++17: reached from converse.h.
//
//   CpvDeclare(int, counter);        // at file scope
//   CpvInitialize(int, counter);     // on every PE, before its first use
//   CpvAccess(counter) = 7;
//
// Several PEs may share an OS thread, so a PE's copy is found by its slot and not by thread-local storage. (The slot is
// the rank, but on a simulated machine, whose processes are all in this one.)
#pragma once
#include <stddef.h>

#include "base/cmk.h"

#ifdef __cplusplus
#include <atomic>
#include <cstddef>

namespace periapt {

// Of the PE that runs here; of another PE of its process.
int pe_slot();
int pe_slot_of_rank(int rank);

// A pointer for each PE of the process. Constant-initialised, so that it can be a global of any file.
class PerPeSlots {
 public:
  constexpr PerPeSlots() = default;
  PerPeSlots(const PerPeSlots&) = delete;
  void operator=(const PerPeSlots&) = delete;
  void* of(int slot) const { return slots_.load(std::memory_order_acquire)[slot]; }
  bool initialized() const {
    void** slots = slots_.load(std::memory_order_acquire);
    return slots && slots[pe_slot()];
  }
  // This PE's place. Makes all of them when it is the first to come.
  void*& own();

 private:
  std::atomic<void**> slots_{nullptr};  // acquire/release: the array is filled by its maker before others see it
};

template <class T>
class PerPe {
 public:
  constexpr PerPe() = default;
  void initialize() {
    void*& own = slots_.own();
    delete static_cast<T*>(own);
    own = new T();
  }
  bool initialized() const { return slots_.initialized(); }
  T& here() const { return *static_cast<T*>(slots_.of(pe_slot())); }
  T& of(int rank) const { return *static_cast<T*>(slots_.of(pe_slot_of_rank(rank))); }

 private:
  PerPeSlots slots_;
};

}  // namespace periapt

extern "C" {
#endif
// For the macros in C, on a variable that has the bytes of a PerPe: a file in C and one in C++ may share it.
void CpvInitialize_(void* variable, size_t bytes);
int CpvInitialized_(const void* variable);
int CpvSlot_(void);
int CpvSlotOfRank_(int rank);
#ifdef __cplusplus
}

#define CpvDeclare(t, v) ::periapt::PerPe<t> CMK_TAG(Cpv_, v)
#define CpvStaticDeclare(t, v) static ::periapt::PerPe<t> CMK_TAG(Cpv_, v)
#define CpvExtern(t, v) extern ::periapt::PerPe<t> CMK_TAG(Cpv_, v)
#define CpvInitialize(t, v) CMK_TAG(Cpv_, v).initialize()
#define CpvInitialized(v) CMK_TAG(Cpv_, v).initialized()
#define CpvAccess(v) (CMK_TAG(Cpv_, v).here())
// Of another PE of this process, by its rank.
#define CpvAccessOther(v, rank) (CMK_TAG(Cpv_, v).of(rank))
#else
#define CpvDeclare(t, v) t** CMK_TAG(Cpv_, v)
#define CpvStaticDeclare(t, v) static t** CMK_TAG(Cpv_, v)
#define CpvExtern(t, v) extern t** CMK_TAG(Cpv_, v)
#define CpvInitialize(t, v) CpvInitialize_(&CMK_TAG(Cpv_, v), sizeof(t))
#define CpvInitialized(v) CpvInitialized_(&CMK_TAG(Cpv_, v))
#define CpvAccess(v) (*CMK_TAG(Cpv_, v)[CpvSlot_()])
#define CpvAccessOther(v, rank) (*CMK_TAG(Cpv_, v)[CpvSlotOfRank_(rank)])
#endif
#define CpvCExtern CpvExtern

#define CkpvDeclare CpvDeclare
#define CkpvStaticDeclare CpvStaticDeclare
#define CkpvExtern CpvExtern
#define CkpvInitialize CpvInitialize
#define CkpvInitialized CpvInitialized
#define CkpvAccess CpvAccess
#define CkpvAccessOther CpvAccessOther

// One a process: an ordinary global.
#define CsvDeclare(t, v) t CMK_TAG(Csv_, v)
#define CsvStaticDeclare(t, v) static t CMK_TAG(Csv_, v)
#define CsvExtern(t, v) extern t CMK_TAG(Csv_, v)
#define CsvInitialize(t, v) \
  do {                      \
  } while (0)
#define CsvInitialized(v) 1
#define CsvAccess(v) CMK_TAG(Csv_, v)
#define CksvDeclare CsvDeclare
#define CksvStaticDeclare CsvStaticDeclare
#define CksvExtern CsvExtern
#define CksvInitialize CsvInitialize
#define CksvAccess CsvAccess
