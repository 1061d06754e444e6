// See checkpoints.h.
#include "runtime/checkpoint/checkpoints.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/program.h"
#include "machine/bootstrap/kept_memory.h"
#include "machine/bootstrap/resized_start.h"
#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/ck_checkpoint.h"
#include "runtime/checkpoint/kill_file.h"
#include "runtime/checkpoint/part.h"
#include "runtime/checkpoint/restart.h"
#include "runtime/converse/converse.h"
#include "runtime/entry/start_gate.h"
#include "runtime/face/kept_state.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/registry/registered_text.h"
#include "runtime/registry/registry.h"
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
    entry_restored, entry_over, entry_heard;
std::string restart_folder;  // +restart
std::string kill_file;       // +killFile

std::unique_ptr<Storage> storage_of(const Checkpoints::Target& target) {
  if (!target.memory) return folder_storage(target.folder);
  return has_memory_storage() ? memory_storage() : nullptr;
}
// Each partition of a run has a folder of its own in the one that is named.
std::string folder_here(const std::string& folder) {
  const MachineLayer& layer = Process::current()->layer();
  return layer.partitions().count() == 1 ? folder : fmt::format("{}/part-{}", folder, layer.partition());
}

// What this run begins from; null: it begins anew. What lies in memory is of this run, and newer than any folder.
std::unique_ptr<Storage> storage_to_restart_from() {
  if (has_checkpoint_in_memory()) return memory_storage();
  return restart_folder.empty() ? nullptr : folder_storage(folder_here(restart_folder));
}

// A message with a head and a text behind it.
template <class Head>
Message message_with_text(int entry, const Head& head, const std::string& text) {
  return runtime_message({bytes_of(head), text}, entry, 0);
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
  Copies::register_entries();
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
  entry_over = register_runtime_entry("restart: it is over", on_over, aside);
  entry_heard = register_runtime_entry("restart: heard that it is over", on_heard, aside);
}

// --- writing ---------------------------------------------------------------------------------------------------------

void Checkpoints::start(const Target& target, const Afterwards& afterwards, int writers) {
  Pe& pe = *Pe::current();
  pe.send(0, message_with_text(entry_ask, Ask{writers, afterwards, target.memory}, target.folder));
}

void Checkpoints::on_ask(Pe& pe, Delivery& call) {
  Checkpoints& self = of(pe);
  const auto ask = call.read<Ask>();
  const Target target{ask.memory, text_behind<Ask>(call)};
  std::unique_ptr<Storage> storage = storage_of(target);
  if (!storage) return ask.afterwards.callback.send();  // only the host of the asker keeps memory
  if (self.run_) {
    log::warn("a checkpoint in " + storage->name() + " is asked for while one in " + self.run_->storage->name() +
              " is being written: it is left out");
    return;
  }
  if (ask.writers > 0) self.writers_ = ask.writers;
  self.begin(target, std::move(storage));
  self.run_->afterwards = ask.afterwards;
}

void Checkpoints::write_for_resize(const Target& target, Done done) {
  if (run_) return done("a checkpoint in " + run_->storage->name() + " is being written");
  begin(target, storage_of(target));
  run_->done = std::move(done);
}

void Checkpoints::begin(const Target& target, std::unique_ptr<Storage> storage) {
  run_.emplace(Run());
  run_->target = target;
  run_->storage = std::move(storage);
  wait_for_quiescence();
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
  run.manifest.number = run.storage->next_number();
  std::random_device random;
  run.manifest.id = static_cast<std::uint64_t>(random()) << 32 | random();
  run.answers = 0;
  run.before = run.after = {};
  run.memories.clear();
  run.bytes = 0;
  run.failure.clear();
  // One for another number of PEs is removed with the restart from it.
  if (!run.target.memory && !run.done) pe_.process.layer().checkpoint_begins(run.storage->name());
  if (Status prepared = run.storage->prepare(run.manifest.number); !prepared) return end(prepared.message());
  const Target& target = run.target;
  const int writers = target.memory ? 0 : writers_;
  const Order what{run.manifest.id, run.manifest.number, writers, target.memory, run.done != nullptr};
  Message order = message_with_text(entry_prepare, what, target.folder);
  if (pe_.process.pes() > 1) pe_.broadcast(order);
  Delivery own(std::move(order));
  on_prepare(pe_, own);
}

