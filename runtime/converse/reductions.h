// Reductions of Converse beyond CmiReduce (converse.h): with numbers, over lists and groups of PEs, over processes.
// Plain C, and C++17: reached from converse.h.
//
// merge(&bytes, mine, others, count) answers what stands for all of them, and the new length of a message in *bytes (0
// for data). It deletes `mine`, or changes and answers it; `others` belong to the runtime. The message at last goes to
// the handler of the part that the root gave: PE 0, or the first PE of the list; data go to dest(), which owns them.
// del(data) deletes what was sent on; null: nothing is deleted.
//
// Reductions without a number begin everywhere in the same order. Those with one begin in any order, but a number
// stands for one at a time. All parts of one reduction are messages, or all are data.
#pragma once
#include "base/cmk.h"
#include "runtime/converse/converse.h"

// A number of a reduction over PEs, or of one over processes: those are counted apart.
typedef CmiUInt2 CmiReductionID;

#ifdef __cplusplus
extern "C" {
#endif
// Answers `mine`: any of the parts will do.
void* CmiReduceMergeFn_random(int* bytes, void* mine, void** others, int count);

// --- numbers ---------------------------------------------------------------------------------------------------------
// Called on every PE (process), in the same order: the same answer everywhere.
CmiReductionID CmiGetGlobalReduction(void);
CmiReductionID CmiGetGlobalNodeReduction(void);
// On PE 0 (process 0) only, which tells the others.
CmiReductionID CmiGetDynamicReduction(void);
CmiReductionID CmiGetDynamicNodeReduction(void);
// On any PE: the handler of PE `pe` gets a message with, behind the header, the number as an int, `bytes` as an int,
// and a copy of the data. -1: all PEs (processes) get it.
void CmiGetDynamicReductionRemote(int handler, int pe, int bytes, void* data);
void CmiGetDynamicNodeReductionRemote(int handler, int node, int bytes, void* data);
// CmiReduce (CmiNodeReduce) counts from 0 again: on every PE (process), with none under way.
void CmiResetGlobalReduceSeqID(void);
void CmiResetGlobalNodeReduceSeqID(void);

// --- over all PEs ----------------------------------------------------------------------------------------------------
void CmiReduceID(void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id);
void CmiReduceStructID(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest, CmiReduceDeleteFn del,
                       CmiReductionID id);

// --- over some PEs, each of which calls with the same list or group --------------------------------------------------
void CmiListReduce(int count, int* pes, void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id);
void CmiListReduceStruct(int count, int* pes, void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                         CmiReduceDeleteFn del, CmiReductionID id);
void CmiGroupReduce(CmiGroup group, void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id);
void CmiGroupReduceStruct(CmiGroup group, void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                          CmiReduceDeleteFn del, CmiReductionID id);

// --- over processes: one PE of each calls; the end is on a PE of process 0 -------------------------------------------
void CmiNodeReduce(void* message, int bytes, CmiReduceMergeFn merge);
void CmiNodeReduceStruct(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                         CmiReduceDeleteFn del);
void CmiNodeReduceID(void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id);
void CmiNodeReduceStructID(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                           CmiReduceDeleteFn del, CmiReductionID id);
#ifdef __cplusplus
}
#endif
