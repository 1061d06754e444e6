// The Converse client-server interface: a program that is started with ++server answers requests that come over TCP.
// C++17: reached from conv-ccs.h.
//
// A request has a handler's name, a PE and bytes; its answer is bytes. A handler runs on that PE and answers at once
// (CcsSendReply) or takes the answer with it and gives it later, on any PE (CcsDelayReply, CcsSendDelayedReply). PE -1
// is all PEs, and PE -n the n PEs whose numbers the request begins with, each a big-endian int: the answers are joined
// in that order by the handler's merge function.
#pragma once
#include "runtime/ccs/address.h"
#include "runtime/converse/converse.h"

#define CMK_CCS_VERSION "2"

/// What a request is answered with. Any copy of it may be used, on any PE, once.
typedef struct CcsDelayedReply_struct {
  unsigned long long request;  // 0: of none
  int part;                    // of a request to several PEs: which answer this is
  int padding;
} CcsDelayedReply;

typedef void (*CcsHandlerFn)(void* user, int bytes, const void* request);
/// Joins `local` and the `remotes` behind it, each `*size` bytes, into memory of malloc() whose length becomes `*size`.
typedef void* (*CcsMergeFn)(int* size, void* local, void** remotes, int count);

#ifdef __cplusplus
extern "C" {
#endif

/// A handler of this PE. It gets a Converse message, which it frees: the request is behind its CmiMsgHeaderSizeBytes.
void CcsRegisterHandler(const char* name, CmiHandler handler);
/// The same with the request's bytes as they are, for as long as it runs.
void CcsRegisterHandlerFn(const char* name, CcsHandlerFn handler, void* user);
/// On PE 0: what joins the answers to requests for several PEs. Without one they are put behind each other.
void CcsSetMergeFn(const char* name, CcsMergeFn merge);

/// Whether there is a server.
int CcsEnabled(void);
/// Whether a handler of a request runs.
int CcsIsRemoteRequest(void);
/// In a handler: where the client is. (Of any request that was handed on by PE 0: its own address.)
void CcsCallerId(skt_ip_t* address, unsigned int* port);

/// In a handler: the answer, once.
void CcsSendReply(int bytes, const void* answer);
void CcsSendReplyNoError(int bytes, const void* answer);
void CcsNoReply(void);
CcsDelayedReply CcsDelayReply(void);
void CcsSendDelayedReply(CcsDelayedReply reply, int bytes, const void* answer);
void CcsNoDelayedReply(CcsDelayedReply reply);
/// Nothing: requests are never held back before the program can answer them.
static inline void CcsReleaseMessages(void) {}

/// Merge functions of a usual kind.
void* CcsMerge_concat(int* size, void* local, void** remotes, int count);
void* CcsMerge_logical_and(int* size, void* local, void** remotes, int count);
void* CcsMerge_logical_or(int* size, void* local, void** remotes, int count);
void* CcsMerge_bitvec_and(int* size, void* local, void** remotes, int count);
void* CcsMerge_bitvec_or(int* size, void* local, void** remotes, int count);
#define PERIAPT_CCS_MERGE(operation)                                                     \
  void* CcsMerge_##operation##_int(int* size, void* local, void** remotes, int count);   \
  void* CcsMerge_##operation##_float(int* size, void* local, void** remotes, int count); \
  void* CcsMerge_##operation##_double(int* size, void* local, void** remotes, int count);
PERIAPT_CCS_MERGE(sum)
PERIAPT_CCS_MERGE(product)
PERIAPT_CCS_MERGE(max)
PERIAPT_CCS_MERGE(min)
#undef PERIAPT_CCS_MERGE

#ifdef __cplusplus
}
#endif
