// Where calls of CpmInvokable functions go. What a destination adds to a message lies at CpmEnv(): CallPlan, and the
// priority.
#include "runtime/converse/cpm.h"

#include <cstring>

#include "runtime/converse/converse_state.h"

namespace periapt {

namespace {
constexpr int in_thread = -1;  // as a strategy

struct CallPlan {
  int handler;
  int strategy;  // CQS_QUEUEING_*, or in_thread
  int size;      // bits of the priority, or bytes of the stack
};

// The destination that this PE made last.
struct Destination : CpmDestinationStruct {
  int pe;
  CallPlan plan;
  unsigned word;             // CpmEnqueueIFIFO's priority
  const unsigned* priority;  // words
};
CpvStaticDeclare(Destination, destination);

std::size_t bytes_of_priority(const CallPlan& plan) {
  return plan.strategy == in_thread ? 0 : 4 * priority_words(static_cast<unsigned>(plan.size));
}

void send_to(int pe, int bytes, void* message) {
  if (pe == CpmALL) return CmiSyncBroadcastAllAndFree(bytes, message);
  if (pe == CpmOTHERS) return CmiSyncBroadcastAndFree(bytes, message);
  CmiSyncSendAndFree(pe, bytes, message);
}
void* send_plain(CpmDestination to, int bytes, void* message) {
  send_to(static_cast<Destination*>(to)->pe, bytes, message);
  return nullptr;
}
void* send_planned(CpmDestination to, int bytes, void* message) {
  Destination& d = *static_cast<Destination*>(to);
  d.plan.handler = CmiGetHandler(message);
  std::memcpy(CpmEnv(message), &d.plan, sizeof d.plan);
  if (const std::size_t priority = bytes_of_priority(d.plan))
    std::memcpy(CpmEnv(message) + sizeof d.plan, d.priority, priority);
  CmiSetHandler(message, handler_cpm);
  send_to(d.pe, bytes, message);
  return nullptr;
}

Destination& make(int pe, CpmSender send) {
  if (!CpvInitialized(destination)) CpvInitialize(Destination, destination);
  Destination& d = CpvAccess(destination);
  d.pe = pe;
  d.sendfn = send;
  d.envsize = 0;
  return d;
}
CpmDestination planned(int pe, int strategy, int size, const unsigned* priority) {
  Destination& d = make(pe, send_planned);
  d.plan = {0, strategy, size};
  d.priority = priority;
  d.envsize = static_cast<int>(sizeof d.plan + bytes_of_priority(d.plan));
  return &d;
}
CpmDestination by_integer(int pe, int strategy, int priority) {
  CpmDestination to = planned(pe, strategy, 32, nullptr);
  Destination& d = *static_cast<Destination*>(to);
  d.word = static_cast<unsigned>(priority);
  d.priority = &d.word;
  return to;
}

void run_in_thread(void* message) { CmiHandleMessage(message); }
void cpm_arrived(Pe&, Message arrived) {
  if (arrived.shared()) arrived = arrived.copy();
  arrived->flags = 0;
  arrived->hops = 0;
  void* message = arrived.release();
  CallPlan plan;
  std::memcpy(&plan, CpmEnv(message), sizeof plan);
  CmiSetHandler(message, plan.handler);
  if (plan.strategy == in_thread) return CthAwaken(CthCreate(run_in_thread, message, plan.size));
  CsdEnqueueGeneral(message, plan.strategy, plan.size, reinterpret_cast<unsigned*>(CpmEnv(message) + sizeof plan));
}
const ConverseArrival cpm_arrives(handler_cpm, cpm_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

extern "C" {

CpmDestination CpmSend(int pe) { return &make(pe, send_plain); }
CpmDestination CpmEnqueueFIFO(int pe) { return planned(pe, CQS_QUEUEING_FIFO, 0, nullptr); }
CpmDestination CpmEnqueueLIFO(int pe) { return planned(pe, CQS_QUEUEING_LIFO, 0, nullptr); }
CpmDestination CpmEnqueueIFIFO(int pe, int priority) { return by_integer(pe, CQS_QUEUEING_IFIFO, priority); }
CpmDestination CpmEnqueueILIFO(int pe, int priority) { return by_integer(pe, CQS_QUEUEING_ILIFO, priority); }
CpmDestination CpmEnqueueBFIFO(int pe, int priority_bits, unsigned* priority) {
  return planned(pe, CQS_QUEUEING_BFIFO, priority_bits, priority);
}
CpmDestination CpmEnqueueBLIFO(int pe, int priority_bits, unsigned* priority) {
  return planned(pe, CQS_QUEUEING_BLIFO, priority_bits, priority);
}
CpmDestination CpmEnqueueLFIFO(int pe, int priority_bits, unsigned* priority) {
  return planned(pe, CQS_QUEUEING_LFIFO, priority_bits, priority);
}
CpmDestination CpmEnqueueLLIFO(int pe, int priority_bits, unsigned* priority) {
  return planned(pe, CQS_QUEUEING_LLIFO, priority_bits, priority);
}
CpmDestination CpmEnqueue(int pe, int strategy, int priority_bits, unsigned* priority) {
  return planned(pe, strategy, priority_bits, priority);
}
CpmDestination CpmMakeThread(int pe) { return CpmMakeThreadSize(pe, 0); }
CpmDestination CpmMakeThreadSize(int pe, int stack_bytes) { return planned(pe, in_thread, stack_bytes, nullptr); }
void CpmModuleInit() {}
}
