// Start of a program.
//
// Every process registers the same things in the same order. PE 0 then runs the constructors of the mainchares. What
// they set and made is there on every other PE before anything else runs there (start_gate.h).
#include "runtime/face/startup.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fatal.h"
#include "base/log.h"
#include "machine/sim/machine.h"
#include "runtime/aggregation/aggregation.h"
#include "runtime/api/invoke.h"
#include "runtime/api/reduction_message.h"
#include "runtime/array/array_locations.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/built_in_maps.h"
#include "runtime/collective/quiescence.h"
#include "runtime/entry/creation.h"
#include "runtime/entry/dispatch.h"
#include "runtime/entry/start_gate.h"
#include "runtime/face/charm_options.h"
#include "runtime/face/crash.h"
#include "runtime/face/exit.h"
#include "runtime/face/stepped.h"
#include "runtime/face/watchdog.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/node_groups.h"
#include "runtime/objects/protocols.h"
#include "runtime/objects/shown_branches.h"
#include "runtime/pup/failing.h"
#include "runtime/scheduler/misspelt.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/multicast_manager.h"
#include "runtime/sections/sections.h"
#include "runtime/seeds/policies.h"
#include "runtime/zero_copy/zero_copy_entries.h"
#include "runtime/zero_copy/zero_copy_parts.h"

// What charmc's link step writes: registers the -module libraries.
void _registerExternalModules(char** argv) __attribute__((weak));
// What a program may define.
extern "C" void setDefaultPartitionParams(void) __attribute__((weak));

int CkIndex_Chare::__idx, CkIndex_Group::__idx, CkIndex_NodeGroup::__idx, CkIndex_ArrayBase::__idx,
    CkIndex_ArrayElement::__idx, CkIndex_CkArrayMap::__idx;
int CMessage_CkArrayCreatedMsg::__idx;

