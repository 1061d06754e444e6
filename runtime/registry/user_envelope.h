// What programs do with a message's envelope: `UsrToEnv(message)->...`. C++17: reached from charm++.h.
#pragma once
#include "runtime/registry/dependencies.h"

// Kinds of messages in Charm++'s envelopes. Periapt's say by their Target what they are: setMsgtype has nothing to do.
enum CkEnvelopeType : unsigned char {
  NewChareMsg = 1,
  NewVChareMsg,
  BocInitMsg,
  NodeBocInitMsg,
  ForChareMsg,
  ForBocMsg,
  ForNodeBocMsg,
  ForVidMsg,
  ForArrayEltMsg,
  ArrayEltInitMsg
};

class envelope {
 public:
  // Group number `i` of the `GroupDepNum` that the message was allocated with.
  void setGroupDep(const CkGroupID& group, int i = 0) {
    if (head_.flags & periapt::envelope_waits) periapt::GroupDependencies(&head_).set(i, group);
  }
  CkGroupID getGroupDep(int i = 0) const {
    return head_.flags & periapt::envelope_waits ? periapt::GroupDependencies(&head_).get(i) : CkGroupID();
  }
  int getGroupDepNum() const {
    return head_.flags & periapt::envelope_waits ? periapt::GroupDependencies(&head_).count() : 0;
  }
  void setMsgtype(int) {}
  std::size_t getUsersize() const { return head_.size; }
  std::size_t getTotalsize() const { return periapt::message_bytes(head_.size, head_.priority_bits); }
  int getEpIdx() const { return head_.entry; }
  int getSrcPe() const { return head_.source; }
  int getRef() const { return head_.reference; }
  void setRef(int reference) { head_.reference = reference; }
  bool isPacked() const { return head_.flags & periapt::envelope_packed; }

 private:
  periapt::Envelope head_;
};

inline envelope* UsrToEnv(const void* message) {
  return reinterpret_cast<envelope*>(periapt::envelope_of(const_cast<void*>(message)));
}
inline void* EnvToUsr(const envelope* e) {
  return periapt::payload_of(reinterpret_cast<periapt::Envelope*>(const_cast<envelope*>(e)));
}
