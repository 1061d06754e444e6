// User events of a trace, and whether one is recorded (docs/traces.md). Where none is, the names are kept and the rest
// does nothing, so that programs with events run. C++17: reached from charm++.h.
#pragma once

extern "C" {
// Names an event and answers its number: the one given, or a new one.
int traceRegisterUserEvent(const char* name, int event = -1);
// Null when there is none.
const char* traceUserEventName(int event);
int traceRegisterUserStat(const char* name, int stat);
}

// Each of them is about the PE that calls. Times are those of CkWallTimer().
void traceUserEvent(int event);
void traceUserBracketEvent(int event, double begin, double end);
void traceBeginUserBracketEvent(int event);
void traceEndUserBracketEvent(int event);
void traceUserBracketEventNestedID(int event, double begin, double end, int nested);
void traceBeginUserBracketEventNestedID(int event, int nested);
void traceEndUserBracketEventNestedID(int event, int nested);
void traceUserSuppliedData(int data);
void traceMemoryUsage();
void updateStat(int stat, double value);
void updateStatPair(int stat, double value, double time);
void traceBegin();  // recording goes on
void traceEnd();    // ... and pauses
int traceIsOn();
int traceAvailable();  // 1: a trace is linked
void traceFlushLog();  // what was recorded here is written now

// Notes are not recorded; what else there is to tell Charm++'s tracing needs no telling here.
inline void traceUserSuppliedNote(const char*) {}
inline void traceUserSuppliedBracketedNote(const char*, int, double, double) {}
inline void traceBeginComm() {}
inline void traceEndComm() {}
inline void traceWriteSts() {}
inline void traceClose() {}
inline void beginAppWork() {}
inline void endAppWork() {}
