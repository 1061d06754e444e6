#include "machine/host/inbox.h"

#include <algorithm>
#include <deque>

#include "base/clock.h"
#include "base/futex.h"
#include "machine/host/membarrier.h"

namespace periapt::host {

/// What waits for a slot, in order, as it will lie in it: a small message that waits is no dearer than one that does
/// not.
struct Overflow {
  struct Parked {
    std::uint64_t word;  ///< without the lap
    std::byte body[Slot::kBodyBytes];
  };
  std::deque<Parked> queue;
  bool listed = false;  ///< in destinations_parked_
};

namespace {

// A sleep begins with short ones that need no membarrier: that interrupts every cpu on which a process of such runs is
// at work, and the kernel lets one caller after the other, so where many PEs of a host go idle together each would wait
// for milliseconds, deaf to what comes. The look after a short sleep sees what was late for the look before it. Without
// membarrier all sleeps are short.
constexpr std::uint64_t kShortSleepsNs[] = {1'000'000, 10'000'000};
// Gaps between saying that one sleeps and the first look: most stores that are on their way arrive meanwhile.
constexpr int kGapsBeforeLook = 4;

// Rings of fewer slots when there are many of them: with n PEs there may be n * n.
std::uint32_t default_capacity(int pes) { return pes <= 16 ? 512 : pes <= 64 ? 256 : pes <= 256 ? 64 : 16; }

std::uint64_t time_until(std::uint64_t deadline_ns) {
  if (deadline_ns == kNoLimit) return kNoLimit;
  const std::uint64_t now = clock::now_ns();
  return deadline_ns > now ? deadline_ns - now : 0;
}

}  // namespace

void end_sleep(SleepWord& word, bool across_processes) {
  // acq_rel: of all that see it asleep one clears the word and wakes, exactly once.
  if (word.sleeping.load(std::memory_order_relaxed) != 0 && word.sleeping.exchange(0, std::memory_order_acq_rel) != 0) {
    futex_wake_one(word.sleeping, across_processes);
  }
}

void tell_news(SleepWord& word, bool across_processes) {
  // release: partner is the exchange at the end of sleep(); what the news are about was written before.
  word.news.store(1, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // against sleep(): the same bargain as in publish()
  end_sleep(word, across_processes);
}

Port::Port(const PortConfig& config)
    : inbox_(config.inboxes[config.pe - config.host_first]),
      pe_(config.pe),
      host_first_(config.host_first),
      host_pes_(config.host_pes != 0 ? config.host_pes : config.pes),
      heap_(config.heap),
      config_(config),
      sleep_word_(config.sleep[config.pe - config.host_first]),
      siblings_{this} {
  outgoing_ = new Outgoing[static_cast<std::size_t>(host_pes_)];
  incoming_ = new Incoming[static_cast<std::size_t>(host_pes_)];
  incoming_from_.assign(static_cast<std::size_t>(host_pes_), nullptr);
  bitmap_words_ = (host_pes_ + 63) / 64;
  if (config_.ring_capacity == 0) config_.ring_capacity = default_capacity(host_pes_);
  for (int i = 0; i < host_pes_; ++i) {
    outgoing_[i].inbox = config.inboxes[i];
    outgoing_[i].sleep = config.sleep[i];
  }
  can_sleep_long_ = register_membarrier(config.across_processes);
}

Port::~Port() {
  for (int i = 0; i < host_pes_; ++i) delete outgoing_[i].overflow;
  delete[] outgoing_;
  delete[] incoming_;
}

// ---- sending

// The slow end of claim(): next has met limit.
bool Port::make_room(Outgoing& out, int pe) {
  if (out.ring == nullptr) {
    make_ring(out, pe);
    return true;
  }
  if (out.overflow != nullptr && !out.overflow->queue.empty()) {
    // Those go first. A long row of sends looks after them meanwhile: the receiver must not run dry.
    if (room_until(out) != out.next) drain_parked();
    return out.next != out.limit;
  }
  out.limit = room_until(out);
  if (out.next == out.limit) wait_for_room(out);
  return out.next != out.limit;
}

// A message that is parked is copied once more and costs memory, and so do all behind it until the last of them has
// gone. A receiver that is at work makes room soon; so its sender, which is faster, waits for that a moment.
void Port::wait_for_room(Outgoing& out) {
  constexpr int kGaps = 160;  // some 8 us: a quarter of a ring at 60 ns a message
  auto asleep = [&] { return out.sleep->sleeping.load(std::memory_order_relaxed) != 0; };
  if (out.sleep == sleep_word_) return;  // it runs on this very thread
  for (int i = 0; i < kGaps && out.next == out.limit && !asleep(); ++i) {
    relax();
    out.limit = room_until(out);
  }
}

std::uint64_t Port::room_until(const Outgoing& out) {
  // acquire: partner is the release in report(); the receiver has done with the slots before we write them again.
  return out.ring->consumed.load(std::memory_order_acquire) + out.mask + 1;
}

void Port::make_ring(Outgoing& out, int pe) {
  std::uint32_t capacity = config_.ring_capacity;
  Ring* ring = static_cast<Ring*>(heap_->allocate_permanent(Ring::bytes(capacity)));
  ring->capacity = capacity;
  ring->capacity_log = floor_log2(capacity);
  ring->sender = pe_;
  ring->receiver = pe;
  out.ring = ring;
  out.slots = ring->slots();
  out.mask = capacity - 1;
  out.capacity_log = ring->capacity_log;
  out.next = 0;
  out.limit = capacity;
  // release, both: partners are the acquires in adopt_rings(); the ring's head is complete before it is found, and it
  // is found by every reader that sees the count.
  out.inbox->rings[pe_ - host_first_].store(ring, std::memory_order_release);
  out.inbox->announced.fetch_add(1, std::memory_order_release);
}

void Port::attend(Outgoing& out) {
  if (out.sleep->marks_wanted.load(std::memory_order_relaxed) != 0) mark(*out.inbox, pe_ - host_first_);
  end_sleep(*out.sleep, config_.across_processes);
}

// A mark is a hint. The bit may be seen set here although the receiver is just clearing it and has not seen the slot:
// it would take a fence to exclude that. So the receiver looks at one ring a poll whatever its bit says, and at all of
// them before it sleeps; a lost mark costs time, never a message.
void Port::mark(Inbox& inbox, int host_source) {
  std::atomic<std::uint64_t>& word = inbox.may_hold[host_source / 64];
  std::uint64_t bit = std::uint64_t{1} << (host_source % 64);
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_release);
}

void Port::send_later(int pe, std::uint64_t meta, void* bytes) {
  if (is_far(pe)) return config_.far->send(*this, pe, meta, bytes);
  std::byte body[Slot::kBodyBytes];
  write_block(body, bytes);
  platform::hand_over(bytes);
  park_word(pe, meta << 8 | Slot::kBlock, body);
}

void Port::park(int pe, std::uint64_t meta, const void* body) { park_word(pe, meta << 8, body); }

void Port::park_word(int pe, std::uint64_t word, const void* body) {
  Outgoing& out = outgoing_to(pe);
  if (out.overflow == nullptr) out.overflow = new Overflow;
  Overflow::Parked& parked = out.overflow->queue.emplace_back();
  parked.word = word;
  std::memcpy(parked.body, body, Slot::kBodyBytes);
  out.limit = out.next;  // closed: later claims must not overtake
  ++parked_;
  if (!out.overflow->listed) {
    out.overflow->listed = true;
    destinations_parked_.push_back(pe);
  }
}

void Port::drain_parked() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < destinations_parked_.size(); ++i) {
    int pe = destinations_parked_[i];
    Outgoing& out = outgoing_to(pe);
    auto& queue = out.overflow->queue;
    std::uint64_t limit = out.ring == nullptr ? out.next : room_until(out);
    while (!queue.empty() && out.next != limit) {
      Slot* slot = &out.slots[out.next & out.mask];
      std::memcpy(slot->body, queue.front().body, Slot::kBodyBytes);
      put_word(out, slot, queue.front().word);
      queue.pop_front();
      --parked_;
    }
    out.limit = queue.empty() ? limit : out.next;
    out.overflow->listed = !queue.empty();
    if (out.overflow->listed) destinations_parked_[kept++] = pe;
  }
  destinations_parked_.resize(kept);
}

