/* Conditions and timers as Converse programs name them: call a function when something happens on this PE.
 *
 * Functions registered for a condition run on the scheduler of the PE that registered them, between two messages.
 * Reachable from converse.h, and plain C. */
#pragma once

typedef void (*CcdCondFn)(void* userParam);
typedef void (*CcdVoidFn)(void* userParam, double curWallTime);

#define CcdSCHEDLOOP 0 /* before every message */
#define CcdPROCESSOR_BEGIN_BUSY 1
#define CcdPROCESSOR_END_IDLE 1
#define CcdPROCESSOR_BEGIN_IDLE 2
#define CcdPROCESSOR_END_BUSY 2
#define CcdPROCESSOR_STILL_IDLE 3
#define CcdPROCESSOR_LONG_IDLE 4

#define CcdPERIODIC_FIRST 5
#define CcdPERIODIC 5 /* every millisecond */
#define CcdPERIODIC_10ms 6
#define CcdPERIODIC_100ms 7
#define CcdPERIODIC_1second 8
#define CcdPERIODIC_1s 8
#define CcdPERIODIC_5s 9
#define CcdPERIODIC_5seconds 9
#define CcdPERIODIC_10second 10
#define CcdPERIODIC_10seconds 10
#define CcdPERIODIC_10s 10
#define CcdPERIODIC_1minute 11
#define CcdPERIODIC_2minute 12
#define CcdPERIODIC_5minute 13
#define CcdPERIODIC_10minute 14
#define CcdPERIODIC_1hour 15
#define CcdPERIODIC_12hour 16
#define CcdPERIODIC_1day 17
#define CcdPERIODIC_LAST 18 /* one past the last period */

#define CcdQUIESCENCE 18
#define CcdTOPOLOGY_AVAIL 19
#define CcdSIGUSR1 20
#define CcdSIGUSR2 21

#define CcdUSER 22 /* the first of the program's own */
#ifndef CcdUSERMAX
#define CcdUSERMAX 127
#endif

#define CcdIGNOREPE (-2)
