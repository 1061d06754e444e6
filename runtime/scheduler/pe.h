// A PE: one scheduler. Everything per-PE is a member of it or of what hangs on it; nothing here is shared with another
// thread except through the port (machine/) and the few fields said to be.
//
// The way of a message: reserve() or send_*() writes it into the target's inbox ring or into our own queue; step()
// polls the inbox into the queues, takes the most urgent piece of work and hands it to the dispatcher (runtime/entry).
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/layer/machine_layer.h"
#include "runtime/message/delivery.h"
#include "runtime/scheduler/aggregator.h"
#include "runtime/scheduler/conditions.h"
#include "runtime/scheduler/fifo.h"
#include "runtime/scheduler/observer.h"
#include "runtime/scheduler/open_call.h"
#include "runtime/scheduler/ordering.h"
#include "runtime/scheduler/priority_queue.h"
#include "runtime/scheduler/ult.h"
#include "runtime/scheduler/work.h"

namespace periapt {

class Process;
class Carrier;
class PeObjects;  // runtime/objects: what lives on this PE
struct ConverseState;
using host::Heap;
using host::Port;
using machine::MachineLayer;
using scheduler::Thread;
using scheduler::ThreadSystem;

class alignas(platform::kCacheLine) Pe {
 public:
  Pe(Process& process, int index);
  ~Pe();
  Pe(const Pe&) = delete;

  // The PE whose scheduler this thread runs. For the public API; inside, the Pe is passed down.
  static Pe* current() { return current_; }
  static void set_current(Pe* pe) {
    current_ = pe;
    Message::set_origin(pe ? &pe->heap : nullptr, pe ? pe->index : -1);
  }

  Process& process;
  const int index;  // CkMyPe
  const int rank;   // within the process
  const int slot;   // among the PEs of this OS process: the rank, unless the machine is simulated
  Heap& heap;
  Port& port;
  PeObjects* objects = nullptr;  // set by runtime/face before the first step
  Carrier* carrier = nullptr;
  std::shared_ptr<ConverseState> converse;  // of a program's own handlers; made, and known, by runtime/converse
  std::shared_ptr<Aggregator> aggregator;   // of calls that may go together; null where there are none
  ThreadSystem threads;
  static inline std::size_t thread_stack_bytes = scheduler::ThreadOptions().stack_bytes;  // +stacksize
  // For how long a PE that has its cpu for itself looks for work before it sleeps. +CmiSleepOnIdle: 0; +CmiSpinOnIdle:
  // never_sleeps.
  static constexpr std::uint64_t never_sleeps = ~std::uint64_t{0};
  static inline std::uint64_t idle_spin_ns = 10'000'000;
  scheduler::Conditions conditions;
  const Delivery* running = nullptr;  // what runs, for error messages and observers; null between entries
  // Messages and lines that were sent here and those that were delivered here, for quiescence detection: it waits until
  // the sums over all PEs are the same. Sending counts them, and deliver() (runtime/entry).
  std::uint64_t created = 0, processed = 0;
  std::uint64_t random_state;

  // --- sending -----------------------------------------------------------------------------------------------------
  // A call in two steps: room for up to inline_arguments_max bytes of arguments; OpenCall::commit() sends it. The room
  // is in our own queue, in the ring of a PE of this host, or in a spare line for one of another host or with a full
  // ring.
  enum class Counting : bool { no, yes };  // as created
  // `together`: it may travel with others, and does where those are kept: there is nothing to commit then.
  OpenCall reserve(int to, std::uint64_t meta, std::uint64_t element, Counting counting, bool together = false) {
    created += static_cast<unsigned>(counting);
    if (together && aggregator) [[unlikely]]
      if (void* const arguments = aggregator->reserve(to, meta, element)) return {arguments, nullptr, meta, to};
    if (to == index) {
      if (watched(Observer::enqueued)) [[unlikely]]
        notify_enqueued(entry_of(meta));
      Work& work = fifo_.push_back();
      work.meta = meta;
      work.element = element;
      return {work.arguments, nullptr, meta, to};
    }
    if (host::Slot* const slot = port.claim(to)) [[likely]] {
      std::memcpy(slot->body, &element, sizeof element);
      return {slot->body + sizeof element, slot, meta, to};
    }
    spare_.meta = meta;
    spare_.element = element;
    return {spare_.arguments, &spare_, meta, to};
  }
  // Either in one step: `arguments` points to inline_arguments_max readable bytes of which length (in meta) count.
  void send_call(int to, std::uint64_t meta, std::uint64_t element, const void* arguments, Counting counting,
                 bool together = false) {
    const OpenCall call = reserve(to, meta, element, counting, together);
    std::memcpy(call.arguments, arguments, inline_arguments_max);
    if (call.slot) call.commit();
  }
  void send(int pe, Message&& message);
  // A message that is not sent yet, but will be, or put into a queue: it counts as sent.
  void count(const Message& message) { created += (message->flags & envelope_counted) != 0; }
  // Something that is no message and that quiescence waits for.
  void begin_pending() { ++created; }
  void end_pending() { ++processed; }
  // Whether send_small() may take it: short, for one receiver that is no runtime entry, without priority and the like.
  bool is_small(const Message& message) const {
    const Envelope& e = *message.envelope();
    return e.size <= SmallMessage::payload_max && (e.flags & ~(envelope_packed | envelope_counted)) == 0 &&
           e.priority_bits == 0 && e.queueing == Queueing::fifo && (e.hops | e.spare) == 0 &&
           (e.target == Target::array || e.target == Target::group || e.target == Target::chare);
  }
  // Copies a small message into a line for its receiver and frees it: one line changes owner instead of three.
  void send_small(int pe, Message&& message);
  // To every PE but this one, over a tree rooted here; the scheduler of each passes it on. The message is shared:
  // receivers treat it as constant.
  void broadcast(const Message& message);