std::size_t Port::parked(int pe) const {
  if (is_far(pe)) return 0;
  const Overflow* overflow = outgoing_to(pe).overflow;
  return overflow == nullptr ? 0 : overflow->queue.size();
}

// ---- receiving

void Port::adopt_rings() {
  // The count before the rings: a ring that comes in between is found again, or looked for once more.
  std::uint32_t announced = inbox_->announced.load(std::memory_order_acquire);
  for (int i = 0; i < host_pes_; ++i) {
    if (incoming_from_[i] != nullptr) continue;
    Ring* ring = inbox_->rings[i].load(std::memory_order_acquire);
    if (ring == nullptr) continue;
    Incoming& in = incoming_[active_++];
    in.slots = ring->slots();
    in.mask = ring->capacity - 1;
    in.capacity_log = ring->capacity_log;
    in.report_mask = std::max(ring->capacity / 4, 1u) - 1;
    in.ring = ring;
    in.source = host_first_ + i;
    incoming_from_[i] = &in;
    if (by_bitmap_) mark(*inbox_, i);
  }
  adopted_ = announced;
  if (active_ > Inbox::kDirectRings && !by_bitmap_) {
    by_bitmap_ = true;
    sleep_word_->marks_wanted.store(1, std::memory_order_relaxed);  // a hint, like the marks
    for (int i = 0; i < active_; ++i) mark(*inbox_, incoming_[i].source - host_first_);
  }
}

