// See protocols.h.
#include "runtime/objects/protocols.h"

#include "base/clock.h"
#include "runtime/collective/reduction.h"
#include "runtime/objects/node_groups.h"
#include "runtime/registry/packing.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
constexpr std::uint64_t pause_ns = 200'000;

// Null when its array or group isn't here yet: the call waits for that.
Reduction* reduction_of(Pe& pe, Delivery& call) {
  const int collection = static_cast<int>(call.collection);
  if (Reduction::tree_of(call) == Reduction::Tree::processes) {
    if (node_groups().find(collection)) return &node_groups().reduction(collection);
  } else {
    GroupRecord& record = pe.objects->group(collection);
    if (record.array) return &record.array->reduction();
    if (record.reduction && record.object) return record.reduction.get();
  }
  pe.objects->group(collection).waiting.push_back(keep(pe, call));
  return nullptr;
}

void for_reduction(Pe& pe, Delivery& call) {
  if (Reduction* reduction = reduction_of(pe, call)) reduction->receive(call);
}
void for_quiescence(Pe& pe, Delivery& call) { pe.objects->quiescence->receive(call); }
}  // namespace

void PeProtocols::register_entries() {
  Reduction::register_entries(for_reduction);
  Quiescence::register_entries(for_quiescence);
}

PeProtocols::PeProtocols(Pe& pe) : Sender(pe.index, pe.process.pes(), pe.random_state), pe_(pe) {}

void PeProtocols::send(int to, int entry, int collection, std::uint64_t element, const void* arguments,
                       std::size_t length) {
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(entry), static_cast<std::uint32_t>(collection),
                                       static_cast<unsigned>(length));
  pe_.send_call(to, meta, element, arguments, counting(entry));
}
void PeProtocols::send(int to, Message&& message) { send_to(pe_, to, std::move(message)); }

void PeProtocols::deliver(const CkCallback& callback, void* message) {
  if (!message || !PeObjects::take_device_result(callback, message)) callback.send(message);
}

std::string PeProtocols::name_of(int collection) const {
  const GroupRecord* record = pe_.objects->find_group(collection);
  return record && record->type >= 0 ? registry().chares[record->type].name : "group " + std::to_string(collection);
}

void PeProtocols::remind(int entry, std::uint64_t element) {
  Message reminder = Message::make(0, 32);
  reminder->queueing = Queueing::int_fifo;
  *priority_of(reminder.envelope()) = 0x7fffffff;
  reminder->target = Target::runtime;
  reminder->entry = static_cast<std::uint16_t>(entry);
  reminder->element = element;
  pe_.enqueue(std::move(reminder));
}

void PeProtocols::pause() {
  const auto go_on = [](void* quiescence, double) { static_cast<Quiescence*>(quiescence)->go_on(); };
  pe_.conditions.call_after(go_on, pe_.objects->quiescence.get(), pause_ns, clock::now_ns());
}
void PeProtocols::became_quiet() { pe_.conditions.raise(scheduler::condition_quiescence); }

}  // namespace periapt