  // --- one-sided access to registered memory (machine/layer/one_sided.h) ---------------------------------------------
  // The transfer's end comes from a later step of this PE.
  machine::TransferStatus get(void* local, std::size_t size, const machine::MemoryKey& key, std::uint64_t remote,
                              machine::Transfer& transfer, ucx::MemoryKind local_kind = ucx::MemoryKind::host);
  machine::TransferStatus put(const void* local, std::size_t size, const machine::MemoryKey& key, std::uint64_t remote,
                              machine::Transfer& transfer, ucx::MemoryKind local_kind = ucx::MemoryKind::host);
  void copy(ucx::Place to, ucx::Place from, std::size_t size, machine::Transfer& transfer);
  /// complete: the stream has got there already, and no end comes.
  machine::TransferStatus when_reached(void* stream, ucx::Place memory, machine::Transfer& transfer);
  void copy_when_reached(void* stream, ucx::Place to, ucx::Place from, std::size_t size, machine::Transfer& transfer);

  // --- queueing ----------------------------------------------------------------------------------------------------
  // Queues by the envelope's strategy and priority.
  void enqueue(Message&& message);
  // The same of messages that came before all that is queued now and had to wait: they keep their order, and come first
  // among those of their urgency.
  void enqueue_front(std::vector<Message>&& messages);
  void enqueue_thread(Thread* thread) {
    Work& work = fifo_.push_back();
    work.meta = thread_meta;
    work.element = reinterpret_cast<std::uint64_t>(thread);
  }

  // Stops the current user-level thread; what it runs is remembered. Another that is ready may go on at once.
  void suspend();
  // Lets others go on and comes back to the current thread after all that is queued now. Inline, as each return after a
  // switch of stacks is mispredicted.
  PERIAPT_INLINE void yield() {
    Thread* const self = threads.current();
    if (!self || !thread_is_next()) {
      threads.awaken(self);
      return suspend();
    }
    const Delivery* const mine = running;
    Thread* const next = reinterpret_cast<Thread*>(fifo_.pop_front().element);
    enqueue_thread(self);
    threads.resume(next);
    running = mine;
  }

  // What runs a piece of work: set once by runtime/face.
  typedef void (*Dispatch)(Pe&, Work&);
  static Dispatch dispatch;
  // Makes a message independent of addresses of this host: set once by runtime/face.
  static Message (*for_other_host)(Message);
  // "Hello[3]::work(int n)", empty when nothing runs: for messages of this floor.
  static std::string (*describe)(const Pe&);
  // Whether a piece of work is the runtime's own balancing of loads: for the accounts of a simulated run.
  static bool (*is_balancing)(const Work&);

  // --- running -----------------------------------------------------------------------------------------------------
  // One round: poll, then run what is urgent. False when there was nothing to do.
  bool step();
  // Runs until stop() or, with a count, until that many pieces of work ran. May nest.
  void run();
  void run_some(int count);
  void stop() { stop_requested_ = true; }
  bool stopping() const { return stop_requested_; }
  void clear_stop() { stop_requested_ = false; }
  // From now on it looks into its inbox, outside, and at its timers after each piece of work: what has come may be a
  // request of a PE that has nothing to do.
  void look_often() {
    burst_ = 1;
    periodic_mask_ = 0;
  }
  // What step() would run next, taken out of the queues for a caller that runs it by execute(). False: nothing may run
  // now.
  bool take_next(Work& work);
  void execute(Work& work);
  // Nothing to do: lets other PEs of the thread run, spins, sleeps. Returns when there may be something.
  void idle();
  // Is a part of the latest broadcast rooted at `root` still parked here for want of room?
  bool tree_parked(int root) const;
  bool has_work() const { return !fifo_.empty() || !urgent_.empty() || !by_priority_.empty(); }
  // The same, with what an Ordering holds and would run.
  bool is_busy() const { return has_work() || (ordering_ && ordering_->has_next()); }
  // Are transfers under way that this PE has begun?
  bool has_transfers() const { return transfers_ != 0; }
  std::size_t queue_length() const {
    return fifo_.size() + urgent_.size() + by_priority_.size() + (ordering_ ? ordering_->size() : 0);
  }
  bool is_idle() const { return is_idle_; }
  // Idle, and a turn would find nothing: for the carrier of several PEs. Timers are not looked at.
  bool would_stay_idle() {
    return is_idle_ && !has_work() && transfers_ == 0 && port.parked() == 0 &&
           !conditions.wanted(scheduler::condition_still_idle) && !port.has_arrivals();
  }
  // When an idle PE has something to do by itself: timers, and memory to give back.
  std::uint64_t next_deadline_ns() const {
    return heap.trimmable() || threads.trimmable() ? std::min(trim_at_ns_, conditions.next_deadline_ns())
                                                   : conditions.next_deadline_ns();
  }
  // How often it has become idle: tells its carrier whether it worked in between.
  std::uint32_t idle_periods() const { return idle_periods_; }
  // Seconds without work so far, for load measurement.
  double idle_seconds() const;

