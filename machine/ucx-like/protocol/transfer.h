// What protocols for large amounts share: moving an operation part by part, over all rails that are worth it.
#pragma once

#include <cstdint>
#include <span>

#include "machine/ucx-like/endpoint.h"

namespace periapt::ucx {

/// Parts of one transfer that are on their way at the same time on one rail.
inline constexpr unsigned kFlightsPerRail = 4;

/// The size of the next part of `left` bytes, of which a device takes `most`: small enough that every rail gets some,
/// large enough to be worth it.
std::uint64_t part_of(const Plan& plan, std::uint64_t left, std::uint64_t most, std::size_t rails);
/// The operation's memory, registered where the device wants that; nullptr: it doesn't, or operation.result says why
/// not.
const MemoryHandle* local_handle(Operation& operation, DevicePort& port);
/// Does one of the devices that lead to the peer's memory reach the operation's own? It is known to those that do.
bool reach_memory(Operation& operation);
/// One message with bytes of the operation's, lent where the device can.
Accepted send_part(Rail& rail, const MessageHeader& header, std::span<const std::byte> payload, Operation& operation);
/// Sends what is left of the operation as messages of that kind, which name the peer's operation and an offset in it.
Step push_messages(EndpointImpl& endpoint, Operation& operation, MessageKind kind);
/// Gives the devices parts of a put or get, until all are given or there is no room. What cannot be done at all is the
/// operation's result.
Step push_parts(EndpointImpl& endpoint, Operation& operation, bool is_put);
/// Rails::flush() for an operation.
Step flush_rails(EndpointImpl& endpoint, Operation& operation);
/// A put or get for which a device does not reach a GPU's memory after all begins anew, as messages. False: that is not
/// why it failed.
bool restart_by_messages(EndpointImpl& endpoint, Operation& operation);
/// What the answer to a part that was not taken means, after it has been counted.
Step refused(EndpointImpl& endpoint, Accepted answer);
/// Out of its queue, with all parts given; it ends now if all are done.
void all_given(EndpointImpl& endpoint, Operation& operation);

inline bool is_refused(Accepted answer) { return answer == Accepted::no_resource || answer == Accepted::lost; }
/// The largest payload of a message to that device.
inline std::uint64_t payload_max(const Capabilities& can) { return can.max_lent != 0 ? can.max_lent : can.max_inline; }

}  // namespace periapt::ucx
