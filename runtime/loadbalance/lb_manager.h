// The calls of Charm++ programs that are about load balancing. C++17: reached from charm++.h.
#pragma once

// Measuring of loads on this PE: on by itself once an element takes part.
void LBTurnInstrumentOn();
void LBTurnInstrumentOff();
// Forgets what was measured on this PE since the last balancing.
void LBClearLoads();
// Balancing happens at AtSync; a period has no effect.
inline void LBSetPeriod(double seconds) {}
inline void LBTurnPeriodicOff() {}
// The balancer where +balancer names none. Called before the program starts, by what charmc -balancer links in.
void LBDefaultCreate(const char* name);
