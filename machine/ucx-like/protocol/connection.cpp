// What peers say of the connection itself: credit, and that it ends.
#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

void take_connection(WorkerImpl&, Rail& rail, const MessageHeader& header, const Payload&) {
  EndpointImpl& from = *rail.endpoint;
  switch (header.kind) {
    case MessageKind::credit:
      return from.credit.set_window(header.size);
    case MessageKind::out_of_credit:
      return from.peer_out_of_credit();
    default:  // disconnect
      return from.fail("worker " + std::to_string(from.peer()) + " has closed the connection", true);
  }
}

}  // namespace

const Protocol kConnection = {
    .name = "connection",
    .messages = bit_of(MessageKind::credit) | bit_of(MessageKind::out_of_credit) | bit_of(MessageKind::disconnect),
    .on_message = take_connection,
};

}  // namespace periapt::ucx
