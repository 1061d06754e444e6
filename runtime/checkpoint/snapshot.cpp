// See snapshot.h.
#include "runtime/checkpoint/snapshot.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "base/fatal.h"
#include "base/log.h"
#include "runtime/array/array_manager.h"
#include "runtime/checkpoint/part_stream.h"
#include "runtime/face/kept_state.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/node_groups.h"
#include "runtime/pup/stl.h"
#include "runtime/registry/registered_text.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/sections.h"

namespace periapt::checkpoint {

std::string pe_part(int pe) { return "pe-" + std::to_string(pe); }
std::string process_part(int process) { return "process-" + std::to_string(process); }

bool is_mainchare(std::uint64_t serial) { return serial <= registry().mains.size(); }

namespace {

const char* class_name(int type) { return registry().chares[static_cast<std::size_t>(type)].name; }

PackPart part_at(const Destination& to, const std::string& name) {
  return PackPart(to.storage.place(to.number, name), seed_of(to.id, name));
}
// `needed`: bytes of records that other hosts need, from the beginning on.
WrittenPart finish(PackPart& part, std::size_t needed) {
  WrittenPart written;
  written.status = part.close();
  written.bytes = part.file_bytes();
  const std::uint64_t blocks =
      (written.bytes + block_bytes + sizeof(BlockHead) - 1) / (block_bytes + sizeof(BlockHead));
  // The head of the record behind them is read, too.
  written.first_blocks = std::min<std::uint64_t>((needed + sizeof(RecordHead)) / block_bytes + 1, blocks);
  return written;
}

// Once a class and process.
void warn_left_out(int type) {
  static std::mutex mutex;
  static std::set<int> warned;
  std::lock_guard lock(mutex);
  if (!warned.insert(type).second) return;
  log::warn(
      std::string("chare ") + class_name(type) +
      " is not in the checkpoint: it is not [migratable]. Declare it `[migratable]` in the .ci file, and give it a "
      "constructor from CkMigrateMessage* and a pup()");
}

void check_group(int type) {
  if (is_migratable(type)) return;
  fatal(std::string("group ") + class_name(type) + " cannot be written to a checkpoint: it is not [migratable]",
        "CkStartCheckpoint", "the runtime cannot make its members again without a migration constructor",
        std::string("declare it `group [migratable] ") + class_name(type) +
            "` in the .ci file, and give it a constructor " + class_name(type) + "(CkMigrateMessage*) and a pup()");
}

RecordHead head_of(RecordKind kind, int type, std::int64_t id) {
  RecordHead head;
  head.kind = kind;
  head.type = type;
  head.id = id;
  return head;
}

// --- elements --------------------------------------------------------------------------------------------------------

// The elements of arrays that are bound to each other, on one PE.
class Places {
 public:
  explicit Places(const ArrayManager& leader) : bound_(leader.bound()) {
    for (std::size_t i = 0; i < bound_.size(); ++i)
      for (ArrayElement* element : bound_[i]->elements()) {
        const std::uint64_t id = element->ckGetID();
        const bool listed = std::any_of(bound_.begin(), bound_.begin() + static_cast<std::ptrdiff_t>(i),
                                        [&](ArrayManager* array) { return array->find(id); });
        if (listed) continue;
        check_made(*bound_[i], id);
        ids_.push_back(id);
      }
  }

  void write(PackPart& part) {
    RecordHead head = head_of(RecordKind::places, bound_.front()->type(), bound_.front()->id().index());
    head.count = ids_.size();
    head.bytes = measure();
    part.begin_record(head);
    auto bytes = bytes_.begin();
    for (std::uint64_t id : ids_) {
      PlaceHead place{index_of(id), 0, 0};
      for (ArrayManager* array : bound_) place.members += array->find(id) != nullptr;
      part.bytes(&place, 1, sizeof place, PUP::Tbyte);
      for (ArrayManager* array : bound_)
        if (ArrayElement* element = array->find(id)) write_member(part, *array, *element, *bytes++);
    }
    part.end_record("elements");
  }

 private:
  static void check_made(const ArrayManager& array, std::uint64_t id) {
    if (!array.is_being_made(id)) return;
    fatal(array.describe(id) + " is not made yet, and cannot be written to a checkpoint", "a checkpoint is written",
          "its constructor, or that of one that is bound to it, runs the scheduler (CthYield(), CsdSchedulePoll()); "
          "quiescence does not wait for that",
          "ask for the checkpoint when the constructors have returned: let the elements contribute at their end");
  }
  CkArrayIndex index_of(std::uint64_t id) const {
    const auto has = std::find_if(bound_.begin(), bound_.end(), [&](ArrayManager* array) { return array->find(id); });
    return (*has)->index_of(id);
  }

  // Bytes of all; those of each element are remembered.
  std::uint64_t measure() {
    std::uint64_t total = ids_.size() * sizeof(PlaceHead);
    for (std::uint64_t id : ids_)
      for (ArrayManager* array : bound_)
        if (ArrayElement* element = array->find(id)) {
          PUP::sizer sizer(PUP::er::IS_CHECKPOINT);
          element->virtual_pup(sizer);
          bytes_.push_back(sizer.size());
          total += sizeof(MemberHead) + (waits(*element) ? sizeof(double) : 0) + sizer.size();
        }
    return total;
  }

  static bool waits(const ArrayElement& element) {
    const BalanceHook* const balance = PeObjects::current().balance;
    return balance != nullptr && balance->takes_part(element) && balance->waits(element);
  }

