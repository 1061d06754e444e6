// Cpthreads: the calls of POSIX threads on the user-level threads of a PE. Plain C, and C++17: reached from
// cpthreads.h.
//
// Threads stay on the PE that made them, and so do what they wait for each other with; nothing takes the processor from
// a thread that doesn't wait or yield. Calls answer 0, or an error of errno.h. Without SUPPRESS_PTHREADS the names of
// POSIX stand for these: include it behind the headers that have those.
#pragma once
#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "runtime/converse/converse.h"

#define CPTHREAD_THREADS_MAX 1000000000
#define CPTHREAD_KEYS_MAX 1000000000
#define CPTHREAD_STACK_MIN 32768
#define CPTHREAD_CREATE_DETACHED 1
#define CPTHREAD_CREATE_JOINABLE 0

typedef struct Cpthread_attr_t {
  int detached;
  size_t stacksize;  // 0: the default
} Cpthread_attr_t;
typedef struct Cpthread_sharing_t {
  int pshared;
} Cpthread_sharing_t;
typedef Cpthread_sharing_t Cpthread_mutexattr_t;
typedef Cpthread_sharing_t Cpthread_condattr_t;
typedef struct Cpthread_s* Cpthread_t;
typedef struct Cpthread_key_s* Cpthread_key_t;
// A lock with its owner, and threads that wait.
typedef struct Cpthread_mutex_t {
  int pe;
  CthThread owner;
  struct Cpthread_queue_s* waiting;
} Cpthread_mutex_t;
typedef struct Cpthread_cond_t {
  int pe;
  struct Cpthread_queue_s* waiting;
} Cpthread_cond_t;
typedef struct {
  int flag[32];
} Cpthread_once_t;
#define CPTHREAD_ONCE_INIT \
  {                        \
    { 0 }                  \
  }

#ifdef __cplusplus
extern "C" {
#endif
// The thread that runs; null in one that Cpthread_create did not make.
Cpthread_t Cpthread_self(void);
int* Cpthread_errno_(void);

int Cpthread_attr_init(Cpthread_attr_t* attr);
int Cpthread_attr_destroy(Cpthread_attr_t* attr);
int Cpthread_attr_getstacksize(Cpthread_attr_t* attr, size_t* bytes);
int Cpthread_attr_setstacksize(Cpthread_attr_t* attr, size_t bytes);
int Cpthread_attr_getdetachstate(Cpthread_attr_t* attr, int* state);
int Cpthread_attr_setdetachstate(Cpthread_attr_t* attr, int state);

// attr null: joinable, with the default stack.
int Cpthread_create(Cpthread_t* thread, Cpthread_attr_t* attr, void* (*fn)(void*), void* argument);
void Cpthread_exit(void* status);
// Waits for its end; a thread is joined or detached once, and its pointer is dead then.
int Cpthread_join(Cpthread_t thread, void** status);
int Cpthread_detach(Cpthread_t thread);
int Cpthread_equal(Cpthread_t a, Cpthread_t b);

// A value for each thread, null at first; the destructor gets what a thread leaves at its end.
int Cpthread_key_create(Cpthread_key_t* key, void (*destructor)(void*));
int Cpthread_key_delete(Cpthread_key_t key);
int Cpthread_setspecific(Cpthread_key_t key, void* value);
void* Cpthread_getspecific(Cpthread_key_t key);
// Run in reverse order when the thread ends, or popped.
void Cpthread_cleanup_push(void (*routine)(void*), void* argument);
void Cpthread_cleanup_pop(int execute);

int Cpthread_mutexattr_init(Cpthread_mutexattr_t* attr);
int Cpthread_mutexattr_destroy(Cpthread_mutexattr_t* attr);
int Cpthread_mutexattr_getpshared(Cpthread_mutexattr_t* attr, int* pshared);
int Cpthread_mutexattr_setpshared(Cpthread_mutexattr_t* attr, int pshared);
int Cpthread_mutex_init(Cpthread_mutex_t* mutex, Cpthread_mutexattr_t* attr);
int Cpthread_mutex_destroy(Cpthread_mutex_t* mutex);  // EBUSY: a thread has it or waits for it
int Cpthread_mutex_lock(Cpthread_mutex_t* mutex);
int Cpthread_mutex_trylock(Cpthread_mutex_t* mutex);  // EBUSY: another has it
int Cpthread_mutex_unlock(Cpthread_mutex_t* mutex);   // the first that waits has it then

int Cpthread_condattr_init(Cpthread_condattr_t* attr);
int Cpthread_condattr_destroy(Cpthread_condattr_t* attr);
int Cpthread_condattr_getpshared(Cpthread_condattr_t* attr, int* pshared);
int Cpthread_condattr_setpshared(Cpthread_condattr_t* attr, int pshared);
int Cpthread_cond_init(Cpthread_cond_t* cond, Cpthread_condattr_t* attr);
int Cpthread_cond_destroy(Cpthread_cond_t* cond);
int Cpthread_cond_wait(Cpthread_cond_t* cond, Cpthread_mutex_t* mutex);
int Cpthread_cond_signal(Cpthread_cond_t* cond);
int Cpthread_cond_broadcast(Cpthread_cond_t* cond);

int Cpthread_once(Cpthread_once_t* once, void (*fn)(void));  // once on each PE
int Cpthread_init(void);                                     // nothing is to be initialised
void Cpthread_initialize(void);
// Runs fn(argc, argv) in a thread.
void Cpthread_start_main(CmiStartFn fn, int argc, char** argv);
#ifdef __cplusplus
}
#endif
#define Cpthread_errno (*Cpthread_errno_())
#define Cpthread_yield() CthYield()
