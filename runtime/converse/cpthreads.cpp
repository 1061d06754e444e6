// POSIX threads on user-level threads. What waits stands in queues; the scheduler runs what is awakened.
#include "runtime/converse/cpthreads.h"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"

struct Cpthread_queue_s {
  std::deque<CthThread> threads;
};
struct Cpthread_key_s {
  void (*destructor)(void*);
};
struct Cpthread_s {
  void* (*fn)(void*) = nullptr;
  void* argument = nullptr;
  bool detached = false, ended = false;
  void* status = nullptr;
  CthThread joiner = nullptr;
  int error = 0;
  std::map<Cpthread_key_t, void*> values;
  std::vector<std::pair<void (*)(void*), void*>> cleanups;
};

namespace {
CtvStaticDeclare(Cpthread_t, running);
CpvStaticDeclare(int, error_outside);  // of what is no such thread

// The thread that calls, or an end of the run.
Cpthread_s& self(const char* function) {
  if (Cpthread_s* thread = Cpthread_self()) return *thread;
  periapt::fatal(std::string(function) + " outside of a thread of Cpthread_create", function,
                 "the scheduler, handlers and CthCreate's threads are none",
                 "start the program's work with Cpthread_start_main or Cpthread_create");
}

// Waits in a queue until wake_first takes it out.
void wait_in(Cpthread_queue_s*& queue) {
  if (!queue) queue = new Cpthread_queue_s;
  queue->threads.push_back(CthSelf());
  CthSuspend();
}
CthThread wake_first(Cpthread_queue_s* queue) {
  if (!queue || queue->threads.empty()) return nullptr;
  const CthThread first = queue->threads.front();
  queue->threads.pop_front();
  CthAwaken(first);
  return first;
}
int destroy(Cpthread_queue_s*& queue) {
  if (queue && !queue->threads.empty()) return EBUSY;
  delete std::exchange(queue, nullptr);
  return 0;
}

void end(Cpthread_s& thread, void* status) {
  while (!thread.cleanups.empty()) Cpthread_cleanup_pop(1);
  for (bool again = true; again;) {  // a destructor may set values anew
    again = false;
    for (auto& [key, value] : thread.values) {
      void* const left = std::exchange(value, nullptr);
      if (!left || !key->destructor) continue;
      key->destructor(left);
      again = true;
    }
  }
  thread.status = status;
  thread.ended = true;
  if (thread.joiner) CthAwaken(thread.joiner);
  if (thread.detached) delete &thread;
}
void run_cpthread(void* argument) {
  auto* thread = static_cast<Cpthread_s*>(argument);
  CtvAccess(running) = thread;
  end(*thread, thread->fn(thread->argument));
}

struct StartCall {
  CmiStartFn fn;
  int argc;
  char** argv;
};
void* run_start(void* argument) {
  const StartCall start = *static_cast<StartCall*>(argument);
  delete static_cast<StartCall*>(argument);
  start.fn(start.argc, start.argv);
  return nullptr;
}
}  // namespace

