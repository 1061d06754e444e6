// Handlers, sending and scheduling of Converse messages. A program's message is an Envelope and what follows it.
#include "runtime/converse/converse.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/nested_scheduling.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
// Children of a PE in the trees that programs and CmiReduce use.
constexpr int tree_branching = 4;

Pe& here() { return require_pe("a Converse call"); }
ConverseState& state() { return ConverseState::of(here()); }

void set_priority(Envelope* envelope, int strategy, const void* words) {
  envelope->queueing = static_cast<Queueing>(strategy);
  std::memcpy(priority_of(envelope), words, 4 * priority_words(envelope->priority_bits));
}

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

Message system_message(ConverseHandler handler, std::size_t payload, unsigned priority_bits = 0) {
  Message message = Message::make(payload, priority_bits);
  message->target = Target::converse;
  message->entry = handler;
  return message;
}

void resume_from_scheduler(Pe& pe, Thread* thread) {
  const Delivery* const outer = pe.running;
  pe.threads.resume(thread);
  pe.running = outer;
}

[[noreturn]] void no_handler(int index, std::size_t registered) {
  if (index == handler_none) {
    fatal("a Converse message arrived whose handler was never set", "handler 0", "CmiSetHandler was not called on it",
          "set the handler before sending");
  }
  fatal("a Converse message for handler " + std::to_string(index) + ", but this PE has only " +
            std::to_string(registered - handlers_reserved) + " (numbers " + std::to_string(handlers_reserved) +
            " and on)",
        "CmiRegisterHandler", "handlers are registered on every PE, in the same order",
        "register it in the start function, or in an initproc");
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

// Messages that were captured and not asked for go back to the queue.
void release_captured(Pe& pe) {
  if (!pe.converse) return;
  while (!pe.converse->captured.empty()) {
    pe.enqueue(std::move(pe.converse->captured.front()));
    pe.converse->captured.pop_front();
  }
}
}  // namespace

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

void converse_deliver(Pe& pe, Message message) {
  ConverseState& s = ConverseState::of(pe);
  const int index = message->entry & ~immediate_handler_bit;
  switch (index) {
    case handler_deferred: {
      void* inner;
      std::memcpy(&inner, message.payload(), sizeof inner);
      return converse_deliver(pe, Message(static_cast<Envelope*>(inner)));
    }
    case handler_thread: {
      Thread* thread;
      std::memcpy(&thread, message.payload(), sizeof thread);
      return resume_from_scheduler(pe, thread);
    }
    case handler_group:
      return converse_group_arrived(pe, std::move(message));
    case handler_multicast:
      return converse_multicast_arrived(pe, std::move(message));
    case handler_reduce:
      return converse_reduction_arrived(pe, std::move(message));
    default:
      break;
  }
  if (s.capturing) {
    s.captured.push_back(std::move(message));
    return;
  }
  if (static_cast<std::size_t>(index) >= s.handlers.size() || !s.handlers[index].hdlr)
    no_handler(index, s.handlers.size());
  // The handler may change what it gets: other holders of the same broadcast must not see it.
  if (message.shared()) message = message.copy();
  message->entry = static_cast<std::uint16_t>(index);
  message->flags = 0;
  const CmiHandlerInfo handler = s.handlers[index];
  handler.hdlr(message.release(), handler.userPtr);
}

void converse_group_arrived(Pe& pe, Message message) {
  const int* pes = static_cast<const int*>(message.payload());
  ConverseState::of(pe).groups[message->element].assign(pes, pes + message->size / sizeof(int));
}

namespace {
std::uint64_t key_of(CmiGroup group) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(group.pe)) << 32 | static_cast<std::uint32_t>(group.id);
}

void send_list(Pe& pe, int count, const int* pes, Message message) {
  for (int i = 0; i < count; ++i) {
    if (i + 1 == count) return pe.send(pes[i], std::move(message));
    pe.send(pes[i], message.share());
  }
}

// Every PE but this one gets a reference to the same bytes.
void broadcast(Pe& pe, const Message& message) {
  if (pe.process.pes() > 1) pe.broadcast(message);
}

void broadcast_to_processes(Pe& pe, const Message& message, bool mine_too) {
  for (int node = 0; node < pe.process.count(); ++node)
    if (mine_too || node != pe.process.rank()) pe.send(CmiNodeFirst(node), message.share());
}

void multicast(Pe& pe, std::uint64_t group, Message message) {
  auto found = ConverseState::of(pe).groups.find(group);
  if (found != ConverseState::of(pe).groups.end())
    return send_list(pe, static_cast<int>(found->second.size()), found->second.data(), std::move(message));
  // Its maker knows it. The handler waits where nothing else uses the field.
  message->extra = message->entry;
  message->entry = handler_multicast;
  message->element = group;
  pe.send(static_cast<int>(group >> 32), std::move(message));
}
}  // namespace

