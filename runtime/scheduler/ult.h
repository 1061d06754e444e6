// User-level threads of one PE: what [threaded] entry methods, Cth calls and futures run on.
//
// A Thread is a stack with a function running on it. It runs when it is resume()d, until it suspend()s or
// returns; nothing preempts it. The stack the OS thread came with is the scheduler's context: suspend() goes there.
//
//   ThreadSystem threads;
//   Thread* t = threads.create(work, argument);
//   threads.resume(t);                      // from the scheduler or from another thread: runs t now
//   threads.suspend();                      // inside t: back to the scheduler; t must be resumed later
//   threads.yield();                        // inside t: awaken(t), suspend()
//
// A thread that returns, or calls exit(), gives its stack back; its pointer is dead then. Everything of one PE is in
// its ThreadSystem, which belongs to one OS thread (which may host several). A switch is a jump between two stacks
// (base/stack_context.h) and changes the C++ runtime's list of exceptions being handled, so a thread may suspend inside
// a catch block.
//
// Stacks lie in large mappings with an inaccessible zone below each. A thread that runs over its stack stops there, and
// a signal handler says which thread it was and how to ask for more. The kernel bounds the number of mappings: beyond
// some 28 000 stacks at once (vm.max_map_count) the further ones have no such zone.
// C++17: reachable from a program's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/sanitizer.h"
#include "base/stack_context.h"

namespace periapt {
namespace scheduler {

class Thread;
class ThreadSystem;

// Hears that a thread has ended, whichever way, on the stack of what runs next. It may lie on the thread's own stack.
struct ThreadEnd {
  void (*ended)(ThreadEnd*);
};

namespace detail {
// __cxa_eh_globals: what the C++ runtime keeps per OS thread about exceptions (Itanium C++ ABI, section 2.2.2). It
// belongs to the thread that runs.
struct Exceptions {
  void* caught;
  unsigned uncaught;
};
// Those of this OS thread; null until it first switches to a thread. (__thread: no look whether it wants initialising.)
extern __thread Exceptions* this_os_thread __attribute__((tls_model("initial-exec")));
}  // namespace detail

// Wants to know when one thread loses and gets the processor. Its owner fills in the three functions and `data`;
// thread and next are the system's. resume is called before the thread runs, suspend before it stops running, free
// when it ends (the listener may delete itself there). None of them may switch threads.
struct ThreadListener {
  void (*suspend)(ThreadListener*);
  void (*resume)(ThreadListener*);
  void (*free)(ThreadListener*);
  void* data;
  Thread* thread;
  ThreadListener* next;
};

class Thread : StackContext {
 public:
  using Function = void (*)(void* argument);

  std::uint64_t id() const { return id_; }  // never used twice within a ThreadSystem
  std::size_t stack_bytes() const { return stack_bytes_; }
  const void* stack_low() const { return stack_low_; }
  ThreadSystem& system() const { return *system_; }
  bool started() const { return state_ != State::created; }

  // (The members lie in the order in which a switch needs them.)
 private:
  friend class ThreadSystem;
  enum class State : std::uint8_t { created, suspended, running, ended };
  bool resumable_by(const ThreadSystem* system) const { return state_ <= State::suspended && system_ == system; }

  // What a switch touches comes first: with the context it is one line of the cache.
  void* caught_exceptions_ = nullptr;
  unsigned uncaught_exceptions_ = 0;
  State state_ = State::created;
  ThreadListener* listeners_ = nullptr;
  ThreadSystem* system_ = nullptr;

 public:
  // For the scheduler: a link for its queue of ready threads, and what hears of the end.
  Thread* next = nullptr;
  ThreadEnd* at_end = nullptr;

 private:
  void* pool_ = nullptr;
  Function function_ = nullptr;
  void* argument_ = nullptr;
  std::uint64_t id_ = 0;
  char* locals_ = nullptr;
  std::size_t locals_bytes_ = 0;
  char* stack_low_ = nullptr;
  std::size_t stack_bytes_ = 0;
  FiberState fiber_;
};

// What the scheduler above decides.
struct ThreadHooks {
  // Makes t run again some time: queue it. Called by awaken() and yield().
  void (*awaken)(void* context, Thread* t) = nullptr;
  // What runs when the current thread suspends: a thread that is ready (and no longer queued), or null for the
  // scheduler's context. May be null: always the scheduler. Saves a switch when another thread is ready.
  Thread* (*choose)(void* context) = nullptr;
  void* context = nullptr;
};

struct ThreadOptions {
  std::size_t stack_bytes = 32 * 1024;          // of a thread that doesn't ask; +stacksize
  std::size_t pooled_bytes = 64 * 1024 * 1024;  // free stacks keep so much memory, whatever trim() finds
  int pe = 0;                                   // for messages
};

class ThreadSystem {
 public:
  explicit ThreadSystem(const ThreadOptions& options = {});
  ~ThreadSystem();  // unmaps all stacks; threads that haven't ended are gone, without unwinding
  ThreadSystem(const ThreadSystem&) = delete;
  ThreadSystem& operator=(const ThreadSystem&) = delete;

  void set_hooks(const ThreadHooks& hooks) { hooks_ = hooks; }

