// CkMsgQ: a queue of messages that migrates with its owner. C++17: reached from charm++.h.
#pragma once
#include "runtime/containers/queue.h"
#include "runtime/registry/messages.h"

template <class Msg>
class CkMsgQ : public CkQ<Msg*> {
 public:
  ~CkMsgQ() {
    while (Msg* message = this->deq()) delete message;
  }
  void pup(PUP::er& p) {
    int n = this->length();
    p | n;
    for (int i = 0; i < n; ++i) {
      void* message = p.isUnpacking() ? nullptr : static_cast<void*>((*this)[static_cast<std::size_t>(i)]);
      CkPupMessage(p, &message);
      if (p.isUnpacking()) this->enq(static_cast<Msg*>(message));
    }
  }
};