void Checkpoints::on_prepare(Pe& pe, Delivery& call) {
  Checkpoints& self = of(pe);
  self.order_ = call.read<Order>();
  self.storage_ = storage_of({self.order_.memory, text_behind<Order>(call)});
  const std::uint64_t memory = has_memory_storage() ? bootstrap::KeptMemory::of_run()->identity() : 0;
  send_runtime(pe, 0, entry_counts, 0, 0, Prepared{self.counts(), memory, pe.index});
}

void Checkpoints::on_counts(Pe& pe, Delivery& call) { of(pe).prepared(call.read<Prepared>()); }

void Checkpoints::prepared(const Prepared& answer) {
  Run& run = *run_;
  add(run.before, answer.counts);
  int& first = run.memories.try_emplace(answer.memory, answer.pe).first->second;
  first = std::min(first, answer.pe);
  if (++run.answers < pe_.process.pes()) return;
  run.answers = 0;
  if (run.before.created != run.before.processed) {
    run.storage->discard(run.manifest.number);
    return wait_for_quiescence();
  }
  if (run.target.memory && run.memories.count(0) != 0)
    return end("the host of PE " + std::to_string(run.memories[0]) + " keeps no memory (ulimit -f?)");
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

// For an element that is not made: quiescence does not wait for such messages, and no checkpoint keeps them.
static void warn_of_waiting(PeObjects& objects) {
  objects.for_each_waiting([&](const std::string& receiver, const std::vector<Message>& messages) {
    log::warn(fmt::format("the checkpoint leaves out {} message{} that wait{} for {}, which does not exist",
                          messages.size(), messages.size() == 1 ? "" : "s", messages.size() == 1 ? "s" : "", receiver));
  });
}

// No checkpoint keeps threads. "": there are none.
static std::string waiting_threads(const PeObjects& objects) {
  const std::size_t count = objects.running_threads.count();
  if (count == 0) return "";
  const int entry = objects.running_threads.an_entry();
  return fmt::format("{} on PE {} ({}::{})", count == 1 ? "a thread waits" : std::to_string(count) + " threads wait",
                     objects.pe.index, registry().chares[static_cast<std::size_t>(entry_info(entry).chare)].name,
                     entry_name(entry));
}

// Once while they are as many: a program may have threads that always wait.
void Checkpoints::warn_of_threads(const std::string& threads) {
  const std::size_t count = pe_.objects->running_threads.count();
  if (std::exchange(threads_told_, count) != count && count > 0)
    log::warn("the checkpoint leaves out that " + threads + ": a run that goes on from it goes on without them");
}

void Checkpoints::write() {
  warn_of_waiting(*pe_.objects);
  Answer answer;
  answer.pe = pe_.index;
  std::string failure;
  const std::string threads = waiting_threads(*pe_.objects);
  if (!order_.for_resize)
    warn_of_threads(threads);
  else if (!threads.empty())
    failure = threads + ", and no checkpoint keeps threads";
  else if (const std::string tied = what_is_tied_to_pes(pe_.index); !tied.empty())
    failure = tied + " is open, and cannot go on with another number of PEs";
  const Destination to{*storage_, order_.number, order_.id};
  static_cast<void>(storage_->prepare(order_.number).ok());  // where hosts have folders of their own
  copies_.forget_parts();
  const auto note = [&](const std::string& name, const WrittenPart& part, std::uint64_t& bytes) {
    bytes = part.bytes;
    copies_.add_part(name, part.first_blocks);
    if (!part.status.ok() && failure.empty()) failure = part.status.message();
  };
  if (pe_.index == 0) note(program_part, write_program(*pe_.objects, to, run_->afterwards), answer.program_bytes);
  if (pe_.rank == 0) note(process_part(pe_.process.rank()), write_process(*pe_.objects, to), answer.process_bytes);
  note(pe_part(pe_.index), write_pe(*pe_.objects, to), answer.pe_bytes);
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
    run.storage->discard(run.manifest.number);
    return wait_for_quiescence();
  }
  const auto by_name = [](const Manifest::Part& a, const Manifest::Part& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  };
  std::sort(run.manifest.parts.begin(), run.manifest.parts.end(), by_name);
  if (run.memories.size() > 1 && run.target.memory) {
    std::vector<int> others;
    for (const auto& [memory, first] : run.memories)
      if (first != 0) others.push_back(first);
    return copies_.begin(run.manifest, std::move(others), [this](std::string failure) { end(std::move(failure)); });
  }
  const Status committed = run.storage->commit(run.manifest);
  end(committed.ok() ? "" : committed.message());
}

