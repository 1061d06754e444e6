// See object_records.h.
#include "runtime/loadbalance/object_records.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "machine/sim/machine.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/array/packing_attempt.h"
#include "runtime/loadbalance/available_pes.h"
#include "runtime/loadbalance/options.h"
#include "runtime/scheduler/process.h"

namespace periapt::loadbalance {

namespace {
// Relative to a PE that does a fixed piece of work in 10 ms.
double measured_speed() {
  const std::uint64_t start = clock::thread_cpu_ns();
  std::uint64_t value = 1;
  for (int i = 0; i < 8'000'000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  volatile std::uint64_t keep = value;
  static_cast<void>(keep);
  return 1e7 / static_cast<double>(std::max<std::uint64_t>(clock::thread_cpu_ns() - start, 1));
}

}  // namespace

double load_of(const TimeSpent& spent) {
  switch (options().clock) {
    case LoadClock::processor:
      return spent.processor;
    case LoadClock::gpu:
      return spent.gpu;
    default:
      return spent.wall;
  }
}

ArrayManager& ObjectRecords::array_of(const ArrayElement& element) { return element.ckGetArrayManager()->manager(); }

ObjectRecords::ObjectRecords(Pe& pe)
    : pe_(pe), meter_(pe, options().clock == LoadClock::processor), traffic_(pe, meter_) {
  if (options().test_speed) speed_ = measured_speed();
  meter_.restart();  // the first interval begins here
}

// --- records ---------------------------------------------------------------------------------------------------------

std::int32_t ObjectRecords::take_record() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(records_.size()));
    records_.emplace_back();
    said_.emplace_back();
    meter_.reserve(free_.back());
  }
  const std::int32_t number = free_.back();
  free_.pop_back();
  return number;
}

std::int32_t ObjectRecords::add(ArrayElement& element, const BalanceTravel& travel) {
  const std::int32_t number = take_record();
  Record& record = (*this)[number];
  record.element = &element;
  record.state = travel.state;
  said(number).position = {};
  said(number).phases.reset();
  said(number).user_data.clear();
  meter_.spent(number) = travel.spent;
  traffic_.set_name(number, name_of(*pe_.objects, {element.ckGetArrayID().index(), element.ckGetID()}));
  ++elements_;
  return number;
}

void ObjectRecords::remove(std::int32_t number) {
  Record& record = (*this)[number];
  meter_.forget(number);
  gpu_times_.forget(number);
  --elements_;
  record.element = nullptr;
  ++record.serial;
  free_.push_back(number);
}

std::uint32_t ObjectRecords::waiting_in(std::uint32_t step) const {
  std::uint32_t waiting = 0;
  for (const Record& record : records_) waiting += record.waits_in(step);
  return waiting;
}

LDObjHandle ObjectRecords::add_own(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable) {
  const std::int32_t record = take_record();
  meter_.spent(record) = {};
  return own_.add(manager, id, user, migratable, record);
}
void ObjectRecords::remove_own(const LDObjHandle& object) {
  free_.push_back(own_.remove(object));
  gpu_times_.forget(free_.back());
}

TimeSpent ObjectRecords::spent(const ArrayElement& element) const {
  return const_cast<Meter&>(meter_).up_to_now(BalanceHook::record_of(element));
}
double ObjectRecords::load(const ArrayElement& element) const {
  const_cast<GpuTimes&>(gpu_times_).charge();
  return load_of(spent(element));
}
void ObjectRecords::set_load(ArrayElement& element, double seconds) {
  gpu_times_.charge();
  const double gpu = options().clock == LoadClock::gpu ? seconds : spent(element).gpu;
  meter_.up_to_now(BalanceHook::record_of(element)) = {seconds, seconds, gpu};
}

int ObjectRecords::claim_user_data(int bytes) {
  constexpr std::uint32_t alignment = 16;
  const int place = static_cast<int>(user_bytes_);
  user_bytes_ += (static_cast<std::uint32_t>(std::max(bytes, 0)) + alignment - 1) / alignment * alignment;
  return place;
}
char* ObjectRecords::user_data(std::int32_t number) {
  std::vector<char>& data = said(number).user_data;
  data.resize(user_bytes_);
  return data.data();
}

