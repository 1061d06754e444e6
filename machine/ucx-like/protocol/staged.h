// Memory that transports cannot read goes out through pieces of the host's: each is filled by a copy that nothing waits
// for, sent from where it lies, and given back. Several are under way at a time, so that copies and the network
// overlap.
#pragma once

#include "machine/ucx-like/endpoint.h"

namespace periapt::ucx {

/// As push_messages(), of memory that is not the host's; of a `put`, to where that wants to go.
Step push_staged(EndpointImpl& endpoint, Operation& operation, MessageKind kind);
/// It could not be copied: a peer that waits for its bytes is told. False: it does not go on.
bool give_up_staged(EndpointImpl& endpoint, Operation& operation);

}  // namespace periapt::ucx
