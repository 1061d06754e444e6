/* What a kernel may call: ck_device_send() sends a message to a chare, ck_device_signal() tells the host how far it is.
 * For files that nvcc or hipcc compiles, for what NVRTC or hiprtc compiles while the program runs, and for threads of
 * the host. Plain C, and it includes nothing. What the program asks for on the host is in ckkernelport.h.
 *
 * A port is a ring of places in pinned memory, from which the PE that has opened it takes messages, and a few counts in
 * the memory of its GPU, by which the threads of kernels share the places among them:
 *
 *   places_left   is counted down for a place; none is left below 1, and what was counted is given back
 *   next          is counted up for the number of the message, which says which place
 *   the place     is written: the bytes, their count, then the number, with release order for the whole system
 *   taken         is what the host has taken in the order of the numbers; looked at when no place is left
 *
 * As many numbers are given as there were places for, so that the place of one is free. That is a bounded queue with
 * tickets (Vyukov's, with counts in place of a loop of compare-and-swap, which thousands of threads would crowd). */
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIPCC_RTC__)
#define CK_DEVICE_FUNCTION static __host__ __device__ inline
#define CK_DEVICE_WHOLE static __host__ __device__ __attribute__((noinline))
#else
#define CK_DEVICE_FUNCTION static inline
#define CK_DEVICE_WHOLE static inline
#endif

typedef unsigned long long ck_device_word;

/* What ck_device_send() answers. */
enum ck_device_answer {
  ck_device_sent = 1,      /* it will come, once */
  ck_device_full = 0,      /* no place is free now; nothing was sent */
  ck_device_too_long = -1, /* more bytes than the port's messages have; the run will end, and says so */
  ck_device_closed = -2    /* the port is closed; nothing was sent */
};

/* In the GPU's memory. */
typedef struct ck_port_counts {
  ck_device_word opening; /* which opening of the port it is for; 0: it is closed */
  ck_device_word places_left;
  ck_device_word next; /* message */
  ck_device_word seen; /* of `taken`, by those that have added it to places_left */
  ck_device_word
      looking; /* a thread that looks there now, 1 or 0: each look takes the bus a little of messages' time */
} ck_port_counts;

/* In pinned memory, on a line of its own each: the host's, and the kernels'. */
typedef struct ck_port_head {
  ck_device_word taken; /* the message that the host has taken last */
  ck_device_word of_host[7];
  ck_device_word too_long; /* bytes that were to be sent, 0: none */
  ck_device_word of_kernels[7];
} ck_port_head;
typedef struct ck_port_place {
  ck_device_word number; /* of the message that is there */
  ck_device_word bytes;  /* of it, which follow */
} ck_port_place;

/* What the program gives to its kernels, by value. Of one GPU: kernels on another one must not use it. */
typedef struct ck_kernel_port {
  ck_port_counts* counts;
  ck_port_head* head;
  unsigned char* places;
  ck_device_word opening;
  unsigned place_mask;  /* there is a power of two of them */
  unsigned place_bytes; /* from one to the next */
  unsigned most;        /* bytes of a message */
} ck_kernel_port;

typedef struct ck_kernel_counter {
  ck_device_word* count; /* in pinned memory */
} ck_kernel_counter;

/* ---- words: `near` among the threads of one GPU, `far` with the host. Their answers are what was there before. */