void ObjectRecords::measure(std::uint32_t step) {
  if (options().off) return;
  meter_.turn(instrument_wanted_);
  traffic_.turn(instrument_wanted_ && counts_communication(step));
}
bool ObjectRecords::counts_communication(std::uint32_t step) const {
  return communication_wanted_.value_or(options().communication(step)) && !options().never_count_messages;
}
void ObjectRecords::clear_loads() {
  meter_.restart();
  traffic_.restart();
}

// --- what can move ---------------------------------------------------------------------------------------------------

namespace {
// Of all that moves together. Returns what is wrong with the pup() of one of them.
std::string measure_packed(const ArrayManager& array, std::uint64_t id, std::uint64_t* bytes) {
  for (ArrayManager* bound : array.bound()) {
    ArrayElement* const element = bound->find(id);
    if (!element) continue;
    PUP::sizer sizer;
    const std::string wrong = attempt_pup([&]() -> std::string {
      element->virtual_pup(sizer);
      return "";
    });
    if (!wrong.empty()) return "pup() of " + bound->describe(id) + " " + wrong;
    *bytes += sizer.size();
  }
  return "";
}

// The first of each class that cannot move is named.
bool is_first_of(int type) {
  static std::mutex lock;
  static std::set<int> named;
  const std::lock_guard<std::mutex> held(lock);
  return named.insert(type).second;
}
}  // namespace

void ObjectRecords::keep_here(ArrayElement& element, const std::string& why, std::uint32_t step) {
  element.setMigratable(false);
  const int type = array_manager(element.ckGetArrayID()).type();
  if (!is_first_of(type)) return;
  log::warn("load balancing, step " + std::to_string(step) + ": " + why + "; it stays on PE " +
            std::to_string(pe_.index) + " in this step and those that follow. (Others of class " +
            registry().chares[static_cast<std::size_t>(type)].name +
            " are not named.) Mend its pup(), or say setMigratable(false) in its constructors");
}
// Neither it nor what is bound to it has a thread that runs or a class that could not be made again.
bool ObjectRecords::can_move(ArrayManager& manager, std::uint64_t id, std::uint32_t step) const {
  for (ArrayManager* bound : manager.bound()) {
    if (can_be_made_again(bound->type()) || !bound->find(id)) continue;
    if (options().strategy(step) && is_first_of(bound->type()))
      log::warn(std::string("load balancing: elements of class ") +
                registry().chares[static_cast<std::size_t>(bound->type())].name +
                " stay where they are, as it has no constructor from CkMigrateMessage*, nor one without arguments, by "
                "which they could be made again");
    return false;
  }
  return !has_threads(manager, id);
}

bool ObjectRecords::is_held(ArrayManager& leader, std::uint64_t id) {
  return !(owner_around(leader, id) == ThreadOwner{}) || has_threads(leader, id) || leader.is_being_made(id);
}
ArrayElement* ObjectRecords::find(std::int32_t array, std::uint64_t id) const {
  ArrayManager* const leader = find_array(*pe_.objects, CkArrayID(CkGroupID{array}));
  if (!leader) return nullptr;
  for (ArrayManager* manager : leader->bound())
    if (ArrayElement* element = manager->find(id); element && BalanceHook::record_of(*element) >= 0) return element;
  return nullptr;
}

// --- loads -----------------------------------------------------------------------------------------------------------

