// The scheduler's loop and the way in and out of a PE.
#include "runtime/scheduler/pe.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "machine/sim/machine.h"
#include "runtime/scheduler/broadcast_tree.h"
#include "runtime/scheduler/message_priority.h"
#include "runtime/scheduler/process.h"

namespace periapt {

thread_local Pe* Pe::current_ = nullptr;
Pe::Dispatch Pe::dispatch = nullptr;
Message (*Pe::for_other_host)(Message) = nullptr;
std::string (*Pe::describe)(const Pe&) = nullptr;
bool (*Pe::is_balancing)(const Work&) = nullptr;

namespace {
// Messages taken from the inbox in one look; more stay where they are, and a full ring slows its sender.
constexpr int accept_budget = 64;
constexpr std::size_t accept_below = 4096;
// Idle rounds (each one Port::relax, 30 to 60 ns) before sleeping: waking costs 30 to 80 us, so spin about as long. A
// PE that has its cpu for itself spins on for idle_spin_ns: cpus that sleep wake slowly and cold (N-body was a tenth
// slower).
constexpr std::uint32_t spins_before_sleep = 2000;
// Between two rounds of a PE that spins on, mostly pauses: what computes on the same core's other thread loses less to
// them than to rounds (ChaNGa on 16 PEs was three percent slower).
constexpr std::uint64_t spin_gap_ns = 1000;
// A mask: timers are looked at in one of eight of the first rounds, and in all of the later ones. A program that polls
// by timers of no delay does nothing else while its PE is idle.
constexpr std::uint32_t idle_timers_mask = 7;
constexpr std::uint32_t spins_when_crowded = 50;
// A gap between two idle rounds in which something else had the cpu, and for how long a PE takes its cpu for shared
// after one.
constexpr std::uint64_t lost_cpu_ns = 1'000'000, shared_cpu_ns = 1'000'000'000;
// Rounds without work before a PE counts as idle: an answer that is on its way should not meet the bookkeeping of that.
constexpr std::uint32_t spins_before_idle = 8;
// A PE that shares its thread lets the others run after so many rounds.
constexpr std::uint32_t turn_mask = 15;
// Memory that nothing has needed for so long goes back to the system; where there is much of it, bit by bit.
constexpr std::uint64_t trim_interval_ns = 500'000'000, trim_pause_ns = 2'000'000;
// A simulated PE looks for such memory once in so many idle periods: its time is not the system's.
constexpr std::uint32_t trim_periods_mask = 255;
// A busy PE looks outside once in so many rounds; an idle one in each.
constexpr std::uint32_t outside_mask = 7;

using scheduler::Order;
using scheduler::PriorityKey;

static_assert(machine::OneSided::kRmaRequestMeta == thread_meta, "no thread travels between PEs");

// Makes a line that refers to a message; its arguments stay what they were.
void refer(Work& line, Envelope* message) {
  line.meta = message_meta;
  line.element = reinterpret_cast<std::uint64_t>(message);
}
Work referring(Envelope* message) {
  Work line;
  refer(line, message);
  return line;
}
}  // namespace

Pe::Pe(Process& process, int index)
    : process(process),
      index(index),
      rank(index - process.first_pe()),
      slot(process.is_simulated() ? index : rank),
      heap(process.layer().heap(index)),
      port(process.layer().port(index)),
      threads({.stack_bytes = thread_stack_bytes, .pe = index}),
      random_state(0x9E3779B97F4A7C15u * (index + 1)),
      looks_outside_(port.far() != nullptr),
      simulated_(process.is_simulated()),
      one_at_a_time_(simulated_) {
  scheduler::ThreadHooks hooks;
  hooks.context = this;
  hooks.awaken = [](void* pe, Thread* thread) { static_cast<Pe*>(pe)->enqueue_thread(thread); };
  hooks.choose = [](void* context) -> Thread* {
    Pe* pe = static_cast<Pe*>(context);
    return pe->thread_is_next() ? reinterpret_cast<Thread*>(pe->fifo_.pop_front().element) : nullptr;
  };
  threads.set_hooks(hooks);
  if (!simulated_) heap.set_cache_limit(~std::size_t{0});  // trim() sees to it
}
Pe::~Pe() = default;

// --- sending ---------------------------------------------------------------------------------------------------------

void OpenCall::commit() const {
  Pe& pe = *Pe::current();
  if (slot != &pe.spare_) [[likely]]
    return pe.port.publish(to, static_cast<host::Slot*>(slot), meta);
  if (!pe.port.is_far(to)) return pe.port.park(to, meta, &pe.spare_.element);
  pe.port.far()->send_line(pe.port, to, &pe.spare_, sizeof meta + body_bytes(meta));
}

void Pe::send(int to, Message&& message) {
  count(message);
  if (to == index) return accept_message(std::move(message));
  if (!port.is_far(to)) [[likely]]
    return port.send(to, message_meta, message.release());
  // All PEs of a simulated machine are far; what goes to one of the same host stays as it is.
  if (for_other_host && (!simulated_ || process.layer().route(to) == machine::Route::other_host))
    message = for_other_host(std::move(message));
  port.far()->send(port, to, message_meta, message.release());
}

void Pe::send_small(int to, Message&& message) {
  const Envelope& e = *message.envelope();
  const std::uint64_t meta = small_meta(e.entry, e.collection, static_cast<unsigned>(e.size));
  const OpenCall call = reserve(to, meta, e.element, e.flags & envelope_counted ? Counting::yes : Counting::no);
  auto* small = static_cast<SmallMessage*>(call.arguments);
  small->reference = e.reference;
  small->source = e.source;
  small->extra = e.extra;
  small->message_type = e.message_type;
  small->target = e.target;
  small->flags = e.flags;
  std::memcpy(small->payload, message.payload(), e.size);
  if (call.slot != &spare_) [[likely]]
    port.publish(to, static_cast<host::Slot*>(call.slot), meta);  // inline
  else
    call.commit();
  message = Message();
}

// The message that a line holds, in our own memory. The body is read in pieces that lie within those in which
// Port::poll() has just written it, 16, 16, 16 and 8 bytes: a load that crosses two of them waits until both stores are
// in the cache.
Message Pe::unfold(std::uint64_t meta, const void* body) {
  Work work;
  work.meta = meta;
  const auto* from = static_cast<const std::byte*>(body);
  const auto read = [from](std::size_t at, auto& into) { std::memcpy(&into, from + at, sizeof into); };
  constexpr std::size_t small = sizeof work.element, payload = small + offsetof(SmallMessage, payload);
  auto* e = static_cast<Envelope*>(heap.allocate(sizeof(Envelope) + SmallMessage::payload_max));
  *e = Envelope{};
  e->size = work.length();
  e->collection = work.collection();
  e->entry = work.entry();
  e->queueing = Queueing::fifo;
  read(0, e->element);
  read(small + offsetof(SmallMessage, reference), e->reference);
  read(small + offsetof(SmallMessage, source), e->source);
  read(small + offsetof(SmallMessage, extra), e->extra);
  read(small + offsetof(SmallMessage, message_type), e->message_type);
  read(small + offsetof(SmallMessage, target), e->target);
  read(small + offsetof(SmallMessage, flags), e->flags);
  auto* to = static_cast<std::byte*>(payload_of(e));
  static_assert(payload == 24 && SmallMessage::payload_max == 32, "pieces of 8, 16 and 8 bytes");
  std::memcpy(to, from + payload, 8);
  std::memcpy(to + 8, from + payload + 8, 16);
  std::memcpy(to + 24, from + payload + 24, 8);
  return Message(e);
}

int Created::receivers(const Pe& maker) const {
  return to_pe == all_pes ? maker.process.pes() : to_pe == all_processes ? maker.process.count() : 1;
}

void Pe::broadcast(const Message& message) {
  message->flags |= envelope_tree;
  message->source = index;
  forward_tree(message);
}

// Calls child(i) for the children of `me`, `branching` at most, in a tree over 0 .. size-1 that is rooted at `root` and
// numbered from there.
template <class Child>
static void for_children(int me, int root, int size, int branching, Child&& child) {
  const int place = (me - root + size) % size;
  for (int i = branching * place + 1; i <= branching * (place + 1) && i < size; ++i) child((root + i) % size);
}

// The same in a tree over the hosts, then one over the units of each, which are PEs or processes: `first` and `count`
// name them in Host. Where it enters a host: the root on its own, else the first unit.
template <class Child>
static void for_children_by_host(const bootstrap::HostLayout& layout, int me, int root, int root_host,
                                 int bootstrap::Host::*first, int bootstrap::Host::*count, Child&& child) {
  const bootstrap::Host& host = layout.this_host();
  const int entry = layout.host == root_host ? root : host.*first;
  if (me == entry)
    for_children(layout.host, root_host, layout.host_count(), scheduler::tree_branching,
                 [&](int next) { child(layout.hosts[next].*first); });
  const int units = host.*count;
  for_children(me - host.*first, entry - host.*first, units,
               units <= scheduler::flat_units_max ? scheduler::flat_units_max : scheduler::tree_branching,
               [&](int next) { child(host.*first + next); });
}

template <class Child>
void Pe::for_tree_children(int root, Child&& child) const {
  const bootstrap::HostLayout& layout = process.layout();
  const int root_host = layout.host_count() == 1 ? layout.host : layout.host_of(root);
  for_children_by_host(layout, index, root, root_host, &bootstrap::Host::first_pe, &bootstrap::Host::pes, child);
}

// The same over processes: each is its PE whose turn it is.
template <class Child>
void Pe::for_process_children(int root, std::uint64_t turn, Child&& child) const {
  const bootstrap::HostLayout& layout = process.layout();
  for_children_by_host(layout, layout.process_of[index], layout.process_of[root], layout.host_of(root),
                       &bootstrap::Host::first_process, &bootstrap::Host::processes, [&](int number) {
                         const bootstrap::Process& one = layout.processes[number];
                         child(one.first_pe + static_cast<int>(turn % static_cast<std::uint64_t>(one.pes)));
                       });
}

void Pe::forward_tree(const Message& message) {
  const auto send_copy = [&](int child) {
    Message copy = message.share();
    count(copy);
    port.send(child, message_meta, copy.release());
  };
  if (message->target == Target::node_group)
    for_process_children(message->source, message->element, send_copy);
  else
    for_tree_children(message->source, send_copy);
}

bool Pe::tree_parked(int root) const {
  bool parked = false;
  for_tree_children(root, [&](int child) { parked = parked || port.parked(child) != 0; });
  return parked;
}

// --- queueing --------------------------------------------------------------------------------------------------------

void Pe::enqueue(Message&& message) {
  Envelope* envelope = message.release();
  if (watched(Observer::enqueued)) [[unlikely]]
    notify_enqueued(envelope->entry);
  if (envelope->flags & (envelope_expedited | envelope_immediate)) [[unlikely]] {
    refer(urgent_.push_back(), envelope);
  } else if (!scheduler::has_priority(envelope)) {
    // (With an Ordering the queue is only the way to it, and it sees to that.)
    refer(envelope->queueing == Queueing::lifo && !ordering_ ? fifo_.push_front() : fifo_.push_back(), envelope);
  } else {
    by_priority_.push(envelope, scheduler::key_of(envelope), scheduler::order_of(envelope->queueing));
  }
}

void Pe::enqueue_front(std::vector<Message>&& messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    Envelope* envelope = messages[i].release();
    if (watched(Observer::enqueued)) [[unlikely]]
      notify_enqueued(envelope->entry);
    if (ordering_)
      ordering_->add({referring(envelope), index, Arrival::Place::front});
    else if (envelope->flags & (envelope_expedited | envelope_immediate))
      refer(urgent_.push_front(), envelope);
    else if (!scheduler::has_priority(envelope))
      refer(fifo_.push_front(), envelope);
    else
      by_priority_.push(envelope, scheduler::key_of(envelope), Order::lifo);
  }
}

