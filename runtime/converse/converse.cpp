// Handlers, sending and scheduling of Converse messages. A program's message is an Envelope and what follows it.
#include "runtime/converse/converse.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/nested_scheduling.h"
#include "runtime/scheduler/process.h"
#include "runtime/scheduler/rare_conditions.h"

namespace periapt {

namespace {
// Children of a PE in the trees that programs and CmiReduce use.
constexpr int tree_branching = 4;
// Of CthYield() outside of threads, inside of one another: far from the end of a stack.
constexpr int yields_nested_max = 1000;

Pe& here() { return require_pe("a Converse call"); }
ConverseState& state() { return ConverseState::of(here()); }

void check_size(int bytes) {
  if (bytes < CmiMsgHeaderSizeBytes) {
    fatal("a Converse message of " + std::to_string(bytes) + " bytes", "CmiSend",
          "a message begins with a header of " + std::to_string(CmiMsgHeaderSizeBytes) + " bytes, which count",
          "put char head[CmiMsgHeaderSizeBytes] first in the struct and send sizeof it");
  }
}

// What every message gets when it is sent or queued; the handler is the program's.
void address(Envelope* envelope) {
  const bool immediate = envelope->entry & immediate_handler_bit;
  envelope->element = 0;
  envelope->collection = 0;
  envelope->reference = 0;
  envelope->target = Target::converse;
  envelope->flags = immediate ? envelope_immediate : 0;
  envelope->queueing = Queueing::fifo;
  envelope->hops = 0;
  envelope->priority_bits = 0;
  envelope->source = Pe::current()->index;
  envelope->index_rest = 0;
  envelope->extra = 0;
}

[[noreturn]] void no_handler(int index, int next) {
  if (index == handler_none) {
    fatal("a Converse message arrived whose handler was never set", "handler 0", "CmiSetHandler was not called on it",
          "set the handler before sending");
  }
  fatal("a Converse message for handler " + std::to_string(index) + ", but this PE has only " +
            std::to_string(next - handlers_reserved) + " (numbers " + std::to_string(handlers_reserved) + " and on)",
        "CmiRegisterHandler", "handlers are registered on every PE, in the same order",
        "register it in the start function, or in an initproc");
}

void check_channel(Pe& from, int to, int bytes) {
  if (from.converse && !from.converse->channels_in_use.empty()) [[unlikely]]
    from.converse->check_channel(*from.converse, to, static_cast<std::size_t>(bytes));
}

void deferred_arrived(Pe& pe, Message message) {
  void* inner;
  std::memcpy(&inner, message.payload(), sizeof inner);
  converse_run(pe, Message(static_cast<Envelope*>(inner)));
}

void thread_arrived(Pe& pe, Message message) {
  Thread* thread;
  std::memcpy(&thread, message.payload(), sizeof thread);
  converse_resume(pe, thread);
}

void work_arrived(Pe& pe, Message message) {
  Work work;
  std::memcpy(static_cast<void*>(&work), message.payload(), sizeof work);
  pe.execute(work);
}

// By number. What is here itself is in from the beginning; ConverseArrival adds the others.
constexpr std::array<InternalHandler, handlers_internal> own_handlers() {
  std::array<InternalHandler, handlers_internal> handlers{};
  handlers[handler_deferred] = deferred_arrived;
  handlers[handler_thread] = thread_arrived;
  handlers[handler_group] = converse_group_arrived;
  handlers[handler_group_wanted] = converse_group_wanted;
  handlers[handler_multicast] = converse_multicast_arrived;
  handlers[handler_work] = work_arrived;
  return handlers;
}
constinit std::array<InternalHandler, handlers_internal> internal_handlers = own_handlers();

// In Envelope::hops, which Converse has no other use for. Not written where it stands: others may have the message
// already.
constexpr std::uint8_t counted = 1;
void count(Message& message) {
  if (message->hops != counted) message->hops = counted;
}

// Runs what there is until `done`, without a message's handler but with everything else.
template <class Done>
void run_capturing(Pe& pe, Done done) {
  const scheduler::NestedScheduling nested(pe);
  ConverseState& s = ConverseState::of(pe);
  s.capturing = true;
  while (!done()) pe.run_some(1);
  s.capturing = false;
}

// A look that finds nothing is repeated by the program: what it waits for may come from a PE that the same thread runs.
void let_others_run(Pe& pe) {
  if (pe.carrier) pe.carrier->yield(false);
}

// Has what is replayed run more within this poll?
bool is_held(const Pe& pe) { return pe.ordering() != nullptr && pe.ordering()->holds_poll(); }

// Of a poll, which runs what waits, and in a replay what ran in it then.
bool step_of_poll(Pe& pe) {
  while (!pe.step()) {
    if (!is_held(pe) || pe.stopping()) return false;
    let_others_run(pe);
  }
  return true;
}

// Messages that were captured and not asked for go back to the queue.
void release_captured(Pe& pe) {
  if (!pe.converse) return;
  while (!pe.converse->captured.empty()) {
    converse_enqueue(pe, std::move(pe.converse->captured.front()));
    pe.converse->captured.pop_front();
  }
}
}  // namespace

void converse_set_priority(Envelope* envelope, int strategy, const void* words) {
  envelope->queueing = static_cast<Queueing>(strategy);
  std::memcpy(priority_of(envelope), words, 4 * priority_words(envelope->priority_bits));
}

Pe& require_pe(const char* function) {
  Pe* pe = Pe::current();
  if (!pe) {
    fatal(std::string(function) + " on a thread that runs no PE", function,
          "the runtime has not started yet, or this is a thread of the program's own",
          "call it from an entry method, a handler or the start function");
  }
  return *pe;
}

ConverseState::ConverseState() : handlers(handlers_reserved) {}

ConverseArrival::ConverseArrival(ConverseHandler handler, InternalHandler function) {
  internal_handlers[handler] = function;
}

Message converse_take(void* message, int bytes) {
  check_size(bytes);
  Envelope* envelope = static_cast<Envelope*>(message);
  envelope->size = static_cast<std::size_t>(bytes) - sizeof(Envelope);
  address(envelope);
  return Message(envelope);
}

Message converse_message(const void* source, int bytes) {
  check_size(bytes);
  void* copy = here().heap.allocate(static_cast<std::size_t>(bytes));
  std::memcpy(copy, source, static_cast<std::size_t>(bytes));
  return converse_take(copy, bytes);
}

void converse_send(Pe& pe, int to, Message message) {
  if (static_cast<unsigned>(to) < static_cast<unsigned>(pe.process.pes())) {
    ++ConverseState::of(pe).counts.created;
    count(message);
  }
  pe.send(to, std::move(message));
}
void converse_count(Pe& pe, Message& message) {
  ++ConverseState::of(pe).counts.created;
  count(message);
}
void converse_enqueue(Pe& pe, Message message) {
  converse_count(pe, message);
  pe.enqueue(std::move(message));
}
Message converse_take_next(Pe& pe) {
  Work work;
  if (!pe.take_next(work)) return {};
  const int index = work.kind() == WorkKind::message && work.message()->target == Target::converse
                        ? work.message()->entry & ~immediate_handler_bit
                        : static_cast<int>(handler_work);
  if (index < handlers_reserved && index != handler_none && index != handler_deferred) {
    Message message = converse_system_message(handler_work, sizeof work);
    std::memcpy(message.payload(), &work, sizeof work);
    return message;
  }
  Message message(work.message());
  ConverseState::of(pe).counts.processed += message->hops == counted;
  if (index == handler_deferred) {
    void* inner;
    std::memcpy(&inner, message.payload(), sizeof inner);
    return Message(static_cast<Envelope*>(inner));
  }
  if (message.shared()) message = message.copy();
  message->flags = 0;
  message->hops = 0;
  return message;
}
void converse_broadcast(Pe& pe, Message message) {
  if (pe.process.pes() == 1) return;
  ConverseState::of(pe).counts.created += pe.process.pes() - 1;
  count(message);
  pe.broadcast(message);
}
void converse_send_list(Pe& pe, int count, const int* pes, Message message) {
  for (int i = 0; i < count; ++i) {
    if (i + 1 == count) return converse_send(pe, pes[i], std::move(message));
    converse_send(pe, pes[i], message.share());
  }
}

Message converse_system_message(ConverseHandler handler, std::size_t payload, unsigned priority_bits) {
  Message message = Message::make(payload, priority_bits);
  message->target = Target::converse;
  message->entry = handler;
  return message;
}

void converse_resume(Pe& pe, Thread* thread) {
  const Delivery* const outer = pe.running;
  pe.threads.resume(thread);
  pe.running = outer;
}

void converse_deliver(Pe& pe, Message message) {
  ConverseState::of(pe).counts.processed += message->hops == counted;
  converse_run(pe, std::move(message));
}

void converse_run(Pe& pe, Message message) {
  ConverseState& s = ConverseState::of(pe);
  const int index = message->entry & ~immediate_handler_bit;
  if (index < handlers_internal && internal_handlers[index]) return internal_handlers[index](pe, std::move(message));
  if (s.capturing) {
    s.captured.push_back(std::move(message));
    return;
  }
  if (static_cast<std::size_t>(index) >= s.handlers.size() || !s.handlers[index].hdlr)
    no_handler(index, s.next_handler);
  // The handler may change what it gets: other holders of the same broadcast must not see it.
  if (message.shared()) message = message.copy();
  message->entry = static_cast<std::uint16_t>(index);
  message->flags = 0;
  message->hops = 0;
  const CmiHandlerInfo handler = s.handlers[index];
  handler.hdlr(message.release(), handler.userPtr);
}

void converse_group_arrived(Pe& pe, Message message) {
  const int* pes = static_cast<const int*>(message.payload());
  const std::uint64_t key = message->element;
  std::vector<int>& members = ConverseState::of(pe).groups[key];
  if (members.empty()) members.assign(pes, pes + message->size / sizeof(int));  // it may have been asked for, too
  converse_group_known(pe, {static_cast<int>(key >> 32), static_cast<int>(key)});
}

std::uint64_t converse_group_key(CmiGroup group) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(group.pe)) << 32 | static_cast<std::uint32_t>(group.id);
}

