// See gpu_times.h.
#include "runtime/loadbalance/gpu_times.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace periapt::loadbalance {

GpuTimes::~GpuTimes() {
  for (const Span& span : spans_) give_back(span);
  for (const auto& [owner, events] : free_)
    for (const gpu::Event event : events) owner.first->destroy(event);
}

std::uint64_t GpuTimes::begin(gpu::Driver& driver, void* stream) {
  if (!meter_.is_on()) return 0;
  charge_first();
  Span span;
  span.driver = &driver;
  span.record = meter_.running();
  const Result<int> gpu = driver.gpu_of_stream(stream);
  if (!gpu) return complain(gpu.status()), 0;
  span.stream = {stream, std::max(*gpu, 0)};
  if (const Result<bool> captured = driver.is_captured(span.stream); !captured || *captured) return 0;
  if (const Status put = put_events(span); !put) return complain(put), 0;
  span.number = ++last_;
  spans_.push_back(span);
  return span.number;
}

// The one at the end has its place there when end() records it.
Status GpuTimes::put_events(Span& span) {
  for (gpu::Event* const event : {&span.begin, &span.end}) {
    const Result<gpu::Event> taken = take_event(*span.driver, span.stream.gpu);
    if (!taken) return give_back(span), taken.status();
    *event = *taken;
  }
  Status recorded = span.driver->record(span.begin, span.stream);
  if (!recorded) give_back(span);
  return recorded;
}

void GpuTimes::end(std::uint64_t span) {
  const auto at = std::lower_bound(spans_.begin(), spans_.end(), span,
                                   [](const Span& one, std::uint64_t number) { return one.number < number; });
  if (at == spans_.end() || at->number != span || at->ended) return;
  const Result<bool> captured = at->driver->is_captured(at->stream);
  const bool is_timed = captured && !*captured;
  const Status recorded = is_timed ? at->driver->record(at->end, at->stream) : captured.status();
  at->ended = is_timed && recorded;
  if (at->ended) return;
  if (!recorded) complain(recorded);
  give_back(*at);
  spans_.erase(at);
}

void GpuTimes::charge() {
  const auto done = [this](const Span& span) { return span.ended && charge(span); };
  spans_.erase(std::remove_if(spans_.begin(), spans_.end(), done), spans_.end());
}

void GpuTimes::charge_first() {
  while (!spans_.empty() && spans_.front().ended && charge(spans_.front())) spans_.pop_front();
}

bool GpuTimes::charge(const Span& span) {
  const Result<bool> reached = span.driver->reached(span.end);
  if (reached && !*reached) return false;
  const Result<double> seconds =
      reached ? span.driver->seconds_between(span.begin, span.end) : Result<double>(reached.status());
  if (seconds)
    meter_.charge_gpu(span.record, *seconds);
  else
    complain(seconds.status());
  give_back(span);
  return true;
}

void GpuTimes::forget(std::int32_t record) {
  for (Span& span : spans_)
    if (span.record == record) span.record = Meter::nobody;
}

Result<gpu::Event> GpuTimes::take_event(gpu::Driver& driver, int gpu) {
  std::vector<gpu::Event>& free = free_[{&driver, gpu}];
  if (free.empty()) return driver.make_timed_event(gpu);
  const gpu::Event event = free.back();
  free.pop_back();
  return event;
}
void GpuTimes::give_back(const Span& span) {
  for (const gpu::Event event : {span.begin, span.end})
    if (event.native != nullptr) free_[{span.driver, span.stream.gpu}].push_back(event);
}

void GpuTimes::complain(const Status& status) {
  if (std::exchange(complained_, true)) return;
  log::note("load balancing: GPU time of elements is not measured as it should be: " + status.message());
}

}  // namespace periapt::loadbalance
