// CkLoop (-module CkLoop): a loop whose chunks the PEs of a process share. C++17: programs include it.
//
// CkLoop_Init() is called once, on one PE, as from a mainchare's constructor. CkLoop_Parallelize() then asks the other
// PEs of the caller's process for help, works on chunks itself, and waits until all are done: those that have something
// else to do take no part. Before the library is there, or in a process of one PE, the caller does all chunks.
#pragma once
#include "CkLoop.decl.h"

// Works on iterations `first` to `last`. `result`: 64 zeroed bytes for what this chunk adds to the reduction.
typedef void (*HelperFn)(int first, int last, void* result, int paramNum, void* param);
// What the caller does between asking for help and working on chunks itself.
typedef void (*CallerFn)(int paramNum, void* param);

// How results of chunks become one: of one variable of that type.
typedef enum REDUCTION_TYPE {
  CKLOOP_NONE = 0,
  CKLOOP_INT_SUM,
  CKLOOP_FLOAT_SUM,
  CKLOOP_DOUBLE_SUM,
  CKLOOP_DOUBLE_MAX
} REDUCTION_TYPE;

typedef enum CkLoop_sched { CKLOOP_NODE_QUEUE = 0, CKLOOP_TREE, CKLOOP_LIST } CkLoop_sched;

// `numThreads` has no effect: PEs of a process are threads in every build.
CProxy_FuncCkLoop CkLoop_Init(int numThreads = 0);
void CkLoop_Exit(CProxy_FuncCkLoop ckLoop);

// Iterations lowerRange to upperRange, the last one included, in numChunks chunks. Each PE begins with a stretch of
// them, the same in each call, and takes from others then. `sync` 0: the call returns when other PEs have taken what is
// left; `param` has to last until all have ended. `redResult` gets the result (only with `sync`).
void CkLoop_Parallelize(HelperFn func, int paramNum, void* param, int numChunks, int lowerRange, int upperRange,
                        int sync = 1, void* redResult = nullptr, REDUCTION_TYPE type = CKLOOP_NONE,
                        CallerFn cfunc = nullptr, int cparamNum = 0, void* cparam = nullptr);

// Iterations lowerRange to upperRange, the last one not included. Each PE has a part of its own, which is the same in
// each call: `staticFraction` of the loop; the rest is shared chunk by chunk. The parts of PEs that do not come are
// taken too.
void CkLoop_ParallelizeHybrid(float staticFraction, HelperFn func, int paramNum, void* param, int numChunks,
                              int lowerRange, int upperRange, int sync = 1, void* redResult = nullptr,
                              REDUCTION_TYPE type = CKLOOP_NONE, CallerFn cfunc = nullptr, int cparamNum = 0,
                              void* cparam = nullptr);

// Without effect: helpers are asked one by one, and cost nothing while there is no loop.
inline void CkLoop_SetSchedPolicy(CkLoop_sched) {}
inline void CkLoop_DestroyHelpers() {}
