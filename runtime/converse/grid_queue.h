/* Grid queues: a program on several far-away clusters names the elements of arrays whose messages cross between them.
 * Here all messages wait in one queue, by their priorities, so that this is a table of names and no more; each PE has
 * its own. Plain C: reached from converse.h. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
/* An element: the array's number, and its index of so many ints, the others of which are 0. */
void CmiGridQueueRegister(int array, int ints, int index1, int index2, int index3);
void CmiGridQueueDeregister(int array, int ints, int index1, int index2, int index3);
void CmiGridQueueDeregisterAll(void);
int CmiGridQueueLookup(int array, int ints, int index1, int index2, int index3); /* 1: it is registered */
int CmiGridQueueLookupMsg(char* message); /* 0: no message waits in a grid queue */
int CmiGridQueueGetInterval(void);        /* 0: no grid queue is looked at */
int CmiGridQueueGetThreshold(void);       /* 0 */
#ifdef __cplusplus
}
#endif
