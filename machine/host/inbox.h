// Inbox and Port: how PEs of one host reach each other.
//
// An Inbox is the shared part of a PE's way in: which senders have made a ring to it, which of those rings may hold
// something, and the word it sleeps on. A Port is the private part, both ways: a PE's rings out to others and the rings
// in that it polls. All of a Port is used by one thread, the one that runs its PE.
//
// Rings are made by the sender when it first sends, in its own slice. Up to kDirectRings senders a receiver looks at
// every ring; beyond, at a bitmap of those that may hold something (and at one more ring a poll, because a bit is a
// hint: see Port::mark).
//
// Sleeping is asymmetric: a sender pays one plain load after publishing; the receiver says that it sleeps, and looks
// again after a short sleep and after the membarrier(2) before a long one. So one of the two always sees the other.
// C++17.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/platform.h"
#include "machine/host/heap.h"
#include "machine/host/ring.h"

namespace periapt::host {

/// What a carrier (an OS thread that runs PEs) sleeps on. In shared memory, a line each. Senders read it after each
/// publish; it is written rarely, so it stays in their caches.
struct alignas(platform::kCacheLine) SleepWord {
  std::atomic<std::uint32_t> sleeping;      ///< 1: announced. The futex word.
  std::atomic<std::uint32_t> news;          ///< 1: wake() was called; lasts until the next sleep
  std::atomic<std::uint32_t> marks_wanted;  ///< 1: a PE of this carrier has so many senders that it needs marks
};

/// Wakes the carrier if it sleeps. Any thread; safe in a signal handler.
void end_sleep(SleepWord& word, bool across_processes);
/// The same for news that are not messages: a carrier about to sleep will not.
void tell_news(SleepWord& word, bool across_processes);

/// The shared part of a PE's way in.
struct Inbox {
  // Written when a ring is made, read at each poll.
  alignas(platform::kCacheLine) std::atomic<std::uint32_t> announced;
  std::atomic<std::uint64_t>* may_hold;  ///< bit s: the ring from the host's s-th PE may hold something
  std::atomic<Ring*>* rings;             ///< by sender, counted from the host's first PE

  static constexpr int kDirectRings = 16;
};

class Port;

/// Gets what has come for a PE: `meta` and a body, as a sink of Port::poll() does.
using Deliver = void (*)(void* context, std::uint64_t meta, const void* body);

/// The way to PEs that are not on this host, and from them. All of it from the thread of the PE whose Port is given;
/// nothing of it blocks.
class FarSide {
 public:
  virtual ~FarSide() = default;
  /// Takes a block over; its length is what the layer's WireFormat says.
  virtual void send(Port& from, int to, std::uint64_t meta, void* block) = 0;
  /// A line: its `meta`, and as much of its body as it fills, `bytes` together. They are copied.
  virtual void send_line(Port& from, int to, const void* line, std::size_t bytes) = 0;
  /// Drives the network, if no other PE does. What has come for this PE goes to `deliver`, which may send, but calls
  /// nothing else here. Returns whether there was anything.
  virtual bool progress(Port& driver, Deliver deliver, void* context) = 0;
};

/// What a Port needs to know of the run; filled by MachineLayer (or by a test).
struct PortConfig {
  int pe = 0;
  int pes = 0;                        ///< of the run
  int host_first = 0;                 ///< the first PE of this host
  int host_pes = 0;                   ///< of this host; 0: all of them
  FarSide* far = nullptr;             ///< null: all PEs are of this host
  Inbox* const* inboxes = nullptr;    ///< by PE of this host
  SleepWord* const* sleep = nullptr;  ///< by PE of this host: its carrier's
  Heap* heap = nullptr;               ///< this PE's
  bool across_processes = false;      ///< the futex and the membarrier must reach other processes
  std::uint32_t ring_capacity = 0;    ///< slots; 0: chosen from the number of PEs
};

struct Overflow;

class alignas(platform::kCacheLine) Port {
 public:
  explicit Port(const PortConfig& config);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // ---- sending

  /// Is it on another host, so that there is never a slot for it?
  bool is_far(int pe) const { return static_cast<unsigned>(pe - host_first_) >= static_cast<unsigned>(host_pes_); }

