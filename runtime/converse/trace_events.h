// User events of a trace. Nothing records a trace yet: the names are kept and the rest does nothing, so that programs
// with events run. C++17: reached from charm++.h.
#pragma once

extern "C" {
// Names an event and answers its number: the one given, or a new one.
int traceRegisterUserEvent(const char* name, int event = -1);
// Null when there is none.
const char* traceUserEventName(int event);
int traceRegisterUserStat(const char* name, int stat);
}

inline void traceUserEvent(int) {}
inline void traceUserBracketEvent(int, double, double) {}
inline void traceBeginUserBracketEvent(int) {}
inline void traceEndUserBracketEvent(int) {}
inline void traceUserBracketEventNestedID(int, double, double, int) {}
inline void traceBeginUserBracketEventNestedID(int, int) {}
inline void traceEndUserBracketEventNestedID(int, int) {}
inline void traceUserSuppliedData(int) {}
inline void traceUserSuppliedNote(const char*) {}
inline void traceUserSuppliedBracketedNote(const char*, int, double, double) {}
inline void traceMemoryUsage() {}
inline void traceBegin() {}
inline void traceEnd() {}
inline void traceBeginComm() {}
inline void traceEndComm() {}
inline void traceFlushLog() {}
inline void traceWriteSts() {}
inline void traceClose() {}
inline void updateStat(int, double) {}
inline void updateStatPair(int, double, double) {}
inline void beginAppWork() {}
inline void endAppWork() {}
inline int traceIsOn() { return 0; }
inline int traceAvailable() { return 0; }
