// What the address and thread sanitizers must be told when a program switches stacks by hand. In an ordinary build
// every function here is empty and FiberState has no members worth speaking of.
//
// Use, around a switch from `a` to `b` (each FiberState lies with its own stack):
//   a.leave(b, dying);  <the switch>;  a.arrive();      // arrive() runs when a switch leads back to a
// and b.arrive() is the first thing a new stack does.
#pragma once

#include <cstddef>

#include "base/platform.h"  // which sanitizer this is built with

#if defined(PERIAPT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PERIAPT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace periapt {

class FiberState {
 public:
  // A fiber on its own stack [low, low + bytes).
  void create([[maybe_unused]] void* low, [[maybe_unused]] std::size_t bytes) {
#if defined(PERIAPT_ASAN)
    low_ = low;
    bytes_ = bytes;
    fake_stack_ = nullptr;
    __asan_unpoison_memory_region(low, bytes);
#endif
#if defined(PERIAPT_TSAN)
    fiber_ = __tsan_create_fiber(0);
#endif
  }
  // The fiber will not run again. Not from the fiber itself.
  void destroy() {
#if defined(PERIAPT_TSAN)
    __tsan_destroy_fiber(fiber_);
    fiber_ = nullptr;
#endif
  }
  // This state stands for the stack that the OS thread came with: to be said each time before leaving it.
  void adopt_os_thread() {
#if defined(PERIAPT_TSAN)
    fiber_ = __tsan_get_current_fiber();
#endif
  }
  // `dying`: this stack is never switched to again. Inline in any build: a function that the thread sanitizer sees
  // begin on one stack must not end on another.
  PERIAPT_INLINE void leave([[maybe_unused]] FiberState& to, [[maybe_unused]] bool dying = false) {
#if defined(PERIAPT_ASAN)
    to.came_from_ = this;
    __sanitizer_start_switch_fiber(dying ? nullptr : &fake_stack_, to.low_, to.bytes_);
#endif
#if defined(PERIAPT_TSAN)
    // Not always its own: a stack on which another system of threads runs may be left from one of theirs.
    if (!dying) fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber_, 0);
#endif
  }
  void arrive() {
#if defined(PERIAPT_ASAN)
    const void* low = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &low, &bytes);
    came_from_->low_ = low;  // how the bounds of an OS thread's stack become known
    came_from_->bytes_ = bytes;
#endif
  }

#if defined(PERIAPT_ASAN)
 private:
  const void* low_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
  FiberState* came_from_ = nullptr;
#elif defined(PERIAPT_TSAN)
 private:
  void* fiber_ = nullptr;
#endif
};

}  // namespace periapt