  /// A slot whose body the caller may write, then publish(). When the ring has just become full, a receiver that is
  /// awake is given some microseconds to make room. nullptr: the ring is full, or messages for that PE are parked and
  /// must go first: park() it; or the PE is on another host: far()->send_line(). A slot that was claimed and not
  /// published is given out again by the next claim.
  PERIAPT_INLINE Slot* claim(int pe) {
    if (PERIAPT_UNLIKELY(is_far(pe))) return nullptr;
    Outgoing& out = outgoing_to(pe);
    if (PERIAPT_UNLIKELY(out.next == out.limit) && !make_room(out, pe)) return nullptr;
    return &out.slots[out.next & out.mask];
  }

  /// Makes the claimed slot visible to its receiver, with 56 bits of meta, and wakes it if it sleeps. Never blocks.
  PERIAPT_INLINE void publish(int pe, Slot* slot, std::uint64_t meta) { put_word(outgoing_to(pe), slot, meta << 8); }

  /// Where claim() found no slot for a PE of this host: keeps the 56 bytes of the body and sends them, in order, as
  /// soon as there is room: in a later claim for that PE, or a later poll.
  PERIAPT_NOINLINE void park(int pe, std::uint64_t meta, const void* body);

  /// Passes a block: the receiver's sink gets `meta`, a body whose first 8 bytes are the address `bytes`, and behind
  /// it a copy of the block's first 48 bytes (its envelope), so that it can decide without touching the block.
  /// Ownership moves. Without a free slot it is parked.
  PERIAPT_INLINE void send(int pe, std::uint64_t meta, void* bytes) {
    Slot* slot = claim(pe);
    if (PERIAPT_UNLIKELY(slot == nullptr)) return send_later(pe, meta, bytes);
    write_block(slot->body, bytes);
    platform::hand_over(bytes);
    put_word(outgoing_to(pe), slot, meta << 8 | Slot::kBlock);
  }

  /// To and from PEs for which is_far() is true; null: there are none.
  FarSide* far() const { return config_.far; }

  /// Messages parked here for want of a slot, all destinations: for back-pressure.
  std::size_t parked() const { return parked_; }
  std::size_t parked(int pe) const;

  // ---- receiving

  /// Calls sink(std::uint64_t meta, const void* body, int source) for what has arrived, at most `budget` times,
  /// in order for each source; returns how often. The body (56 bytes, 8-byte aligned on a 16-byte boundary) is a copy
  /// that is valid during the call; its slot is free already, so a sink may poll, send and sleep itself.
  template <class Sink>
  PERIAPT_INLINE int poll(Sink&& sink, int budget) {
    if (PERIAPT_UNLIKELY(inbox_->announced.load(std::memory_order_relaxed) != adopted_)) adopt_rings();
    if (PERIAPT_UNLIKELY(parked_ != 0)) drain_parked();
    if (PERIAPT_UNLIKELY(by_bitmap_)) return poll_marked(sink, budget);
    int delivered = 0;
    for (int i = 0; i < active_ && delivered < budget; ++i) {
      delivered += poll_ring(incoming_[i], sink, budget - delivered);
    }
    return delivered;
  }

  /// Is there anything to poll for? For a carrier that runs several PEs.
  bool has_arrivals();

  // ---- waiting

  /// The gap between two looks of an idle PE: 30 to 60 ns, so that a sender's write needs one transfer of the line
  /// instead of fighting for it: 110 instead of 140 ns one way (bench/bench_shm.cpp).
  static void relax();

  /// Sleeps until something may have arrived for one of the PEs of this carrier, until wake() or until `deadline_ns`
  /// (clock::now_ns(); ~0: none); with parked messages, also until one of them can go out. May return early. Hands back
  /// collected blocks first. A poll() that delivered nothing may have sent parked ones: a caller that waits for that
  /// looks at parked() again before sleeping.
  void sleep(std::uint64_t deadline_ns);

  /// Ends the sleep of the carrier that runs `pe`, if it sleeps. For news that are not messages.
  void wake(int pe);