void Checkpoints::end(std::string failure) {
  Run run = std::move(*run_);
  run_.reset();
  if (failure.empty()) {
    log::note(fmt::format("checkpoint in {}: {} parts, {} bytes, {:.3f} s", run.storage->name(),
                          run.manifest.parts.size(), run.bytes,
                          static_cast<double>(clock::now_ns() - run.began_ns) * 1e-9));
  } else {
    run.storage->discard(run.manifest.number);
    log::warn("no checkpoint was written: " + failure +
              (run.storage->manifest().ok() ? "; the one before, in " + run.storage->name() + ", stays good" : ""));
  }
  if (run.done) return run.done(failure);
  CkCheckpointStatusMsg* status = nullptr;
  if (run.afterwards.wants_status)
    status = new CkCheckpointStatusMsg(failure.empty() ? CK_CHECKPOINT_SUCCESS : CK_CHECKPOINT_FAILURE);
  run.afterwards.callback.send(status);
}

// --- restart ---------------------------------------------------------------------------------------------------------

void Checkpoints::restart() {
  if (pe_.rank != 0) return;  // it is told
  {
    const std::unique_ptr<Storage> storage = storage_to_restart_from();
    Restart program(*pe_.objects, *storage);
    _inrestart = _restarted = true;
    _oldNumPes = program.manifest().pes;
    _chareRestored = program.same_pes();
    afterwards_ = program.restore_program();
  }
  for (int rank = 1; rank < pe_.process.own_pes(); ++rank)
    send_runtime(pe_, pe_.index + rank, entry_process_restored, 0, 0, 0);
  restore();
}

void Checkpoints::on_process_restored(Pe& pe, Delivery&) { of(pe).restore(); }