// The PE, its host, and the program's machine.
void ObjectRecords::add_pe(LoadDatabase& own) {
  const TimeSpent background = options().object_only ? TimeSpent() : meter_.background();
  own.pes.push_back({meter_.wall(), meter_.idle(), load_of(background), speed_, available_pes().may_get(pe_.index),
                     pe_.process.rank(), pe_.process.layout().host_of(pe_.index)});
  if (own.clock != LoadClock::wall) own.pes.back().background_wall = background.wall;
  own.pes.back().background_gpu = background.gpu;
  if (const sim::Machine* const machine = pe_.process.simulated()) {
    own.pes.back().host = machine->node_of(pe_.index);
    if (pe_.index == 0) own.topology = machine->options().topology;
  }
}
// Elements of bound arrays move together: one object.
void ObjectRecords::add_elements(LoadDatabase& own) {
  const bool measures_sizes = options().sizes(own.step);
  std::unordered_map<const Location*, std::unordered_map<std::uint64_t, std::size_t>> bound;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (!record.element) continue;
    const ArrayElement& element = *record.element;
    ArrayManager& manager = array_of(element);
    const TimeSpent spent = this->spent(element);
    const double seconds = load_of(spent), wall = own.clock != LoadClock::wall ? spent.wall : 0;
    const bool is_being_made = manager.is_being_made(element.ckGetID());
    const bool migratable =
        !is_being_made && manager.may_move(record.element) && can_move(manager, element.ckGetID(), own.step);
    if (manager.bound().size() > 1) {
      auto [known, first] = bound[&manager.location()].try_emplace(element.ckGetID(), own.objects.size());
      if (!first) {
        add_phases(own, known->second, said_[i], seconds);
        own.objects[known->second].seconds += seconds;
        own.objects[known->second].wall += wall;
        own.objects[known->second].gpu += spent.gpu;
        own.objects[known->second].migratable &= migratable;
        add_said(own, known->second, said_[i]);
        continue;
      }
    }
    const ElementName name = name_of(*pe_.objects, {manager.id().index(), element.ckGetID()});
    std::uint64_t bytes = 0;
    const bool is_measured = measures_sizes && !is_being_made;
    const std::string wrong = is_measured ? measure_packed(manager, element.ckGetID(), &bytes) : "";
    if (!wrong.empty()) keep_here(*record.element, wrong, own.step);
    own.objects.push_back(
        {name.array, name.element, pe_.index, seconds, bytes, migratable && wrong.empty(), wall, spent.gpu});
    if (said_[i].phases) {
      own.phases.resize(own.objects.size());
      own.phases.back() = *said_[i].phases;
    }
    add_said(own, own.objects.size() - 1, said_[i]);
  }
}
void ObjectRecords::add_own_objects(LoadDatabase& own) {
  own_.for_each_load([&](ObjectLoad load, const TimeSpent& spent, const std::vector<char>& user_data) {
    load.pe = pe_.index;
    load.seconds = load_of(spent);
    if (own.clock != LoadClock::wall) load.wall = spent.wall;
    load.gpu = spent.gpu;
    own.objects.push_back(load);
    add_user_data(own, own.objects.size() - 1, user_data);
  });
}
LoadDatabase ObjectRecords::loads(std::uint32_t step) {
  LoadDatabase own;
  own.step = step;
  own.communication = traffic_.recorded();
  own.clock = options().clock;
  own.user_bytes = user_bytes_;
  gpu_times_.charge();
  add_pe(own);
  add_elements(own);
  add_own_objects(own);
  if (!own.positions.empty()) own.positions.resize(own.objects.size());
  if (!own.phases.empty()) own.phases.resize(own.objects.size());
  own.user_data.resize(own.objects.size() * user_bytes_);
  return own;
}
// What an element has said of itself: its position, its user data.
void ObjectRecords::add_said(LoadDatabase& own, std::size_t object, const Said& said) {
  if (said.position.given()) {
    own.positions.resize(own.objects.size());
    own.positions[object] = said.position;
  }
  add_user_data(own, object, said.user_data);
}
// Of an element that is bound to the object and has `seconds` of its own.
void ObjectRecords::add_phases(LoadDatabase& own, std::size_t object, const Said& said, double seconds) {
  if (own.phases.empty() && !said.phases) return;
  own.phases.resize(own.objects.size());
  own.phases[object].join(own.objects[object].seconds, said.phases.value_or(PhaseParts()), seconds);
}
void ObjectRecords::add_user_data(LoadDatabase& own, std::size_t object, const std::vector<char>& user_data) {
  if (user_data.empty()) return;
  own.user_data.resize(own.objects.size() * user_bytes_);
  std::copy(user_data.begin(), user_data.end(), &own.user_data[object * user_bytes_]);
}

}  // namespace periapt::loadbalance