  /// The Ports that one carrier runs; sleep() looks at all of them. Each Port must be told once, before it sleeps.
  void set_siblings(std::vector<Port*> siblings) { siblings_ = std::move(siblings); }

  int pe() const { return pe_; }
  Heap& heap() { return *heap_; }

 private:
  static constexpr unsigned kPrefetchAhead = 16;
  static constexpr int kLookAhead = 8;
  static constexpr int kBurst = 64;  ///< from one ring before the next one has its turn

  struct alignas(platform::kCacheLine) Outgoing {
    Slot* slots = nullptr;
    std::uint64_t next = 0;   ///< the next slot's number
    std::uint64_t limit = 0;  ///< equal to next: full, no ring yet, or closed because messages are parked
    std::uint32_t mask = 0;
    std::uint32_t capacity_log = 0;
    SleepWord* sleep = nullptr;
    Inbox* inbox = nullptr;
    Ring* ring = nullptr;
    Overflow* overflow = nullptr;
  };
  /// Lines of its own: each is written at every message, and those of several PEs are made one after the other.
  struct alignas(platform::kCacheLine) Incoming {
    Slot* slots = nullptr;
    std::uint64_t next = 0;
    std::uint32_t mask = 0;
    std::uint32_t capacity_log = 0;
    std::uint64_t report_mask = 0;  ///< consumption is reported when next & report_mask is 0
    Ring* ring = nullptr;
    int source = 0;
    bool flowing = false;  ///< the latest look found something
  };
  struct alignas(16) Body {
    std::byte bytes[64];
  };

  Outgoing& outgoing_to(int pe) const { return outgoing_[pe - host_first_]; }

  static void write_block(std::byte* body, void* bytes) {
    std::memcpy(body, &bytes, sizeof(bytes));
    std::memcpy(body + sizeof(bytes), bytes, Slot::kBodyBytes - sizeof(bytes));
  }

