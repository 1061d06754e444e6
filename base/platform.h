// What differs between compilers, sanitizers and processors, in one place: the rest of the tree has no #if.
// C++17, because programs reach it through the public headers.
#pragma once

#include <cstddef>
#include <cstdint>

#define PERIAPT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define PERIAPT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define PERIAPT_INLINE inline __attribute__((always_inline))
#define PERIAPT_NOINLINE __attribute__((noinline))
#define PERIAPT_COLD __attribute__((noinline, cold))

#if defined(__SANITIZE_THREAD__)
#define PERIAPT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PERIAPT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PERIAPT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PERIAPT_ASAN 1
#endif
#endif

#if defined(PERIAPT_ASAN)
#include <sanitizer/asan_interface.h>
#endif
#if defined(PERIAPT_TSAN)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace periapt::platform {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;

#if defined(PERIAPT_TSAN)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(PERIAPT_ASAN)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(NDEBUG)
inline constexpr bool kDebug = kThreadSanitizer || kAddressSanitizer;
#else
inline constexpr bool kDebug = true;
#endif

/// Where the memory of a host's PEs may be mapped: the same address in every process, so it must be free in all of
/// them. Each candidate is [base, base + span); they lie far from where the kernel puts programs, heaps and libraries.
/// The sanitizers keep most of the address space for their shadow, hence other ranges for them.
struct AddressRange {
  std::uintptr_t base;
  std::size_t span;
};
inline constexpr std::size_t kTebibyte = std::size_t{1} << 40;
#if defined(PERIAPT_TSAN)
// gcc and clang: application memory below 0x80_0000_0000 (512 GiB) is free in a position-independent program.
inline constexpr AddressRange kAddressRanges[] = {{0x10'0000'0000, 0x60'0000'0000}, {0x20'0000'0000, 0x50'0000'0000}};
#elif defined(PERIAPT_ASAN)
inline constexpr AddressRange kAddressRanges[] = {
    {0x2000'0000'0000, 16 * kTebibyte}, {0x3000'0000'0000, 16 * kTebibyte}, {0x1800'0000'0000, 8 * kTebibyte}};
#else
inline constexpr AddressRange kAddressRanges[] = {{0x1000'0000'0000, 32 * kTebibyte},
                                                  {0x3000'0000'0000, 16 * kTebibyte},
                                                  {0x0400'0000'0000, 8 * kTebibyte},
                                                  {0x0100'0000'0000, kTebibyte}};
#endif

/// A short wait that leaves the core's resources to others.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Asks for the line with the right to write it; never faults, whatever the address. (For x86-64 without options,
/// __builtin_prefetch() fetches for reading whatever it is told, and the writer asks for the line a second time.
/// Processors without the instruction take it as no operation.)
inline void prefetch_for_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1, 3);
#endif
}
inline void prefetch(const void* line) { __builtin_prefetch(line, 0, 3); }

/// The processor's cycle counter, constant rate where clock.h trusts it.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

/// Free bytes are named to AddressSanitizer, so that touching a message after its release is reported where it happens.
inline void poison(const void* bytes, std::size_t size) {
#if defined(PERIAPT_ASAN)
  __asan_poison_memory_region(bytes, size);
#else
  static_cast<void>(bytes), static_cast<void>(size);
#endif
}
inline void unpoison(const void* bytes, std::size_t size) {
#if defined(PERIAPT_ASAN)
  __asan_unpoison_memory_region(bytes, size);
#else
  static_cast<void>(bytes), static_cast<void>(size);
#endif
}

/// A message that goes from one thread to another by way of a second process is ordered by that process, which
/// ThreadSanitizer does not see. These tell it: everything before hand_over(p) comes before what follows take_over(p).
inline void hand_over(void* bytes) {
#if defined(PERIAPT_TSAN)
  __tsan_release(bytes);
#else
  static_cast<void>(bytes);
#endif
}
inline void take_over(void* bytes) {
#if defined(PERIAPT_TSAN)
  __tsan_acquire(bytes);
#else
  static_cast<void>(bytes);
#endif
}

}  // namespace periapt::platform
