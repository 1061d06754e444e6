// See recorder.h.
#include "runtime/trace/recorder.h"

#include <algorithm>

#include "base/clock.h"
#include "machine/bootstrap/partitions.h"
#include "runtime/array/array_manager.h"
#include "runtime/converse/cmi.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/process.h"
#include "runtime/trace/options.h"

namespace periapt::trace {
namespace {

std::string file_of(const Pe& pe, const char* kind) {
  const int folders = options().folders;
  std::string root = root_of(pe.process);
  if (folders > 0) {
    const auto slash = root.rfind('/');
    const std::string name = root.substr(slash == std::string::npos ? 0 : slash + 1);
    root += ".projdir." + std::to_string(pe.index % folders) + "/" + name;
  }
  return root + "." + std::to_string(pe.index) + kind;
}

// Of the element that a call is for; no index where that cannot be told at once.
CkArrayIndex index_of(PeObjects& objects, const EntryInfo& entry, const Delivery& call) {
  if (entry.flags & ep_constructor) {
    const Creation& creation = objects.creating;
    const bool known = creation.manager != nullptr && chare::is_compact_id(creation.element);
    return known ? creation.manager->index_of(creation.element) : CkArrayIndex();
  }
  const ArrayPart* const array = objects.array(CkArrayID(CkGroupID{static_cast<int>(call.collection)}));
  return array != nullptr ? array->index_of_holder(call.object) : CkArrayIndex();
}

}  // namespace

std::string root_of(Process& process) {
  const MachineLayer& layer = process.layer();
  return options().root + (layer.partitions().count() > 1 ? ".part-" + std::to_string(layer.partition()) : "");
}

Recorder::Recorder(Pe& pe) : pe_(pe), begin_ns_(clock::now_ns()), begin_seconds_(CmiWallTimer()), frames_(pe, *this) {
  const Options& o = options();
  if (o.projections) log_.emplace(pe.index, o.log_size, std::make_unique<Output>(file_of(pe, ".log"), o.compressed));
  if (o.summary)
    profile_.emplace(pe.index, pe.process.pes(), registry().entries.size(), o.bins, o.bin_seconds, o.detail);
  const auto listen = [&](int condition, CcdCondFn function) { pe.conditions.call_always(condition, function, this); };
  listen(scheduler::condition_begin_idle, [](void* self) { static_cast<Recorder*>(self)->begin_idle(); });
  listen(scheduler::condition_begin_busy, [](void* self) { static_cast<Recorder*>(self)->end_idle(); });
  if (!o.off) begin();
}
Recorder::~Recorder() = default;

std::uint64_t Recorder::now() const { return clock::now_ns() - begin_ns_; }
std::uint64_t Recorder::at(double seconds) const {
  return static_cast<std::uint64_t>(std::max(0.0, seconds - begin_seconds_) * 1e9);
}

void Recorder::begin() {
  on_ = true;
  pe_.subscribe(this, created | begin_execute | end_execute);
}

void Recorder::turn(bool on) {
  if (on == on_) return;
  if (on) {
    if (log_) log_->turned(true, now());
    return begin();
  }
  pause();
  end_idle();
  if (log_) log_->turned(false, now());
  pe_.unsubscribe(this);
  frames_.clear();
  serials_.clear();
  on_ = false;
}

void Recorder::end() {
  pause();
  end_idle();
  if (on_) pe_.unsubscribe(this);
  on_ = false;
  const std::uint64_t end_ns = now();
  if (log_) log_->close(end_ns);
  if (!profile_) return;
  Output(file_of(pe_, ".sum"), false).write(profile_->text(end_ns));
  if (options().detail) Output(file_of(pe_, ".sumd"), false).write(profile_->text_by_interval(end_ns));
}

// --- what runs -------------------------------------------------------------------------------------------------------

void Recorder::on_begin(Pe&, const Delivery& call) {
  const EntryInfo& entry = entry_info(call.entry);
  Execution execution;
  execution.entry = call.entry;
  execution.traced = is_traced(call.entry);
  execution.bytes = call.length;
  if (const int dimensions = registry().chares[entry.chare].dimensions; dimensions > 0) {
    execution.dimensions = static_cast<std::uint8_t>(dimensions);
    const CkArrayIndex index = index_of(*pe_.objects, entry, call);
    for (int d = 0; d < std::min<int>(dimensions, index.getDimension()); ++d) execution.index[d] = index.coordinate(d);
  }
  if (execution.traced && profile_) profile_->called(call.entry);
  resumes_ = true;
  frames_.push(execution);
}

void Recorder::on_end(Pe&, const Delivery&) {
  resumes_ = options().nested;
  frames_.pop();
  resumes_ = true;
}

void Recorder::direct(const Delivery& call, bool begins) {
  if (!on_) return;
  if (!begins) return on_end(pe_, call);
  on_created(pe_, {pe_.index, call.entry, 0});
  on_begin(pe_, call);
}

void Recorder::before_change() { pause(); }
void Recorder::after_change() {
  if (on_ && resumes_) resume();
}

void Recorder::pause() {
  if (!running_) return;
  running_ = false;
  const Execution& execution = frames_.innermost();
  const std::uint64_t ns = now();
  if (log_) log_->end_execution(execution, ns);
  if (profile_) profile_->executed(execution.entry, execution.since_ns, ns);
}

void Recorder::resume() {
  if (frames_.empty() || !frames_.innermost().traced) return;
  Execution& execution = frames_.innermost();
  execution.since_ns = now();
  running_ = true;
  if (log_) log_->begin_execution(execution, execution.since_ns);
}

void Recorder::on_created(Pe&, const Created& created) {
  if (!log_) return;
  if (created.to_pe < 0)
    log_->created_for_all(created.entry, created.bytes, created.receivers(pe_), now());
  else
    log_->created(created.entry, created.bytes, now());
}

// --- idle, and blocks of bodies --------------------------------------------------------------------------------------

void Recorder::begin_idle() {
  if (!on_) return;
  pause();
  idle_since_ns_ = now();
  if (log_) log_->idle(true, *idle_since_ns_);
}

void Recorder::end_idle() {
  if (!idle_since_ns_) return;
  const std::uint64_t ns = now();
  if (log_) log_->idle(false, ns);
  if (profile_) profile_->idled(*idle_since_ns_, ns);
  idle_since_ns_.reset();
  if (on_) resume();
}

void Recorder::serial(const SerialBlock& block, bool begins) {
  if (!on_ || !log_ || *block.label == '\0') return;
  if (begins) return serials_.push_back({&block, now()});
  const auto found =
      std::find_if(serials_.rbegin(), serials_.rend(), [&](const Serial& s) { return s.block == &block; });
  if (found == serials_.rend()) return;
  log_->bracketed_note(std::string(block.label) + " (" + block.place + ")", serial_event, found->begin_ns, now());
  serials_.erase(std::next(found).base());
}

}  // namespace periapt::trace
