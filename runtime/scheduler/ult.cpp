// User-level threads: switching, the pools of stacks, and what happens when a stack is too small.
//
// One stack's place in a batch, low addresses first (a stack grows downwards):
//
//   | zone without access | stack ...                                    | Thread | colour |
//
// `colour` shifts the top by a different multiple of 256 bytes from stack to stack; without it the busiest cache lines
// of all threads would fall into the same few sets of the first-level cache.
#include "runtime/scheduler/ult.h"

#include <cxxabi.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/fatal.h"

namespace periapt {
namespace scheduler {
namespace {

constexpr std::size_t page_bytes = 4096;
// Wide enough that a function with a large local array doesn't step over it, and costs address space only.
constexpr std::size_t guard_bytes = 64 * 1024;
constexpr std::size_t colours = 16, colour_bytes = 256;
// What a stack's place has above the usable bytes: Thread and colour.
constexpr std::size_t top_bytes = colours * colour_bytes;
constexpr std::size_t thread_bytes = (sizeof(Thread) + 63) / 64 * 64;
static_assert(thread_bytes <= colour_bytes, "Thread and the largest colour share one page at the top of a stack");
static_assert(top_bytes == page_bytes, "stacks are whole pages");

// Stacks that one trim() takes the memory from: about a microsecond each.
constexpr std::size_t trimmed_at_once = 1024;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// ---- Batches of stacks, as the signal handler finds them -----------------------------------------------------------

}  // namespace

// One mapping of many stacks. Batches are linked in a list for the whole process that only ever grows: a signal handler
// may walk it at any time. A batch whose memory is gone has a null base, and is used again for the next one.
struct StackBatch {
  std::atomic<char*> base{nullptr};  // released last, acquired first: the other fields are valid while it isn't null
  std::size_t stride = 0, count = 0;
  std::atomic<std::size_t> handed_out{0};
  bool guarded = false;
  int pe = 0;
  StackBatch* next = nullptr;

