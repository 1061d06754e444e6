// See creation.h.
#include "runtime/entry/creation.h"

#include "base/fatal.h"
#include "runtime/objects/announce.h"
#include "runtime/objects/node_groups.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/seeds/policies.h"
#include "runtime/seeds/pool.h"

namespace periapt {

namespace {
int entry_new_chare, entry_new_group, entry_new_node_group;
// Creation messages keep their envelope and carry type and constructor in fields that are free then.
Message creation(Message message, int entry, int type, int ep, std::uint32_t collection, std::uint64_t element) {
  address(message, Target::runtime, entry, collection, element);
  message->extra = static_cast<std::uint32_t>(type) << 16 | static_cast<std::uint32_t>(ep);
  return message;
}
// What is to be made, of a creation message.
struct Made {
  int type, constructor;
  explicit Made(const Delivery& call)
      : type(static_cast<int>(call.message->extra >> 16)), constructor(static_cast<int>(call.message->extra & 65535)) {}
};
}  // namespace

void register_creation_entries() {
  entry_new_chare = register_runtime_entry("new chare", [](Pe& pe, Delivery& call) {
    const Made made(call);
    const bool came = seeds::Pool::has_moved(*call.message.envelope());
    pe.objects->create_chare(call.element, made.type, made.constructor, std::move(call.message), came);
  });
  seeds::Pool::register_entries(entry_new_chare);
  entry_new_group = register_runtime_entry(
      "new group",
      [](Pe& pe, Delivery& call) {
        const Made made(call);
        pe.objects->create_group(CkGroupID{static_cast<int>(call.collection)}, made.type, made.constructor,
                                 std::move(call.message));
      },
      ep_creation);
  entry_new_node_group = register_runtime_entry(
      "new node group",
      [](Pe& pe, Delivery& call) {
        if (pe.rank != 0) return;
        const Made made(call);
        node_groups().create(*pe.objects, CkGroupID{static_cast<int>(call.collection)}, made.type, made.constructor,
                             std::move(call.message));
      },
      ep_creation);
}

bool makes_node_group(const Envelope* envelope) {
  return envelope->target == Target::runtime && envelope->entry == entry_new_node_group;
}

namespace {
// A group is made on all other PEs.
void tell_others(Pe& pe, Message& message, int entry, int type, int ep, CkGroupID id) {
  if (pe.process.pes() == 1) return;
  pack(message);
  Message news = creation(message.copy(), entry, type, ep, static_cast<std::uint32_t>(id.idx), 0);
  announce(pe, news);
}
}  // namespace

CkGroupID new_group(int type, int ep, void* payload) {
  PeObjects& objects = PeObjects::current();
  const CkGroupID id = objects.new_group_id();
  Message message = given_away(payload);
  tell_others(objects.pe, message, entry_new_group, type, ep, id);
  objects.create_group(id, type, ep, std::move(message));
  return id;
}

CkGroupID new_node_group(int type, int ep, void* payload) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  const CkGroupID id = objects.new_group_id();
  Message message = given_away(payload);
  tell_others(pe, message, entry_new_node_group, type, ep, id);
  if (pe.rank == 0) node_groups().create(objects, id, type, ep, std::move(message));
  return id;
}

CkChareID new_chare(int type, int ep, int to, void* payload) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  const int pes = pe.process.pes();
  const bool anywhere = to == CK_PE_ANY || to == CK_PE_ALL;
  if (anywhere) to = seeds::first_place(pe);
  if (to < 0 || to >= pes) bad_pe(to, "PE", ep);
  const CkChareID id{to, objects.new_chare_serial()};
  Message argument = given_away(payload);
  pack_for(pe, to, argument);
  Message message = creation(std::move(argument), entry_new_chare, type, ep, 0, id.serial);
  note_created(pe, to, ep, message->size);
  if (anywhere && objects.seeds)
    objects.seeds->put(std::move(message));
  else
    send_to(pe, to, std::move(message));
  return id;
}

}  // namespace periapt