void Pe::accept_message(Message&& message) {
  if (message->flags & envelope_tree) [[unlikely]] {
    const std::vector<int>& process_of = process.layout().process_of;
    const bool is_root = message->target == Target::node_group ? process_of[message->source] == process_of[index]
                                                               : message->source == index;
    if (!is_root) forward_tree(message);
  }
  enqueue(std::move(message));
}

// --- running ---------------------------------------------------------------------------------------------------------

// Takes a line that has arrived. Calls and small messages run right away when `run_calls` and nothing is queued: true.
PERIAPT_INLINE bool Pe::accept_line(std::uint64_t meta, const void* body, bool run_calls) {
  if (static_cast<WorkKind>(meta & 3) != WorkKind::call) [[unlikely]]
    return accept_other_line(meta, body, run_calls);
  if (watched(Observer::enqueued)) [[unlikely]]
    notify_enqueued(entry_of(meta));
  if (run_calls && !has_work() && !stop_requested_) [[likely]] {
    Work work;
    work.meta = meta;
    std::memcpy(&work.element, body, sizeof(Work) - sizeof work.meta);
    if (is_idle_) [[unlikely]]
      end_idle();
    dispatch(*this, work);
    return true;
  }
  Work& work = fifo_.push_back();
  work.meta = meta;
  std::memcpy(&work.element, body, sizeof(Work) - sizeof work.meta);
  return false;
}

