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
// Of the oldest programs.
#define CkReduce CmiReduce
#define CkRegisterHandler(handler) CmiRegisterHandler((CmiHandler)(handler))
#define CkRegisterHandlerEx(handler, data) CmiRegisterHandlerEx((CmiHandlerEx)(handler), (data))
#define CkNumberHandler(number, handler) CmiNumberHandler((number), (CmiHandler)(handler))
#define CkNumberHandlerEx(number, handler, data) CmiNumberHandlerEx((number), (CmiHandlerEx)(handler), (data))
#define CksdScheduler CsdScheduler
#define CksdExitScheduler CsdExitScheduler
#define CkDeliverMsgs CmiDeliverMsgs
#define CkNetworkProgress CmiNetworkProgress
#define CkNetworkProgressAfter CmiNetworkProgressAfter
#define CkVTimer(x) 0
#define CkElapse(x)

#define CkMemError(p) _MEMCHECK(p)
