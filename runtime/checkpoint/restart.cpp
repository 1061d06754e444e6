// See restart.h.
#include "runtime/checkpoint/restart.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "base/log.h"
#include "base/program.h"
#include "runtime/array/array_manager.h"
#include "runtime/checkpoint/blocks.h"
#include "runtime/face/kept_state.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/node_groups.h"
#include "runtime/pup/stl.h"
#include "runtime/registry/c_calls.h"
#include "runtime/registry/registered_text.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/sections.h"

namespace periapt::checkpoint {

namespace {
CkArgMsg* arguments_of_program() {
  auto* arguments = new CkArgMsg;
  arguments->argc = CkGetArgc();
  arguments->argv = CkGetArgv();
  return arguments;
}

std::string describe(const RecordHead& head) {
  return std::string(name_of(head.kind)) + " " + registry().chares[static_cast<std::size_t>(head.type)].name;
}
}  // namespace

Restart::Restart(PeObjects& objects, const Storage& storage) : objects_(objects), pe_(objects.pe), storage_(storage) {
  Result<Manifest> manifest = storage.manifest();
  if (!manifest) refuse(manifest.message());
  manifest_ = std::move(*manifest);
}

void Restart::refuse(const std::string& why) const {
  checkpoint::refuse(storage_.place(manifest_.number, program_part), why);
}

bool Restart::same_pes() const { return manifest_.pes == pe_.process.pes(); }

std::unique_ptr<UnpackPart> Restart::open(const std::string& name) const {
  const Manifest::Part* part = manifest_.find(name);
  if (!part) refuse("its manifest names no part " + name);
  return std::make_unique<UnpackPart>(storage_.place(manifest_.number, name), part->bytes, seed_of(manifest_.id, name));
}

// --- once a process --------------------------------------------------------------------------------------------------

void Restart::check_program(UnpackPart& in) const {
  const std::string here = registered_text();
  if (identity_of(here) == manifest_.identity) return;
  std::string written;
  in | written;
  refuse("it was written by another program, " + manifest_.program + ": " + first_difference(written, here));
}

Afterwards Restart::restore_program() {
  Afterwards afterwards;
  continue_numbers();  // sections among the readonlys get new ones
  const auto in = open(program_part);
  for (RecordHead head = in->next(); head.kind != RecordKind::end; head = in->next()) {
    if (head.kind == RecordKind::registered) check_program(*in);
    if (head.kind == RecordKind::readonlys)
      for (const ReadonlyInfo& readonly : registry().readonlys)
        readonly.pup(static_cast<PUP::er*>(in.get()), readonly.address);
    if (head.kind == RecordKind::callback) *in | afterwards;
    if (pe_.index != 0) continue;
    if (head.kind == RecordKind::kept) {
      std::map<std::string, std::string> kept;
      *in | kept;
      give_kept_states_back(kept);
    }
    if (head.kind != RecordKind::mainchare) continue;
    migration_message = arguments_of_program();
    restore_chare(*in, head);
    migration_message = nullptr;
  }
  return afterwards;
}

// --- once a PE -------------------------------------------------------------------------------------------------------

// The reductions of a part, for the root of their trees.
void Restart::add_reductions(int part) {
  const auto in = open(pe_part(part));
  for (RecordHead head = in->next();
       head.kind == RecordKind::numbers || head.kind == RecordKind::reduction || head.kind == RecordKind::array;
       head = in->next()) {
    if (head.kind != RecordKind::reduction) continue;
    Reduction::State state;
    *in | state;
    auto& rounds = reductions_[static_cast<int>(head.id)].rounds;
    rounds.insert(rounds.end(), state.rounds.begin(), state.rounds.end());
  }
}

// From PE 0's part, which has all collections, and as the root knows them.
void Restart::read_definitions() {
  const auto in = open(pe_part(0));
  for (RecordHead head = in->next(); head.kind != RecordKind::end; head = in->next()) {
    const int number = static_cast<int>(head.id);
    if (head.kind == RecordKind::reduction) {
      *in | reductions_[number];
    } else if (head.kind == RecordKind::array) {
      Definition& definition = arrays_[number];
      definition.type = head.type;
      *in | definition.array;
    } else if (head.kind != RecordKind::numbers) {
      break;
    }
  }
}

// Listeners of arrays know of the elements of their PE, as members of groups know of what is theirs.
void Restart::read_listeners() {
  if (!same_pes() || pe_.index == 0) return;
  if (std::none_of(arrays_.begin(), arrays_.end(),
                   [](const auto& a) { return a.second.array.options.getListeners() > 0; }))
    return;
  const auto in = open(pe_part(pe_.index));
  for (RecordHead head = in->next();
       head.kind == RecordKind::numbers || head.kind == RecordKind::reduction || head.kind == RecordKind::array;
       head = in->next())
    if (head.kind == RecordKind::array) {
      ArrayDefinition own;
      *in | own;
      arrays_[static_cast<int>(head.id)].array = own;
    }
}

// Numbers of what this PE makes go on behind those of the PE that had its number.
void Restart::continue_numbers() {
  const auto in = open(pe_part(pe_.index < manifest_.pes ? pe_.index : 0));
  if (in->next().kind != RecordKind::numbers) refuse("a part in it does not begin with numbers");
  Numbers numbers;
  *in | numbers;
  // A collection that another PE than 0 makes has a number that depends on the number of PEs.
  const int behind_all = -numbers.least_group / pe_.process.pes() + 1;
  objects_.continue_numbers(numbers.chares, pe_.index == 0 ? numbers.groups : std::max(numbers.groups, behind_all));
  objects_.sections->continue_numbers(numbers.sections);
}

void Restart::restore() {
  read_definitions();
  read_listeners();
  if (pe_.index == 0)
    for (int part = 1; part < manifest_.pes; ++part) add_reductions(part);
  if (pe_.rank != 0) continue_numbers();
  restore_objects(*open(pe_part(same_pes() ? pe_.index : 0)));
  if (pe_.rank == 0) restore_node_groups();
  make_arrays();
  for (const Share& share : shares()) restore_elements(share);
  for (ArrayManager* array : made_) array->remade();
  for (ArrayManager* array : made_) array->ready();
}

void Restart::restore_objects(UnpackPart& in) {
  for (RecordHead head = in.next(); head.kind != RecordKind::end; head = in.next()) {
    if (head.kind == RecordKind::places) return;
    if (head.kind == RecordKind::chare && same_pes()) restore_chare(in, head);
    if (head.kind == RecordKind::group) restore_group(in, head);
  }
}

void Restart::restore_chare(UnpackPart& in, const RecordHead& head) {
  Chare& chare = objects_.remake_chare(static_cast<std::uint64_t>(head.id), head.type);
  const std::size_t begin = in.size();
  chare.virtual_pup(in);
  in.check_taken(begin, head.bytes, describe(head));
  objects_.tell_maker(static_cast<std::uint64_t>(head.id));  // whose handles may be of a seed
}

void Restart::restore_group(UnpackPart& in, const RecordHead& head) {
  const int number = static_cast<int>(head.id);
  const std::size_t begin = in.size();
  std::uint32_t contributions = 0;
  in | contributions;
  Reduction::State state = reductions_[number];
  if (!same_pes()) state = {contributions, 0, state.client, {}};
  GroupRecord& record = objects_.remake_group(CkGroupID{number}, head.type, state, contributions, same_pes());
  IrrGroup* const base = record.base;
  base->virtual_pup(in);
  in.check_taken(begin, head.bytes, describe(head));
  objects_.group_ready(CkGroupID{number});
}

// --- node groups -----------------------------------------------------------------------------------------------------

// With the rounds that all processes know of, for the root.
Reduction::State Restart::node_group_reduction(int number) const {
  Reduction::State whole;
  for (int process = 0; process < (pe_.index == 0 ? manifest_.processes : 1); ++process) {
    const auto in = open(process_part(process));
    for (RecordHead head = in->next(); head.kind != RecordKind::end; head = in->next()) {
      if (head.id != number) continue;
      std::uint32_t contributions;
      Reduction::State state;
      *in | contributions;
      *in | state;
      if (process == 0)
        whole = std::move(state);
      else
        whole.rounds.insert(whole.rounds.end(), state.rounds.begin(), state.rounds.end());
    }
  }
  return whole;
}

void Restart::restore_node_groups() {
  const bool same = manifest_.processes == pe_.process.count();
  const auto in = open(process_part(same ? pe_.process.rank() : 0));
  for (RecordHead head = in->next(); head.kind != RecordKind::end; head = in->next()) {
    if (head.kind != RecordKind::node_group) continue;
    const std::size_t begin = in->size();
    std::uint32_t contributions;
    Reduction::State own;
    *in | contributions;
    *in | own;
    const Reduction::State whole =
        same ? node_group_reduction(static_cast<int>(head.id)) : Reduction::State{contributions, 0, own.client, {}};
    node_groups().remake(objects_, CkGroupID{static_cast<int>(head.id)}, head.type, whole, contributions, same,
                         [&](NodeGroup& member) { member.virtual_pup(*in); });
    in->check_taken(begin, head.bytes, describe(head));
  }
}

// --- arrays ----------------------------------------------------------------------------------------------------------

bool Restart::make_array(int number, const Definition& definition) {
  const CkArrayOptions& options = definition.array.options;
  if (!options.getBoundTo().isZero() && !objects_.array(options.getBoundTo())) return false;
  ArrayManager& array = ArrayManager::remake(objects_, CkArrayID(CkGroupID{number}), definition.type, options,
                                             definition.array.inserting);
  array.reduction().resume(reductions_[number]);
  made_.push_back(&array);
  return true;
}

// What an array is bound to comes before it, whatever their numbers are.
void Restart::make_arrays() {
  while (!arrays_.empty()) {
    const std::size_t before = arrays_.size();
    for (auto next = arrays_.begin(); next != arrays_.end();)
      next = make_array(next->first, next->second) ? arrays_.erase(next) : std::next(next);
    if (arrays_.size() == before) refuse("an array in it is bound to one that is not there");
  }
}

std::vector<Restart::Share> Restart::shares() const {
  const int pes = pe_.process.pes();
  std::vector<Share> all;
  for (int part = pe_.index; part < manifest_.pes; part += pes) all.push_back({part, 0, 1});
  // More PEs than parts: those with the same remainder share one.
  if (pes > manifest_.pes) {
    const int part = pe_.index % manifest_.pes;
    all = {{part, pe_.index / manifest_.pes, (pes - part - 1) / manifest_.pes + 1}};
  }
  return all;
}

void Restart::restore_elements(const Share& share) {
  const auto in = open(pe_part(share.part));
  for (RecordHead head = in->next(); head.kind != RecordKind::end; head = in->next()) {
    if (head.kind == RecordKind::futures && share.share == 0) restore_futures(*in, head, share);
    if (head.kind == RecordKind::places) restore_places(*in, head, share);
  }
}

// A future belongs to its PE.
void Restart::restore_futures(UnpackPart& in, const RecordHead& head, const Share& share) {
  if (share.part == pe_.index) {
    objects_.futures->pup(in);
  } else if (head.count > 0) {
    log::warn(std::to_string(head.count) + " futures of PE " + std::to_string(share.part) +
              " are not there any more: the run has fewer PEs than the checkpoint");
  }
}

void Restart::restore_places(UnpackPart& in, const RecordHead& head, const Share& share) {
  const std::uint64_t first =
      head.count * static_cast<std::uint64_t>(share.share) / static_cast<std::uint64_t>(share.shares);
  const std::uint64_t end =
      head.count * static_cast<std::uint64_t>(share.share + 1) / static_cast<std::uint64_t>(share.shares);
  for (ArrayManager* array : find_array(objects_, CkArrayID(CkGroupID{static_cast<int>(head.id)}))->bound())
    array->expect(array->size() + (end - first));
  for (std::uint64_t i = 0; i < end; ++i) {
    PlaceHead place;
    in.bytes(&place, 1, sizeof place, PUP::Tbyte);
    for (std::uint32_t k = 0; k < place.members; ++k) {
      MemberHead member;
      in.bytes(&member, 1, sizeof member, PUP::Tbyte);
      if (i < first)
        in.pass_over(member.bytes + (member.in_sync ? sizeof(double) : 0));
      else
        restore_member(in, place.index.asChild(), member);
    }
  }
}

void Restart::restore_member(UnpackPart& in, const CkArrayIndex& index, const MemberHead& member) {
  ArrayManager* array = find_array(objects_, CkArrayID(CkGroupID{member.array}));
  if (!array) refuse("an element in it is of an array that is not there");
  ArrayElement* element = array->remake(index, member.contributions);
  double seconds = 0;
  if (member.in_sync) in.bytes(&seconds, 1, sizeof seconds, PUP::Tbyte);
  const std::size_t begin = in.size();
  element->virtual_pup(in);
  in.check_taken(begin, member.bytes, array->describe(array->id_of(index)));
  if (member.in_sync && objects_.balance && objects_.balance->takes_part(*element))
    objects_.balance->waits_again(*element, seconds);
}

}  // namespace periapt::checkpoint