bool Pe::accept_other_line(std::uint64_t meta, const void* body, bool run_calls) {
  if (static_cast<WorkKind>(meta & 3) == WorkKind::small) {
    Message message = unfold(meta, body);
    if (!run_calls || has_work() || stop_requested_) {
      enqueue(std::move(message));
      return false;
    }
    if (watched(Observer::enqueued)) [[unlikely]]
      notify_enqueued(message->entry);
    if (is_idle_) [[unlikely]]
      end_idle();
    Work work;
    work.meta = message_meta;
    work.element = reinterpret_cast<std::uint64_t>(message.release());
    dispatch(*this, work);
    return true;
  }
  void* block;
  std::memcpy(&block, body, sizeof block);
  if ((meta & 3) == machine::OneSided::kRmaRequestMeta) [[unlikely]]
    count_transfers(process.layer().one_sided().take_request(index, block) ? 1 : 0);
  else
    accept_message(Message(static_cast<Envelope*>(block)));
  return false;
}

int Pe::accept(bool run_calls) {
  if (fifo_.size() > accept_below) [[unlikely]]
    return 0;
  int ran = 0;
  port.poll([&](std::uint64_t meta, const void* body, int) { ran += accept_line(meta, body, run_calls); },
            accept_budget);
  return ran;
}

