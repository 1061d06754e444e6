// What watches the scheduler (trace, load measurement, record and replay, dashboard) subscribes to four points.
// With no subscriber a point costs one predictable branch on Pe::watched.
#pragma once
#include <cstdint>

namespace periapt {

class Pe;
struct Delivery;

class Observer {
 public:
  enum Point : std::uint32_t { created = 1, enqueued = 2, begin_execute = 4, end_execute = 8 };
  virtual ~Observer() = default;
  virtual void on_created(Pe&, int to_pe, std::uint16_t entry, std::uint64_t bytes) {}
  virtual void on_enqueued(Pe&, std::uint16_t entry) {}
  virtual void on_begin(Pe&, const Delivery&) {}
  virtual void on_end(Pe&, const Delivery&) {}
};

}  // namespace periapt
