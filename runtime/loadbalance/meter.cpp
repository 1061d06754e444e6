// See meter.h.
#include "runtime/loadbalance/meter.h"

#include <algorithm>

#include "base/clock.h"

namespace periapt::loadbalance {

// Listens to one thread while it has frames.
struct Meter::Stopped {
  scheduler::ThreadListener listener{};
  Meter* meter;
  std::vector<Frame> frames;

  Stopped(Meter& m, Thread* thread) : meter(&m) {
    listener.data = this;
    listener.suspend = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->suspend(); };
    listener.resume = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->resume(); };
    listener.free = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->free(); };
    thread->system().add_listener(thread, &listener);
  }
  void suspend() {
    meter->charge();
    auto& all = meter->frames_;
    auto first = all.end();
    while (first != all.begin() && (first - 1)->thread == listener.thread) --first;
    frames.assign(first, all.end());
    all.erase(first, all.end());
  }
  void resume() {
    meter->charge();
    meter->frames_.insert(meter->frames_.end(), frames.begin(), frames.end());
    frames.clear();
  }
  void free() {
    suspend();
    std::erase(meter->stopped_, this);
    delete this;
  }
};

Meter::~Meter() { turn(false); }

void Meter::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  if (on) {
    pe_.subscribe(this, begin_execute | end_execute);
    since_ns_ = clock::now_ns();
    return;
  }
  charge();
  pe_.unsubscribe(this);
  frames_.clear();
  for (Stopped* stopped : stopped_) stopped->frames.clear();
}

void Meter::forget(std::int32_t record) {
  auto release = [record](std::vector<Frame>& frames) {
    for (Frame& frame : frames)
      if (frame.record == record) frame.record = nobody;
  };
  if (!frames_.empty()) charge();
  release(frames_);
  for (Stopped* stopped : stopped_) release(stopped->frames);
  seconds(record) = 0;
}

double& Meter::seconds(std::int32_t record) {
  if (static_cast<std::size_t>(record) >= seconds_.size()) seconds_.resize(record + 1);
  return seconds_[record];
}

double& Meter::up_to_now(std::int32_t record) {
  if (on_ && !frames_.empty()) charge();
  return seconds(record);
}

double Meter::wall() const { return 1e-9 * static_cast<double>(clock::now_ns() - interval_ns_); }

void Meter::restart() {
  charge();
  background_ = 0;
  interval_ns_ = clock::now_ns();
  idle_before_ = pe_.idle_seconds();
}

void Meter::charge() {
  const std::uint64_t now = clock::now_ns();
  if (!frames_.empty()) {
    const double spent = 1e-9 * static_cast<double>(now - since_ns_);
    const std::int32_t record = frames_.back().record;
    (record == nobody ? background_ : seconds(record)) += spent;
  }
  since_ns_ = now;
}

void Meter::on_begin(Pe&, const Delivery& execution) {
  const std::int32_t* record = records_.find(address(execution.object));
  begin(record ? *record : nobody);
}

void Meter::begin(std::int32_t record) {
  charge();
  Thread* thread = pe_.threads.current();
  frames_.push_back({record, thread});
  if (!thread) return;
  auto known = [thread](Stopped* s) { return s->listener.thread == thread; };
  if (std::none_of(stopped_.begin(), stopped_.end(), known)) stopped_.push_back(new Stopped(*this, thread));
}

void Meter::end() {
  // What began before the meter was on ends without a frame.
  if (frames_.empty() || frames_.back().thread != pe_.threads.current()) return;
  charge();
  frames_.pop_back();
}

}  // namespace periapt::loadbalance