  static void write_member(PackPart& part, ArrayManager& array, ArrayElement& element, std::uint64_t bytes) {
    MemberHead member{array.id().index(), ArrayManager::contributions_of(&element), bytes, waits(element)};
    part.bytes(&member, 1, sizeof member, PUP::Tbyte);
    if (member.in_sync) {
      double seconds = PeObjects::current().balance->load(element);
      part.bytes(&seconds, 1, sizeof seconds, PUP::Tbyte);
    }
    const std::size_t begin = part.size();
    element.virtual_pup(part);
    if (part.size() - begin == bytes) return;
    fatal("pup() of " + array.describe(element.ckGetID()) + " packs " + std::to_string(part.size() - begin) +
              " bytes after sizing " + std::to_string(bytes),
          "a checkpoint is written", "pup() does something else when packing than when sizing",
          "pup the same members in both, whatever p.isSizing() says");
  }

  const std::vector<ArrayManager*>& bound_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> bytes_;
};

// --- the records of a PE ---------------------------------------------------------------------------------------------

// All collections have to be asked: those that others than PE 0 make have negative numbers.
int least_group(PeObjects& objects) {
  int least = 0;
  objects.for_each_group([&](int number, GroupRecord&) { least = std::min(least, number); });
  objects.for_each_array(
      [&](ArrayPart& array) { least = std::min(least, static_cast<ArrayManager&>(array).id().index()); });
  node_groups().for_each(
      [&](int number, int, NodeGroup&, Reduction&, std::uint32_t) { least = std::min(least, number); });
  return least;
}

void write_collections(PackPart& part, PeObjects& objects) {
  const auto write_reduction = [&](int number, Reduction& reduction) {
    Reduction::State state = reduction.state();
    part.record(head_of(RecordKind::reduction, -1, number), "a reduction", [&](PUP::er& p) { p | state; });
  };
  objects.for_each_group([&](int number, GroupRecord& record) { write_reduction(number, *record.reduction); });
  objects.for_each_array([&](ArrayPart& found) {
    auto& array = static_cast<ArrayManager&>(found);
    write_reduction(array.id().index(), array.reduction());
    ArrayDefinition definition{array.options_with_listeners(), array.inserting()};
    part.record(head_of(RecordKind::array, array.type(), array.id().index()), "an array",
                [&](PUP::er& p) { p | definition; });
  });
}

void write_chare(PackPart& part, RecordKind kind, std::uint64_t serial, ChareRecord& record) {
  if (!is_migratable(record.type) || !record.base) return warn_left_out(record.type);
  part.record(head_of(kind, record.type, static_cast<std::int64_t>(serial)),
              std::string("chare ") + class_name(record.type), [&](PUP::er& p) { record.base->virtual_pup(p); });
}

void write_group(PackPart& part, int number, GroupRecord& record) {
  check_group(record.type);
  part.record(head_of(RecordKind::group, record.type, number), std::string("group ") + class_name(record.type),
              [&](PUP::er& p) {
                p | PeObjects::contributions_of(*static_cast<Group*>(record.base));
                record.base->virtual_pup(p);
              });
}
}  // namespace

WrittenPart write_pe(PeObjects& objects, const Destination& to) {
  PackPart part = part_at(to, pe_part(objects.pe.index));
  Numbers numbers{objects.chares_made(), objects.sections->made(), objects.groups_made(), least_group(objects)};
  part.record(head_of(RecordKind::numbers, -1, 0), "numbers", [&](PUP::er& p) { p | numbers; });
  write_collections(part, objects);
  const std::size_t needed = part.size();
  objects.for_each_chare([&](std::uint64_t serial, ChareRecord& record) {
    if (!is_mainchare(serial)) write_chare(part, RecordKind::chare, serial, record);
  });
  objects.for_each_group([&](int number, GroupRecord& record) { write_group(part, number, record); });
  RecordHead futures = head_of(RecordKind::futures, -1, 0);
  futures.count = objects.futures->kept();
  part.record(futures, "futures", [&](PUP::er& p) { objects.futures->pup(p); });
  objects.for_each_array([&](ArrayPart& found) {
    auto& array = static_cast<ArrayManager&>(found);
    if (array.bound().front() == &array) Places(array).write(part);
  });
  return finish(part, needed);
}

WrittenPart write_process(PeObjects& objects, const Destination& to) {
  PackPart part = part_at(to, process_part(objects.pe.process.rank()));
  node_groups().for_each(
      [&](int number, int type, NodeGroup& member, Reduction& reduction, std::uint32_t contributions) {
        check_group(type);
        Reduction::State state = reduction.state();
        part.record(head_of(RecordKind::node_group, type, number), std::string("node group ") + class_name(type),
                    [&](PUP::er& p) {
                      p | contributions;
                      p | state;
                      member.virtual_pup(p);
                    });
      });
  return finish(part, part.size());
}

WrittenPart write_program(PeObjects& objects, const Destination& to, Afterwards afterwards) {
  PackPart part = part_at(to, program_part);
  std::string registered = registered_text();
  part.record(head_of(RecordKind::registered, -1, 0), "names", [&](PUP::er& p) { p | registered; });
  part.record(head_of(RecordKind::readonlys, -1, 0), "readonlys", [](PUP::er& p) {
    for (const ReadonlyInfo& readonly : registry().readonlys) readonly.pup(&p, readonly.address);
  });
  part.record(head_of(RecordKind::callback, -1, 0), "the callback", [&](PUP::er& p) { p | afterwards; });
  std::map<std::string, std::string> kept = bytes_of_kept_states(to.storage.place(to.number, program_part).memory);
  part.record(head_of(RecordKind::kept, -1, 0), "what parts of the runtime keep", [&](PUP::er& p) { p | kept; });
  for (std::uint64_t serial = 1; serial <= registry().mains.size(); ++serial)
    if (ChareRecord* record = objects.find_chare_record(serial))
      write_chare(part, RecordKind::mainchare, serial, *record);
  return finish(part, part.size());
}

}  // namespace periapt::checkpoint
