// Cms, a manager and workers: PE 0 gives out tasks, any PE works on them. Plain C; reached from cms.h.
#pragma once
#include "runtime/converse/converse.h"

// Works on a task; *response points to the answer, which came from malloc or is static, and stays the worker's. It
// tells its length in bytes.
typedef int (*CmsWorkerFn)(void* task, void* response);
// Gets an answer, to free(), and its number.
typedef int (*CmsConsumerFn)(void* response, int number);

#ifdef __cplusplus
extern "C" {
#endif
// Comes back on PE 0 alone; the others work until CmsExit. `tasks_max` tasks at most are fired before their answers are
// waited for.
void CmsInit(CmsWorkerFn worker, int tasks_max);
// A task of so many bytes, which are copied. Its number, from 0 below tasks_max, is the answer's.
void CmsFireTask(int number, void* task, int bytes);
// PE 0 works too, until all answers are there.
void CmsAwaitResponses(void);
// The same, and gives each answer to the consumer as it comes.
void CmsProcessResponses(CmsConsumerFn consumer);
// After CmsAwaitResponses: the answer, to free().
void* CmsGetResponse(int number);
void CmsExit(void);
#ifdef __cplusplus
}
#endif
