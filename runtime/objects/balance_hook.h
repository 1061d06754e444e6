// What the arrays tell a load balancer (runtime/loadbalance) on each PE: which elements take part, where they come
// from and go, and that one has reached AtSync. The balancer keeps its own record of each; the element holds its
// number.
#pragma once
#include <string>

#include "runtime/api/objects.h"

namespace periapt {

// Seconds in entry methods, and those that GPUs have worked for them (CkGpuTimer).
struct TimeSpent {
  double wall = 0;
  double processor = 0;  // where that is measured
  double gpu = 0;
  TimeSpent& operator+=(const TimeSpent& other) {
    wall += other.wall;
    processor += other.processor;
    gpu += other.gpu;
    return *this;
  }
};

struct BalanceState {
  std::uint32_t step = 0;     // of the AtSync it waits in, when in_sync
  std::uint32_t resumed = 0;  // last step it was resumed from
  bool in_sync = false;
  bool moved = false;  // by the balancer: it is counted on arrival
};
// What an element that takes part brings along to another PE.
struct BalanceTravel {
  TimeSpent spent;  // measured since the last balancing
  BalanceState state;
};

class BalanceHook {
 public:
  virtual ~BalanceHook() = default;
  // Whether an element does: those that use AtSync, or, where balancing comes at any time, all.
  bool takes_part(const ArrayElement& element) const { return element.ckUsesAtSync() || all_take_part_; }
  // An element that takes part was made here, or came from another PE.
  virtual void born(ArrayElement& element) = 0;
  virtual void arrived(ArrayElement& element, const BalanceTravel& travel) = 0;
  // It was destroyed, or leaves for another PE.
  virtual void died(ArrayElement& element) = 0;
  virtual BalanceTravel left(ArrayElement& element) = 0;

  // `caller`: the base of it that has called AtSync(); itself, but where a class has several array bases.
  virtual void at_sync(ArrayElement& element, ArrayElement& caller) = 0;
  // Whether it waits for the others there, and that it has done so in the run that a checkpoint is of, with this load.
  // It is resumed when all others of this run are there.
  virtual bool waits(const ArrayElement& element) const = 0;
  virtual void waits_again(ArrayElement& element, double seconds) = 0;
  // Elements that have been made again from a checkpoint are all there.
  virtual void remade() = 0;

  // When all elements wait in AtSync next, PeObjects::all_wait_in_sync is called on one PE instead of a balancing, and
  // nothing more happens until go_on().
  virtual void hold_next_step() = 0;
  virtual void go_on() = 0;
  bool at_any_time() const { return all_take_part_; }
  // The number of the balancer's record of an element; -1: it takes no part.
  static std::int32_t record_of(const ArrayElement& element) { return element.load_slot_; }
  virtual double load(const ArrayElement& element) const = 0;
  virtual void set_load(ArrayElement& element, double seconds) = 0;

  // For the watchdog: elements in AtSync, and in a sentence those that have not come there yet.
  virtual std::size_t waiting() const = 0;
  virtual std::string describe_waiting() const = 0;

  // Of all arrays, also of those that take no part: sums over all PEs tell whether an element is under way somewhere.
  std::uint64_t elements_sent = 0, elements_received = 0;
  // Sum of a hash of every array known here: tells whether all PEs know the same ones.
  std::uint64_t arrays_known = 0;

 protected:
  static void set_record(ArrayElement& element, std::int32_t record) { element.load_slot_ = record; }
  bool all_take_part_ = false;
  static bool measured(const ArrayElement& element) { return element.usesAutoMeasure; }
};

}  // namespace periapt