  PERIAPT_INLINE void put_word(Outgoing& out, Slot* slot, std::uint64_t word) {
    std::uint64_t n = out.next++;
    platform::prefetch_for_write(&out.slots[(n + kPrefetchAhead) & out.mask]);
    // release: partner is the acquire in arrived(); it carries the body, and all of a block whose address is in it.
    slot->word.store(word | Ring::lap(n, out.capacity_log), std::memory_order_release);
    // The store above must reach others before the loads below are done, or the other side must take care of it: the
    // receiver does, with the membarrier in sleep(). Here only the compiler has to be held.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (PERIAPT_UNLIKELY(out.sleep->sleeping.load(std::memory_order_relaxed) |
                         out.sleep->marks_wanted.load(std::memory_order_relaxed))) {
      attend(out);
    }
  }

  /// Is the n-th slot of the ring there? acquire: partner is the release in put_word().
  static bool arrived(const Incoming& in, std::uint64_t n) {
    std::uint64_t word = in.slots[n & in.mask].word.load(std::memory_order_acquire);
    return (word & Slot::kLapMask) == Ring::lap(n, in.capacity_log);
  }

  /// One ring. After a pause a single message is taken: to look behind it for a second one would fetch the line that
  /// the sender holds, and the answer to the first would wait for it. As long as messages keep coming they are taken in
  /// bursts, their blocks fetched ahead.
  template <class Sink>
  PERIAPT_INLINE int poll_ring(Incoming& in, Sink&& sink, int budget) {
    if (!arrived(in, in.next)) {
      in.flowing = false;
      return 0;
    }
    if (!in.flowing) {
      in.flowing = true;
      deliver(in, sink);
      return 1;
    }
    int delivered = 0;
    int most = budget < kBurst ? budget : kBurst;
    while (delivered < most) {
      int ready = look_ahead(in, most - delivered < kLookAhead ? most - delivered : kLookAhead);
      if (ready == 0) break;
      // Asked again for each, because a sink may have polled itself.
      for (; ready > 0 && arrived(in, in.next); --ready, ++delivered) deliver(in, sink);
    }
    return delivered;
  }

  template <class Sink>
  PERIAPT_INLINE void deliver(Incoming& in, Sink&& sink) {
    const Slot& slot = in.slots[in.next & in.mask];
    std::uint64_t word = slot.word.load(std::memory_order_relaxed);
    Body body;
    std::memcpy(body.bytes, slot.body, Slot::kBodyBytes);
    if (platform::kThreadSanitizer && (word & Slot::kBlock) != 0) take_over_block(body.bytes);
    ++in.next;
    if (PERIAPT_UNLIKELY((in.next & in.report_mask) == 0)) report(in);
    sink(word >> 8, static_cast<const void*>(body.bytes), in.source);
  }

  /// How many slots are there, up to `most`; the blocks in them are asked for.
  static PERIAPT_INLINE int look_ahead(const Incoming& in, int most) {
    int ready = 0;
    for (; ready < most && arrived(in, in.next + static_cast<unsigned>(ready)); ++ready) {
      const Slot& slot = in.slots[(in.next + static_cast<unsigned>(ready)) & in.mask];
      if ((slot.word.load(std::memory_order_relaxed) & Slot::kBlock) == 0) continue;
      void* bytes;
      std::memcpy(&bytes, slot.body, sizeof(bytes));
      platform::prefetch(bytes);
    }
    return ready;
  }

  template <class Sink>
  PERIAPT_NOINLINE int poll_marked(Sink&& sink, int budget) {
    int delivered = 0;
    // One ring a poll whatever its bit says: a bit is a hint and may come too late.
    if (active_ > 0) {
      sweep_ = sweep_ + 1 < active_ ? sweep_ + 1 : 0;
      delivered += poll_ring(incoming_[sweep_], sink, budget);
    }
    for (int w = 0; w < bitmap_words_ && delivered < budget; ++w) {
      std::uint64_t marked = take_marks(w);
      while (marked != 0) {
        int source = w * 64 + static_cast<int>(lowest_bit(marked));  // counted from the host's first PE
        marked &= marked - 1;
        Incoming* in = incoming_from_[source];
        if (in == nullptr) continue;
        if (delivered < budget) delivered += poll_ring(*in, sink, budget - delivered);
        if (arrived(*in, in->next)) mark(*inbox_, source);
      }
    }
    return delivered;
  }

  static void take_over_block(const std::byte* body) {
    void* bytes;
    std::memcpy(&bytes, body, sizeof(bytes));
    platform::take_over(bytes);
  }
  PERIAPT_NOINLINE bool make_room(Outgoing& out, int pe);
  void wait_for_room(Outgoing& out);
  PERIAPT_COLD void make_ring(Outgoing& out, int pe);
  PERIAPT_NOINLINE void attend(Outgoing& out);
  PERIAPT_NOINLINE void send_later(int pe, std::uint64_t meta, void* bytes);
  void park_word(int pe, std::uint64_t word, const void* body);
  PERIAPT_NOINLINE void drain_parked();
  PERIAPT_NOINLINE void adopt_rings();
  PERIAPT_NOINLINE void report(Incoming& in);
  static std::uint64_t room_until(const Outgoing& out);
  static void mark(Inbox& inbox, int host_source);
  std::uint64_t take_marks(int word);
  bool anything_to_do();
  bool anything_for_carrier();
  bool sleep_announced(std::uint64_t limit_ns);

  // Hot on both ways.
  Outgoing* outgoing_ = nullptr;  ///< by PE of this host
  Inbox* inbox_ = nullptr;
  Incoming* incoming_ = nullptr;  ///< the first `active_` are in use; room for all PEs of the host
  std::size_t parked_ = 0;
  std::uint32_t adopted_ = 0;
  int active_ = 0;
  bool by_bitmap_ = false;
  int sweep_ = 0;
  int bitmap_words_ = 0;
  std::vector<Incoming*> incoming_from_;  ///< by sender, counted from the host's first PE

  int pe_;
  int host_first_;
  int host_pes_;
  Heap* heap_;
  PortConfig config_;
  SleepWord* sleep_word_;
  bool can_sleep_long_ = true;  ///< membarrier works
  std::vector<int> destinations_parked_;
  std::vector<Port*> siblings_;
};

}  // namespace periapt::host