void Port::report(Incoming& in) {
  // release: partner is the acquire in room_until(); our copies of the slots come before they are written again.
  in.ring->consumed.store(in.next, std::memory_order_release);
  // Against a sender that goes to sleep with parked messages: it sets sender_waits, runs its membarrier and looks at
  // `consumed` again, so one of us sees the other; here only the compiler has to be held.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (PERIAPT_UNLIKELY(in.ring->sender_waits.load(std::memory_order_relaxed) != 0)) {
    in.ring->sender_waits.store(0, std::memory_order_relaxed);
    end_sleep(*config_.sleep[in.source - host_first_], config_.across_processes);
  }
}

std::uint64_t Port::take_marks(int word) {
  std::atomic<std::uint64_t>& marks = inbox_->may_hold[word];
  if (marks.load(std::memory_order_relaxed) == 0) return 0;
  return marks.exchange(0, std::memory_order_acquire);
}

bool Port::has_arrivals() {
  if (inbox_->announced.load(std::memory_order_relaxed) != adopted_) return true;
  if (!by_bitmap_) {
    for (int i = 0; i < active_; ++i) {
      if (arrived(incoming_[i], incoming_[i].next)) return true;
    }
    return false;
  }
  for (int w = 0; w < bitmap_words_; ++w) {
    if (inbox_->may_hold[w].load(std::memory_order_relaxed) != 0) return true;
  }
  sweep_ = sweep_ + 1 < active_ ? sweep_ + 1 : 0;
  return arrived(incoming_[sweep_], incoming_[sweep_].next);
}

// ---- waiting

void Port::relax() {
  constexpr std::uint64_t kGapTicks = 100;
  std::uint64_t begin = platform::ticks();
  do {
    platform::pause();
  } while (platform::ticks() - begin < kGapTicks);
}

// The last look before sleeping: at every ring, whatever the marks say.
bool Port::anything_to_do() {
  if (inbox_->announced.load(std::memory_order_acquire) != adopted_) adopt_rings();
  bool found = false;
  for (int i = 0; i < active_; ++i) {
    if (!arrived(incoming_[i], incoming_[i].next)) continue;
    found = true;
    if (by_bitmap_) mark(*inbox_, incoming_[i].source - host_first_);
  }
  for (int pe : destinations_parked_) {
    const Outgoing& out = outgoing_to(pe);
    found = found || (out.ring != nullptr && room_until(out) != out.next);
  }
  return found;
}

bool Port::anything_for_carrier() {
  bool found = sleep_word_->news.load(std::memory_order_relaxed) != 0;
  for (Port* port : siblings_) found = port->anything_to_do() || found;
  return found;
}

// Sleeps on the announced word; true: a sender has ended it, or there is something.
bool Port::sleep_announced(std::uint64_t limit_ns) {
  SleepWord& word = *sleep_word_;
  if (limit_ns != 0) futex_wait(word.sleeping, 1, limit_ns, config_.across_processes);
  return word.sleeping.load(std::memory_order_relaxed) == 0 || anything_for_carrier();
}

void Port::sleep(std::uint64_t deadline_ns) {
  for (Port* port : siblings_) {
    port->heap_->flush_returns();
    for (int pe : port->destinations_parked_) {
      if (Ring* ring = port->outgoing_to(pe).ring) ring->sender_waits.store(1, std::memory_order_relaxed);
    }
  }
  SleepWord& word = *sleep_word_;
  word.sleeping.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // senders see it from here on
  for (int i = 0; i < kGapsBeforeLook; ++i) relax();
  bool over = anything_for_carrier();
  for (std::uint64_t ns : kShortSleepsNs) {
    over = over || sleep_announced(std::min(ns, time_until(deadline_ns)));
  }
  if (!over && can_sleep_long_ && time_until(deadline_ns) != 0) {
    // After this call every thread of the run has either made the stores visible that came before its latest load of
    // `sleeping`, or will see the 1: the heavy half of the fence whose light half is the signal fence in put_word().
    membarrier(config_.across_processes);
    if (!anything_for_carrier()) sleep_announced(time_until(deadline_ns));
  }
  word.sleeping.store(0, std::memory_order_relaxed);
  // acquire: partner is the release in tell_news().
  if (word.news.load(std::memory_order_relaxed) != 0) word.news.exchange(0, std::memory_order_acquire);
}

void Port::wake(int pe) {
  if (!is_far(pe)) tell_news(*config_.sleep[pe - host_first_], config_.across_processes);
}

}  // namespace periapt::host
