// The numbers that trace modules have for events, as Projections reads them, and what they find of the runtime's
// entries.
#pragma once
#include "trace.h"

#define CREATION 1
#define BEGIN_PROCESSING 2
#define END_PROCESSING 3
#define ENQUEUE 4
#define DEQUEUE 5
#define BEGIN_COMPUTATION 6
#define END_COMPUTATION 7
#define MESSAGE_RECV 10
#define BEGIN_TRACE 11
#define END_TRACE 12
#define USER_EVENT 13
#define BEGIN_IDLE 14
#define END_IDLE 15
#define BEGIN_PACK 16
#define END_PACK 17
#define BEGIN_UNPACK 18
#define END_UNPACK 19
#define CREATION_BCAST 20
#define CREATION_MULTICAST 21
#define MEMORY_MALLOC 24
#define MEMORY_FREE 25
#define USER_SUPPLIED 26
#define MEMORY_USAGE_CURRENT 27
#define USER_SUPPLIED_NOTE 28
#define USER_SUPPLIED_BRACKETED_NOTE 29
#define END_PHASE 30
#define SURROGATE_BLOCK 31
#define USER_STAT 32
#define BEGIN_USER_EVENT_PAIR 98
#define END_USER_EVENT_PAIR 99
#define USER_EVENT_PAIR 100

// Names for what has no entry here: all 0.
extern int _threadMsg, _threadChare, _threadEP, _packMsg, _packChare, _packEP, _unpackMsg, _unpackChare, _unpackEP,
    _sdagMsg, _sdagChare, _sdagEP;

// The times that modules write, in seconds of the PE, and of its thread's processor; of a time of CmiWallTimer() or
// CmiCpuTimer(), the same.
#define TRACE_TIMER CmiWallTimer
#define TRACE_CPUTIMER CmiCpuTimer
inline double TraceTimer() { return TRACE_TIMER(); }
inline double TraceTimer(double time) { return time; }
inline double TraceCpuTimer() { return TRACE_CPUTIMER(); }
inline double TraceCpuTimer(double time) { return time; }
inline double TraceTimerCommon() { return TraceTimer(); }

#define PATHSEP '/'
#define PATHSEPSTR "/"
