// See dispatch.h.
#include "runtime/entry/dispatch.h"

#include "runtime/array/array_manager.h"
#include "runtime/converse/converse_state.h"
#include "runtime/entry/start_gate.h"
#include "runtime/objects/node_groups.h"
#include "runtime/registry/dependencies.h"
#include "runtime/sections/sections.h"

namespace periapt {

namespace {
Delivery delivery_of(Work& work) {
  if (work.kind() == WorkKind::message) return Delivery(Message(work.message()));
  return Delivery(work.entry(), entry_info(work.entry()).target, work.collection(), work.element, work.arguments,
                  work.length());
}

// Whether quiescence waits for it.
bool is_counted(const Delivery& call) {
  if (call.message) return call.message->flags & envelope_counted;
  return (entry_info(call.entry).flags & ep_uncounted) == 0;
}
void deliver_broadcast(PeObjects& objects, Delivery& call) {
  ArrayManager* manager = find_array(objects, CkArrayID(CkGroupID{static_cast<int>(call.collection)}));
  if (!manager) [[unlikely]]
    return objects.wait_for_collection(call);
  manager->broadcasts().deliver(std::move(call.message));
}

// The first of the groups that a message waits for and that isn't here yet. The message may be shared: nothing is noted
// in it, and it is asked again for each group that comes.
GroupRecord* missing_group(PeObjects& objects, Envelope* envelope) {
  const GroupDependencies wanted(envelope);
  for (int i = 0; i < wanted.count(); ++i) {
    const CkGroupID id = wanted.get(i);
    if (id.isZero()) continue;
    GroupRecord& record = objects.group(id.idx);
    if (!record.object && !record.array && !node_groups().find(id.idx)) return &record;
  }
  return nullptr;
}

void deliver_group(PeObjects& objects, Delivery& call) {
  GroupRecord* record = objects.find_group(static_cast<int>(call.collection));
  if (!record || !record->object) [[unlikely]]
    return objects.wait_for_collection(call);
  call.object = object_for_entry(record->type, call.entry, record->object);
  objects.run_entry(call);
}

void chare_is_not_here(PeObjects& objects, Delivery& call) {
  const int* const place = objects.place_of_moved(call.element);
  if (!place) return objects.wait_for_chare(call);
  send_to(objects.pe, *place, to_message(call));
}

void deliver_chare(PeObjects& objects, Delivery& call) {
  ChareRecord* record = objects.find_chare_record(call.element);
  if (!record) [[unlikely]]
    return chare_is_not_here(objects, call);
  call.object = object_for_entry(record->type, call.entry, record->object);
  call.owner = ThreadOwner::of_chare(call.element).key;
  objects.run_entry(call);
}
}  // namespace

void deliver(Pe& pe, Work& work) {
  PeObjects& objects = *pe.objects;
  Delivery call = delivery_of(work);
  if (!objects.started) [[unlikely]]
    return objects.start_gate->hold(call);
  deliver(objects, call);
}

namespace {
// True: it waits for a group.
PERIAPT_NOINLINE bool wait_for_group(PeObjects& objects, Delivery& call) {
  GroupRecord* const missing = missing_group(objects, call.message.envelope());
  if (missing) missing->waiting.push_back(keep(objects.pe, call));
  return missing != nullptr;
}

// One switch finds the receiver. Apart from deliver(), which so needs no registers of its own for a call to an element.
PERIAPT_NOINLINE void deliver_any(PeObjects& objects, Delivery& call) {
  switch (call.target) {
    case Target::array:
      return objects.wait_for_collection(call);  // deliver() has not found it
    case Target::broadcast:
      return deliver_broadcast(objects, call);
    case Target::section:
      return objects.sections->deliver(call);
    case Target::group:
      return deliver_group(objects, call);
    case Target::chare:
      return deliver_chare(objects, call);
    case Target::node_group:
      return node_groups().deliver(objects, call);
    case Target::runtime:
      return entry_info(call.entry).runtime(objects.pe, call);
    case Target::converse:
      return converse_deliver(objects.pe, std::move(call.message));
    case Target::none:
      return;
  }
}
}  // namespace

void deliver(PeObjects& objects, Delivery& call) {
  objects.pe.processed += is_counted(call);
  if (call.message && (call.message->flags & envelope_waits)) [[unlikely]] {
    if (wait_for_group(objects, call)) return;
  }
  if (call.target == Target::array) [[likely]] {
    if (ArrayManager* manager = find_array(objects, CkArrayID(CkGroupID{static_cast<int>(call.collection)}))) [[likely]]
      return manager->deliver(call);
  }
  deliver_any(objects, call);
}

void deliver_run(PeObjects& objects, std::uint64_t meta, std::uint32_t calls, std::span<const std::byte> bytes) {
  Work work;
  work.meta = meta;
  const std::size_t length = body_bytes(meta);
  const auto for_each = [&](auto&& deliver_one) {
    for (std::uint32_t i = 0; i < calls && !objects.pe.stopping(); ++i, bytes = bytes.subspan(length)) {
      constexpr std::size_t whole = sizeof(Work) - sizeof work.meta;
      if (bytes.size() >= whole) [[likely]]
        std::memcpy(&work.element, bytes.data(), whole);
      else
        std::memcpy(&work.element, bytes.data(), length);
      Delivery call = delivery_of(work);
      deliver_one(call);
    }
  };
  const EntryInfo& entry = entry_info(work.entry());
  const GroupRecord* const record =
      entry.target == Target::group ? objects.find_group(static_cast<int>(work.collection())) : nullptr;
  if (!record || !record->object) return for_each([&](Delivery& call) { deliver(objects, call); });
  // A member of a group is the same for all of them.
  void* const object = object_for_entry(record->type, work.entry(), record->object);
  for_each([&](Delivery& call) {
    objects.pe.processed += is_counted(call);
    call.object = object;
    objects.run_entry(call);
  });
}

}  // namespace periapt