#if defined(__CUDA_ARCH__)
CK_DEVICE_FUNCTION ck_device_word ck_near_load(const ck_device_word* at) {
  ck_device_word value;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
CK_DEVICE_FUNCTION ck_device_word ck_near_add(ck_device_word* at, ck_device_word more) { return atomicAdd(at, more); }
CK_DEVICE_FUNCTION ck_device_word ck_near_take(ck_device_word* at) {
  ck_device_word value;
  asm volatile("atom.acquire.gpu.add.u64 %0, [%1], -1;" : "=l"(value) : "l"(at) : "memory");
  return value;
}
CK_DEVICE_FUNCTION void ck_near_give(ck_device_word* at, ck_device_word more) {
  asm volatile("red.release.gpu.add.u64 [%0], %1;" : : "l"(at), "l"(more) : "memory");
}
CK_DEVICE_FUNCTION int ck_near_replace(ck_device_word* at, ck_device_word expected, ck_device_word value) {
  return atomicCAS(at, expected, value) == expected;
}
CK_DEVICE_FUNCTION ck_device_word ck_far_load(const ck_device_word* at) {
  ck_device_word value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
CK_DEVICE_FUNCTION void ck_far_store(ck_device_word* at, ck_device_word value) {
  asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}
CK_DEVICE_FUNCTION void ck_far_add(ck_device_word* at, ck_device_word more) {
  asm volatile("red.release.sys.add.u64 [%0], %1;" : : "l"(at), "l"(more) : "memory");
}
CK_DEVICE_FUNCTION void ck_device_pause(unsigned ns) { __nanosleep(ns); }
#elif defined(__HIP_DEVICE_COMPILE__)
CK_DEVICE_FUNCTION ck_device_word ck_near_load(const ck_device_word* at) {
  return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
CK_DEVICE_FUNCTION ck_device_word ck_near_add(ck_device_word* at, ck_device_word more) {
  return __hip_atomic_fetch_add(at, more, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
CK_DEVICE_FUNCTION ck_device_word ck_near_take(ck_device_word* at) {
  return __hip_atomic_fetch_add(at, ~0ull, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
CK_DEVICE_FUNCTION void ck_near_give(ck_device_word* at, ck_device_word more) {
  __hip_atomic_fetch_add(at, more, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
CK_DEVICE_FUNCTION int ck_near_replace(ck_device_word* at, ck_device_word expected, ck_device_word value) {
  return __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                              __HIP_MEMORY_SCOPE_AGENT);
}
CK_DEVICE_FUNCTION ck_device_word ck_far_load(const ck_device_word* at) {
  return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
CK_DEVICE_FUNCTION void ck_far_store(ck_device_word* at, ck_device_word value) {
  __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
CK_DEVICE_FUNCTION void ck_far_add(ck_device_word* at, ck_device_word more) {
  __hip_atomic_fetch_add(at, more, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
CK_DEVICE_FUNCTION void ck_device_pause(unsigned ns) {
  for (; ns >= 100; ns -= 100) __builtin_amdgcn_s_sleep(3);
}
#else
CK_DEVICE_FUNCTION ck_device_word ck_near_load(const ck_device_word* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
/* Not relaxed, as on GPUs: ck_device_send() goes by what processors do, of which C++ says nothing. */
CK_DEVICE_FUNCTION ck_device_word ck_near_add(ck_device_word* at, ck_device_word more) {
  return __atomic_fetch_add(at, more, __ATOMIC_ACQ_REL);
}
CK_DEVICE_FUNCTION ck_device_word ck_near_take(ck_device_word* at) {
  return __atomic_fetch_add(at, ~0ull, __ATOMIC_ACQUIRE);
}
CK_DEVICE_FUNCTION void ck_near_give(ck_device_word* at, ck_device_word more) {
  __atomic_fetch_add(at, more, __ATOMIC_RELEASE);
}
CK_DEVICE_FUNCTION int ck_near_replace(ck_device_word* at, ck_device_word expected, ck_device_word value) {
  return __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
CK_DEVICE_FUNCTION ck_device_word ck_far_load(const ck_device_word* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
CK_DEVICE_FUNCTION void ck_far_store(ck_device_word* at, ck_device_word value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
CK_DEVICE_FUNCTION void ck_far_add(ck_device_word* at, ck_device_word more) {
  __atomic_fetch_add(at, more, __ATOMIC_RELEASE);
}
CK_DEVICE_FUNCTION void ck_device_pause(unsigned ns) { (void)ns; }
#endif

/* ---- the parts of a send */

CK_DEVICE_FUNCTION int ck_port_take_place(ck_kernel_port port) {
  ck_port_counts* const counts = port.counts;
  int looked;
  for (looked = 0;; looked = 1) {
    ck_device_word seen, taken;
    if ((long long)ck_near_load(&counts->places_left) > 0) {
      if ((long long)ck_near_take(&counts->places_left) > 0) return 1;
      ck_near_give(&counts->places_left, 1);
    }
    if (looked || !ck_near_replace(&counts->looking, 0, 1)) return 0;
    /* acquire: its partner is KernelPort::take(), which has read the places before it says that they are free. A thread
     * that counts places_left down after that sees it too: give is a release, take an acquire. */
    seen = ck_near_load(&counts->seen);
    taken = ck_far_load(&port.head->taken);
    if ((long long)(taken - seen) > 0 && ck_near_replace(&counts->seen, seen, taken))
      ck_near_give(&counts->places_left, taken - seen);
    ck_near_give(&counts->looking, ~0ull);
  }
}

/* In the widest units in which the source is aligned; a place is aligned to 16 bytes. */
CK_DEVICE_FUNCTION void ck_port_write(unsigned char* to, const void* data, unsigned bytes) {
  const unsigned char* const from = (const unsigned char*)data;
  const ck_device_word apart = (ck_device_word)from;
  unsigned i = 0;
  if ((apart & 7) == 0) {
    for (; i + 8 <= bytes; i += 8) *(ck_device_word*)(to + i) = *(const ck_device_word*)(from + i);
  } else if ((apart & 3) == 0) {
    for (; i + 4 <= bytes; i += 4) *(unsigned*)(to + i) = *(const unsigned*)(from + i);
  }
  for (; i < bytes; ++i) to[i] = from[i];
}

/* ---- what a kernel calls */

/* Sends so many bytes, at most the port's `most`, from memory that the thread may read; none is a message too. Any
 * thread of any kernel on the port's GPU may call it: a message a call. They come to the port's callback each once, in
 * the order of their numbers; two of one thread in the order in which it has sent them. What the thread has written
 * before, it has written when the message comes. Costs two operations on words of the GPU's memory and the way of the
 * bytes over the bus, and waits for nothing; with all places taken a look over the bus, and it may say ck_device_full
 * though a place has just become free. */
CK_DEVICE_FUNCTION int ck_device_send(ck_kernel_port port, const void* data, unsigned bytes) {
  ck_device_word number;
  ck_port_place* place;
  /* First: the memory may be another port's by now, which is told nothing of what was too long for this one. */
  if (ck_near_load(&port.counts->opening) != port.opening) return ck_device_closed;
  if (bytes > port.most) {
    ck_far_store(&port.head->too_long, bytes);
    return ck_device_too_long;
  }
  if (!ck_port_take_place(port)) return ck_device_full;
  /* relaxed on a GPU, though the place taken may have been free from the first and the number stand for one that the
   * host has given back since, as another thread saw: that thread's number came before this one from the same word, and
   * no processor writes where it does not know yet. */
  number = ck_near_add(&port.counts->next, 1);
  place = (ck_port_place*)(port.places + (number & port.place_mask) * port.place_bytes);
  ck_port_write((unsigned char*)(place + 1), data, bytes);
  place->bytes = bytes;
  /* release: its partner is KernelPort::take(). */
  ck_far_store(&place->number, number);
  return ck_device_sent;
}

/* (A function of its own: where the threads of a wavefront share their steps, one that has a place must have written it
 * before another one tries again.) */
CK_DEVICE_WHOLE int ck_device_send_once(ck_kernel_port port, const void* data, unsigned bytes) {
  return ck_device_send(port, data, bytes);
}
/* The same, and while all places are taken it waits: until the port's PE takes messages, which it does between entries,
 * or the port is closed. An entry that waits for the kernel, as cudaDeviceSynchronize() does, would wait for ever. */
CK_DEVICE_FUNCTION int ck_device_send_waiting(ck_kernel_port port, const void* data, unsigned bytes) {
  unsigned ns =
      250; /* longer each time: thousands of threads that look over the bus leave no room there for messages */
  int sent = ck_device_send_once(port, data, bytes);
  while (sent == ck_device_full) {
    ck_device_pause(ns);
    if (ns < 16000) ns *= 2;
    sent = ck_device_send_once(port, data, bytes);
  }
  return sent;
}

/* Adds to the counter. What the thread has written before, it has written when the host sees the sum. Any thread of any
 * kernel on one GPU. */
CK_DEVICE_FUNCTION void ck_device_signal(ck_kernel_counter counter, ck_device_word more) {
  ck_far_add(counter.count, more);
}
