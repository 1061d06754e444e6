// See meter.h.
#include "runtime/loadbalance/meter.h"

#include <utility>

#include "base/clock.h"

namespace periapt::loadbalance {

Meter::~Meter() { turn(false); }

void Meter::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  if (on) {
    pe_.subscribe(this, begin_execute | end_execute);
    since_ns_ = now_ns();
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

std::uint64_t Meter::now_ns() const {
  if (processor_time_) [[unlikely]]
    return clock::thread_cpu_ns();
  return clock::now_ns();
}

void Meter::charge() {
  const std::uint64_t now = now_ns();
  if (!frames_.empty()) {
    const double spent = 1e-9 * static_cast<double>(now - since_ns_);
    const std::int32_t record = frames_.innermost();
    (record == nobody ? background_ : seconds(record)) += spent;
  }
  since_ns_ = now;
}

void Meter::on_begin(Pe&, const Delivery& execution) {
  const std::int32_t* record = records_.find(address(execution.object));
  begin(record ? *record : nobody);
  if (record && on_next_) [[unlikely]]
    std::exchange(on_next_, nullptr)(next_argument_);
}

}  // namespace periapt::loadbalance