extern "C" {

Cpthread_t Cpthread_self() {
  if (!CtvInitialized(running)) CtvInitialize(Cpthread_t, running);
  return CthSelf() ? CtvAccess(running) : nullptr;
}
int* Cpthread_errno_() {
  if (Cpthread_t thread = Cpthread_self()) return &thread->error;
  if (!CpvInitialized(error_outside)) CpvInitialize(int, error_outside);
  return &CpvAccess(error_outside);
}

int Cpthread_attr_init(Cpthread_attr_t* attr) {
  *attr = {CPTHREAD_CREATE_JOINABLE, 0};
  return 0;
}
int Cpthread_attr_destroy(Cpthread_attr_t*) { return 0; }
int Cpthread_attr_getstacksize(Cpthread_attr_t* attr, std::size_t* bytes) {
  *bytes = attr->stacksize;
  return 0;
}
int Cpthread_attr_setstacksize(Cpthread_attr_t* attr, std::size_t bytes) {
  attr->stacksize = bytes;
  return 0;
}
int Cpthread_attr_getdetachstate(Cpthread_attr_t* attr, int* state) {
  *state = attr->detached;
  return 0;
}
int Cpthread_attr_setdetachstate(Cpthread_attr_t* attr, int state) {
  attr->detached = state;
  return 0;
}

int Cpthread_create(Cpthread_t* thread, Cpthread_attr_t* attr, void* (*fn)(void*), void* argument) {
  Cpthread_self();  // makes room for `running`
  *thread = new Cpthread_s;
  (*thread)->fn = fn;
  (*thread)->argument = argument;
  (*thread)->detached = attr && attr->detached;
  CthAwaken(CthCreate(run_cpthread, *thread, attr ? static_cast<int>(attr->stacksize) : 0));
  return 0;
}
void Cpthread_exit(void* status) {
  end(self("pthread_exit"), status);
  CthFree(CthSelf());
  CthSuspend();
}
int Cpthread_join(Cpthread_t thread, void** status) {
  if (thread->detached || thread->joiner) return EINVAL;
  if (thread == Cpthread_self()) return EDEADLK;
  if (!thread->ended) {
    thread->joiner = CthSelf();
    CthSuspend();
  }
  if (status) *status = thread->status;
  delete thread;
  return 0;
}
int Cpthread_detach(Cpthread_t thread) {
  if (thread->detached || thread->joiner) return EINVAL;
  thread->detached = true;
  if (thread->ended) delete thread;
  return 0;
}
int Cpthread_equal(Cpthread_t a, Cpthread_t b) { return a == b; }

int Cpthread_key_create(Cpthread_key_t* key, void (*destructor)(void*)) {
  *key = new Cpthread_key_s{destructor};
  return 0;
}
int Cpthread_key_delete(Cpthread_key_t key) {
  key->destructor = nullptr;  // threads may have values still
  return 0;
}
int Cpthread_setspecific(Cpthread_key_t key, void* value) {
  self("pthread_setspecific").values[key] = value;
  return 0;
}
void* Cpthread_getspecific(Cpthread_key_t key) {
  const auto& values = self("pthread_getspecific").values;
  const auto found = values.find(key);
  return found == values.end() ? nullptr : found->second;
}
void Cpthread_cleanup_push(void (*routine)(void*), void* argument) {
  self("pthread_cleanup_push").cleanups.push_back({routine, argument});
}
void Cpthread_cleanup_pop(int execute) {
  auto& cleanups = self("pthread_cleanup_pop").cleanups;
  const auto [routine, argument] = cleanups.back();
  cleanups.pop_back();
  if (execute) routine(argument);
}

int Cpthread_mutexattr_init(Cpthread_mutexattr_t* attr) {
  attr->pshared = 0;
  return 0;
}
int Cpthread_mutexattr_destroy(Cpthread_mutexattr_t*) { return 0; }
int Cpthread_mutexattr_getpshared(Cpthread_mutexattr_t* attr, int* pshared) {
  *pshared = attr->pshared;
  return 0;
}
int Cpthread_mutexattr_setpshared(Cpthread_mutexattr_t* attr, int pshared) {
  attr->pshared = pshared;
  return 0;
}
int Cpthread_mutex_init(Cpthread_mutex_t* mutex, Cpthread_mutexattr_t*) {
  *mutex = {CmiMyPe(), nullptr, nullptr};
  return 0;
}
int Cpthread_mutex_destroy(Cpthread_mutex_t* mutex) { return mutex->owner ? EBUSY : destroy(mutex->waiting); }
int Cpthread_mutex_trylock(Cpthread_mutex_t* mutex) {
  if (mutex->pe != CmiMyPe()) return EINVAL;
  if (mutex->owner) return EBUSY;
  mutex->owner = CthSelf();
  return 0;
}
int Cpthread_mutex_lock(Cpthread_mutex_t* mutex) {
  if (mutex->owner && mutex->owner == CthSelf()) return EDEADLK;
  const int status = Cpthread_mutex_trylock(mutex);
  if (status != EBUSY) return status;
  wait_in(mutex->waiting);  // it is this thread's when it goes on
  return 0;
}
int Cpthread_mutex_unlock(Cpthread_mutex_t* mutex) {
  if (mutex->pe != CmiMyPe()) return EINVAL;
  if (mutex->owner != CthSelf()) return EPERM;
  mutex->owner = wake_first(mutex->waiting);
  return 0;
}

int Cpthread_condattr_init(Cpthread_condattr_t* attr) { return Cpthread_mutexattr_init(attr); }
int Cpthread_condattr_destroy(Cpthread_condattr_t*) { return 0; }
int Cpthread_condattr_getpshared(Cpthread_condattr_t* attr, int* pshared) {
  return Cpthread_mutexattr_getpshared(attr, pshared);
}
int Cpthread_condattr_setpshared(Cpthread_condattr_t* attr, int pshared) {
  return Cpthread_mutexattr_setpshared(attr, pshared);
}
int Cpthread_cond_init(Cpthread_cond_t* cond, Cpthread_condattr_t*) {
  *cond = {CmiMyPe(), nullptr};
  return 0;
}
int Cpthread_cond_destroy(Cpthread_cond_t* cond) { return destroy(cond->waiting); }
int Cpthread_cond_wait(Cpthread_cond_t* cond, Cpthread_mutex_t* mutex) {
  if (cond->pe != CmiMyPe()) return EINVAL;
  if (const int status = Cpthread_mutex_unlock(mutex)) return status;
  wait_in(cond->waiting);
  return Cpthread_mutex_lock(mutex);
}
int Cpthread_cond_signal(Cpthread_cond_t* cond) {
  if (cond->pe != CmiMyPe()) return EINVAL;
  wake_first(cond->waiting);
  return 0;
}
int Cpthread_cond_broadcast(Cpthread_cond_t* cond) {
  if (cond->pe != CmiMyPe()) return EINVAL;
  while (wake_first(cond->waiting)) {
  }
  return 0;
}

int Cpthread_once(Cpthread_once_t* once, void (*fn)()) {
  constexpr int flags = sizeof once->flag / sizeof once->flag[0];
  if (CmiMyRank() >= flags) return EINVAL;
  if (!std::exchange(once->flag[CmiMyRank()], 1)) fn();
  return 0;
}
int Cpthread_init() { return 0; }
void Cpthread_initialize() {}
void Cpthread_start_main(CmiStartFn fn, int argc, char** argv) {
  Cpthread_t thread;
  Cpthread_attr_t attr = {CPTHREAD_CREATE_DETACHED, 0};
  Cpthread_create(&thread, &attr, run_start, new StartCall{fn, argc, argv});
}
}