// Expedited first, then what is more urgent than usual, the usual in order of arrival, and what can wait.
bool Pe::take(Work& work) {
  if (!urgent_.empty()) [[unlikely]] {
    urgent_.pop_front(work);
    return true;
  }
  if (!by_priority_.empty()) [[unlikely]] {
    if (fifo_.empty() || by_priority_.next_key() < PriorityKey::none()) {
      refer(work, by_priority_.pop());
      // They come in another order than that in which they were made, so the processor does not foresee it.
      if (Envelope* const* next = by_priority_.next()) platform::prefetch_for_write(*next);
      return true;
    }
  }
  if (fifo_.empty()) return false;
  fifo_.pop_front(work);
  return true;
}

bool Pe::take_next(Work& work) {
  if (!ordering_) return take(work);
  hand_over(index);
  Arrival next;
  if (!ordering_->take(next)) return false;
  work = next.work;
  return true;
}

// Apart from execute(), which so needs no registers of its own for a call.
PERIAPT_NOINLINE static void resume(Pe& pe, Thread* thread) {
  const Delivery* const outer = pe.running;
  pe.threads.resume(thread);
  pe.running = outer;
}

void Pe::execute(Work& work) {
  if (work.kind() == WorkKind::thread) [[unlikely]]
    return resume(*this, reinterpret_cast<Thread*>(work.element));
  dispatch(*this, work);
}

