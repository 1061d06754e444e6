// Ck names of what Converse offers. C++17: reached from charm.h.
#pragma once
#include "runtime/scheduler/cmi.h"

inline int CkMyPe() { return CmiMyPe(); }
inline int CkMyRank() { return CmiMyRank(); }
inline int CkMyNode() { return CmiMyNode(); }
inline int CkNumPes() { return CmiNumPes(); }
inline int CkNumNodes() { return CmiNumNodes(); }
inline int CkNumPhysicalNodes() { return CmiNumPhysicalNodes(); }
inline int CkNodeFirst(int node) { return CmiNodeFirst(node); }
inline int CkNodeSize(int node) { return CmiNodeSize(node); }
inline int CkMyNodeSize() { return CmiMyNodeSize(); }
inline int CkNodeOf(int pe) { return CmiNodeOf(pe); }
inline int CkRankOf(int pe) { return CmiRankOf(pe); }
inline double CkTimer() { return CmiTimer(); }
inline double CkWallTimer() { return CmiWallTimer(); }
inline double CkCpuTimer() { return CmiCpuTimer(); }

#define CkPrintf CmiPrintf
#define CkError CmiError
#define CkScanf CmiScanf
#define CkAbort CmiAbort
#define CkAssert CmiAssert
#define CkAssertMsg CmiAssertMsg
#define CkEnforce CmiEnforce
#define CkEnforceMsg CmiEnforceMsg
#define CkMemError(p) _MEMCHECK(p)
