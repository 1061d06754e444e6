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

// Priorities of bits are given in words.
#define CkIntbits (sizeof(int) * 8)
#define CkPriobitsToInts(bits) (((bits) + CkIntbits - 1) / CkIntbits)

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
  // What it is for, once it has been sent; 0 before.
  unsigned char getMsgtype() const;
  void setMsgtype(int) {}
  int getMsgIdx() const { return head_.message_type; }
  void setMsgIdx(int type) { head_.message_type = static_cast<std::uint16_t>(type); }
  // The program's part of the message: without priority and groups.
  std::size_t getUsersize() const;
  // Cuts its end off; `size` is no larger than it was.
  void setUsersize(std::size_t size);
  void shrinkUsersize(std::size_t by) { setUsersize(getUsersize() - by); }
  std::size_t getTotalsize() const { return periapt::message_bytes(head_.size, head_.priority_bits); }
  int getPriobits() const { return head_.priority_bits; }
  int getPrioWords() const { return static_cast<int>(periapt::priority_words(head_.priority_bits)); }
  int getPrioBytes() const { return 4 * getPrioWords(); }
  void* getPrioPtr() const { return periapt::priority_of(const_cast<periapt::Envelope*>(&head_)); }
  unsigned char getQueueing() const { return static_cast<unsigned char>(head_.queueing); }
  void setQueueing(unsigned char strategy) { head_.queueing = static_cast<periapt::Queueing>(strategy); }
  int getEpIdx() const { return head_.entry; }
  void setEpIdx(int ep) { head_.entry = static_cast<std::uint16_t>(ep); }
  int getSrcPe() const { return head_.source; }
  void setSrcPe(int pe) { head_.source = pe; }
  // The group, or the group of managers of the array, that it is for.
  CkGroupID getGroupNum() const { return CkGroupID{static_cast<int>(head_.collection)}; }
  CkGroupID getArrayMgr() const { return getGroupNum(); }
  int getRef() const { return head_.reference; }
  void setRef(int reference) { head_.reference = reference; }
  // No message is one for all calls without arguments.
  bool isVarSysMsg() const { return false; }
  bool isPacked() const { return head_.flags & periapt::envelope_packed; }
  void setPacked(bool packed) {
    head_.flags = static_cast<std::uint8_t>(packed ? head_.flags | periapt::envelope_packed
                                                   : head_.flags & ~periapt::envelope_packed);
  }

 private:
  periapt::Envelope head_;
};

inline envelope* UsrToEnv(const void* message) {
  return reinterpret_cast<envelope*>(periapt::envelope_of(const_cast<void*>(message)));
}
inline void* EnvToUsr(const envelope* e) {
  return periapt::payload_of(reinterpret_cast<periapt::Envelope*>(const_cast<envelope*>(e)));
}
// pack() and unpack() of the message's class, where they are due. The message may lie elsewhere afterwards.
void CkPackMessage(envelope** message);
void CkUnpackMessage(envelope** message);