void converse_multicast_arrived(Pe& pe, Message message) {
  const std::uint64_t group = message->element;
  message->entry = static_cast<std::uint16_t>(message->extra);
  message->extra = 0;
  message->element = 0;
  auto found = ConverseState::of(pe).groups.find(group);
  if (found == ConverseState::of(pe).groups.end()) {
    fatal("a multicast to a CmiGroup that was never established", "CmiSyncMulticast",
          "its value was not made by CmiEstablishGroup",
          "send the CmiGroup that CmiEstablishGroup answered, or make it a readonly");
  }
  send_list(pe, static_cast<int>(found->second.size()), found->second.data(), std::move(message));
}

// --- reductions
// --------------------------------------------------------------------------------------------------------

namespace {
void finish_reduction(Pe& pe, std::uint64_t number, ConverseReduction r) {
  std::vector<void*> others;
  for (void* child : r.children) others.push_back(r.pup ? payload_of(static_cast<Envelope*>(child)) : child);
  int bytes = r.bytes;
  void* result = others.empty() ? r.mine : r.merge(&bytes, r.mine, others.data(), static_cast<int>(others.size()));
  for (void* child : r.children)
    if (child != result) CmiFree(child);
  if (!r.pup && result != r.mine) CmiFree(r.mine);

  if (pe.index == 0) {
    if (r.pup) return r.dest(result);
    return converse_deliver(pe, converse_take(result, bytes));
  }
  Message up;
  if (r.pup) {
    const pup_er sizer = pup_new_sizer();
    r.pup(sizer, result);
    const std::size_t size = pup_size(sizer);
    pup_destroy(sizer);
    up = system_message(handler_reduce, size);
    const pup_er packer = pup_new_toMem(up.payload());
    r.pup(packer, result);
    pup_destroy(packer);
    if (r.del) r.del(result);
  } else {
    up = converse_take(result, bytes);
    up->extra = up->entry;  // the program's handler
    up->entry = handler_reduce;
  }
  up->element = number;
  pe.send((pe.index - 1) / tree_branching, std::move(up));
}

void look_at_reduction(Pe& pe, std::uint64_t number) {
  ConverseState& s = ConverseState::of(pe);
  auto found = s.reductions.find(number);
  ConverseReduction& r = found->second;
  if (!r.contributed || static_cast<int>(r.children.size()) < CmiNumSpanTreeChildren(pe.index)) return;
  ConverseReduction ready = std::move(r);
  s.reductions.erase(found);
  finish_reduction(pe, number, std::move(ready));
}

void contribute(ConverseReduction part) {
  Pe& pe = here();
  ConverseState& s = ConverseState::of(pe);
  const std::uint64_t number = s.next_reduction++;
  part.contributed = true;
  part.children = std::move(s.reductions[number].children);
  s.reductions[number] = std::move(part);
  look_at_reduction(pe, number);
}
}  // namespace

void converse_reduction_arrived(Pe& pe, Message message) {
  const std::uint64_t number = message->element;
  message->entry = static_cast<std::uint16_t>(message->extra);
  ConverseState::of(pe).reductions[number].children.push_back(message.release());
  look_at_reduction(pe, number);
}

}  // namespace periapt

using namespace periapt;

