// See user_envelope.h.
#include "runtime/registry/user_envelope.h"

#include <cstring>

#include "runtime/registry/messages.h"
#include "runtime/registry/packing.h"

using periapt::GroupDependencies;
using periapt::Message;
using periapt::Target;

unsigned char envelope::getMsgtype() const {
  switch (head_.target) {
    case Target::chare:
      return ForChareMsg;
    case Target::group:
      return ForBocMsg;
    case Target::node_group:
      return ForNodeBocMsg;
    case Target::array:
    case Target::broadcast:
    case Target::section:
      return ForArrayEltMsg;
    default:
      return 0;
  }
}

std::size_t envelope::getUsersize() const {
  const bool waits = head_.flags & periapt::envelope_waits;
  return head_.size - (waits ? GroupDependencies(&head_).size() : 0);
}

void envelope::setUsersize(std::size_t size) {
  if (size >= getUsersize()) return;
  char* const payload = static_cast<char*>(periapt::payload_of(&head_));
  std::size_t list = 0;
  if (head_.flags & periapt::envelope_waits) {
    list = GroupDependencies(&head_).size();
    size = (size + 3) & ~std::size_t{3};
    std::memmove(payload + size, payload + head_.size - list, list);
  }
  periapt::cut_message(payload, size + list);
}

namespace {
void put_through(envelope** message, void (*change)(Message&)) {
  Message owned = Message::from_payload(EnvToUsr(*message));
  change(owned);
  *message = UsrToEnv(periapt::payload_of(owned.release()));
}
}  // namespace
void CkPackMessage(envelope** message) { put_through(message, periapt::pack); }
void CkUnpackMessage(envelope** message) { put_through(message, periapt::unpack); }