namespace {
[[noreturn]] void no_group() {
  fatal("a CmiGroup that was never established", "CmiSyncMulticast, CmiGroupReduce",
        "its value was not made by CmiEstablishGroup",
        "send the CmiGroup that CmiEstablishGroup answered, or make it a readonly");
}
// Of a group that this PE made.
const std::vector<int>& members_of(Pe& pe, std::uint64_t key) {
  const auto found = ConverseState::of(pe).groups.find(key);
  if (found == ConverseState::of(pe).groups.end()) no_group();
  return found->second;
}
Message group_message(std::uint64_t key, const int* pes, std::size_t count) {
  Message message = converse_system_message(handler_group, count * sizeof(int));
  message->element = key;
  if (count) std::memcpy(message.payload(), pes, message->size);
  return message;
}
}  // namespace

int converse_group_maker(std::uint64_t key) {
  const auto maker = static_cast<std::uint32_t>(key >> 32);
  if (maker >= static_cast<std::uint32_t>(CmiNumPes())) no_group();
  return static_cast<int>(maker);
}

void converse_group_wanted(Pe& pe, Message message) {
  const std::vector<int>& pes = members_of(pe, message->element);
  converse_send(pe, message->source, group_message(message->element, pes.data(), pes.size()));
}

namespace {
void broadcast_to_processes(Pe& pe, const Message& message, bool mine_too) {
  for (int node = 0; node < pe.process.count(); ++node)
    if (mine_too || node != pe.process.rank()) converse_send(pe, CmiNodeFirst(node), message.share());
}

void multicast(Pe& pe, std::uint64_t group, Message message) {
  auto found = ConverseState::of(pe).groups.find(group);
  if (found != ConverseState::of(pe).groups.end())
    return converse_send_list(pe, static_cast<int>(found->second.size()), found->second.data(), std::move(message));
  // Its maker knows it. The handler waits where nothing else uses the field.
  message->extra = message->entry;
  message->entry = handler_multicast;
  message->element = group;
  converse_send(pe, converse_group_maker(group), std::move(message));
}
}  // namespace