namespace periapt {

void register_callback_entries();

namespace {

char** the_argv;
std::vector<Part> the_parts;
bool begun_by_part;  // on PE 0, from a checkpoint
// Initnode and initproc functions of the program itself, without those of -module libraries: these begin no program.
std::size_t own_init_calls;

void register_core() {
  CMessage_CkMessage::__idx = CkRegisterMsg("CkMessage", nullptr, nullptr, nullptr, 0);
  CMessage_CkArgMsg::__idx = CkRegisterMsg("CkArgMsg", nullptr, nullptr, nullptr, sizeof(CkArgMsg));
  CMessage_CkMarshallMsg::__idx = CkMarshallMsg::__idx = CkRegisterMsg("CkMarshallMsg", nullptr, nullptr, nullptr, 0);
  CkMarshallMsg::register_own();
  CMessage_CkArrayCreatedMsg::__idx =
      CkRegisterMsg("CkArrayCreatedMsg", nullptr, nullptr, nullptr, sizeof(CkArrayCreatedMsg));
  CMessage_CkDataMsg::__idx = CkRegisterMsg("CkDataMsg", nullptr, nullptr, nullptr, 0);
  CMessage_CkReductionMsg::__idx = CkRegisterMsg("CkReductionMsg", nullptr, nullptr, nullptr, 0);
  CkIndex_Chare::__idx = CkRegisterChare("Chare", sizeof(Chare), TypeChare);
  CkIndex_Group::__idx = CkRegisterChare("Group", sizeof(Group), TypeGroup);
  CkIndex_NodeGroup::__idx = CkRegisterChare("NodeGroup", sizeof(NodeGroup), TypeNodeGroup);
  CkIndex_ArrayBase::__idx = CkIndex_ArrayElement::__idx =
      CkRegisterChare("ArrayElement", sizeof(ArrayElement), TypeArray);
  register_array_locations();
  CkIndex_CkArrayMap::__idx = CkRegisterChare("CkArrayMap", sizeof(CkArrayMap), TypeGroup);
  register_built_in_maps();
  ArrayManager::register_entries();
  Sections::register_entries();
  CkMulticastMgr::register_class();
  register_aggregation_entries();
  Futures::register_entries();
  PeProtocols::register_entries();
  Watchdog::register_entries();
  StartGate::register_entries();
  register_creation_entries();
  PeObjects::register_entries();
  register_callback_entries();
  zero_copy::register_entries();
  zero_copy::register_post_entries();
}

// --- start -----------------------------------------------------------------------------------------------------------

CkArgMsg* argument_message() {
  auto* arguments = new CkArgMsg;
  arguments->argc = CkGetArgc();
  arguments->argv = the_argv;
  return arguments;
}

}  // namespace

void make_mainchares(Pe& pe) {
  PeObjects& objects = *pe.objects;
  objects.started = true;
  // The first numbers are theirs, whatever their constructors make: see main_chare().
  std::vector<std::uint64_t> serials;
  for (std::size_t i = 0; i < registry().mains.size(); ++i) serials.push_back(objects.new_chare_serial());
  for (std::size_t i = 0; i < registry().mains.size(); ++i) {
    const MainChareInfo& main = registry().mains[i];
    Message message = Message::from_payload(argument_message());
    message->message_type = static_cast<std::uint16_t>(CMessage_CkArgMsg::__idx);
    objects.create_chare(serials[i], main.chare, main.constructor, std::move(message));
  }
}

void refuse_simulation(const Pe& pe, const char* function) {
  if (!pe.process.is_simulated()) return;
  fatal("a program with a main() of its own cannot run on a simulated machine", function,
        "one main() cannot be that of all the processes that are simulated in this one", "run it without +sim");
}

void begin_program(Pe& pe) {
  if (!begun_by_part && !pe.objects->started) {
    // What an initproc sends may begin the program, too.
    if (registry().mains.empty() && own_init_calls == 0)
      fatal("the program has no mainchare", "", "no mainmodule was linked, or it declares none, and no initproc",
            "declare `mainchare Main { entry Main(CkArgMsg*); };` in the mainmodule");
    make_mainchares(pe);
    StartGate::announce(*pe.objects);
  }
  program_has_begun();
  pe.objects->watchdog->start();
}

namespace {

void begin(Pe& pe) {
  give_crash_stack();
  pe.objects = new PeObjects(pe);
  pe.objects->sections = std::make_shared<Sections>(*pe.objects);
  pe.objects->start_gate = std::make_shared<StartGate>(*pe.objects);
  pe.objects->watchdog = std::make_shared<Watchdog>(*pe.objects);
  pe.conditions.set_epoch_ns(0);
  begin_aggregation(pe);
  for (const Part& part : the_parts)
    if (part.begin) part.begin(pe);
  seeds::begin(pe);
  for (const Registry::InitCall& call : registry().init_calls)
    if (call.per_pe) call.function();
  if (pe.index == 0) begun_by_part = false;
  for (const Part& part : the_parts)
    if (part.start && part.start(pe) && pe.index == 0) begun_by_part = true;
  if (pe.index == 0) begin_program(pe);
}

void end_parts(Pe& pe) {
  for (const Part& part : the_parts)
    if (part.end) part.end(pe);
}

std::string place() {
  Pe* pe = Pe::current();
  if (!pe) return "";
  std::string text = "PE " + std::to_string(pe->index);
  if (pe->process.count() > 1) text += ", process " + std::to_string(pe->process.rank());
  const MachineLayer& layer = pe->process.layer();
  if (layer.partitions().count() > 1) text += ", partition " + std::to_string(layer.partition());
  return text;
}

}  // namespace

namespace {
bool is_balancing(const Work& work);

// Whether what fails reads the arguments of a reduction's target; the target itself may unpack other bytes.
bool unpacks_result(const Delivery* call) {
  if (!call || call->target == Target::runtime || call->target == Target::converse ||
      std::strncmp(entry_name(call->entry), "redn_wrapper_", 13) != 0)
    return false;
  const auto* from = dynamic_cast<const PUP::mem*>(PUP::detail::failing());
  std::size_t size = 0;
  return from && from->get_orig_pointer() == reduction_data(call->arguments, size);
}

// A program that packs and unpacks wrongly ends as one that makes any other mistake.
void on_pup_error(const PUP::error& e) {
  Pe* pe = Pe::current();
  if (pe && e.why == PUP::error::kind::overrun && unpacks_result(pe->running))
    fatal("the result of a reduction is too short for the entry that takes it", describe_running(*pe),
          "it has " + std::to_string(e.limit) + " bytes, and from byte " + std::to_string(e.offset) + " on " +
              std::to_string(e.needed) + " are those of a value of type " + e.type,
          "give contribute() as many values as the entry has parameters, of the same types: "
          "contribute(callback) has none");
  fatal(e.what(), pe ? describe_running(*pe) : "", "",
        "let pup() visit the same members in the same order, whatever it is called for");
}

bool is_registering = false;

void register_everything(char** argv, void (*register_main_module)(), std::vector<Part> parts) {
  the_parts = std::move(parts);
  set_place_hook(place);
  set_fatal_exit_hook(Process::abort_run);
  register_core();
  register_exit_entries(end_parts);
  for (const Part& part : the_parts)
    if (part.register_entries) part.register_entries();
  is_registering = true;  // until the initnode functions have run
  register_main_module();
  own_init_calls = registry().init_calls.size();
  if (_registerExternalModules) _registerExternalModules(argv);
  PUP::set_error_handler(on_pup_error);
  Pe::dispatch = deliver;
  Pe::describe = describe_running;
  Pe::is_balancing = is_balancing;
  Pe::for_other_host = packed_for_other_host;
}

void run_init_calls() {
  // By number: a program may register more modules from such a function.
  for (std::size_t i = 0; i < registry().init_calls.size(); ++i) {
    const Registry::InitCall call = registry().init_calls[i];
    if (!call.per_pe) call.function();
  }
  is_registering = false;
}

bool is_balancing(const Work& work) {
  if (work.kind() == WorkKind::thread) return false;
  if (work.kind() != WorkKind::message) return entry_info(work.entry()).flags & ep_balancing;
  const Envelope& message = *work.message();  // another target's entry may be no number of the entry table
  return message.target == Target::runtime && entry_info(message.entry).flags & ep_balancing;
}
}  // namespace

bool registers() { return is_registering; }

Process& start_stepped(const bootstrap::HostLayout& layout, int argc, char** argv, void (*register_main_module)(),
                       std::vector<Part> parts) {
  register_everything(argv, register_main_module, std::move(parts));
  for (const Part& part : the_parts)
    if (part.take_options) part.take_options(argv);
  seeds::take_option(argv);
  Watchdog::switch_off();
  auto* process = new Process(layout);
  the_argv = argv;
  run_init_calls();
  process->begin_stepped({.begin = begin});
  return *process;
}

int run_program(int argc, char** argv, void (*register_main_module)(), std::vector<Part> parts) {
  register_everything(argv, register_main_module, std::move(parts));
  MachineLayer::expect_start();
  for (const Part& part : the_parts)
    if (part.take_options) part.take_options(argv);
  seeds::take_option(argv);
  Watchdog::take_option(argv);
  take_charm_options(argv);
  if (setDefaultPartitionParams) setDefaultPartitionParams();
  argc = CmiGetArgc(argv);

  auto* process = new Process(argc, argv);
  MachineLayer& layer = process->layer();
  if (process->is_simulated()) Watchdog::switch_off();  // a standstill is seen at once: nothing is left to happen
  if (layer.partitions().count() > 1) Watchdog::switch_off();  // what goes on may come from another one
  for (argc = 0; argv[argc];) ++argc;
  the_argv = argv;
  catch_crashes();
  if (process->is_simulated()) {
    log::note(layer.simulated()->describe());
  } else if (process->rank() == 0 && layer.partition() == 0) {
    const std::string partitions = layer.partitions().count() > 1 ? ", " + layer.partitions().describe() : "";
    log::note(layer.whole_run().describe() + partitions);
  }
  run_init_calls();
  if (process->rank() == 0 && layer.partition() == 0) warn_of_misspelt_options(argv);
  ProcessHooks hooks{.begin = begin, .explain = [](Pe& pe) { return Watchdog::explain(*pe.objects); }};
  for (const Part& part : the_parts)
    if (part.left) hooks.left = part.left;
  process->run(std::move(hooks));
}

}  // namespace periapt