// At the network, and at the transfers that have ended.
bool Pe::look_outside() {
  const auto deliver = [](void* context, std::uint64_t meta, const void* body) {
    static_cast<Pe*>(context)->accept_line(meta, body, false);
  };
  const auto deliver_to_ordering = [](void* context, std::uint64_t meta, const void* body) {
    static_cast<Pe*>(context)->accept_line(meta, body, false);
    static_cast<Pe*>(context)->hand_over(Arrival::other_host);
  };
  const bool moved = port.far() != nullptr &&
                     port.far()->progress(port, ordering_ ? host::Deliver{deliver_to_ordering} : deliver, this);
  if (transfers_ == 0) [[likely]]
    return moved;
  const int ended = process.layer().one_sided().poll(index);
  count_transfers(-ended);
  return ended != 0 || moved;
}

void Pe::count_transfers(int change) {
  transfers_ += change;
  looks_outside_ = port.far() != nullptr || transfers_ != 0;
}

machine::TransferStatus Pe::get(void* local, std::size_t size, const machine::MemoryKey& key, std::uint64_t remote,
                                machine::Transfer& transfer, ucx::MemoryKind local_kind) {
  count_transfers(1);
  return process.layer().one_sided().get(index, local, size, key, remote, transfer, local_kind);
}
machine::TransferStatus Pe::put(const void* local, std::size_t size, const machine::MemoryKey& key,
                                std::uint64_t remote, machine::Transfer& transfer, ucx::MemoryKind local_kind) {
  count_transfers(1);
  return process.layer().one_sided().put(index, local, size, key, remote, transfer, local_kind);
}
void Pe::copy(ucx::Place to, ucx::Place from, std::size_t size, machine::Transfer& transfer) {
  count_transfers(1);
  process.layer().one_sided().copy(index, to, from, size, transfer);
}
machine::TransferStatus Pe::when_reached(void* stream, ucx::Place memory, machine::Transfer& transfer) {
  const machine::TransferStatus there = process.layer().one_sided().when_reached(index, stream, memory, transfer);
  if (there == machine::TransferStatus::pending) count_transfers(1);
  return there;
}
void Pe::copy_when_reached(void* stream, ucx::Place to, ucx::Place from, std::size_t size,
                           machine::Transfer& transfer) {
  count_transfers(1);
  process.layer().one_sided().copy_when_reached(index, stream, to, from, size, transfer);
}

// One piece of work at a time: what it takes, and what has arrived meanwhile, must be known before the next is chosen.
bool Pe::step_simulated() {
  if (clock::now_ns() >= conditions.next_deadline_ns()) periodic();
  const bool moved = look_outside();
  threads_chosen_ = thread_burst;  // a thread that stops does not pass on to the next one by itself
  Work work;
  if (!take(work)) return moved;  // a transfer that failed may have been made again, and that have ended at once
  if (is_idle_) end_idle();
  process.layer().simulated()->begin_work(is_balancing && is_balancing(work) ? sim::Account::balancing
                                                                             : sim::Account::work);
  execute(work);
  carrier->yield(false);
  return true;
}

// What is in the queues has been put there by `source`.
void Pe::hand_over(int source) {
  while (!urgent_.empty()) ordering_->add({urgent_.pop_front(), source, Arrival::Place::expedited});
  while (!by_priority_.empty()) ordering_->add({referring(by_priority_.pop()), source, Arrival::Place::by_priority});
  while (!fifo_.empty()) {
    const Work work = fifo_.pop_front();
    const bool lifo = work.kind() == WorkKind::message && work.message()->queueing == Queueing::lifo;
    ordering_->add({work, source, lifo ? Arrival::Place::front : Arrival::Place::back});
  }
}