void Checkpoints::restore() {
  Restart(*pe_.objects, *storage_to_restart_from()).restore();
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

// Before the program goes on, each process has to know.
void Checkpoints::all_restored() {
  restored_ = 0;
  Message over = message_with_text(entry_over, 0, "");
  if (pe_.process.pes() > 1) pe_.broadcast(over);
  Delivery own(std::move(over));
  on_over(pe_, own);
}

void Checkpoints::on_over(Pe& pe, Delivery&) {
  if (pe.objects->balance) pe.objects->balance->remade();
  if (pe.rank == 0) _inrestart = false;
  send_runtime(pe, 0, entry_heard, 0, 0, 0);
}

void Checkpoints::on_heard(Pe& pe, Delivery&) {
  if (++of(pe).restored_ == pe.process.pes()) of(pe).go_on();
}

namespace {
// What was written only so that the run goes on with another number of PEs has done its work.
void forget_resize() {
  if (has_memory_storage()) bootstrap::KeptMemory::of_run()->drop_what_a_resize_left();
  const bootstrap::ResizedStart* const start = bootstrap::ResizedStart::current();
  if (start == nullptr || start->folder.empty()) return;
  std::error_code error;
  fs::remove_all(start->folder, error);
  if (error) log::warn("the folder " + start->folder + " cannot be removed: " + error.message());
}
}  // namespace

void Checkpoints::go_on() {
  log::note(fmt::format("restarted from {}: written by {} PEs, on {} now", storage_to_restart_from()->name(),
                        _oldNumPes, pe_.process.pes()));
  forget_resize();
  if (afterwards_.callback.isInvalid()) return;  // the elements wait in AtSync, and go on from there
  afterwards_.callback.send(afterwards_.wants_status ? new CkCheckpointStatusMsg(CK_CHECKPOINT_SUCCESS) : nullptr);
}

// --- the part --------------------------------------------------------------------------------------------------------

Part part() {
  Part part{"checkpoints"};
  part.register_entries = Checkpoints::register_entries;
  part.take_options = [](char** argv) {
    char* folder = nullptr;
    if (CmiGetArgString(argv, "+restart", &folder)) restart_folder = folder;
    const bootstrap::ResizedStart* const start = bootstrap::ResizedStart::current();
    if (start != nullptr && !start->folder.empty()) restart_folder = start->folder;
    char* file = nullptr;
    if (CmiGetArgString(argv, "+killFile", &file)) kill_file = file;
  };
  part.begin = [](Pe& pe) {
    pe.objects->checkpoints = std::make_shared<Checkpoints>(pe);
    if (!kill_file.empty() && pe.rank == 0) arm_kill_file(pe, kill_file);
  };
  part.start = [](Pe& pe) {
    if (!storage_to_restart_from()) return false;
    Checkpoints::of(pe).restart();
    return true;
  };
  return part;
}

}  // namespace periapt::checkpoint

namespace {
// `call`: "CkStartCheckpoint()".
void check_callback(const std::string& call, const CkCallback& cb) {
  using periapt::fatal;
  const std::string running = describe_running(*periapt::Pe::current());
  if (cb.isInvalid())
    fatal(call + " gets a callback that was never set", running, "",
          "give it what is to be called after the checkpoint, and after a restart from it");
  if (cb.containsPointer() || cb.type == CkCallback::resumeThread || cb.type == CkCallback::sendFuture)
    fatal(call + " gets a callback that a later run could not call: " + CkCallback::typeName(cb.type), running,
          "functions, threads and futures are not part of a checkpoint",
          "give it an entry: CkCallback(CkIndex_Main::resume(), mainProxy)");
}

// Why there can be no checkpoint in memory; empty when there can.
std::string why_no_memory() {
  if (!periapt::bootstrap::KeptMemory::is_watched()) return periapt::bootstrap::KeptMemory::why_none();
  if (periapt::Process::current()->layer().partitions().count() > 1)
    return "its partitions would have one memory for all, and each goes back by itself";
  return "";
}

// Once a process.
void warn_no_memory(const std::string& why) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  periapt::log::warn("CkStartMemCheckpoint() makes no checkpoint in this run: " + why +
                     "; the run goes on without one");
}
}  // namespace

void CkStartCheckpoint(const char* dirname, const CkCallback& cb, bool requestStatus, int writersPerNode) {
  check_callback("CkStartCheckpoint()", cb);
  periapt::checkpoint::Checkpoints::start({false, periapt::checkpoint::folder_here(dirname)}, {cb, requestStatus},
                                          writersPerNode);
}

void CkStartMemCheckpoint(const CkCallback& cb) {
  check_callback("CkStartMemCheckpoint()", cb);
  const std::string why = why_no_memory();
  if (why.empty()) return periapt::checkpoint::Checkpoints::start({true, ""}, {cb, false}, 0);
  warn_no_memory(why);
  cb.send();
}

extern "C" int CkInRestarting() { return _inrestart; }
int CkHasCheckpoints() { return periapt::checkpoint::has_checkpoint_in_memory(); }

void CkDieNow() {
  CmiPrintf("[%d] die now.\n", CmiMyPe());
  std::fflush(nullptr);
  kill(getpid(), SIGKILL);
}
