// Shrinking and expanding a run, as a client asks with Charm++'s request, set_bitmap (docs/checkpoints.md).
//
// PE 0 takes the request and tells the load balancer. When all elements wait in AtSync next, the balancer holds them
// there and calls back; PE 0 has a checkpoint written, says to what starts the run again how it is to begin
// (machine/bootstrap/resized_start.h), answers the client and ends this start. The elements come back where they wait
// in AtSync, so that the next start begins with a balancing over the PEs that it has, and a ResumeFromSync.
//
// Where there is no checkpoint the run goes on as it was, and the client gets the reason.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "machine/bootstrap/resized_start.h"
#include "runtime/ccs/ccs.h"
#include "runtime/ccs/part.h"
#include "runtime/checkpoint/checkpoints.h"
#include "runtime/face/startup.h"
#include "runtime/face/user_driven.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/resize/part.h"
#include "runtime/scheduler/arguments.h"
#include "runtime/scheduler/process.h"

namespace periapt::resize {
namespace {

using bootstrap::ResizedStart;
using checkpoint::Checkpoints;

int entry_request, entry_all_wait;
std::string base_folder = ".";  // +shrinkexpand_basedir

// What a client wants; on PE 0.
struct Wanted {
  CcsDelayedReply reply;
  int pes;
};
std::optional<Wanted> wanted;

void refuse(CcsDelayedReply reply, const std::string& why) {
  const std::string text = "the run keeps its PEs: " + why;
  log::warn("set_bitmap: " + text);
  CcsSendDelayedReply(reply, static_cast<int>(text.size()) + 1, text.c_str());
}

// 0: all PEs are of one process, whose number of threads is another one then.
int pes_a_process(const Pe& pe) {
  if (const ResizedStart* const start = ResizedStart::current()) return start->pes_a_process;
  const int processes = pe.process.count();
  return processes > 1 || !pe.process.layer().resizes_in_memory() ? pe.process.pes() / processes : 0;
}

// The bytes of a request: one a PE, 1 where it stays, and the number of PEs as an int of this machine. What may stand
// behind it means nothing.
std::string read(const Pe& pe, const std::string& bytes, int* pes) {
  const auto now = static_cast<std::size_t>(pe.process.pes());
  if (bytes.size() < now + sizeof *pes || bytes.size() > now + sizeof *pes + 1)
    return fmt::format("a request has a byte for each of the {} PEs and an int, and this one has {} bytes", now,
                       bytes.size());
  std::memcpy(pes, bytes.data() + now, sizeof *pes);
  if (*pes < 1 || *pes > bootstrap::kMaxPes)
    return fmt::format("{} PEs are asked for, which can be 1 to {}", *pes, bootstrap::kMaxPes);
  for (std::size_t i = 0; i < now; ++i)
    if ((bytes[i] != 0) != (i < static_cast<std::size_t>(*pes)))
      return fmt::format("of {} PEs the first {} stay, and the request has it otherwise for PE {}", now, *pes, i);
  return "";
}

// Why it can't be done; "" when it can.
std::string obstacle(const Pe& pe, int pes) {
  if (wanted) return fmt::format("another client has asked for {} PEs, and that is still to come", wanted->pes);
  if (pe.objects->balance->at_any_time())
    return "PEs come and go where all elements wait in AtSync, and this run balances at any time (+LBPeriod)";
  if (UserDriven::is_on()) return "the program drives the scheduler itself";
  if (pe.ordering() != nullptr) return "its messages are recorded or replayed";
  if (Status can = pe.process.layer().may_be_resized(); !can) return can.message();
  const int each = pes_a_process(pe);
  if (each == 0 || pes % each == 0) return "";
  return fmt::format("its processes have {} PEs each, and {} cannot be shared among such; {} or {} can", each, pes,
                     std::max(1, pes / each) * each, (pes / each + 1) * each);
}

void take(Pe& pe, CcsDelayedReply reply, const std::string& bytes) {
  int pes = 0;
  if (std::string wrong = read(pe, bytes, &pes); !wrong.empty()) return refuse(reply, wrong);
  if (pes == pe.process.pes()) return CcsSendDelayedReply(reply, 0, nullptr);
  if (std::string why = obstacle(pe, pes); !why.empty()) return refuse(reply, why);
  wanted = Wanted{reply, pes};
  log::note(
      fmt::format("set_bitmap: {} PEs in place of {}, when all elements wait in AtSync next", pes, pe.process.pes()));
  pe.objects->balance->hold_next_step();
}

// A client may ask any PE.
void on_client(void*, int bytes, const void* request) {
  const CcsDelayedReply reply = CcsDelayReply();
  const std::string text(static_cast<const char*>(request), static_cast<std::size_t>(bytes));
  Pe::current()->send(0, runtime_message({bytes_of(reply), text}, entry_request, 0));
}
void on_request(Pe& pe, Delivery& call) {
  const auto reply = call.read<CcsDelayedReply>();
  take(pe, reply, std::string(static_cast<const char*>(call.arguments) + sizeof reply, call.length - sizeof reply));
}

// The folder is one that is seen by all hosts, and is not there yet.
std::string new_folder() {
  return (std::filesystem::path(base_folder) / fmt::format("periapt-resize-{}-{}", ::getpid(), std::time(nullptr)))
      .string();
}

void go_on_as_before(Pe& pe, const std::string& why) {
  refuse(wanted->reply, why);
  wanted.reset();
  pe.objects->balance->go_on();
}

void end_this_start(Pe& pe, const std::string& folder) {
  const ccs::Contact contact = ccs::contact();
  const ResizedStart start{wanted->pes, pes_a_process(pe), contact.port, contact.token, folder};
  if (const Status told = pe.process.layer().resize(start); !told) return go_on_as_before(pe, told.message());
  CcsSendDelayedReply(wanted->reply, 0, nullptr);
  request_end_of_start();
}

void on_all_wait(Pe& pe, Delivery&) {
  const bool in_memory = pe.process.layer().resizes_in_memory();
  if (in_memory)
    if (const Status kept = pe.process.layer().keep_memory_for_resize(); !kept)
      return go_on_as_before(pe, kept.message());
  const Checkpoints::Target target{in_memory, in_memory ? "" : new_folder()};
  Checkpoints::of(pe).write_for_resize(target, [&pe, target](const std::string& failure) {
    if (!failure.empty()) return go_on_as_before(pe, failure);
    end_this_start(pe, target.folder);
  });
}

}  // namespace

Part part() {
  Part part{"resize"};
  part.register_entries = [] {
    entry_request = register_runtime_entry("resize: a client asks", on_request, ep_expedited | ep_uncounted);
    entry_all_wait = register_runtime_entry("resize: all elements wait in AtSync", on_all_wait, ep_uncounted);
  };
  part.take_options = [](char** argv) {
    static_cast<void>(CmiGetArgFlagDesc(argv, "++shrinkexpand", "without effect: what needs it is always there"));
    char* folder = nullptr;
    if (CmiGetArgString(argv, "+shrinkexpand_basedir", &folder)) base_folder = folder;
  };
  part.begin = [](Pe& pe) {
    CcsRegisterHandlerFn("set_bitmap", on_client, nullptr);
    pe.objects->all_wait_in_sync = [](Pe& here) { send_runtime(here, 0, entry_all_wait, 0, 0, 0); };
  };
  return part;
}

}  // namespace periapt::resize
