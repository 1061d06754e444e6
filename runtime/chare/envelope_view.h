// A message's header under the names of Charm++'s envelope, for the programs that look at it. C++17: reached from
// envelope.h.
#pragma once
#include <cstddef>

#include "runtime/chare/ids.h"
#include "runtime/message/envelope.h"

// Kinds of messages in Charm++. Ours follow from how a message is sent.
enum UChareMsgType { NewChareMsg = 1, ForChareMsg = 3, ForBocMsg = 4, ForNodeBocMsg = 6, ForArrayEltMsg = 18 };

class envelope : public periapt::Envelope {
 public:
  void* getPrioPtr() { return periapt::priority_of(this); }
  unsigned getPriobits() const { return priority_bits; }
  std::size_t getUsersize() const { return size; }
  std::size_t getTotalsize() const { return periapt::message_bytes(size, priority_bits); }
  int getSrcPe() const { return source; }
  int getEpIdx() const { return entry; }
  int getRef() const { return reference; }
  void setRef(int r) { reference = r; }
  int getQueueing() const { return static_cast<int>(queueing); }
  void setQueueing(int strategy) { queueing = static_cast<periapt::Queueing>(strategy); }
  void setMsgtype(int) {}
  // Waits for this group at the receiver. Of several the one made last is kept: groups appear in the order they were
  // made in.
  void setGroupDep(const CkGroupID& group, int = 0) {
    if (dependency == 0 || group.idx > static_cast<int>(dependency)) dependency = static_cast<std::uint32_t>(group.idx);
  }
};
static_assert(sizeof(envelope) == sizeof(periapt::Envelope), "an envelope is looked at where it lies");

inline envelope* UsrToEnv(const void* message) {
  return static_cast<envelope*>(periapt::envelope_of(const_cast<void*>(message)));
}
inline void* EnvToUsr(envelope* env) { return periapt::payload_of(env); }
