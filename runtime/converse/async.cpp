// Sends that Charm++ has in an asynchronous form: the bytes are taken at once.
#include "runtime/converse/async.h"

#include <string>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"

using namespace periapt;

static_assert(offsetof(CmiMsgInfo, info) == offsetof(Envelope, spare), "Converse leaves this field to programs");

namespace {
// Local and global numbers are every other one.
int give_number(int& next, CmiHandler handler) {
  CmiNumberHandler(next, handler);
  return std::exchange(next, next + 2);
}
}  // namespace

extern "C" {

CmiCommHandle CmiAsyncSendFn(int pe, int bytes, char* message) {
  CmiSyncSendFn(pe, bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncBroadcastFn(int bytes, char* message) {
  CmiSyncBroadcastFn(bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncBroadcastAllFn(int bytes, char* message) {
  CmiSyncBroadcastAllFn(bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncListSendFn(int count, const int* pes, int bytes, char* message) {
  CmiSyncListSendFn(count, pes, bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncMulticastFn(CmiGroup group, int bytes, char* message) {
  CmiSyncMulticastFn(group, bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncNodeSendFn(int node, int bytes, char* message) {
  CmiSyncNodeSendFn(node, bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncNodeBroadcastFn(int bytes, char* message) {
  CmiSyncNodeBroadcastFn(bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncNodeBroadcastAllFn(int bytes, char* message) {
  CmiSyncNodeBroadcastAllFn(bytes, message);
  return nullptr;
}
CmiCommHandle CmiAsyncVectorSend(int pe, int pieces, int* bytes, char** data) {
  CmiSyncVectorSend(pe, pieces, bytes, data);
  return nullptr;
}
void CmiFreeNodeListSendFn(int count, const int* nodes, int bytes, char* message) {
  std::vector<int> pes;
  for (int i = 0; i < count; ++i) pes.push_back(CmiNodeFirst(nodes[i]));
  CmiFreeListSendFn(count, pes.data(), bytes, message);
}
void CmiMultipleIsend(unsigned int pe, int count, int* bytes, char** messages) {
  CmiMultipleSend(pe, count, bytes, messages);
}

int CmiRegisterHandlerLocal(CmiHandler handler) {
  return give_number(ConverseState::of(require_pe("CmiRegisterHandlerLocal")).next_local_handler, handler);
}
int CmiRegisterHandlerGlobal(CmiHandler handler) {
  Pe& pe = require_pe("CmiRegisterHandlerGlobal");
  if (pe.index != 0) {
    fatal("CmiRegisterHandlerGlobal on PE " + std::to_string(pe.index), "CmiRegisterHandlerGlobal",
          "PE 0 alone gives out these numbers", "send them to the other PEs, which call CmiNumberHandler");
  }
  return give_number(ConverseState::of(pe).next_global_handler, handler);
}

int HypercubeGetBcastDestinations(int pe, int pes, int k, int* destinations) {
  int count = 0;
  for (; k >= 0; --k) {
    int to = pe ^ (1 << k);
    if (to >= pes) {
      // A hypercube that isn't full: the PEs of the other half, where there are any, share what is left of it.
      to &= -(1 << k);
      if (to < pes) to += (pe & ((1 << k) - 1)) % (pes - to);
    }
    if (to < pes) destinations[count++] = to;
  }
  return count;
}
}
