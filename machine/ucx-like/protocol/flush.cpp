// Flush and fence: first all one-sided operations that are open end here, then the devices are flushed, then the peer's
// engine is asked, if anything has gone to it since it was asked last. A flush asks in line with the sends: its answer
// says that they have arrived. A fence holds up the one-sided operations behind it.
#include <utility>

#include "machine/ucx-like/protocol/table.h"
#include "machine/ucx-like/protocol/transfer.h"
#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {
namespace {

enum FlushStage : std::uint8_t { devices, here, asked, in_line };

void await_answer(EndpointImpl& endpoint, Operation& operation) {
  endpoint.owner.give_id(operation);
  operation.awaits_answer = operation.all_parts_given = true;
  operation.state().activity = endpoint.activity();
}

// A flush that has come to the front of the ordered queue.
Step start_in_line(EndpointImpl& endpoint, Operation& operation) {
  if (endpoint.has_control()) return Step::no_room;
  const RemoteCompletion& remote = endpoint.remote;
  const bool local = operation.state().scope == FlushScope::local;
  if (local && remote.put_at <= remote.settled && !remote.put_refused) {
    if (!endpoint.handed_over()) return Step::no_room;
    endpoint.unqueue(operation);
    endpoint.owner.end_later(operation, operation.result);
    return Step::gone;
  }
  await_answer(endpoint, operation);
  MessageHeader header;
  header.kind = MessageKind::flush;
  header.id = operation.id;
  if (!endpoint.try_control(header, {})) return Step::no_room;
  endpoint.unqueue(operation);
  return Step::gone;
}

Step start_flush(EndpointImpl& endpoint, Operation& operation) {
  RequestState& state = operation.state();
  if (state.stage == in_line) return start_in_line(endpoint, operation);
  if (endpoint.remote.open != 0) return Step::no_credit;
  const bool is_flush = operation.doing == Doing::flush;
  if (state.stage == devices) {
    const Step step = endpoint.rails.is_unflushed() ? flush_rails(endpoint, operation) : Step::gone;
    if (step != Step::gone) return step;
    state.stage = here;
  }
  if (operation.outstanding != 0) return Step::no_credit;
  if (state.stage == here) {
    endpoint.rails.set_unflushed(false);  // what is behind it has not begun
    if (endpoint.settled(state.scope) && (!is_flush || !endpoint.has_ordered())) {
      operation.Hook<InQueue>::unlink();
      endpoint.owner.end_later(operation, operation.result);
      return Step::gone;
    }
  }
  if (is_flush) {
    operation.Hook<InQueue>::unlink();
    state.stage = in_line;
    endpoint.queue_ordered(operation);
    endpoint.busy();
    return Step::gone;
  }
  if (state.stage == here) {
    state.stage = asked;
    await_answer(endpoint, operation);
    endpoint.say(MessageKind::flush, operation.id);
  }
  return Step::no_credit;  // what is behind a fence waits for its end
}

void on_flushed(WorkerImpl& worker, EndpointImpl& from, Operation& operation) {
  if (operation.doing == Doing::close) {
    operation.state().stage = 2;
    return from.busy();
  }
  const bool is_flush = operation.doing == Doing::flush;
  if (is_flush || operation.doing == Doing::fence) from.remote.settled = operation.state().activity;
  if (is_flush && std::exchange(from.remote.put_refused, false)) operation.result = Outcome::bad_key;
  worker.answered(operation);
}

void take_flush(WorkerImpl& worker, Rail& rail, const MessageHeader& header, const Payload&) {
  EndpointImpl& from = *rail.endpoint;
  if (header.kind == MessageKind::flush) return from.answer_flush(header.id);
  if (Operation* operation = worker.operation_of(from, header.id)) on_flushed(worker, from, *operation);
}

}  // namespace

const Protocol kFlush = {
    .name = "flush",
    .start = start_flush,
    .messages = bit_of(MessageKind::flush) | bit_of(MessageKind::flushed),
    .on_message = take_flush,
};

}  // namespace periapt::ucx
