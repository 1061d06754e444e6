// Which of the pieces of work that wait a PE runs next, in a run with +fuzz, +record or +replay (runtime/order). A PE
// without an Ordering takes them from its queues as they lie there; one with an Ordering hands everything over to it,
// and runs one piece at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/work.h"

namespace periapt {

class Pe;

// A piece of work that waits.
struct Arrival {
  static constexpr int other_host = -1;  // whichever PE of it: the network does not say
  // How it is queued: at the end; before all that is there, as it has waited elsewhere; before all that has no such
  // mark; by the priority in its envelope.
  enum class Place : std::uint8_t { back, front, expedited, by_priority };

  Work work;
  int source = 0;  // the PE that has put it here. What one source puts comes in the order in which it was sent
  Place place = Place::back;
  std::uint64_t number = 0;  // for a Recorder, to know it again
};

// All of it on the thread of its PE.
class Ordering {
 public:
  virtual ~Ordering() = default;
  virtual void add(const Arrival& arrival) = 0;
  // What runs next; false: nothing may run now.
  virtual bool take(Arrival& next) = 0;
  // Whether take() would find something.
  virtual bool has_next() const = 0;
  // Pieces of work that were added and not taken.
  virtual std::size_t size() const = 0;
  // What the runtime has decided by its clocks, which no order of messages gives again: a replay puts in what was
  // decided then.
  virtual void settle(std::vector<std::byte>&) {}
  // A scheduler begins or ends to run within what runs here: an entry that polls, say.
  virtual void begin_poll() {}
  virtual void end_poll() {}
  // take() has found nothing, but is to: what is next ran within the poll that is under way, which waits for it a
  // while.
  virtual bool holds_poll() const { return false; }
  // Whether its order is written down, or given: what clocks decide beside it would not come again.
  virtual bool is_recorded() const { return false; }
  // The run has ended for this PE.
  virtual void end() {}
};

}  // namespace periapt
