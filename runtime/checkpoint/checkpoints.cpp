// See checkpoints.h.
#include "runtime/checkpoint/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/program.h"
#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/ck_checkpoint.h"
#include "runtime/checkpoint/part.h"
#include "runtime/checkpoint/restart.h"
#include "runtime/converse/converse.h"
#include "runtime/entry/start_gate.h"
#include "runtime/registry/registered_text.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

bool _inrestart = false;
bool _restarted = false;
int _oldNumPes = 0;
bool _chareRestored = false;
int CMessage_CkCheckpointStatusMsg::__idx;

namespace periapt::checkpoint {

namespace fs = std::filesystem;

namespace {
int entry_ask, entry_prepare, entry_counts, entry_write, entry_turn, entry_written, entry_process_restored,
    entry_restored;
std::string restart_folder;  // +restart

// A message with a head and a text behind it.
template <class Head>
Message message_with_text(int entry, const Head& head, const std::string& text) {
  Message message = Message::make(sizeof head + text.size());
  char* at = static_cast<char*>(message.payload());
  std::memcpy(at, static_cast<const void*>(&head), sizeof head);
  std::memcpy(at + sizeof head, text.data(), text.size());
  return runtime_message(std::move(message), entry, 0);
}
template <class Head>
std::string text_behind(const Delivery& call) {
  return std::string(static_cast<const char*>(call.arguments) + sizeof(Head), call.length - sizeof(Head));
}

void add(Quiescence::Counts& sum, const Quiescence::Counts& more) {
  sum.created += more.created;
  sum.processed += more.processed;
}
}  // namespace

void Checkpoints::register_entries() {
  CMessage_CkCheckpointStatusMsg::__idx =
      CkRegisterMsg("CkCheckpointStatusMsg", nullptr, nullptr, nullptr, sizeof(CkCheckpointStatusMsg));
  constexpr unsigned aside = ep_expedited | ep_uncounted;
  entry_ask = register_runtime_entry("checkpoint: asked for", on_ask);
  entry_prepare = register_runtime_entry("checkpoint: prepare", on_prepare, aside);
  entry_counts = register_runtime_entry("checkpoint: prepared", on_counts, aside);
  entry_write = register_runtime_entry("checkpoint: write", on_write, aside);
  entry_turn = register_runtime_entry("checkpoint: next writer", on_turn, aside);
  entry_written = register_runtime_entry("checkpoint: written", on_written, aside);
  entry_process_restored = register_runtime_entry("restart: the process has the readonlys", on_process_restored, aside);
  entry_restored = register_runtime_entry("restart: all is here again", on_restored, aside);
}

// --- writing ---------------------------------------------------------------------------------------------------------

void Checkpoints::start(const std::string& folder, const Afterwards& afterwards, int writers) {
  Pe& pe = *Pe::current();
  pe.send(0, message_with_text(entry_ask, Ask{writers, afterwards}, folder));
}

void Checkpoints::on_ask(Pe& pe, Delivery& call) {
  Checkpoints& self = of(pe);
  const auto ask = call.read<Ask>();
  const std::string folder = text_behind<Ask>(call);
  if (self.run_) {
    log::warn("a checkpoint in " + folder + " is asked for while one in " + self.run_->folder +
              " is being written: it is left out");
    return;
  }
  if (ask.writers > 0) self.writers_ = ask.writers;
  self.run_.emplace();
  self.run_->folder = folder;
  self.run_->afterwards = ask.afterwards;
  self.wait_for_quiescence();
}

void Checkpoints::wait_for_quiescence() {
  pe_.objects->quiescence->start(CkCallback([](void* message) {
    CkFreeMsg(message);
    of(*Pe::current()).prepare();
  }));
}

void Checkpoints::prepare() {
  Run& run = *run_;
  run.began_ns = clock::now_ns();
  run.manifest = Manifest();
  run.manifest.program = fs::path(program::path()).filename().string();
  run.manifest.identity = identity_of(registered_text());
  run.manifest.pes = pe_.process.pes();
  run.manifest.processes = pe_.process.count();
  run.manifest.number = next_number(run.folder);
  std::random_device random;
  run.manifest.id = static_cast<std::uint64_t>(random()) << 32 | random();
  run.answers = 0;
  run.before = run.after = {};
  run.bytes = 0;
  run.failure.clear();
  const std::string parts = parts_folder(run.folder, run.manifest.number);
  std::error_code error;
  fs::create_directories(parts, error);
  if (error) return end("cannot make the folder " + parts + ": " + error.message());
  Message order = message_with_text(entry_prepare, Order{run.manifest.id, run.manifest.number, writers_}, run.folder);
  if (pe_.process.pes() > 1) pe_.broadcast(order);
  Delivery own(std::move(order));
  on_prepare(pe_, own);
}

void Checkpoints::on_prepare(Pe& pe, Delivery& call) {
  Checkpoints& self = of(pe);
  self.order_ = call.read<Order>();
  self.folder_ = text_behind<Order>(call);
  send_runtime(pe, 0, entry_counts, 0, 0, self.counts());
}

void Checkpoints::on_counts(Pe& pe, Delivery& call) { of(pe).prepared(call.read<Quiescence::Counts>()); }

void Checkpoints::prepared(const Quiescence::Counts& counts) {
  Run& run = *run_;
  add(run.before, counts);
  if (++run.answers < pe_.process.pes()) return;
  run.answers = 0;
  if (run.before.created != run.before.processed) {
    discard(run.folder, run.manifest.number);
    return wait_for_quiescence();
  }
  Message order = message_with_text(entry_write, 0, "");
  if (pe_.process.pes() > 1) pe_.broadcast(order);
  Delivery own(std::move(order));
  on_write(pe_, own);
}

// With a number of writers the first PEs of a process begin, and each hands on to the next that has not.
void Checkpoints::on_write(Pe& pe, Delivery&) {
  Checkpoints& self = of(pe);
  if (self.order_.writers == 0 || pe.rank < self.order_.writers) self.write();
}
void Checkpoints::on_turn(Pe& pe, Delivery&) { of(pe).write(); }

void Checkpoints::write() {
  Answer answer;
  answer.pe = pe_.index;
  const Destination to{parts_folder(folder_, order_.number), order_.id};
  std::error_code none;
  fs::create_directories(to.folder, none);  // where hosts have folders of their own
  std::string failure;
  const auto note = [&](const WrittenPart& part, std::uint64_t& bytes) {
    bytes = part.bytes;
    if (!part.status.ok() && failure.empty()) failure = part.status.message();
  };
  if (pe_.index == 0) note(write_program(*pe_.objects, to, run_->afterwards), answer.program_bytes);
  if (pe_.rank == 0) note(write_process(*pe_.objects, to), answer.process_bytes);
  note(write_pe(*pe_.objects, to), answer.pe_bytes);
  answer.good = failure.empty();
  answer.counts = counts();
  const int next = pe_.rank + order_.writers;
  if (order_.writers > 0 && next < pe_.process.own_pes())
    send_runtime(pe_, pe_.index + order_.writers, entry_turn, 0, 0, 0);
  pe_.send(0, message_with_text(entry_written, answer, failure));
}

void Checkpoints::on_written(Pe& pe, Delivery& call) { of(pe).written(call.read<Answer>(), text_behind<Answer>(call)); }

void Checkpoints::written(const Answer& answer, const std::string& failure) {
  Run& run = *run_;
  add(run.after, answer.counts);
  if (!answer.good && run.failure.empty()) run.failure = failure;
  const auto part = [&](const std::string& name, std::uint64_t bytes) {
    run.manifest.parts.push_back({name, bytes});
    run.bytes += bytes;
  };
  // A part may be empty.
  const int process = pe_.process.process_of(answer.pe);
  if (answer.pe == 0) part(program_part, answer.program_bytes);
  if (pe_.process.layout().processes[process].first_pe == answer.pe) part(process_part(process), answer.process_bytes);
  part(pe_part(answer.pe), answer.pe_bytes);
  if (++run.answers == pe_.process.pes()) end_round();
}

void Checkpoints::end_round() {
  Run& run = *run_;
  if (!run.failure.empty()) return end(run.failure);
  if (!(run.before == run.after)) {
    discard(run.folder, run.manifest.number);
    return wait_for_quiescence();
  }
  const auto by_name = [](const Manifest::Part& a, const Manifest::Part& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  };
  std::sort(run.manifest.parts.begin(), run.manifest.parts.end(), by_name);
  const Status committed = commit(run.folder, run.manifest);
  end(committed.ok() ? "" : committed.message());
}

void Checkpoints::end(std::string failure) {
  Run run = std::move(*run_);
  run_.reset();
  if (failure.empty()) {
    log::note(fmt::format("checkpoint in {}: {} parts, {} bytes, {:.3f} s", run.folder, run.manifest.parts.size(),
                          run.bytes, static_cast<double>(clock::now_ns() - run.began_ns) * 1e-9));
  } else {
    discard(run.folder, run.manifest.number);
    log::warn("no checkpoint was written: " + failure +
              (read_manifest(run.folder).ok() ? "; the one before, in " + run.folder + ", stays good" : ""));
  }
  CkCheckpointStatusMsg* status = nullptr;
  if (run.afterwards.wants_status)
    status = new CkCheckpointStatusMsg(failure.empty() ? CK_CHECKPOINT_SUCCESS : CK_CHECKPOINT_FAILURE);
  run.afterwards.callback.send(status);
}

// --- restart ---------------------------------------------------------------------------------------------------------

void Checkpoints::restart(const std::string& folder) {
  if (pe_.rank != 0) return;  // it is told
  {
    Restart program(*pe_.objects, folder);
    _inrestart = _restarted = true;
    _oldNumPes = program.manifest().pes;
    _chareRestored = program.same_pes();
    afterwards_ = program.restore_program();
  }
  for (int rank = 1; rank < pe_.process.own_pes(); ++rank)
    send_runtime(pe_, pe_.index + rank, entry_process_restored, 0, 0, 0);
  restore(folder);
}

void Checkpoints::on_process_restored(Pe& pe, Delivery&) { of(pe).restore(restart_folder); }

void Checkpoints::restore(const std::string& folder) {
  Restart(*pe_.objects, folder).restore();
  pe_.objects->start_gate->open();
  send_runtime(pe_, 0, entry_restored, 0, 0, 0);
}

void Checkpoints::on_restored(Pe& pe, Delivery&) {
  Checkpoints& self = of(pe);
  if (++self.restored_ < pe.process.pes()) return;
  // Homes have to hear of their elements.
  pe.objects->quiescence->start(CkCallback([](void* message) {
    CkFreeMsg(message);
    of(*Pe::current()).all_restored();
  }));
}

void Checkpoints::all_restored() {
  _inrestart = false;
  log::note(
      fmt::format("restarted from {}: written by {} PEs, on {} now", restart_folder, _oldNumPes, pe_.process.pes()));
  afterwards_.callback.send(afterwards_.wants_status ? new CkCheckpointStatusMsg(CK_CHECKPOINT_SUCCESS) : nullptr);
}

// --- the part --------------------------------------------------------------------------------------------------------

Part part() {
  Part part{"checkpoints"};
  part.register_entries = Checkpoints::register_entries;
  part.take_options = [](char** argv) {
    char* folder = nullptr;
    if (CmiGetArgString(argv, "+restart", &folder)) restart_folder = folder;
  };
  part.begin = [](Pe& pe) { pe.objects->checkpoints = std::make_shared<Checkpoints>(pe); };
  part.start = [](Pe& pe) {
    if (restart_folder.empty()) return false;
    Checkpoints::of(pe).restart(restart_folder);
    return true;
  };
  return part;
}

}  // namespace periapt::checkpoint

void CkStartCheckpoint(const char* dirname, const CkCallback& cb, bool requestStatus, int writersPerNode) {
  using periapt::fatal;
  const std::string running = describe_running(*periapt::Pe::current());
  if (cb.isInvalid())
    fatal("CkStartCheckpoint() gets a callback that was never set", running, "",
          "give it what is to be called after the checkpoint, and after a restart from it");
  if (cb.containsPointer() || cb.type == CkCallback::resumeThread || cb.type == CkCallback::sendFuture)
    fatal(std::string("CkStartCheckpoint() gets a callback that a later run could not call: ") +
              CkCallback::typeName(cb.type),
          running, "functions, threads and futures are not part of a checkpoint",
          "give it an entry: CkCallback(CkIndex_Main::resume(), mainProxy)");
  periapt::checkpoint::Checkpoints::start(dirname, {cb, requestStatus}, writersPerNode);
}
