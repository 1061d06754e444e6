// See meter.h.
#include "runtime/loadbalance/meter.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "runtime/objects/running_threads.h"

namespace periapt::loadbalance {

Meter::~Meter() { turn(false); }

void Meter::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  if (on) {
    pe_.subscribe(this, begin_execute | end_execute);
    charge();  // to none: from now on
    return;
  }
  charge();
  pe_.unsubscribe(this);
  frames_.clear();
}

void Meter::forget(std::int32_t record) {
  if (!frames_.empty()) charge();
  frames_.for_each([record](std::int32_t& charged) {
    if (charged == record) charged = nobody;
  });
  spent(record) = {};
}

TimeSpent& Meter::up_to_now(std::int32_t record) {
  if (on_ && !frames_.empty()) charge();
  return spent(record);
}

double Meter::wall() const { return 1e-9 * static_cast<double>(clock::now_ns() - interval_ns_); }

void Meter::restart() {
  charge();
  background_ = {};
  std::fill(spent_.begin(), spent_.end(), TimeSpent{});
  interval_ns_ = clock::now_ns();
  idle_before_ = pe_.idle_seconds();
}

namespace {
// The seconds since then, which becomes now.
double seconds_since(std::uint64_t& then_ns, std::uint64_t now_ns) {
  return 1e-9 * static_cast<double>(now_ns - std::exchange(then_ns, now_ns));
}
}  // namespace

void Meter::charge() {
  const double wall = seconds_since(since_ns_, clock::now_ns());
  const double processor = processor_time_ ? seconds_since(processor_since_ns_, clock::thread_cpu_ns()) : 0;
  if (frames_.empty()) return;
  const std::int32_t record = frames_.innermost();
  TimeSpent& charged = record == nobody ? background_ : spent(record);
  charged.wall += wall;
  if (processor_time_) [[unlikely]]
    charged.processor += processor;
}

void Meter::on_begin(Pe&, const Delivery& execution) {
  const ArrayElement* const element = ThreadOwner{execution.owner}.element();
  begin(element ? BalanceHook::record_of(*element) : nobody);
}
void Meter::on_end(Pe&, const Delivery&) { end(); }

}  // namespace periapt::loadbalance