  char* place(std::size_t i) const { return base.load(std::memory_order_relaxed) + i * stride; }
  Thread* thread_at(std::size_t i) const {
    return reinterpret_cast<Thread*>(place(i) + stride - (i % colours) * colour_bytes - thread_bytes);
  }
};

namespace {
std::atomic<StackBatch*> all_batches{nullptr};
std::mutex batches_mutex;         // held to add and to retire batches
std::size_t retired_batches = 0;  // with a null base; under the mutex
std::atomic<long> guarded_stacks{0};

// A guarded stack costs two mappings; a quarter of what the kernel allows is left to the rest of the process.
long guarded_stacks_max() {
  static const long max = [] {
    long mappings = 65530;
    if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
      if (std::fscanf(file, "%ld", &mappings) != 1) mappings = 65530;
      std::fclose(file);
    }
    return std::min<long>(mappings / 8 * 3, 1 << 24);
  }();
  return max;
}

StackBatch* map_batch(std::size_t stride, std::size_t count, int pe) {
  const bool guarded =
      guarded_stacks.fetch_add(static_cast<long>(count), std::memory_order_relaxed) < guarded_stacks_max();
  const int access = guarded ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* memory = mmap(nullptr, stride * count, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    fatal("no memory for the stacks of more threads (" + std::to_string(stride * count >> 10) +
              " KiB: " + std::strerror(errno) + ")",
          {}, {},
          "Make stacks smaller (+stacksize), create fewer threads at a time, or raise "
          "`ulimit -v` and vm.max_map_count");
  if (!guarded) madvise(memory, stride * count, MADV_NOHUGEPAGE);  // one touched page must not become 2 MiB

  const std::lock_guard<std::mutex> lock(batches_mutex);
  // (There may be as many batches as PEs: they are walked only for one that is known to be there.)
  StackBatch* batch = retired_batches == 0 ? nullptr : all_batches.load(std::memory_order_relaxed);
  while (batch && batch->base.load(std::memory_order_relaxed)) batch = batch->next;
  const bool fresh = batch == nullptr;
  if (fresh) {
    batch = new StackBatch;
  } else {
    --retired_batches;
  }
  batch->stride = stride;
  batch->count = count;
  batch->guarded = guarded;
  batch->pe = pe;
  batch->handed_out.store(0, std::memory_order_relaxed);
  batch->base.store(static_cast<char*>(memory), std::memory_order_release);
  if (fresh) {
    batch->next = all_batches.load(std::memory_order_relaxed);
    all_batches.store(batch, std::memory_order_release);
  }
  return batch;
}

void retire(StackBatch* batch) {
  const std::lock_guard<std::mutex> lock(batches_mutex);
  char* base = batch->base.load(std::memory_order_relaxed);
  batch->base.store(nullptr, std::memory_order_release);
  ++retired_batches;
  munmap(base, batch->stride * batch->count);
  guarded_stacks.fetch_sub(static_cast<long>(batch->count), std::memory_order_relaxed);
}

// ---- Stack overflow -------------------------------------------------------------------------------------------------

struct sigaction previous_action;

// Text for write(2) alone: a signal handler may not allocate, nor use stdio.
class SignalText {
 public:
  SignalText& operator<<(const char* text) {
    while (*text && used_ < sizeof(bytes_)) bytes_[used_++] = *text++;
    return *this;
  }
  SignalText& operator<<(std::uint64_t number) {
    char digits[21];
    char* at = digits + sizeof(digits) - 1;
    *at = 0;
    do *--at = static_cast<char>('0' + number % 10);
    while (number /= 10);
    return *this << at;
  }
  void write_to(int fd) {
    for (std::size_t done = 0; done < used_;) {
      const ssize_t n = ::write(fd, bytes_ + done, used_ - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  char bytes_[512];
  std::size_t used_ = 0;
};

void report_overflow(const Thread& t, int pe) {
  SignalText text;
  // A line before what the handler of crashes says.
  text << "periapt: on PE " << static_cast<std::uint64_t>(pe) << ", thread " << t.id() << " ran over its stack of "
       << static_cast<std::uint64_t>(t.stack_bytes())
       << " bytes: give every thread more with +stacksize BYTES, or this entry method alone with "
          "[threaded, stacksize=BYTES]; or keep large local arrays on the heap, or recurse less deeply\n";
  text.write_to(STDERR_FILENO);
}

// Says so when the address lies below a stack of ours; the signal goes its way in any case.
void on_segmentation_fault(int signal, siginfo_t* info, void* context) {
  const char* address = static_cast<const char*>(info->si_addr);
  for (StackBatch* b = all_batches.load(std::memory_order_acquire); b; b = b->next) {
    const char* base = b->base.load(std::memory_order_acquire);
    if (!base || !b->guarded || address < base || address >= base + b->stride * b->count) continue;
    const std::size_t offset = static_cast<std::size_t>(address - base);
    const std::size_t i = offset / b->stride;
    if (i < b->handed_out.load(std::memory_order_acquire) && offset % b->stride < guard_bytes && b->pe >= 0)
      report_overflow(*b->thread_at(i), b->pe);
    break;
  }
  if (previous_action.sa_flags & SA_SIGINFO) {
    if (previous_action.sa_sigaction) return previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    return previous_action.sa_handler(signal);
  }
  ::signal(signal, SIG_DFL);  // the instruction is tried again, and ends the process with a core
}

void install_fault_handler() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_segmentation_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous_action) == 0;
  }();
  static_cast<void>(installed);
}

// A stack for signal handlers: the one that overflowed can't run any.
class SignalStack {
 public:
  SignalStack() {
    stack_t present;
    if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;  // there is one already
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t mine = {};
    mine.ss_sp = memory;
    mine.ss_size = bytes;
    if (sigaltstack(&mine, nullptr) == 0)
      memory_ = memory;
    else
      munmap(memory, bytes);
  }
  ~SignalStack() {
    if (!memory_) return;
    stack_t present;
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    munmap(memory_, bytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t bytes = 64 * 1024;
  void* memory_ = nullptr;
};

}  // namespace

__thread detail::Exceptions* detail::this_os_thread __attribute__((tls_model("initial-exec"))) = nullptr;

// The stacks of one size.
struct ThreadSystem::Pool {
  std::size_t stack_bytes = 0;
  std::size_t warm_min = 0;          // so many free stacks keep their memory in any case
  std::vector<Thread*> free;         // last used last: its lines may still be in the cache
  std::size_t cold = 0;              // the first so many of them have given their memory back
  std::size_t unneeded = 0;          // stacks with memory that have been free ever since the last trim()
  std::vector<StackBatch*> batches;  // places are taken from the last one

  ~Pool() {
    for (StackBatch* batch : batches) retire(batch);
  }

  std::size_t warm() const { return free.size() - cold; }
  std::size_t spare() const { return warm() - std::min(warm(), warm_min); }
  Thread* take() {
    Thread* t = free.back();
    free.pop_back();
    cold = std::min(cold, free.size());
    unneeded = std::min(unneeded, warm());
    return t;
  }
  Thread* fresh(int pe);
};

Thread* ThreadSystem::Pool::fresh(int pe) {
  const std::size_t stride = guard_bytes + stack_bytes + top_bytes;
  if (batches.empty() || batches.back()->handed_out.load(std::memory_order_relaxed) == batches.back()->count)
    batches.push_back(map_batch(stride, std::clamp<std::size_t>((std::size_t{8} << 20) / stride, 1, 64), pe));
  StackBatch& batch = *batches.back();
  const std::size_t i = batch.handed_out.load(std::memory_order_relaxed);
  if (batch.guarded && mprotect(batch.place(i) + guard_bytes, stride - guard_bytes, PROT_READ | PROT_WRITE) != 0)
    fatal("no memory for the stack of another thread (mprotect: " + std::string(std::strerror(errno)) + ")", {}, {},
          "Create fewer threads at a time, or raise vm.max_map_count");
  batch.handed_out.store(i + 1, std::memory_order_release);
  Thread* t = batch.thread_at(i);
  t->stack_low_ = batch.place(i) + guard_bytes;
  return t;
}

// Inline, as a call that never returns would make the scheduler's returns mispredicted (base/stack_context.h).
PERIAPT_INLINE void ThreadSystem::leave_for_ever() {
  current_->state_ = Thread::State::ended;
  Thread* next = hooks_.choose ? hooks_.choose(hooks_.context) : nullptr;
  switch_to<Going::ends>(next ? next : &scheduler_);
  __builtin_unreachable();
}

// The function at the bottom of every stack.
struct ThreadSystem::Entry {
  static void start(StackContext* came_from, StackContext* context) {
    Thread* self = static_cast<Thread*>(context);
    ThreadSystem& system = *self->system_;
    system.arrived(static_cast<Thread*>(came_from));
    call(self);
    system.leave_for_ever();
  }

  // An exception can't leave a stack without a caller.
  static void call(Thread* self) {
    try {
      self->function_(self->argument_);
    } catch (const std::exception& e) {
      fatal("an exception left the function of thread " + std::to_string(self->id_) + ": " + e.what(), {}, {},
            "Catch it inside the threaded entry method");
    } catch (...) {
      fatal("an exception that is no std::exception left the function of thread " + std::to_string(self->id_), {}, {},
            "Catch it inside the threaded entry method");
    }
  }
};

ThreadSystem::ThreadSystem(const ThreadOptions& options) : options_(options) {
  scheduler_.system_ = this;
  scheduler_.state_ = Thread::State::running;
  default_pool_ = &pool_for(options_.stack_bytes);
}

ThreadSystem::~ThreadSystem() {
  std::free(scheduler_.locals_);
  if (local_bytes_ == 0) return;
  for (auto& pool : pools_)
    for (StackBatch* batch : pool->batches)
      for (std::size_t i = 0; i < batch->handed_out.load(std::memory_order_relaxed); ++i)
        std::free(batch->thread_at(i)->locals_);  // null but for threads that never ended
}

// From here on the overflow of a stack is reported on this OS thread too.
void ThreadSystem::first_time_on_os_thread() {
  install_fault_handler();
  static thread_local SignalStack stack;
  static_cast<void>(&stack);
  exceptions_ = detail::this_os_thread = reinterpret_cast<detail::Exceptions*>(abi::__cxa_get_globals());
}

ThreadSystem::Pool& ThreadSystem::pool_for(std::size_t stack_bytes) {
  stack_bytes = round_up(std::max<std::size_t>(stack_bytes, 2 * page_bytes), page_bytes);
  for (auto& pool : pools_)
    if (pool->stack_bytes == stack_bytes) return *pool;
  pools_.push_back(std::make_unique<Pool>());
  Pool& pool = *pools_.back();
  pool.stack_bytes = stack_bytes;
  pool.warm_min = std::max<std::size_t>(1, options_.pooled_bytes / stack_bytes);
  return pool;
}

Thread* ThreadSystem::create(Thread::Function function, void* argument, std::size_t stack_bytes) {
  Pool& pool = stack_bytes == 0 || stack_bytes == default_pool_->stack_bytes ? *default_pool_ : pool_for(stack_bytes);
  Thread* t = pool.free.empty() ? pool.fresh(options_.pe) : pool.take();
  char* const low = t->stack_low_;
  char* const top = reinterpret_cast<char*>(t);
  t = new (t) Thread;
  t->stack_low_ = low;
  t->stack_bytes_ = pool.stack_bytes;
  t->pool_ = &pool;
  t->system_ = this;
  t->function_ = function;
  t->argument_ = argument;
  t->id_ = next_id_++;
  const std::size_t usable_bytes = static_cast<std::size_t>(top - low);
  t->fiber_.create(low, usable_bytes);
  t->StackContext::create(top, usable_bytes, &Entry::start);
  ++live_;
  return t;
}

// Runs on the stack of what came after t: t's own is free.
void ThreadSystem::recycle(Thread* t) {
  if (ThreadEnd* end = std::exchange(t->at_end, nullptr)) end->ended(end);
  if (t->listeners_) {
    notify(t->listeners_, &ThreadListener::free);
    t->listeners_ = nullptr;
  }
  if (t->locals_) {
    std::free(t->locals_);
    t->locals_ = nullptr;
  }
  t->fiber_.destroy();
  t->state_ = Thread::State::ended;
  --live_;
  static_cast<Pool*>(t->pool_)->free.push_back(t);
}

// The memory goes back and the address space stays, ready to be touched again.
bool ThreadSystem::trim() {
  std::size_t budget = trimmed_at_once;
  for (; trimming_ < pools_.size(); ++trimming_) {
    Pool& pool = *pools_[trimming_];
    for (std::size_t left = std::min(pool.unneeded, pool.spare()); left > 0; --left) {
      if (budget-- == 0) return true;
      Thread* t = pool.free[pool.cold++];
      madvise(t->stack_low_, t->stack_bytes_, MADV_DONTNEED);
      --pool.unneeded;
      ++stacks_trimmed_;
    }
    pool.unneeded = pool.warm();
  }
  trimming_ = 0;
  return false;
}

bool ThreadSystem::trimmable() const {
  for (const auto& pool : pools_)
    if (pool->spare() != 0) return true;
  return false;
}

void ThreadSystem::notify(ThreadListener* listener, void (*ThreadListener::*what)(ThreadListener*)) {
  while (listener) {
    ThreadListener* next = listener->next;  // `free` may delete the listener
    if (listener->*what) (listener->*what)(listener);
    listener = next;
  }
}

void ThreadSystem::cannot_resume(Thread* t) {
  if (t == current_) return;  // it runs: nothing to do
  if (t->state_ == Thread::State::ended)
    fatal("thread " + std::to_string(t->id_) + " is resumed after its end", {},
          "Whoever awakened it kept its handle too long");
  fatal("thread " + std::to_string(t->id_) + " is resumed while it runs, or by another PE than its own.");
}

void ThreadSystem::not_in_a_thread() {
  fatal("something waits (CthSuspend, a future, a [sync] call) outside of a thread", {}, {},
        "Make the entry method that does so [threaded]");
}

void ThreadSystem::exit() {
  if (current_ == &scheduler_) fatal("CthExit outside of a thread", {}, {}, "Return from the entry method instead");
  leave_for_ever();
}

void ThreadSystem::destroy(Thread* t) {
  if (t == current_) exit();
  if (t->state_ == Thread::State::ended || t->state_ == Thread::State::running)
    fatal("thread " + std::to_string(t->id_) + " is freed twice, or while it runs on another PE.");
  recycle(t);
}

void ThreadSystem::add_listener(Thread* t, ThreadListener* listener) {
  listener->thread = t;
  listener->next = nullptr;
  ThreadListener** end = &t->listeners_;
  while (*end) end = &(*end)->next;
  *end = listener;
}

std::size_t ThreadSystem::register_local(std::size_t bytes) {
  const std::size_t offset = local_bytes_;
  local_bytes_ += round_up(std::max<std::size_t>(bytes, 1), 16);
  return offset;
}

void ThreadSystem::grow_locals(Thread& t) {
  char* grown = static_cast<char*>(std::realloc(t.locals_, local_bytes_));
  if (!grown) fatal("no memory for the thread-private (Ctv) variables of another thread");
  std::memset(grown + t.locals_bytes_, 0, local_bytes_ - t.locals_bytes_);
  t.locals_ = grown;
  t.locals_bytes_ = local_bytes_;
}

}  // namespace scheduler
}  // namespace periapt