bool Pe::step_ordered() {
  if ((++rounds_ & periodic_mask_) == 0) periodic();
  threads_chosen_ = thread_burst;  // a thread that stops does not pass on to the next one by itself
  hand_over(index);
  const auto accept = [this](std::uint64_t meta, const void* body, int source) {
    accept_line(meta, body, false);
    hand_over(source);
  };
  // Where there is more than enough the rest stays where it is, unless what is next may be among it.
  if (ordering_->size() < accept_below || !ordering_->has_next()) port.poll(accept, accept_budget);
  if (looks_outside_) look_outside();
  hand_over(index);  // what the ends of transfers have brought
  Arrival next;
  if (!ordering_->take(next)) return false;
  if (is_idle_) end_idle();
  idle_rounds_ = 0;
  execute(next.work);
  if ((rounds_ & turn_mask) == 0 && !carrier->alone()) carrier->yield(false);
  return true;
}

bool Pe::step() {
  if (one_at_a_time_) [[unlikely]]
    return step_alone();
  if ((++rounds_ & periodic_mask_) == 0) [[unlikely]]
    periodic();
  threads_chosen_ = 0;
  const int arrived = accept(true);
  if (looks_outside_ && ((arrived == 0 && !has_work()) || (rounds_ & outside_mask) == 0 || burst_ == 1)) [[unlikely]]
    look_outside();
  Work work;
  int ran = 0;
  while (ran < burst_ && !stop_requested_ && take(work)) {
    if (ran == 0 && is_idle_) [[unlikely]]
      end_idle();
    execute(work);
    ++ran;
    if (!by_priority_.empty()) [[unlikely]]
      break;
  }
  // (One that found nothing yields in idle(), as idle: or the thread would never sleep.)
  if (ran > 0 && (rounds_ & turn_mask) == 0 && !carrier->alone()) [[unlikely]]
    carrier->yield(false);
  if (arrived + ran == 0) return false;
  idle_rounds_ = 0;
  return true;
}

void Pe::run() {
  while (!stop_requested_)
    if (!step()) idle();
  stop_requested_ = false;
}

void Pe::run_some(int count) {
  Work work;
  for (int ran = 0; ran < count && !stop_requested_;) {
    if (one_at_a_time_) [[unlikely]] {
      if (step_alone())
        ++ran;
      else
        idle();
      continue;
    }
    if ((++rounds_ & periodic_mask_) == 0) periodic();
    accept(false);
    if (looks_outside_ && (!has_work() || (rounds_ & outside_mask) == 0)) look_outside();
    if (take(work)) {
      if (is_idle_) end_idle();
      idle_rounds_ = 0;
      execute(work);
      ++ran;
    } else {
      idle();
    }
  }
}

void Pe::periodic() {
  const std::uint64_t now = clock::now_ns();
  if (now >= conditions.next_deadline_ns()) conditions.run_due(now);
  if (now >= trim_at_ns_) trim(now);
  if (process.layer().exit_announced()) [[unlikely]]
    _exit(process.layer().exit_code());
}

void Pe::trim(std::uint64_t now_ns) {
  const bool heap_has_more = heap.trim();
  const bool threads_have_more = threads.trim();
  trim_at_ns_ = now_ns + (heap_has_more || threads_have_more ? trim_pause_ns : trim_interval_ns);
}

void Pe::begin_idle() {
  is_idle_ = true;
  ++idle_periods_;
  if (simulated_ && (idle_periods_ & trim_periods_mask) == 0) trim(0);
  idle_since_ns_ = looked_ns_ = clock::now_ns();
  heap.flush_returns();
  conditions.raise(scheduler::condition_begin_idle);
}

