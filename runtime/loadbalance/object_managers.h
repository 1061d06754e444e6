// Objects of a program's own that balancing moves beside array elements: a manager on each PE gives them ids, starts
// and stops their clocks, and moves them when it is told to (LBManager::RegisterOM() and what follows it in
// lb_manager.h).
//
// In a load database such an object stands under the negative number of its manager, which is the same on all PEs when
// all register their managers in the same order.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/loadbalance/classic/load_data.h"
#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/meter.h"
#include "runtime/loadbalance/traffic.h"

namespace periapt::loadbalance {

class ObjectManagers {
 public:
  ObjectManagers(Meter& meter, Traffic& traffic) : meter_(meter), traffic_(traffic) {}

  static bool is_own(std::int32_t array) { return array < 0; }
  // What a program and its balancers know the number as; and back.
  LDOMHandle handle_of(std::int32_t array);
  static std::int32_t array_of(const LDOMHandle& manager) { return -manager.handle; }

  LDOMHandle add_manager(LDOMid id, const LDCallbacks& calls);
  void remove_manager(const LDOMHandle& manager);
  // `record`: of the meter, for this object alone.
  LDObjHandle add(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable, std::int32_t record);
  // The record, which is free again.
  std::int32_t remove(const LDObjHandle& object);

  void start(const LDObjHandle& object);
  void stop(const LDObjHandle& object);
  TimeSpent spent(const LDObjHandle& object);
  void set_spent(const LDObjHandle& object, TimeSpent spent);
  void sent(const LDOMHandle& to_manager, CmiUInt8 to, std::uint64_t messages, std::uint64_t bytes);

  void* user(const LDObjHandle& object) { return at(object, "GetObjUserData()").user; }
  void set_migratable(const LDObjHandle& object, bool yes) { at(object, "Migratable()").migratable = yes; }
  void set_bytes(const LDObjHandle& object, std::uint64_t bytes) { at(object, "setPupSize()").bytes = bytes; }
  std::vector<char>& user_data(const LDObjHandle& object) { return at(object, "GetDBObjUserData()").user_data; }

  // How many are on this PE.
  std::uint32_t size() const;
  // What is on this PE: visit(ObjectLoad without its times and PE, TimeSpent, its user data).
  template <class Visit>
  void for_each_load(Visit&& visit);
  // The manager is told to move it. False: it is not here.
  bool move(std::int32_t array, std::uint64_t id, int to);

 private:
  struct Object {
    LDObjHandle handle;
    void* user;
    bool migratable;
    bool running = false;  // its clock
    std::uint64_t bytes = 0;
    std::vector<char> user_data{};
  };
  struct Manager {
    LDOMid id;
    LDCallbacks calls;
    std::unordered_map<CmiUInt8, Object> objects;
    bool gone = false;
  };
  // Null: there is none.
  Manager* find(std::int32_t array);
  Manager& at(const LDOMHandle& manager, const char* caller);
  Object& at(const LDObjHandle& object, const char* caller);

  Meter& meter_;
  Traffic& traffic_;
  std::vector<Manager> managers_;  // number n at n - 1
};

template <class Visit>
void ObjectManagers::for_each_load(Visit&& visit) {
  for (const Manager& manager : managers_) {
    for (const auto& [id, object] : manager.objects) {
      const TimeSpent spent = meter_.up_to_now(object.handle.handle);
      ObjectLoad load;
      load.array = array_of(object.handle.omhandle);
      load.element = id;
      load.bytes = object.bytes;
      load.migratable = object.migratable && manager.calls.migrate;
      visit(load, spent, object.user_data);
    }
  }
}

}  // namespace periapt::loadbalance
