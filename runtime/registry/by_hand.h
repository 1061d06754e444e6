// Registration as Charm++'s own translator writes it, for libraries that register their classes by hand, without a .ci
// file: an entry's function gets the message itself, and the object. A constructor gets memory of the class's size for
// the object, and a migration constructor a null message. What they are given numbers for is made and called by
// runtime/face/entry_calls.h. C++17: reached from charm.h.
//
// A message that an entry gets is its own, unless it is registered with CK_EP_NOKEEP. Entries without parameters get
// one too, for CkFreeSysMsg(), and those with marshalled arguments a CkMarshallMsg, whose msgBuf holds them.
#pragma once
#include "runtime/registry/messages.h"
#include "runtime/registry/registry.h"

// Flags of Charm++ for CkRegisterEp(). Those that name no property of ours have no effect.
enum {
  CK_EP_NOKEEP = 1 << 2,
  CK_EP_INTRINSIC = 1 << 3,
  CK_EP_TRACEDISABLE = 1 << 4,
  CK_EP_MEMCRITICAL = 1 << 5,
  CK_EP_APPWORK = 1 << 6,
  CK_EP_IMMEDIATE = 1 << 7,
  CK_EP_INLINE = 1 << 8
};

// The function of an entry. Charm++'s translator casts to this type what it registers.
typedef void (*CkCallFnPtr)(void* message, void* object);
typedef int (*CkMarshallUnpackFn)(char* bytes, void* object);
typedef void (*CkMessagePupFn)(PUP::er& p, void* message);

int CkRegisterEp(const char* name, CkCallFnPtr call, int message, int chare, int flags);
// The same; the name is copied.
int CkRegisterEpTemplated(const char* name, CkCallFnPtr call, int message, int chare, int flags);
// `pup` knows the variable, and is given a PUP::er*.
void CkRegisterReadonly(const char* name, const char* type, std::size_t size, void* address, void (*pup)(void* p));
void CkRegisterReadonlyMsg(const char* name, const char* type, void** message);
// Without effect: which classes take part in reductions irregularly or belong to the runtime need not be told here, and
// there are neither calls that travel combined nor a debugger, which would use the functions.
inline void CkRegisterGroupIrr(int, int) {}
inline void CkRegisterChareInCharm(int) {}
inline void CkRegisterMarshallUnpackFn(int, CkMarshallUnpackFn) {}
inline void CkRegisterMessagePupFn(int, CkMessagePupFn) {}
// The entry that a message is for, once it has been sent.
int CkMessageToEpIdx(void* message);

namespace periapt {
// What Charm++ calls _entryTable[number]->name, and so on.
struct RegisteredEntry {
  const char* name;
  int msgIdx;
  int chareIdx;
  const RegisteredEntry* operator->() const { return this; }
};
struct RegisteredChare {
  const char* name;
  int size;
  const RegisteredChare* operator->() const { return this; }
};
struct RegisteredEntries {
  RegisteredEntry operator[](int number) const;
  std::size_t size() const { return registry().entries.size(); }
};
struct RegisteredChares {
  RegisteredChare operator[](int number) const;
  std::size_t size() const { return registry().chares.size(); }
};
struct RegisteredMessages {
  RegisteredChare operator[](int number) const;
  std::size_t size() const { return registry().messages.size(); }
};
}  // namespace periapt
constexpr periapt::RegisteredEntries _entryTable{};
constexpr periapt::RegisteredChares _chareTable{};
constexpr periapt::RegisteredMessages _msgTable{};