void converse_multicast_arrived(Pe& pe, Message message) {
  const std::uint64_t group = message->element;
  message->entry = static_cast<std::uint16_t>(message->extra);
  message->extra = 0;
  message->element = 0;
  const std::vector<int>& pes = members_of(pe, group);
  converse_send_list(pe, static_cast<int>(pes.size()), pes.data(), std::move(message));
}

}  // namespace periapt

using namespace periapt;

extern "C" {

// --- handlers --------------------------------------------------------------------------------------------------------

int CmiRegisterHandlerEx(CmiHandlerEx handler, void* userPtr) {
  ConverseState& s = state();
  if (s.next_handler >= handlers_apart) fatal("more than 16352 Converse handlers", "CmiRegisterHandler");
  CmiNumberHandlerEx(s.next_handler, handler, userPtr);
  return s.next_handler++;
}
int CmiRegisterHandler(CmiHandler handler) {
  return CmiRegisterHandlerEx(reinterpret_cast<CmiHandlerEx>(reinterpret_cast<void*>(handler)), nullptr);
}
void CmiNumberHandlerEx(int index, CmiHandlerEx handler, void* userPtr) {
  ConverseState& s = state();
  if (index < handlers_reserved || index >= immediate_handler_bit) {
    fatal("handler number " + std::to_string(index), "CmiNumberHandler",
          "numbers " + std::to_string(handlers_reserved) + " to 32767 are free for programs",
          "use the number that CmiRegisterHandler answers");
  }
  if (s.handlers.size() <= static_cast<std::size_t>(index)) s.handlers.resize(index + 1);
  s.handlers[index] = {handler, userPtr};
}
void CmiNumberHandler(int index, CmiHandler handler) {
  CmiNumberHandlerEx(index, reinterpret_cast<CmiHandlerEx>(reinterpret_cast<void*>(handler)), nullptr);
}
CmiHandlerInfo* CmiHandlerToInfo_(int index) {
  ConverseState& s = state();
  if (index < 0 || static_cast<std::size_t>(index) >= s.handlers.size()) no_handler(index, s.next_handler);
  return &s.handlers[index];
}
void CmiAssignOnce(int* variable, int value) {
  static CmiNodeLock lock = CmiCreateLock();
  CmiLock(lock);
  *variable = value;
  CmiUnlock(lock);
}
void CmiInitMsgHeader(void* message, int bytes) {
  Envelope* envelope = static_cast<Envelope*>(message);
  *envelope = Envelope{};
  envelope->target = Target::converse;
  envelope->size = static_cast<std::size_t>(std::max(bytes, CmiMsgHeaderSizeBytes)) - sizeof(Envelope);
}
void CmiHandleMessage(void* message) {
  Pe& pe = here();
  ConverseState& s = ConverseState::of(pe);
  const bool capturing = std::exchange(s.capturing, false);
  converse_run(pe, Message(static_cast<Envelope*>(message)));
  s.capturing = capturing;
}

// --- sending ---------------------------------------------------------------------------------------------------------

void CmiFreeSendFn(int pe, int bytes, char* message) {
  Pe& from = here();
  check_channel(from, pe, bytes);
  converse_send(from, pe, converse_take(message, bytes));
}
void CmiFreeBroadcastFn(int bytes, char* message) { converse_broadcast(here(), converse_take(message, bytes)); }
void CmiFreeBroadcastAllFn(int bytes, char* message) {
  Pe& pe = here();
  Message mine = converse_take(message, bytes);
  converse_broadcast(pe, mine.share());
  converse_send(pe, pe.index, std::move(mine));
}
void CmiFreeListSendFn(int count, const int* pes, int bytes, char* message) {
  Pe& from = here();
  for (int i = 0; i < count; ++i) check_channel(from, pes[i], bytes);
  converse_send_list(from, count, pes, converse_take(message, bytes));
}
void CmiFreeMulticastFn(CmiGroup group, int bytes, char* message) {
  multicast(here(), converse_group_key(group), converse_take(message, bytes));
}
void CmiFreeNodeSendFn(int node, int bytes, char* message) { CmiFreeSendFn(CmiNodeFirst(node), bytes, message); }
void CmiFreeNodeBroadcastFn(int bytes, char* message) {
  broadcast_to_processes(here(), converse_take(message, bytes), false);
}
void CmiFreeNodeBroadcastAllFn(int bytes, char* message) {
  broadcast_to_processes(here(), converse_take(message, bytes), true);
}
void CmiWithinNodeBroadcastFn(int bytes, char* message) {
  Pe& pe = here();
  Message mine = converse_take(message, bytes);
  for (int rank = 0; rank < pe.process.own_pes(); ++rank)
    if (rank != pe.rank) converse_send(pe, pe.process.first_pe() + rank, mine.share());
  converse_send(pe, pe.index, std::move(mine));
}

// The message goes on from a copy; the caller keeps the original.
static char* copy_of(const char* message, int bytes) {
  return reinterpret_cast<char*>(converse_message(message, bytes).release());
}
void CmiSyncSendFn(int pe, int bytes, char* message) { CmiFreeSendFn(pe, bytes, copy_of(message, bytes)); }
void CmiSyncBroadcastFn(int bytes, char* message) { CmiFreeBroadcastFn(bytes, copy_of(message, bytes)); }
void CmiSyncBroadcastAllFn(int bytes, char* message) { CmiFreeBroadcastAllFn(bytes, copy_of(message, bytes)); }
void CmiSyncListSendFn(int count, const int* pes, int bytes, char* message) {
  CmiFreeListSendFn(count, pes, bytes, copy_of(message, bytes));
}
void CmiSyncMulticastFn(CmiGroup group, int bytes, char* message) {
  CmiFreeMulticastFn(group, bytes, copy_of(message, bytes));
}
void CmiSyncNodeSendFn(int node, int bytes, char* message) { CmiFreeNodeSendFn(node, bytes, copy_of(message, bytes)); }
void CmiSyncNodeBroadcastFn(int bytes, char* message) { CmiFreeNodeBroadcastFn(bytes, copy_of(message, bytes)); }
void CmiSyncNodeBroadcastAllFn(int bytes, char* message) { CmiFreeNodeBroadcastAllFn(bytes, copy_of(message, bytes)); }

void CmiSyncVectorSend(int pe, int pieces, int* bytes, char** data) {
  int total = 0;
  for (int i = 0; i < pieces; ++i) total += bytes[i];
  check_size(total);
  char* message = static_cast<char*>(here().heap.allocate(static_cast<std::size_t>(total)));
  char* to = message;
  for (int i = 0; i < pieces; to += bytes[i++]) std::memcpy(to, data[i], static_cast<std::size_t>(bytes[i]));
  CmiFreeSendFn(pe, total, message);
}
void CmiSyncVectorSendAndFree(int pe, int pieces, int* bytes, char** data) {
  CmiSyncVectorSend(pe, pieces, bytes, data);
  for (int i = 0; i < pieces; ++i) CmiFree(data[i]);
  CmiFree(bytes);
  CmiFree(data);
}
void CmiMultipleSend(unsigned int pe, int count, int* bytes, char** messages) {
  for (int i = 0; i < count; ++i) CmiSyncSendFn(static_cast<int>(pe), bytes[i], messages[i]);
}
void CmiPushPE(int rank, void* message) {
  Pe& pe = here();
  Envelope* envelope = static_cast<Envelope*>(message);
  address(envelope);
  converse_send(pe, pe.process.first_pe() + rank, Message(envelope));
}

CmiGroup CmiEstablishGroup(int count, int* pes) {
  Pe& pe = here();
  const CmiGroup group = {pe.index, ConverseState::of(pe).next_group++};
  Message message = group_message(converse_group_key(group), pes, static_cast<std::size_t>(count));
  converse_broadcast(pe, message.share());
  converse_group_arrived(pe, std::move(message));
  return group;
}
void CmiLookupGroup(CmiGroup group, int* count, int** pes) {
  auto& groups = state().groups;
  auto found = groups.find(converse_group_key(group));
  if (found == groups.end()) {
    fatal("a CmiGroup that this PE does not know", "CmiLookupGroup",
          "the message that tells of it is still on its way, or the value was not made by CmiEstablishGroup",
          "multicast with CmiSyncMulticast, which finds a group wherever it is known");
  }
  *count = static_cast<int>(found->second.size());
  *pes = found->second.data();
}

// --- scheduling ------------------------------------------------------------------------------------------------------

void CsdScheduleForever() {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  release_captured(pe);
  pe.clear_stop();
  pe.run();
}
int CsdScheduleCount(int messages) {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  release_captured(pe);
  pe.clear_stop();
  while (messages > 0 && !pe.stopping()) {
    pe.run_some(1);
    --messages;
  }
  pe.clear_stop();
  return messages;
}
void CsdSchedulePoll() {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  release_captured(pe);
  pe.clear_stop();
  if (!step_of_poll(pe)) {
    let_others_run(pe);
  } else {
    while (!pe.stopping() && step_of_poll(pe)) {
    }
  }
  pe.clear_stop();
}
}  // extern "C"
// About as much as waits now, as those that run may send others for ever: a step runs several at most. One step there
// is in any case, as what is waited for may be in the inbox.
void periapt::converse_run_waiting(Pe& pe) {
  int& depth = ConverseState::of(pe).yields_nested;
  if (depth == yields_nested_max) {
    fatal("CthYield() outside of a thread, inside " + std::to_string(depth) + " others",
          Pe::describe ? Pe::describe(pe) : std::string(),
          "what it runs yields in turn: each stays on the stack until those inside of it have ended",
          "Make the entry method that does so [threaded]");
  }
  ++depth;
  const scheduler::NestedScheduling nested(pe);
  pe.clear_stop();
  const std::size_t waiting = pe.queue_length();
  if (!step_of_poll(pe)) let_others_run(pe);
  for (std::size_t left = waiting; (left > 1 || is_held(pe)) && !pe.stopping() && step_of_poll(pe);) {
    if (left > 1) --left;
  }
  pe.clear_stop();
  --depth;
}
extern "C" {
void CsdScheduleNodePoll() { CsdSchedulePoll(); }
int CsdScheduler(int messages) {
  if (messages > 0) return CsdScheduleCount(messages);
  if (messages == 0)
    CsdSchedulePoll();
  else
    CsdScheduleForever();
  return 0;
}
void CsdExitScheduler() { here().stop(); }
int CsdEmpty() { return !here().is_busy(); }
int CsdLength() { return static_cast<int>(here().queue_length()); }

int CmiDeliverMsgs(int messages) {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  release_captured(pe);
  const int wanted = messages > 0 ? messages : -1;
  int left = wanted;
  // The first look takes what has arrived; what it started may have queued more.
  while (left != 0 && step_of_poll(pe)) --left;
  return wanted < 0 ? 0 : left;
}
void* CmiGetNonLocal() {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  ConverseState& s = ConverseState::of(pe);
  if (s.captured.empty()) {
    s.capturing = true;
    step_of_poll(pe);
    s.capturing = false;
  }
  if (s.captured.empty()) return nullptr;
  Message message = std::move(s.captured.front());
  s.captured.pop_front();
  if (message.shared()) message = message.copy();
  message->flags = 0;
  return message.release();
}
void CmiDeliverSpecificMsg(int handler) {
  Pe& pe = here();
  ConverseState& s = ConverseState::of(pe);
  auto wanted = [&] {
    return std::find_if(s.captured.begin(), s.captured.end(),
                        [&](const Message& m) { return (m->entry & ~immediate_handler_bit) == handler; });
  };
  run_capturing(pe, [&] { return wanted() != s.captured.end(); });
  auto found = wanted();
  Message message = std::move(*found);
  s.captured.erase(found);
  release_captured(pe);
  converse_run(pe, std::move(message));
}

void CsdEnqueueFifo(void* message) { CsdEnqueueGeneral(message, CQS_QUEUEING_FIFO, 0, nullptr); }
void CsdEnqueueLifo(void* message) { CsdEnqueueGeneral(message, CQS_QUEUEING_LIFO, 0, nullptr); }
void CsdEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority) {
  Pe& pe = here();
  Envelope* envelope = static_cast<Envelope*>(message);
  address(envelope);
  if (priority_bits == 0 || strategy <= CQS_QUEUEING_LIFO) {
    envelope->queueing = static_cast<Queueing>(strategy == CQS_QUEUEING_LIFO ? CQS_QUEUEING_LIFO : CQS_QUEUEING_FIFO);
    return converse_enqueue(pe, Message(envelope));
  }
  // There is no room for the priority behind the payload, so a small message with room carries it.
  Message deferred = converse_system_message(handler_deferred, sizeof envelope, static_cast<unsigned>(priority_bits));
  std::memcpy(deferred.payload(), &envelope, sizeof envelope);
  converse_set_priority(deferred.envelope(), strategy, priority);
  converse_enqueue(pe, std::move(deferred));
}
void CsdNodeEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority) {
  CsdEnqueueGeneral(message, strategy, priority_bits, priority);
}

