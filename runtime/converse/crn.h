// Streams of random numbers of a program's own, beside CrnRand (cmi.h): linear congruential generators of 64 bits.
// Plain C, and C++17: reached from converse.h.
//
// A stream is the program's memory; it may be copied and sent. Streams with other seeds or types are other sequences.
#pragma once
#include "base/cmk.h"

typedef struct CrnStream {
  CmiUInt8 state, multiplier, increment;
} CrnStream;

#ifdef __cplusplus
extern "C" {
#endif
// `type`, 0 to 2, chooses the generator.
void CrnInitStream(CrnStream* stream, int seed, int type);
int CrnInt(CrnStream* stream);        // 0 to 2^31 - 1
double CrnDouble(CrnStream* stream);  // 0 <= x < 1
float CrnFloat(CrnStream* stream);    // the same, rounded
#ifdef __cplusplus
}
#endif
