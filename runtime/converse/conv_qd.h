// Quiescence of Converse: no message is on its way, in a queue or being handled. Plain C, and C++17: reached from
// converse.h.
//
// Messages are counted where they are sent or queued and where they are handled. Work that no message stands for is
// told with CQdCreate when it begins, and CQdProcess when it ends, on any PE.
#pragma once
#include "base/cmk.h"
#include "runtime/scheduler/ccd.h"

#define CMI_QD 1

typedef struct ConvQdState* CQdState;
typedef CcdCondFn CQdCondFn;

#ifdef __cplusplus
extern "C" {
#endif
// Calls fn(argument) on this PE when there is quiescence, once. Each PE raises CcdQUIESCENCE then.
void CmiStartQD(CQdCondFn fn, void* argument);
void CQdRegisterCallback(CQdCondFn fn, void* argument);  // the same, without starting the search for it
// This PE's counts: CpvAccess(cQdState).
CQdState periapt_qd_state(void);
void CQdCreate(CQdState state, CmiInt8 count);
void CQdProcess(CQdState state, CmiInt8 count);
CmiInt8 CQdGetCreated(CQdState state);
CmiInt8 CQdGetProcessed(CQdState state);
void CQdInit(void);     // nothing is to be initialised
void CQdCpvInit(void);  // nor here
#ifdef __cplusplus
}

namespace periapt {
// What CpvAccess(cQdState) reads.
struct QdStateHere {
  CQdState here() const { return periapt_qd_state(); }
};
}  // namespace periapt
inline constexpr periapt::QdStateHere Cpv_cQdState_;
#endif
