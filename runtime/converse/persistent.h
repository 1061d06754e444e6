// Persistent channels: messages of one sender to one receiver again and again. Plain C, and C++17: reached from
// converse.h.
//
// The set-up that such a channel saves elsewhere happens here once for all messages between two processes, so those of
// a channel go the way of all others; that they fit into it is checked.
#pragma once
#include "base/cmk.h"

#define CMK_PERSISTENT_COMM 1

typedef void* PersistentHandle;  // of one PE; null stands for no channel
// A receiver's offer, to send to the PE that is to register it.
typedef struct {
  int pe;
  int maxBytes;
  void** bufPtr;
  PersistentHandle myHand;
} PersistentReq;

#ifdef __cplusplus
extern "C" {
#endif
// For messages of this PE to `pe`, of maxBytes at most, the header included.
PersistentHandle CmiCreatePersistent(int pe, int maxBytes);
PersistentHandle CmiCreateNodePersistent(int node, int maxBytes);
// The same begun by the receiver.
PersistentReq CmiCreateReceiverPersistent(int maxBytes);
PersistentHandle CmiRegisterReceivePersistent(PersistentReq request);
// From now on messages of Converse go by these channels, each by the next one in turn: n is 1 for messages to one PE,
// or one for each PE of a multicast. Null ends that. The array is copied.
void CmiUsePersistentHandle(PersistentHandle* channels, int n);
// Both free what belongs to a channel; messages that are on their way arrive.
void CmiDestroyPersistent(PersistentHandle channel);
void CmiDestroyAllPersistent(void);  // of this PE

// Nothing is compressed: the same as without Compress.
PersistentHandle CmiCreateCompressPersistent(int pe, int maxBytes, int start, int type);
PersistentHandle CmiCreateCompressNodePersistent(int node, int maxBytes, int start, int type);
PersistentHandle CmiCreateCompressPersistentSize(int pe, int maxBytes, int start, int size, int type);
PersistentHandle CmiCreateCompressNodePersistentSize(int node, int maxBytes, int start, int size, int type);
// Nothing is to be initialised.
void CmiPersistentInit(void);
#ifdef __cplusplus
}
#endif
