// A stack that stands still, and the jump from one stack to another: what user-level threads are made of.
//
//   StackContext here, there;
//   there.create(top, bytes, start);                      // start(from, self) runs at the first jump to `there`
//   StackContext* from = StackContext::jump(here, there);  // comes back when another context jumps to `here`
//
// A context keeps the processor's callee-saved registers and its floating-point modes; a new stack begins with the
// modes of the one that jumps there first. A context belongs to no OS thread, and must not move in memory.
//
// On x86-64 the jump is written here, in the caller's own code, so that the compiler saves the registers that it uses
// and no others; and the stack in which a processor predicts where calls return stays in step with the calls: a thread
// that runs to its end leaves it as it was. Each return that is mispredicted costs some 5 ns, and a call that never
// returns makes all returns after it wrong. Elsewhere, and under the sanitizers so that it is tested, Boost.Context
// jumps.
// C++17: reachable from a program's headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/platform.h"

#if defined(__x86_64__) && !defined(PERIAPT_ASAN) && !defined(PERIAPT_TSAN)
#define PERIAPT_OWN_JUMP 1
#endif

namespace periapt {

class StackContext {
 public:
  // The first function of a stack: what jumped there, and its own context. It must not return.
  using Start = void (*)(StackContext* from, StackContext* self);

  // The bytes below `top` become the stack on which start() runs at the first jump here.
  void create(void* top, std::size_t bytes, Start start);

  // Stops in `from`, which is the running context, and goes on in `to`. Returns what jumped to `from` later.
  PERIAPT_INLINE static StackContext* jump(StackContext& from, StackContext& to);
  // The same for a stack that is never used again.
  [[noreturn]] PERIAPT_INLINE static void leave(StackContext& from, StackContext& to);

 private:
#if defined(PERIAPT_OWN_JUMP)
  // stmxcsr is the dearest instruction of a jump (4 ns on an EPYC at 2.6 GHz), hence only where it must be.
  PERIAPT_INLINE void save_modes() { asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse_modes_), "=m"(x87_modes_)); }
  PERIAPT_INLINE void load_modes() const {
    if (x87_modes_ != 0) asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse_modes_), "m"(x87_modes_));
  }

  // The jump names these three by their offsets.
  void* stack_pointer_ = nullptr;
  void* frame_pointer_ = nullptr;
  void* go_on_at_ = nullptr;
  std::uint32_t sse_modes_ = 0;
  std::uint16_t x87_modes_ = 0;  // 0, which is none that the unit can have: the stack has not begun
#else
  struct Transfer {
    void* place;
    void* data;
  };
  // By its symbol, so that a program needs no header of Boost's.
  static Transfer jump_boost(void* to, void* data) __asm__("jump_fcontext");
  static void* make_boost(void* top, std::size_t bytes, void (*start)(Transfer)) __asm__("make_fcontext");
  static StackContext* arrived(Transfer transfer) {
    StackContext* from = static_cast<StackContext*>(transfer.data);
    from->place_ = transfer.place;
    return from;
  }

  void* place_ = nullptr;
  Start start_ = nullptr;
  StackContext* to_ = nullptr;  // of the jump that left here
#endif
};

#if defined(PERIAPT_OWN_JUMP)

inline void StackContext::create(void* top, std::size_t, Start start) {
  // As if start() had been called from address 0, where those that walk a stack stop: the stack pointer is then 8 bytes
  // off a multiple of 16 (System V ABI for x86-64, section 3.2.2).
  void** last = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}) - 8);
  *last = nullptr;
  stack_pointer_ = last;
  frame_pointer_ = nullptr;
  go_on_at_ = reinterpret_cast<void*>(start);
  x87_modes_ = 0;
}

#if defined(__AVX512F__)
// Registers that the compiler uses only where the program is built for such processors.
#define PERIAPT_WIDE_REGISTERS                                                                                  \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
      "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define PERIAPT_WIDE_REGISTERS
#endif

PERIAPT_INLINE StackContext* StackContext::jump(StackContext& from, StackContext& to) {
  static_assert(offsetof(StackContext, stack_pointer_) == 0 && offsetof(StackContext, frame_pointer_) == 8 &&
                    offsetof(StackContext, go_on_at_) == 16,
                "the offsets below");
  from.save_modes();
  to.load_modes();
  // rdi and rsi hold `from` and `to` on either side: the first two arguments of start(), and there what jumped here.
  StackContext *came_from = &from, *self = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rbp, 8(%%rdi)\n\t"
      "movq %%rax, 16(%%rdi)\n\t"
      "movq (%%rsi), %%rsp\n\t"
      "movq 8(%%rsi), %%rbp\n\t"
      "jmpq *16(%%rsi)\n"
      "1:"
      : "+D"(came_from), "+S"(self)
      :
      : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)" PERIAPT_WIDE_REGISTERS);
  return came_from;
}

PERIAPT_INLINE void StackContext::leave(StackContext& from, StackContext& to) {
  to.load_modes();
  asm volatile(
      "movq (%%rsi), %%rsp\n\t"
      "movq 8(%%rsi), %%rbp\n\t"
      "jmpq *16(%%rsi)"
      :
      : "D"(&from), "S"(&to)
      : "memory");
  __builtin_unreachable();
}
#undef PERIAPT_WIDE_REGISTERS

#else

inline void StackContext::create(void* top, std::size_t bytes, Start start) {
  start_ = start;
  place_ = make_boost(top, bytes, [](Transfer transfer) {
    StackContext* from = arrived(transfer);
    from->to_->start_(from, from->to_);
  });
}

PERIAPT_INLINE StackContext* StackContext::jump(StackContext& from, StackContext& to) {
  from.to_ = &to;
  return arrived(jump_boost(to.place_, &from));
}

PERIAPT_INLINE void StackContext::leave(StackContext& from, StackContext& to) {
  jump(from, to);
  __builtin_trap();
}

#endif

}  // namespace periapt
