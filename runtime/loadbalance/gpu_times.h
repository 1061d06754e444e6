// Seconds that GPUs work for what runs on this PE, by the events that CkGpuTimer (gpu_timer.h) has put into streams.
// They are charged to the Meter's records when the GPU has reached both; nothing waits for that.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "machine/gpu/vendor.h"
#include "runtime/loadbalance/meter.h"

namespace periapt::loadbalance {

class GpuTimes {
 public:
  explicit GpuTimes(Meter& meter) : meter_(meter) {}
  ~GpuTimes();

  // What the stream is given from here on is work of what runs now. The number names the span for end(); 0: none is
  // measured, since measuring is off, the stream is captured, or the driver cannot, which is said once.
  std::uint64_t begin(gpu::Driver& driver, void* stream);
  void end(std::uint64_t span);
  // Charges what GPUs have done meanwhile.
  void charge();
  // The record is free: what a GPU still does for it is background.
  void forget(std::int32_t record);

 private:
  struct Span {
    std::uint64_t number = 0;
    gpu::Driver* driver = nullptr;
    gpu::Stream stream;
    gpu::Event begin, end;
    std::int32_t record = Meter::nobody;
    bool ended = false;
  };
  // Of a driver and a GPU.
  using Owner = std::pair<gpu::Driver*, int>;

  Result<gpu::Event> take_event(gpu::Driver& driver, int gpu);
  Status put_events(Span& span);
  // What has ended at the front, which costs one question of the driver's where nothing has.
  void charge_first();
  // False: the GPU has not reached its end.
  bool charge(const Span& span);
  void give_back(const Span& span);
  void complain(const Status& status);

  Meter& meter_;
  std::deque<Span> spans_;  // in the order in which they began
  std::map<Owner, std::vector<gpu::Event>> free_;
  std::uint64_t last_ = 0;
  bool complained_ = false;
};

}  // namespace periapt::loadbalance
