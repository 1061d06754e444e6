// How chares, groups and node groups come to be on the PEs that hold them.
#pragma once
#include "runtime/message/envelope.h"

namespace periapt {

void register_creation_entries();
// Whether it is the message that makes a node group's member.
bool makes_node_group(const Envelope* envelope);

}  // namespace periapt
