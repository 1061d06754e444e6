/* Time since inithrc() was called, or since the process asked for the first time: in seconds, in microseconds. Plain C.
 */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Answers the seconds of a clock that only goes forward. */
double inithrc(void);
double gethrctime(void);
uint64_t gethrctime_micro(void);
#ifdef __cplusplus
}
#endif
