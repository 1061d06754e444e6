// Ck names of what Converse offers. Plain C, and C++17: reached from charm.h.
#pragma once
#include "runtime/converse/cmi.h"

#define CkMyPe CmiMyPe
#define CkMyRank CmiMyRank
#define CkMyNode CmiMyNode
#define CkNumPes CmiNumPes
#define CkNumNodes CmiNumNodes
#define CkNumPhysicalNodes CmiNumPhysicalNodes
#define CkNodeFirst CmiNodeFirst
#define CkNodeSize CmiNodeSize
#define CkMyNodeSize CmiMyNodeSize
#define CkNodeOf CmiNodeOf
#define CkRankOf CmiRankOf
#define CkTimer CmiTimer
#define CkWallTimer CmiWallTimer
#define CkCpuTimer CmiCpuTimer

#define CkPrintf CmiPrintf
#define CkError CmiError
#define CkScanf CmiScanf
#define CkAbort CmiAbort
#define CkAssert CmiAssert
#define CkAssertMsg CmiAssertMsg
#define CkEnforce CmiEnforce
#define CkEnforceMsg CmiEnforceMsg
#define CkMemError(p) _MEMCHECK(p)
