// What the ways of bringing a message that was announced share.
#pragma once

#include <span>

#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/protocol/table.h"

namespace periapt::ucx {

/// The receiver asks the sender to put the message to where those keys lead; without keys: to send it as data.
void ask_for(EndpointImpl& endpoint, Operation& receive, std::span<const DeviceKey> keys);
/// All parts of a message have been put: the peer is told when a flush has said that they are there.
Step finish_puts(EndpointImpl& endpoint, Operation& send);
/// What a device has failed begins anew as data messages, which always work.
void restart_by_data(EndpointImpl& endpoint, Operation& operation);
/// What was measured for that way; kNever: the devices don't have it, the user doesn't allow it, or memory that is not
/// the host's is among the two.
double cost_of(LargeWay way, const Demand& demand);

}  // namespace periapt::ucx