void Pe::end_idle() {
  is_idle_ = false;
  const std::uint64_t now = clock::now_ns();
  idle_total_ns_ += now - idle_since_ns_;
  conditions.raise(scheduler::condition_begin_busy);
}

double Pe::idle_seconds() const {
  return 1e-9 * static_cast<double>(idle_total_ns_ + (is_idle_ ? clock::now_ns() - idle_since_ns_ : 0));
}

bool Pe::spins_on() {
  const std::uint64_t now = clock::now_ns();
  if (now - std::exchange(looked_ns_, now) > lost_cpu_ns && idle_spin_ns != never_sleeps)
    cpu_shared_until_ns_ = now + shared_cpu_ns;
  return now >= cpu_shared_until_ns_ && now - idle_since_ns_ < idle_spin_ns;
}

void Pe::idle() {
  if (!is_idle_) {
    if (carrier->alone() && ++idle_rounds_ < spins_before_idle) return relax();
    begin_idle();
    if (has_work()) return;
  } else if (!carrier->alone()) {
    looked_ns_ = clock::now_ns();
  }
  conditions.raise(scheduler::condition_still_idle);
  // Others of the thread may take long, and a round looks at timers now and then only.
  if (!carrier->alone() && looked_ns_ >= conditions.next_deadline_ns()) periodic();
  // A function for idle times or a timer, step()'s too, may have stopped the scheduler: no message tells a PE that
  // sleeps.
  if (has_work() || stop_requested_) return;
  if (carrier->yield(true)) return;
  const bool crowded = process.layout().oversubscribed;
  const std::uint32_t spins = crowded ? spins_when_crowded : spins_before_sleep;
  if (++idle_rounds_ < spins) {
    if ((idle_rounds_ & idle_timers_mask) == 0 && clock::now_ns() >= conditions.next_deadline_ns()) periodic();
    return relax();
  }
  if (!crowded && spins_on()) {
    const std::uint64_t begin = clock::now_ns(), end = std::min(begin + spin_gap_ns, conditions.next_deadline_ns());
    std::uint64_t now = begin;
    while (port.far() == nullptr && now < end) {
      relax();
      now = clock::now_ns();
    }
    if (now >= conditions.next_deadline_ns()) periodic();
    return;
  }
  periodic();
  if (has_work() || stop_requested_) return;
  if (conditions.wanted(scheduler::condition_still_idle)) return relax();  // the program has work for idle times
  process.layer().sleep(index, next_deadline_ns());
  looked_ns_ = clock::now_ns();  // a sleep is no loss of the cpu
  idle_rounds_ = spins / 2;
  periodic();
}

// --- threads ---------------------------------------------------------------------------------------------------------

void Pe::suspend() {
  const Delivery* const mine = running;
  threads.suspend();
  running = mine;
}

// --- watching --------------------------------------------------------------------------------------------------------

void Pe::subscribe(Observer* observer, std::uint32_t points) {
  for (std::size_t i = 0; i < observers_.size(); ++i)
    if (points >> i & 1) observers_[i].push_back(observer);
  watch_ |= points;
}

void Pe::unsubscribe(Observer* observer) {
  watch_ = 0;
  for (std::size_t i = 0; i < observers_.size(); ++i) {
    std::erase(observers_[i], observer);
    if (!observers_[i].empty()) watch_ |= 1U << i;
  }
}

void Pe::notify_created(const Created& created) {
  for (Observer* observer : observers_[place_of(Observer::created)]) observer->on_created(*this, created);
}
void Pe::notify_enqueued(std::uint16_t entry) {
  for (Observer* observer : observers_[place_of(Observer::enqueued)]) observer->on_enqueued(*this, entry);
}
void Pe::notify_begin() {
  for (Observer* observer : observers_[place_of(Observer::begin_execute)]) observer->on_begin(*this, *running);
}
void Pe::notify_end() {
  for (Observer* observer : observers_[place_of(Observer::end_execute)]) observer->on_end(*this, *running);
}

}  // namespace periapt
