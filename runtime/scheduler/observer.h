// What watches the scheduler (trace, load measurement) subscribes to four points. With no subscriber a point costs one
// predictable branch on Pe::watched.
//   created        the program sends a message: a call of a proxy, a broadcast once for all its receivers. What the
//                  runtime sends for itself, or sends on, is none
//   enqueued       a message has come to its PE: it goes into the queue there or, when that is empty, runs at once. Of
//                  calls that travelled together it is the message that holds them. One that had to wait for what was
//                  not there yet comes again
//   begin_execute  its entry is entered
//   end_execute    and has returned
#pragma once
#include <cstdint>

namespace periapt {

class Pe;
struct Delivery;

// A message at the moment in which it is created.
struct Created {
  static constexpr int all_pes = -1, all_processes = -2;
  int to_pe;  // where it goes first; all_...: a broadcast
  std::uint16_t entry;
  std::uint64_t bytes;           // of arguments
  std::uint32_t collection = 0;  // the array, of a message to an element; the group, of one to a member; else 0
  std::uint64_t element = 0;     // the number of the element; 0: it is for none

  int receivers(const Pe& maker) const;
};

class Observer {
 public:
  enum Point : std::uint32_t { created = 1, enqueued = 2, begin_execute = 4, end_execute = 8 };
  virtual ~Observer() = default;
  virtual void on_created(Pe&, const Created&) {}
  virtual void on_enqueued(Pe&, std::uint16_t entry) {}
  virtual void on_begin(Pe&, const Delivery&) {}
  virtual void on_end(Pe&, const Delivery&) {}
};

}  // namespace periapt