using periapt::Pe;
using periapt::PeObjects;

int CkGetArgc() {  // what CmiGetArg*() takes is gone from it
  int count = 0;
  while (periapt::the_argv[count] != nullptr) ++count;
  return count;
}
char** CkGetArgv() { return periapt::the_argv; }
// The number of an array is that of its location manager too.
void* CkLocalBranch(CkGroupID group) {
  CkArray* const array = CkArrayID(group).ckLocalBranch();
  return array ? array : periapt::local_branch(group);
}
void* CkLocalBranchOther(CkGroupID group, int rank) {
  const Pe& here = *Pe::current();
  if (rank < 0 || rank >= here.process.own_pes())
    periapt::fatal("CkLocalBranchOther() is asked for rank " + std::to_string(rank), describe_running(here),
                   "the ranks of this process are 0 to " + std::to_string(here.process.own_pes() - 1),
                   "give it the rank of a PE, which is CkRankOf(pe), of this process");
  return rank == here.rank ? CkLocalBranch(group) : periapt::shown_branch(here, rank, group.idx);
}
CkArray* CkArrayID::ckLocalBranchOther(int rank) const {
  return static_cast<CkArray*>(::CkLocalBranchOther(group_, rank));
}
void* CkLocalNodeBranch(CkGroupID group) { return periapt::local_node_branch(group); }
void* CkLocalChare(const CkChareID* chare) { return periapt::local_chare(*chare); }
