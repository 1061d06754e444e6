// Cld: messages that are sent with the function that says how they are queued.
#include "runtime/converse/cld.h"

#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/async.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
struct Said {
  CldPackFn pack = nullptr;
  int bytes = 0, strategy = CQS_QUEUEING_FIFO, priority_bits = 0;
  unsigned* priority = nullptr;
};
Said ask(void* message, int info) {
  Said said;
  void* const function = reinterpret_cast<void*>(CmiHandlerToFunction(info));
  reinterpret_cast<CldInfoFn>(function)(message, &said.pack, &said.bytes, &said.strategy, &said.priority_bits,
                                        &said.priority);
  return said;
}

// Packs it and gives it the handler that queues it; the answer is its length.
int make_ready(void*& message, int info, bool leaves_process) {
  Said said = ask(message, info);
  if (said.pack && leaves_process) {
    said.pack(&message);
    said = ask(message, info);
  }
  CldSwitchHandler(static_cast<char*>(message), handler_seed);
  CmiSetInfo(message, info);
  return said.bytes;
}

void enqueue_here(void* message, int info) {
  const Said said = ask(message, info);
  CsdEnqueueGeneral(message, said.strategy, said.priority_bits, said.priority);
}

const char* strategy = "rand";
bool seeds_stay = false;
int any_of(int count) { return static_cast<int>(static_cast<unsigned>(CrnRand()) % static_cast<unsigned>(count)); }
}  // namespace

void cld_strategy(const char* name, SeedsStay stay) {
  strategy = name;
  seeds_stay = stay == SeedsStay::yes;
}

void converse_seed_arrived(Pe&, Message message) {
  if (message.shared()) message = message.copy();
  message->flags = 0;
  message->hops = 0;
  char* seed = reinterpret_cast<char*>(message.release());
  const int info = CmiGetInfo(seed);
  CldRestoreHandler(seed);
  enqueue_here(seed, info);
}

}  // namespace periapt

using namespace periapt;

extern "C" {

int CldRegisterInfoFn(CldInfoFn info) {
  return CmiRegisterHandler(reinterpret_cast<CmiHandler>(reinterpret_cast<void*>(info)));
}
int CldRegisterPackFn(CldPackFn pack) {
  return CmiRegisterHandler(reinterpret_cast<CmiHandler>(reinterpret_cast<void*>(pack)));
}

void CldEnqueue(int pe, void* message, int info) {
  if (pe == CLD_ANYWHERE) pe = seeds_stay ? CmiMyPe() : any_of(CmiNumPes());
  if (pe == CmiMyPe()) return enqueue_here(message, info);
  const bool one = pe != CLD_BROADCAST && pe != CLD_BROADCAST_ALL;
  if (one && (pe < 0 || pe >= CmiNumPes())) {
    fatal("a message for PE " + std::to_string(pe), "CldEnqueue", "the run has " + std::to_string(CmiNumPes()) + " PEs",
          "give a PE, CLD_ANYWHERE, CLD_BROADCAST or CLD_BROADCAST_ALL");
  }
  const int bytes = make_ready(message, info, !one || CmiNodeOf(pe) != CmiMyNode());
  if (pe == CLD_BROADCAST) return CmiSyncBroadcastAndFree(bytes, message);
  if (pe == CLD_BROADCAST_ALL) return CmiSyncBroadcastAllAndFree(bytes, message);
  CmiSyncSendAndFree(pe, bytes, message);
}
void CldEnqueueMulti(int count, const int* pes, void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiSyncListSendAndFree(count, pes, bytes, message);
}
void CldEnqueueGroup(CmiGroup group, void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiSyncMulticastAndFree(group, bytes, message);
}
void CldNodeEnqueue(int node, void* message, int info) {
  if (node == CLD_ANYWHERE) node = seeds_stay ? CmiMyNode() : any_of(CmiNumNodes());
  if (node == CmiMyNode()) return enqueue_here(message, info);
  const int bytes = make_ready(message, info, true);
  if (node == CLD_BROADCAST) return CmiSyncNodeBroadcastAndFree(bytes, message);
  if (node == CLD_BROADCAST_ALL) return CmiSyncNodeBroadcastAllAndFree(bytes, message);
  CmiSyncNodeSendAndFree(node, bytes, message);
}
void CldEnqueueWithinNode(void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiWithinNodeBroadcast(bytes, message);
}

const char* CldGetStrategy() { return strategy; }
int CldLoad() { return CsdLength(); }
int CldEstimate() {
  int load = CldLoad();
  for (const CldEstimator estimator : ConverseState::of(require_pe("CldEstimate")).estimators) load += estimator();
  return load;
}
void CldRegisterEstimator(CldEstimator estimator) {
  ConverseState::of(require_pe("CldRegisterEstimator")).estimators.push_back(estimator);
}
void CldSwitchHandler(char* message, int handler) {
  CmiSetXHandler(message, CmiGetHandler(message));
  CmiSetHandler(message, handler);
}
void CldRestoreHandler(char* message) { CmiSetHandler(message, CmiGetXHandler(message)); }
}
