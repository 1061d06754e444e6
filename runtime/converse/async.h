// Sends that Charm++ has in an asynchronous form, and the other names of sends. Plain C, and C++17: reached from
// converse.h.
//
// The bytes of a message are taken before any send returns, so a handle is always null: the buffer may be used again at
// once.
#pragma once
#include "runtime/converse/converse.h"

#ifdef __cplusplus
extern "C" {
#endif
CmiCommHandle CmiAsyncSendFn(int pe, int bytes, char* message);
CmiCommHandle CmiAsyncBroadcastFn(int bytes, char* message);
CmiCommHandle CmiAsyncBroadcastAllFn(int bytes, char* message);
CmiCommHandle CmiAsyncListSendFn(int count, const int* pes, int bytes, char* message);
CmiCommHandle CmiAsyncMulticastFn(CmiGroup group, int bytes, char* message);
CmiCommHandle CmiAsyncNodeSendFn(int node, int bytes, char* message);
CmiCommHandle CmiAsyncNodeBroadcastFn(int bytes, char* message);
CmiCommHandle CmiAsyncNodeBroadcastAllFn(int bytes, char* message);
CmiCommHandle CmiAsyncVectorSend(int pe, int pieces, int* bytes, char** data);
// One to a PE of each process of the list; takes the message.
void CmiFreeNodeListSendFn(int count, const int* nodes, int bytes, char* message);
// The same as CmiMultipleSend: several messages to one PE.
void CmiMultipleIsend(unsigned int pe, int count, int* bytes, char** messages);

// A number for a function as this PE alone knows it.
int CmiRegisterHandlerLocal(CmiHandler handler);
// On PE 0 only: a number for CmiNumberHandler on the other PEs, which are told of it. Neither these nor those of
// CmiRegisterHandler meet.
int CmiRegisterHandlerGlobal(CmiHandler handler);
// The PEs that PE `pe` of `pes` sends on to in a broadcast over a hypercube that has dimension k left; the answer is
// how many, at most k + 1.
int HypercubeGetBcastDestinations(int pe, int pes, int k, int* destinations);
#ifdef __cplusplus
}
#endif

#define CMI_LOCAL_GLOBAL_AVAILABLE 1
#define CmiAsyncNodeBroadcast(s, m) CmiAsyncNodeBroadcastFn((s), (char*)(m))
#define CmiAsyncNodeBroadcastAll(s, m) CmiAsyncNodeBroadcastAllFn((s), (char*)(m))
// Groups and messages for one PE need no set-up.
#define CmiInitMultipleSendRoutine()
#define CmiGroupInit()
#define CmiDeliversInit()

// 16 bits of a message that are the program's, as CmiGetXHandler are.
typedef struct __attribute__((may_alias)) CmiMsgInfo {
  char opaque[34];
  unsigned short info;
} CmiMsgInfo;
#define CmiGetInfo(m) ((int)((CmiMsgInfo*)(m))->info)
#define CmiSetInfo(m, v) ((void)(((CmiMsgInfo*)(m))->info = (unsigned short)(v)))
#define CmiImmediateHandler(m) (CmiGetHandler(m) ^ CmiImmediateHandlerBit)
