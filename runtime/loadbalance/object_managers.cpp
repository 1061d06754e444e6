// See object_managers.h.
#include "runtime/loadbalance/object_managers.h"

#include <string>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::loadbalance {

ObjectManagers::Manager* ObjectManagers::find(std::int32_t array) {
  const auto place = static_cast<std::size_t>(-array) - 1;
  return place < managers_.size() ? &managers_[place] : nullptr;
}
LDOMHandle ObjectManagers::handle_of(std::int32_t array) {
  LDOMHandle handle;
  handle.handle = -array;
  if (const Manager* manager = find(array)) handle.id = manager->id;
  return handle;
}

LDOMHandle ObjectManagers::add_manager(LDOMid id, const LDCallbacks& calls) {
  managers_.push_back({id, calls, {}, false});
  return handle_of(-static_cast<std::int32_t>(managers_.size()));
}
void ObjectManagers::remove_manager(const LDOMHandle& manager) {
  Manager& gone = at(manager, "UnregisterOM()");
  if (!gone.objects.empty())
    fatal("UnregisterOM() is called, and " + std::to_string(gone.objects.size()) + " objects of this manager are here",
          describe_running(*Pe::current()), "their loads would be nobody's", "call UnregisterObj() for each first");
  gone.gone = true;
}

ObjectManagers::Manager& ObjectManagers::at(const LDOMHandle& manager, const char* caller) {
  Manager* const found = find(array_of(manager));
  if (!found || found->gone)
    fatal(std::string(caller) + " is given no manager of this PE", describe_running(*Pe::current()),
          "the number of its handle is " + std::to_string(manager.handle) + ", and RegisterOM() has given 1 to " +
              std::to_string(managers_.size()),
          "give it what RegisterOM() has returned on this PE");
  return *found;
}
ObjectManagers::Object& ObjectManagers::at(const LDObjHandle& object, const char* caller) {
  Manager& manager = at(object.omhandle, caller);
  const auto found = manager.objects.find(object.id);
  if (found == manager.objects.end())
    fatal(std::string(caller) + " is given no object of this PE", describe_running(*Pe::current()),
          "object " + std::to_string(object.id) + " of manager " + std::to_string(object.omhandle.handle) +
              " is not registered here",
          "give it what RegisterObj() has returned on this PE, before UnregisterObj()");
  return found->second;
}

LDObjHandle ObjectManagers::add(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable,
                                std::int32_t record) {
  Manager& of = at(manager, "RegisterObj()");
  LDObjHandle handle;
  handle.omhandle = handle_of(array_of(manager));
  handle.id = id;
  handle.handle = record;
  if (!of.objects.try_emplace(id, Object{handle, user, migratable}).second)
    fatal("RegisterObj() is called twice for one object", describe_running(*Pe::current()),
          "object " + std::to_string(id) + " of manager " + std::to_string(manager.handle) + " is registered here",
          "call UnregisterObj() before, or give each object an id of its own");
  traffic_.set_name(record, {array_of(manager), id});
  return handle;
}
std::int32_t ObjectManagers::remove(const LDObjHandle& object) {
  stop(object);
  const std::int32_t record = at(object, "UnregisterObj()").handle.handle;
  meter_.forget(record);
  at(object.omhandle, "UnregisterObj()").objects.erase(object.id);
  return record;
}

void ObjectManagers::start(const LDObjHandle& object) {
  Object& started = at(object, "ObjectStart()");
  if (started.running || !meter_.is_on()) return;
  started.running = true;
  meter_.begin(started.handle.handle);
}
void ObjectManagers::stop(const LDObjHandle& object) {
  Object& stopped = at(object, "ObjectStop()");
  if (!stopped.running) return;
  stopped.running = false;
  meter_.end();
}
TimeSpent ObjectManagers::spent(const LDObjHandle& object) {
  return meter_.up_to_now(at(object, "GetObjLoad()").handle.handle);
}
void ObjectManagers::set_spent(const LDObjHandle& object, TimeSpent spent) {
  meter_.up_to_now(at(object, "EstObjLoad()").handle.handle) = spent;
  meter_.runs();
}
void ObjectManagers::sent(const LDOMHandle& to_manager, CmiUInt8 to, std::uint64_t messages, std::uint64_t bytes) {
  const bool own = to_manager.handle > 0;
  traffic_.sent({own ? array_of(to_manager) : to_manager.id.id.idx, to}, messages, bytes);
}

std::uint32_t ObjectManagers::size() const {
  std::size_t count = 0;
  for (const Manager& manager : managers_) count += manager.objects.size();
  return static_cast<std::uint32_t>(count);
}
bool ObjectManagers::move(std::int32_t array, std::uint64_t id, int to) {
  Manager* const manager = find(array);
  if (!manager || !manager->calls.migrate) return false;
  const auto found = manager->objects.find(id);
  if (found == manager->objects.end()) return false;
  const LDObjHandle handle = found->second.handle;  // a copy: the call may unregister the object
  manager->calls.migrate(handle, to);
  return true;
}

}  // namespace periapt::loadbalance