extern "C" {

void CmiReduce(void* message, int bytes, CmiReduceMergeFn merge) {
  ConverseReduction part;
  part.mine = message;
  part.bytes = bytes;
  part.merge = merge;
  contribute(std::move(part));
}
void CmiReduceStruct(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest, CmiReduceDeleteFn del) {
  ConverseReduction part;
  part.mine = data;
  part.merge = merge;
  part.pup = pup;
  part.dest = dest;
  part.del = del;
  contribute(std::move(part));
}

// --- handlers --------------------------------------------------------------------------------------------------------

int CmiRegisterHandlerEx(CmiHandlerEx handler, void* userPtr) {
  ConverseState& s = state();
  if (s.handlers.size() >= immediate_handler_bit) fatal("more than 32752 Converse handlers", "CmiRegisterHandler");
  s.handlers.push_back({handler, userPtr});
  return static_cast<int>(s.handlers.size()) - 1;
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
  if (index < 0 || static_cast<std::size_t>(index) >= s.handlers.size()) no_handler(index, s.handlers.size());
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
  converse_deliver(pe, Message(static_cast<Envelope*>(message)));
  s.capturing = capturing;
}

// --- sending ---------------------------------------------------------------------------------------------------------

void CmiFreeSendFn(int pe, int bytes, char* message) { here().send(pe, converse_take(message, bytes)); }
void CmiFreeBroadcastFn(int bytes, char* message) { broadcast(here(), converse_take(message, bytes)); }
void CmiFreeBroadcastAllFn(int bytes, char* message) {
  Pe& pe = here();
  Message mine = converse_take(message, bytes);
  broadcast(pe, mine);
  pe.send(pe.index, std::move(mine));
}
void CmiFreeListSendFn(int count, const int* pes, int bytes, char* message) {
  send_list(here(), count, pes, converse_take(message, bytes));
}
void CmiFreeMulticastFn(CmiGroup group, int bytes, char* message) {
  multicast(here(), key_of(group), converse_take(message, bytes));
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
    if (rank != pe.rank) pe.send(pe.process.first_pe() + rank, mine.share());
  pe.send(pe.index, std::move(mine));
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
  pe.send(pe.process.first_pe() + rank, Message(envelope));
}

CmiGroup CmiEstablishGroup(int count, int* pes) {
  Pe& pe = here();
  const CmiGroup group = {pe.index, ConverseState::of(pe).next_group++};
  Message message = system_message(handler_group, static_cast<std::size_t>(count) * sizeof(int));
  message->element = key_of(group);
  if (count) std::memcpy(message.payload(), pes, message->size);
  broadcast(pe, message);
  converse_group_arrived(pe, std::move(message));
  return group;
}
void CmiLookupGroup(CmiGroup group, int* count, int** pes) {
  auto& groups = state().groups;
  auto found = groups.find(key_of(group));
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
  while (!pe.stopping() && pe.step()) {
  }
  pe.clear_stop();
}
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
  while (left != 0 && pe.step()) --left;
  return wanted < 0 ? 0 : left;
}
void* CmiGetNonLocal() {
  Pe& pe = here();
  const scheduler::NestedScheduling nested(pe);
  ConverseState& s = ConverseState::of(pe);
  if (s.captured.empty()) {
    s.capturing = true;
    pe.step();
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
  converse_deliver(pe, std::move(message));
}

void CsdEnqueueFifo(void* message) { CsdEnqueueGeneral(message, CQS_QUEUEING_FIFO, 0, nullptr); }
void CsdEnqueueLifo(void* message) { CsdEnqueueGeneral(message, CQS_QUEUEING_LIFO, 0, nullptr); }
void CsdEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority) {
  Pe& pe = here();
  Envelope* envelope = static_cast<Envelope*>(message);
  address(envelope);
  if (priority_bits == 0 || strategy <= CQS_QUEUEING_LIFO) {
    envelope->queueing = static_cast<Queueing>(strategy == CQS_QUEUEING_LIFO ? CQS_QUEUEING_LIFO : CQS_QUEUEING_FIFO);
    return pe.enqueue(Message(envelope));
  }
  // There is no room for the priority behind the payload, so a small message with room carries it.
  Message deferred = system_message(handler_deferred, sizeof envelope, static_cast<unsigned>(priority_bits));
  std::memcpy(deferred.payload(), &envelope, sizeof envelope);
  set_priority(deferred.envelope(), strategy, priority);
  pe.enqueue(std::move(deferred));
}
void CsdNodeEnqueueGeneral(void* message, int strategy, int priority_bits, unsigned int* priority) {
  CsdEnqueueGeneral(message, strategy, priority_bits, priority);
}

// --- threads with priorities (the rest is in cth.cpp)
// --------------------------------------------------------------------

void CthAwakenPrio(CthThread thread, int strategy, int priority_bits, unsigned* priority) {
  Pe& pe = here();
  if (priority_bits == 0) return pe.threads.awaken(thread);
  Message message = system_message(handler_thread, sizeof thread, static_cast<unsigned>(priority_bits));
  std::memcpy(message.payload(), &thread, sizeof thread);
  set_priority(message.envelope(), strategy, priority);
  pe.enqueue(std::move(message));
}

// --- conditions and timers -------------------------------------------------------------------------------------------

void CcdCallFnAfter(CcdVoidFn fn, void* argument, double milliseconds) {
  const double ns = milliseconds > 0 ? milliseconds * 1e6 : 0;
  here().conditions.call_after(fn, argument, static_cast<std::uint64_t>(ns), clock::now_ns());
}
int CcdCallOnCondition(int condition, CcdCondFn fn, void* argument) {
  return here().conditions.call_once(condition, fn, argument);
}
int CcdCallOnConditionKeep(int condition, CcdCondFn fn, void* argument) {
  return here().conditions.call_always(condition, fn, argument);
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