  // --- ordering ------------------------------------------------------------------------------------------------------
  // Before the first step.
  void set_ordering(std::unique_ptr<Ordering> ordering) {
    ordering_ = std::move(ordering);
    one_at_a_time_ = true;
  }
  Ordering* ordering() const { return ordering_.get(); }
  // A step runs one piece of work, in simulated runs and where there is an Ordering.
  bool runs_one_at_a_time() const { return one_at_a_time_; }

  // --- watching ----------------------------------------------------------------------------------------------------
  void subscribe(Observer* observer, std::uint32_t points);
  void unsubscribe(Observer* observer);
  bool watched(Observer::Point point) const { return watch_ & point; }
  void notify_created(const Created& created);
  void notify_enqueued(std::uint16_t entry);
  void notify_begin();
  void notify_end();

 private:
  friend struct OpenCall;
  // Takes what has arrived. With nothing queued, calls are run right away when `run_calls`, else all is queued.
  int accept(bool run_calls);
  // What goes on when a thread stops: the next piece of work, when that is a thread and nothing is more urgent. That
  // saves the way through the scheduler, which still has its turn now and then.
  static constexpr std::uint32_t thread_burst = 64;
  bool thread_is_next() {
    return !fifo_.empty() && fifo_.front().kind() == WorkKind::thread && urgent_.empty() && by_priority_.empty() &&
           !stop_requested_ && ++threads_chosen_ <= thread_burst;
  }
  bool accept_line(std::uint64_t meta, const void* body, bool run_calls);
  bool accept_other_line(std::uint64_t meta, const void* body, bool run_calls);
  void accept_message(Message&& message);
  Message unfold(std::uint64_t meta, const void* body);
  bool take(Work& work);
  void forward_tree(const Message& message);
  template <class Child>
  void for_tree_children(int root, Child&& child) const;
  template <class Child>
  void for_process_children(int root, std::uint64_t turn, Child&& child) const;
  bool look_outside();
  void count_transfers(int change);
  bool step_simulated();
  bool step_ordered();
  bool step_alone() { return simulated_ ? step_simulated() : step_ordered(); }
  void hand_over(int source);
  void periodic();
  void trim(std::uint64_t now_ns);
  // Between two looks of an idle PE; one at the network is a pause by itself.
  void relax() const {
    if (port.far() == nullptr) Port::relax();
  }
  void begin_idle();
  void end_idle();
  bool spins_on();

  static thread_local Pe* current_ __attribute__((tls_model("initial-exec")));

  Work spare_;   // of an open call, where no ring has room
  Fifo fifo_;    // no priority, in order of arrival
  Fifo urgent_;  // expedited
  scheduler::PriorityQueue<Envelope*> by_priority_;
  std::uint32_t watch_ = 0;
  bool stop_requested_ = false;
  bool is_idle_ = false;
  bool looks_outside_;    // there are other hosts, or transfers are under way
  const bool simulated_;  // so are all, in this process
  bool one_at_a_time_;    // see runs_one_at_a_time()
  std::uint32_t rounds_ = 0;
  // Pieces of work between two looks into the inbox; one, while there is work with priorities: what has come may be
  // more urgent than what is next, which may take long.
  int burst_ = 8;
  // Looks at the clock for timers and conditions: once in so many rounds, less one.
  std::uint32_t periodic_mask_ = 63;
  int transfers_ = 0;  // begun here, and their end not told
  std::uint32_t idle_periods_ = 0;
  std::uint32_t idle_rounds_ = 0;     // rounds without work since there was some
  std::uint32_t threads_chosen_ = 0;  // threads that went on without a round of the scheduler between them
  std::uint64_t trim_at_ns_ = 0;
  std::uint64_t idle_since_ns_ = 0, looked_ns_ = 0, cpu_shared_until_ns_ = 0;
  std::uint64_t idle_total_ns_ = 0;
  static constexpr std::size_t place_of(Observer::Point point) {
    return static_cast<std::size_t>(std::countr_zero(std::uint32_t{point}));
  }
  std::array<std::vector<Observer*>, 4> observers_;  // by point: messages in particular look at no others
  std::unique_ptr<Ordering> ordering_;
};

}  // namespace periapt