  // A new thread that will run function(argument) at its first resume. stack_bytes is rounded up to whole pages;
  // 0 asks for the default. Fatal, with the reason, when the memory can't be mapped.
  Thread* create(Thread::Function function, void* argument, std::size_t stack_bytes = 0);

  // resume() and suspend() are inline because a return after a jump is mispredicted: each one left out saves some 5 ns.

  // Runs t until it suspends or ends; t must be new or suspended. Called by a thread, the caller is suspended and stays
  // so until it is resumed in its turn.
  void resume(Thread* t) {
    if (!t->resumable_by(this)) return cannot_resume(t);
    current_->state_ = Thread::State::suspended;
    switch_to(t);
  }

  // Stops the current thread. Fatal outside of a thread.
  void suspend() {
    if (current_ == &scheduler_) not_in_a_thread();
    Thread* next = hooks_.choose ? hooks_.choose(hooks_.context) : nullptr;
    if (next == current_) return;  // it was ready already
    current_->state_ = Thread::State::suspended;
    switch_to(next ? next : &scheduler_);
  }

  void awaken(Thread* t) { hooks_.awaken(hooks_.context, t); }
  void yield() {
    if (current_ == &scheduler_) not_in_a_thread();
    awaken(current_);
    suspend();
  }

  // Ends the current thread; objects on its stack are not destroyed.
  [[noreturn]] void exit();

  // Ends a thread that isn't running; objects on its stack are not destroyed.
  void destroy(Thread* t);

  // The running thread, or null in the scheduler's context.
  Thread* current() const { return current_ == &scheduler_ ? nullptr : current_; }

  // The listener hears of everything from now on, after those added before it.
  void add_listener(Thread* t, ThreadListener* listener);

  // Thread-local storage by offset (Ctv). register_local() gives the place of a new variable, zero in every thread,
  // aligned to 16; local() its address in t (null: the scheduler's own). An address holds until the next
  // register_local().
  std::size_t register_local(std::size_t bytes);
  void* local(Thread* t, std::size_t offset) {
    Thread& owner = t ? *t : scheduler_;
    if (owner.locals_bytes_ < local_bytes_) grow_locals(owner);
    return owner.locals_ + offset;
  }

  std::size_t live() const { return live_; }  // threads created and not ended

  // Free stacks keep their memory for the next threads. Those that none has needed since the last call give it back,
  // past pooled_bytes: call it now and then. A call takes some milliseconds at most; true: it has left something.
  bool trim();
  // Whether a later trim() may give anything back.
  bool trimmable() const;
  std::uint64_t stacks_trimmed() const { return stacks_trimmed_; }

 private:
  struct Pool;
  struct Entry;

  // How a thread goes: it comes back, or it has ended.
  enum class Going { suspends, ends };
  template <Going going = Going::suspends>
  PERIAPT_INLINE void switch_to(Thread* to) {
    Thread* from = current_;
    if (from == &scheduler_) on_os_thread();
    if (from->listeners_) notify(from->listeners_, &ThreadListener::suspend);
    if (to->listeners_) notify(to->listeners_, &ThreadListener::resume);
    from->caught_exceptions_ = exceptions_->caught;
    from->uncaught_exceptions_ = exceptions_->uncaught;
    exceptions_->caught = to->caught_exceptions_;
    exceptions_->uncaught = to->uncaught_exceptions_;
    to->state_ = Thread::State::running;
    current_ = to;
    from->fiber_.leave(to->fiber_, going == Going::ends);
    if constexpr (going == Going::ends)
      StackContext::leave(*from, *to);
    else
      arrived(static_cast<Thread*>(StackContext::jump(*from, *to)));
  }
  // A system may be made on one OS thread and run on another: what belongs to the OS thread is asked for each time.
  void on_os_thread() {
    exceptions_ = detail::this_os_thread;
    if (!exceptions_) first_time_on_os_thread();
    scheduler_.fiber_.adopt_os_thread();
  }
  void first_time_on_os_thread();
  // The first thing after a jump: `from` jumped here.
  void arrived(Thread* from) {
    current_->fiber_.arrive();
    if (from->state_ == Thread::State::ended) recycle(from);
  }
  static void notify(ThreadListener* first, void (*ThreadListener::*what)(ThreadListener*));
  void cannot_resume(Thread* t);
  [[noreturn]] void not_in_a_thread();
  [[noreturn]] void leave_for_ever();
  void recycle(Thread* t);
  Pool& pool_for(std::size_t stack_bytes);
  void grow_locals(Thread& t);

  Thread* current_ = &scheduler_;
  detail::Exceptions* exceptions_ = nullptr;  // of the OS thread that runs this system
  ThreadHooks hooks_;
  Pool* default_pool_;
  std::uint64_t next_id_ = 1;
  std::size_t live_ = 0;
  std::size_t trimming_ = 0;  // pool that trim() goes on with
  std::uint64_t stacks_trimmed_ = 0;
  std::size_t local_bytes_ = 0;
  Thread scheduler_;  // stands for the context of the scheduler
  const ThreadOptions options_;
  std::vector<std::unique_ptr<Pool>> pools_;  // one per stack size
};

}  // namespace scheduler
}  // namespace periapt
