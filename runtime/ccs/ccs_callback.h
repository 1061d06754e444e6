// Requests of CCS that come to a callback. C++17: reached from ckcallback-ccs.h.
#pragma once
#include "runtime/api/callback.h"
#include "runtime/ccs/ccs.h"
#include "runtime/registry/messages.h"

class CMessage_CkCcsRequestMsg {
 public:
  static int __idx;
};
/// What the callback gets. Its receiver answers with CcsSendDelayedReply(message->reply, ...).
class CkCcsRequestMsg : public CkMessage {
 public:
  CcsDelayedReply reply;
  int length;
  void operator delete(void* message) { CkFreeMsg(message); }

  alignas(16) char data[16];  // the first of `length` bytes
};

/// On PE 0: the callback is called for each request with this name, whichever PE it names.
void CcsRegisterHandler(const char* name, const CkCallback& callback);
