// What the generated code registers: chares, entry points, messages, readonlys, start-up functions. Filled once, in the
// same order in every process, before the first PE runs; constant afterwards. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/message/delivery.h"
#include "runtime/registry/ids.h"

typedef void* (*CkPackFnPtr)(void* message);
typedef void* (*CkUnpackFnPtr)(void* bytes);
typedef void (*CkDeallocFnPtr)(void* message);

namespace periapt {

enum ep_flag : unsigned {
  ep_marshalled = 1u << 0,  // the message holds marshalled arguments or none; the runtime frees it
  ep_nokeep = 1u << 1,      // the runtime frees the message; receivers may share it
  ep_threaded = 1u << 2,
  ep_sync = 1u << 3,
  ep_exclusive = 1u << 4,
  ep_expedited = 1u << 5,
  ep_immediate = 1u << 6,
  ep_inline = 1u << 7,
  ep_local = 1u << 8,
  ep_notrace = 1u << 9,
  ep_createhere = 1u << 10,
  ep_createhome = 1u << 11,
  ep_reductiontarget = 1u << 12,
  ep_whenidle = 1u << 13,
  ep_constructor = 1u << 14,
  ep_nocopy = 1u << 15,      // has arrays that are sent without a copy
  ep_nocopypost = 1u << 16,  // ... to buffers that its post entry method names; ep_nocopy too
  ep_creation = 1u << 17,    // of the runtime: makes its collection on a PE
  ep_uncounted = 1u << 18,   // of the runtime: quiescence does not wait for calls of it
  ep_balancing = 1u << 19,   // of the runtime: balances loads; the accounts of a simulated run tell it apart
  ep_unordered =
      1u << 21,  // of the runtime: when and how often it is called depends on time, so a replay does not wait
  ep_nocopydevice = 1u << 22,  // arrays that may be in the memory of a GPU; ep_nocopy and ep_nocopypost too
};

enum send_flag : unsigned {
  send_expedited = 1,
  send_immediate = 2,
  send_inline = 4,
  send_together = 8,
  send_with_source = 16  // the receiver has to know which PE the call comes from
};

/// Of the options of a call without a proxy (CK_MSG_EXPEDITED, ... below), those that say how it is sent.
inline unsigned send_flags(int options) { return static_cast<unsigned>(options) & (send_expedited | send_immediate); }

class Pe;

// The function of an entry.
typedef void (*EntryFunction)(Delivery& call, void* object);
// An entry of the runtime itself.
typedef void (*RuntimeFunction)(Pe&, Delivery&);

struct EntryInfo {
  EntryFunction call;
  RuntimeFunction runtime;  // Target::runtime only
  std::uint32_t flags;
  std::uint32_t stack_size;
  std::uint16_t chare;
  std::uint16_t message;
  Target target;
  const char* name;

  // The receiver may look but not keep: no private copy is needed and the runtime frees.
  bool runtime_frees() const { return flags & (ep_marshalled | ep_nokeep); }
};

struct ChareInfo {
  const char* name;
  std::size_t size;
  ChareType type;
  int dimensions = 0;
  int default_constructor = -1;
  int migration_constructor = -1;
  struct Base {
    int chare;
    std::ptrdiff_t offset;  // of the base within the derived object
  };
  std::vector<Base> bases;
  std::vector<int> entries;
};

struct MessageInfo {
  const char* name;
  CkPackFnPtr pack;
  CkUnpackFnPtr unpack;
  CkDeallocFnPtr dealloc;
  std::size_t size;
  bool relocatable;  // its pointers, if any, point into itself: within a host it need not be packed
};

struct ReadonlyInfo {
  const char* name;
  const char* type;
  std::size_t size;
  void* address;
  void (*pup)(void* p, void* address);
};

struct MainChareInfo {
  int chare;
  int constructor;
};

// One a process.
struct Registry {
  std::vector<EntryInfo> entries;
  std::vector<ChareInfo> chares;
  std::vector<MessageInfo> messages;
  std::vector<ReadonlyInfo> readonlys;
  bool has_main_module = true;  // else the program is linked without one
  std::vector<MainChareInfo> mains;
  struct InitCall {
    void (*function)();
    bool per_pe;
  };
  std::vector<InitCall> init_calls;
};
Registry& registry();
// Whether some base of a chare lies at an offset within it (multiple inheritance).
extern bool bases_have_offsets;
// The entry table as a plain array, for the hot path. Set when registration is complete.
extern const EntryInfo* entry_table;
inline const EntryInfo& entry_info(int ep) { return entry_table[ep]; }
// The same of the message classes.
extern const MessageInfo* message_table;
inline const MessageInfo& message_info(int type) { return message_table[type]; }

// Whether executions of an entry are recorded in traces: not those of [notrace], until CkEnableTracing() is called.
bool is_traced(int ep);

int register_runtime_entry(const char* name, RuntimeFunction function, unsigned flags = 0);
// "Hello::work(int n)" of an entry, for messages.
const char* entry_name(int ep);
const char* chare_name_of_entry(int ep);

template <class Derived, class Base>
std::ptrdiff_t baseOffset() {
  alignas(Derived) static char place[sizeof(Derived)];
  auto* derived = reinterpret_cast<Derived*>(place);
  return reinterpret_cast<char*>(static_cast<Base*>(derived)) - reinterpret_cast<char*>(derived);
}

template <class T>
void pupReadonly(void* p, void* address) {
  *static_cast<PUP::er*>(p) | *static_cast<T*>(address);
}

}  // namespace periapt

// For CkCallback::send(), CkSendMsg() and their like. The others have no effect.
enum {
  CK_MSG_INLINE = periapt::send_inline,
  CK_MSG_IMMEDIATE = periapt::send_immediate,
  CK_MSG_EXPEDITED = periapt::send_expedited,
  CK_MSG_LB_NOTRACE = 8
};

// In place of the mainmodule of a program that has none: called by what charmc writes.
void CkRegisterNoMainModule();
// Of a class that packs itself nothing is known unless it says so.
int CkRegisterMsg(const char* name, CkPackFnPtr pack, CkUnpackFnPtr unpack, CkDeallocFnPtr dealloc, std::size_t size,
                  bool relocatable = false);
int CkRegisterEp(const char* name, periapt::EntryFunction call, int message, int chare, unsigned flags,
                 unsigned stack_size = 0);
int CkRegisterChare(const char* name, std::size_t size, ChareType type);
void CkRegisterArrayDimensions(int chare, int dimensions);
int CkRegisterMainChare(int chare, int constructor);
void CkRegisterDefaultCtor(int chare, int constructor);
void CkRegisterMigCtor(int chare, int constructor);
void CkRegisterBase(int derived, int base, std::ptrdiff_t offset = 0);
void CkRegisterReadonly(const char* name, const char* type, std::size_t size, void* address,
                        void (*pup)(void* p, void* address), int unused = 0);
// initnode: once a process (rank 0), initproc: once a PE; both before any chare exists.
void CkRegisterInitCall(void (*function)(), bool per_pe);
