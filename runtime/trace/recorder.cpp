// See recorder.h.
#include "runtime/trace/recorder.h"

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error_text.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/registry.h"

namespace periapt::trace {
namespace {

// What Projections calls the type of a message.
std::uint8_t receiver_kind(Target target) {
  constexpr std::uint8_t chare = 4, group = 5, node_group = 19, element = 21;
  if (target == Target::group) return group;
  if (target == Target::node_group) return node_group;
  return target == Target::array ? element : chare;
}

// The index of the element that runs. All objects of an array begin at the same place before their element.
void put_index(Pe& pe, const Delivery& call, Event& event) {
  const EntryInfo& entry = entry_info(call.entry);
  if (entry.target != Target::array) return;
  event.dimensions = static_cast<std::uint8_t>(std::max(1, registry().chares[entry.chare].dimensions));
  if ((entry.flags & ep_constructor) != 0 || call.collection == 0) return;
  const auto* array = static_cast<const ArrayManager*>(pe.objects->array(CkArrayID(CkGroupID(call.collection))));
  if (array == nullptr || array->elements().empty()) return;
  ArrayElement* const other = array->elements().front();
  void* const other_object = array->object_of(other);
  const auto distance =
      reinterpret_cast<char*>(other) - static_cast<char*>(base_object(array->type(), call.entry, other_object));
  auto* const element = reinterpret_cast<ArrayElement*>(static_cast<char*>(call.object) + distance);
  const CkArrayIndex index = array->index_of(element->ckGetID());
  for (int d = 0; d < std::min<int>(event.dimensions, index.dimension); ++d) event.index[d] = index.coordinate(d);
}

}  // namespace

// Listens to one thread while it has frames.
struct Recorder::Stopped {
  scheduler::ThreadListener listener{};
  Recorder* recorder;
  std::vector<Frame> frames;

  Stopped(Recorder& r, Thread* thread) : recorder(&r) {
    listener.data = this;
    listener.suspend = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->suspend(); };
    listener.resume = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->resume(); };
    listener.free = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->free(); };
    thread->system().add_listener(thread, &listener);
  }
  void suspend() {
    auto& all = recorder->frames_;
    auto first = all.end();
    while (first != all.begin() && (first - 1)->thread == listener.thread) --first;
    if (first == all.end()) return;
    recorder->end_top();
    frames.assign(first, all.end());
    all.erase(first, all.end());
    recorder->begin_top();
  }
  void resume() {
    if (frames.empty()) return;
    recorder->end_top();
    recorder->frames_.insert(recorder->frames_.end(), frames.begin(), frames.end());
    frames.clear();
    recorder->begin_top();
  }
  void free() {
    suspend();
    std::erase(recorder->stopped_, this);
    delete this;
  }
};

Recorder::Recorder(Pe& pe, std::string path, std::uint64_t origin_ns, std::size_t most)
    : pe_(pe), path_(std::move(path)), origin_ns_(origin_ns), most_(most) {
  keep({.kind = Kind::begin_computation, .time = now_us()});
  pe.conditions.call_always(scheduler::condition_begin_idle, begin_idle, this);
  pe.conditions.call_always(scheduler::condition_begin_busy, end_idle, this);
}

std::uint64_t Recorder::now_us() const {
  const std::uint64_t now = clock::now_ns();
  return now > origin_ns_ ? (now - origin_ns_) / 1000 : 0;
}

void Recorder::turn(bool on) {
  if (on == on_) return;
  if (!on) end_top();
  keep({.kind = on ? Kind::begin_trace : Kind::end_trace, .time = now_us()});
  on_ = on;
  constexpr std::uint32_t points = created | begin_execute | end_execute;
  if (on) {
    pe_.subscribe(this, points);
  } else {
    pe_.unsubscribe(this);
    frames_.clear();
    for (Stopped* stopped : stopped_) stopped->frames.clear();
  }
}

void Recorder::add(Event event) { add_at(event, now_us()); }

void Recorder::add_at(Event event, std::uint64_t time_us) {
  if (!on_) return;
  event.time = time_us;
  keep(event);
}

void Recorder::keep(const Event& event) {
  events_.push_back(event);
  if (events_.size() >= most_) static_cast<void>(write());
}

Status Recorder::write() {
  if (!failed_) return failed_;
  std::string text;
  if (!begun_) text.append("PROJECTIONS-RECORD ").append(std::to_string(events_.size())).append("\n");
  std::FILE* const log = std::fopen(path_.c_str(), begun_ ? "a" : "w");
  bool written = log != nullptr;
  begun_ = true;
  constexpr std::size_t piece = std::size_t{1} << 16;
  const auto put = [&] {
    written = written && std::fwrite(text.data(), 1, text.size(), log) == text.size();
    text.clear();
  };
  for (const Event& event : events_) {
    append_line(text, event, pe_.index);
    if (text.size() >= piece) put();
  }
  put();
  const int error = errno;
  if (log != nullptr) written = std::fclose(log) == 0 && written;
  events_.clear();
  if (!written) failed_ = Status::failure("cannot write " + path_ + ": " + error_text(log == nullptr ? error : errno));
  return failed_;
}

Status Recorder::close() {
  turn(false);
  keep({.kind = Kind::end_computation, .time = now_us()});
  return write();
}

// --- what runs -------------------------------------------------------------------------------------------------------

void Recorder::begin_top() {
  if (frames_.empty() || frames_.back().hidden) return;
  Event& event = frames_.back().event;
  event.kind = Kind::begin_processing;
  event.number = next_number();
  add(event);
}

void Recorder::end_top() {
  if (frames_.empty() || frames_.back().hidden) return;
  Event event = frames_.back().event;
  event.kind = Kind::end_processing;
  add(event);
}

void Recorder::on_created(Pe&, const Created& created) {
  if (entry_info(created.entry).flags & ep_notrace) return;
  add({.kind = Kind::creation,
       .message = receiver_kind(entry_info(created.entry).target),
       .entry = created.entry,
       .number = next_number(),
       .bytes = created.bytes});
}

void Recorder::on_begin(Pe& pe, const Delivery& call) {
  end_top();
  Thread* const thread = pe.threads.current();
  const EntryInfo& entry = entry_info(call.entry);
  Frame frame{{.message = receiver_kind(entry.target), .entry = call.entry, .bytes = call.length},
              thread,
              (entry.flags & ep_notrace) != 0};
  put_index(pe, call, frame.event);
  frames_.push_back(frame);
  begin_top();
  if (thread == nullptr) return;
  const auto known = [thread](Stopped* s) { return s->listener.thread == thread; };
  if (std::none_of(stopped_.begin(), stopped_.end(), known)) stopped_.push_back(new Stopped(*this, thread));
}

void Recorder::on_end(Pe& pe, const Delivery&) {
  // What began before recording did ends without a frame.
  if (frames_.empty() || frames_.back().thread != pe.threads.current()) return;
  end_top();
  frames_.pop_back();
  begin_top();
}

}  // namespace periapt::trace
