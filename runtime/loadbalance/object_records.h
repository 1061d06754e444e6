// What balancing keeps of the objects on one PE: array elements that take part, and objects of the program's own. Each
// has a record, by whose number its time is measured (meter.h) and its messages are counted (traffic.h), and what an
// element has said of itself stands beside it. loads() is all of that, as strategies see it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/gpu_times.h"
#include "runtime/loadbalance/meter.h"
#include "runtime/loadbalance/object_managers.h"
#include "runtime/loadbalance/traffic.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::loadbalance {

// Which of a record's times strategies see (+LBUseCpuTime, +LBUseGpuTime).
double load_of(const TimeSpent& spent);

class ObjectRecords {
 public:
  // Small, as each step goes through all of them.
  struct Record {
    ArrayElement* element = nullptr;  // null: free, or of an object of the program's own
    std::uint32_t serial = 0;         // of uses of this place
    BalanceState state;
    // It waits in the AtSync of this step, or of one that follows.
    bool waits_in(std::uint32_t step) const { return element && state.in_sync && state.step >= step; }
  };
  // What an element has said since it is here.
  struct Said {
    Position position;
    std::optional<PhaseParts> phases;
    std::vector<char> user_data;
  };

  explicit ObjectRecords(Pe& pe);

  // The number of its new record, which the element is to hold; remove() is given it when the element goes.
  std::int32_t add(ArrayElement& element, const BalanceTravel& travel);
  void remove(std::int32_t number);
  Record& operator[](std::int32_t number) { return records_[static_cast<std::size_t>(number)]; }
  const Record& operator[](std::int32_t number) const { return records_[static_cast<std::size_t>(number)]; }
  Said& said(std::int32_t number) { return said_[static_cast<std::size_t>(number)]; }
  // Free ones, too.
  std::vector<Record>& all() { return records_; }
  const std::vector<Record>& all() const { return records_; }
  bool empty() const { return records_.empty(); }
  // Elements that take part; and with them those of the program's own.
  std::uint32_t elements() const { return elements_; }
  std::uint32_t size() const { return elements_ + own_.size(); }
  // There was none before it.
  bool is_first() const { return elements_ <= 1 && size() == 1; }
  // How many of them wait in the AtSync of this step, or of one that follows.
  std::uint32_t waiting_in(std::uint32_t step) const;

  ObjectManagers& own() { return own_; }
  const ObjectManagers& own() const { return own_; }
  LDObjHandle add_own(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable);
  void remove_own(const LDObjHandle& object);

  // Of an element that takes part, up to now.
  TimeSpent spent(const ArrayElement& element) const;
  double load(const ArrayElement& element) const;
  void set_load(ArrayElement& element, double seconds);

  // Room in each element's user data, and where in it a balancer's begins.
  int claim_user_data(int bytes);
  char* user_data(std::int32_t number);

  static ArrayManager& array_of(const ArrayElement& element);
  // The element of this array, or one bound to it, that takes part; null: it is not here.
  ArrayElement* find(std::int32_t array, std::uint64_t id) const;
  // A thread of it, or of an element that moves along, waits for the next step; or an entry or a constructor of theirs
  // runs, which looks after other messages meanwhile, and may wait for the end of this step.
  static bool is_held(ArrayManager& leader, std::uint64_t id);
  // From now on strategies know that it stays.
  void keep_here(ArrayElement& element, const std::string& why, std::uint32_t step);

  // What is on this PE, as it is told to the coordinator in this step.
  LoadDatabase loads(std::uint32_t step);
  // What is measured from now on starts at 0.
  void clear_loads();

  // What the program wants measured; measure() has it so in this step.
  void turn_instrument(bool on) { instrument_wanted_ = on; }
  void turn_communication(bool on) { communication_wanted_ = on; }
  void measure(std::uint32_t step);
  // Whether messages are counted while anything is measured.
  bool counts_communication(std::uint32_t step) const;
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }
  GpuTimes& gpu_times() { return gpu_times_; }

 private:
  std::int32_t take_record();
  bool can_move(ArrayManager& manager, std::uint64_t id, std::uint32_t step) const;
  void add_pe(LoadDatabase& own);
  void add_elements(LoadDatabase& own);
  void add_own_objects(LoadDatabase& own);
  void add_said(LoadDatabase& own, std::size_t object, const Said& said);
  void add_phases(LoadDatabase& own, std::size_t object, const Said& said, double seconds);
  void add_user_data(LoadDatabase& own, std::size_t object, const std::vector<char>& user_data);

  Pe& pe_;
  Meter meter_;
  GpuTimes gpu_times_{meter_};
  Traffic traffic_;
  ObjectManagers own_{meter_, traffic_};
  std::vector<Record> records_;
  std::vector<Said> said_;  // by record
  std::vector<std::int32_t> free_;
  std::uint32_t elements_ = 0;
  std::uint32_t user_bytes_ = 0;  // that balancers have claimed
  bool instrument_wanted_ = true;
  std::optional<bool> communication_wanted_;  // what the program has said
  double speed_ = 1;
};

}  // namespace periapt::loadbalance
