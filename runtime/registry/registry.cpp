// The tables of what is registered.
#include "runtime/registry/registry.h"

#include <array>
#include <atomic>
#include <string>

#include "base/fatal.h"

namespace periapt {

bool bases_have_offsets = false;
const EntryInfo* entry_table = nullptr;
const MessageInfo* message_table = nullptr;

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

namespace {
// What the numbers of entries are before they are registered, and stay for a chare's that never is.
[[noreturn]] void refuse(const char* what, const char* use) {
  fatal(what, "",
        std::string("its chare is a template, and no .ci file of the program names the instance that is ") + use,
        "name it in a .ci file: array [1D] Ring<double, 3>;");
}
[[noreturn]] void refuse_unregistered(Pe&, Delivery&) {
  refuse("a call is for an entry that is not registered", "called");
}
[[noreturn]] void refuse_to_make(Delivery&, void*) {
  refuse("an object is made of a class that is not registered", "made");
}
}  // namespace

namespace {
constexpr int entries_most = 65536;  // an entry's number is 16 bits on the wire
// A bit for each that is not traced. PEs set and read them at any time, and wait for nothing that another one sets.
std::array<std::atomic<std::uint64_t>, entries_most / 64> untraced;
std::uint64_t bit_of(int ep) { return std::uint64_t{1} << (ep % 64); }
// Whether that changes it.
bool set_traced(int ep, bool traced) {
  std::atomic<std::uint64_t>& word = untraced[static_cast<std::size_t>(ep) / 64];
  const std::uint64_t bit = bit_of(ep);
  const std::uint64_t before =
      traced ? word.fetch_and(~bit, std::memory_order_relaxed) : word.fetch_or(bit, std::memory_order_relaxed);
  return traced == ((before & bit) != 0);
}
void check_entry(int ep, const char* caller) {
  const std::size_t entries = registry().entries.size();
  if (ep <= 0 || static_cast<std::size_t>(ep) >= entries)
    fatal(std::string(caller) + " is given " + std::to_string(ep) + ", which is no entry", "",
          "the numbers of entries are 1 to " + std::to_string(entries - 1),
          "give it what CkIndex_Chare::method() answers");
}
}  // namespace
bool is_traced(int ep) {
  return !(untraced[static_cast<std::size_t>(ep) / 64].load(std::memory_order_relaxed) & bit_of(ep));
}

int add_entry(EntryInfo info);
int add_entry(EntryInfo info) {
  auto& entries = registry().entries;
  if (entries.empty())
    entries.push_back(
        {refuse_to_make, refuse_unregistered, ep_marshalled, 0, 0, 0, Target::runtime, "(not registered)"});
  if (entries.size() == entries_most - 1)
    fatal("more than 65535 entry points are registered", info.name, "an entry's number is 16 bits on the wire");
  entries.push_back(info);
  entry_table = entries.data();
  const int ep = static_cast<int>(entries.size()) - 1;
  if (info.flags & ep_notrace) set_traced(ep, false);
  return ep;
}

int register_runtime_entry(const char* name, RuntimeFunction function, unsigned flags) {
  return add_entry({nullptr, function, flags | ep_marshalled, 0, 0, 0, Target::runtime, name});
}

const char* entry_name(int ep) {
  const auto& entries = registry().entries;
  return ep >= 0 && static_cast<std::size_t>(ep) < entries.size() ? entries[ep].name : "(no entry)";
}
const char* chare_name_of_entry(int ep) {
  const EntryInfo& entry = registry().entries[ep];
  return entry.target == Target::runtime ? "runtime" : registry().chares[entry.chare].name;
}

}  // namespace periapt

using periapt::registry;

void CkRegisterNoMainModule() { periapt::registry().has_main_module = false; }
int CkRegisterMsg(const char* name, CkPackFnPtr pack, CkUnpackFnPtr unpack, CkDeallocFnPtr dealloc, std::size_t size,
                  bool relocatable) {
  auto& messages = registry().messages;
  messages.push_back({name, pack, unpack, dealloc, size, relocatable || !pack});
  periapt::message_table = messages.data();
  return static_cast<int>(messages.size()) - 1;
}

int CkRegisterEp(const char* name, periapt::EntryFunction call, int message, int chare, unsigned flags,
                 unsigned stack_size) {
  using periapt::Target;
  Target target = Target::chare;
  switch (registry().chares[chare].type) {
    case TypeGroup:
      target = Target::group;
      break;
    case TypeNodeGroup:
      target = Target::node_group;
      break;
    case TypeArray:
      target = Target::array;
      break;
    default:
      break;
  }
  const int ep = periapt::add_entry({call, nullptr, flags, stack_size, static_cast<std::uint16_t>(chare),
                                     static_cast<std::uint16_t>(message), target, name});
  registry().chares[chare].entries.push_back(ep);
  return ep;
}

int CkRegisterChare(const char* name, std::size_t size, ChareType type) {
  registry().chares.push_back({name, size, type, 0, -1, -1, {}, {}});
  return static_cast<int>(registry().chares.size()) - 1;
}
void CkRegisterArrayDimensions(int chare, int dimensions) { registry().chares[chare].dimensions = dimensions; }
int CkRegisterMainChare(int chare, int constructor) {
  registry().mains.push_back({chare, constructor});
  return static_cast<int>(registry().mains.size()) - 1;
}
void CkRegisterDefaultCtor(int chare, int constructor) { registry().chares[chare].default_constructor = constructor; }
void CkRegisterMigCtor(int chare, int constructor) { registry().chares[chare].migration_constructor = constructor; }
void CkRegisterBase(int derived, int base, std::ptrdiff_t offset) {
  registry().chares[derived].bases.push_back({base, offset});
  if (offset) periapt::bases_have_offsets = true;
}
void CkRegisterReadonly(const char* name, const char* type, std::size_t size, void* address,
                        void (*pup)(void* p, void* address), int) {
  registry().readonlys.push_back({name, type, size, address, pup});
}
void CkRegisterInitCall(void (*function)(), bool per_pe) { registry().init_calls.push_back({function, per_pe}); }

int CkDisableTracing(int entry) {
  periapt::check_entry(entry, "CkDisableTracing()");
  return periapt::set_traced(entry, false);
}
void CkEnableTracing(int entry) {
  periapt::check_entry(entry, "CkEnableTracing()");
  periapt::set_traced(entry, true);
}