// --- conditions and timers -------------------------------------------------------------------------------------------

void CcdCallFnAfter(CcdVoidFn fn, void* argument, double milliseconds) {
  const double ns = milliseconds > 0 ? milliseconds * 1e6 : 0;
  here().conditions.call_after(fn, argument, static_cast<std::uint64_t>(ns), clock::now_ns());
}
// This PE, which looks for the condition from now on where that costs something.
static Pe& listening(int condition) {
  Pe& pe = here();
  scheduler::watch_rare_condition(pe, condition);
  return pe;
}
int CcdCallOnCondition(int condition, CcdCondFn fn, void* argument) {
  return listening(condition).conditions.call_once(condition, fn, argument);
}
int CcdCallOnConditionKeep(int condition, CcdCondFn fn, void* argument) {
  return listening(condition).conditions.call_always(condition, fn, argument);
}
void CcdCallFnAfterOnPE(CcdVoidFn fn, void* argument, double milliseconds, int) {
  CcdCallFnAfter(fn, argument, milliseconds);
}
int CcdCallOnConditionOnPE(int condition, CcdCondFn fn, void* argument, int) {
  return CcdCallOnCondition(condition, fn, argument);
}
int CcdCallOnConditionKeepOnPE(int condition, CcdCondFn fn, void* argument, int) {
  return CcdCallOnConditionKeep(condition, fn, argument);
}
void CcdCancelCallOnCondition(int condition, int registration) { here().conditions.cancel(condition, registration); }
void CcdCancelCallOnConditionKeep(int condition, int registration) {
  here().conditions.cancel(condition, registration);
}
void CcdRaiseCondition(int condition) { here().conditions.raise(condition); }
void CcdCallBacks() { here().conditions.run_due(clock::now_ns()); }

// --- trees -----------------------------------------------------------------------------------------------------------

static int tree_parent(int i) { return i ? (i - 1) / tree_branching : -1; }
static int tree_children(int i, int total) { return std::clamp(total - (tree_branching * i + 1), 0, tree_branching); }
static void list_children(int i, int total, int* children) {
  for (int c = 0; c < tree_children(i, total); ++c) children[c] = tree_branching * i + 1 + c;
}
int CmiSpanTreeParent(int pe) { return tree_parent(pe); }
int CmiNumSpanTreeChildren(int pe) { return tree_children(pe, CmiNumPes()); }
void CmiSpanTreeChildren(int pe, int* children) { list_children(pe, CmiNumPes(), children); }
int CmiNodeSpanTreeParent(int node) { return tree_parent(node); }
int CmiNumNodeSpanTreeChildren(int node) { return tree_children(node, CmiNumNodes()); }
void CmiNodeSpanTreeChildren(int node, int* children) { list_children(node, CmiNumNodes(), children); }
}
