// See by_hand.h.
#include "runtime/registry/by_hand.h"

#include <string>

#include "base/fatal.h"
#include "runtime/registry/user_envelope.h"

namespace periapt {
namespace {

// By the number of the entry; null for those of a .ci file. Constant once the first PE runs.
std::vector<CkCallFnPtr>& hand_written() {
  static std::vector<CkCallFnPtr> functions;
  return functions;
}

void call_hand_written(Delivery& call, void* object) {
  // Whether objects of the class can be made again is asked without one. A migration constructor says yes.
  if (object) hand_written()[call.entry](call.arguments, object);
}

unsigned flags_of(int given) {
  unsigned flags = 0;
  if (given & CK_EP_NOKEEP) flags |= ep_nokeep;
  if (given & CK_EP_TRACEDISABLE) flags |= ep_notrace;
  if (given & CK_EP_IMMEDIATE) flags |= ep_immediate;
  if (given & CK_EP_INLINE) flags |= ep_inline;
  return flags;
}

// What a readonly's own function needs beside the puper.
struct HandReadonly {
  void (*pup)(void* p);
};

template <class Table>
decltype(auto) registered(const Table& table, int number, const char* name) {
  if (number < 0 || static_cast<std::size_t>(number) >= table.size())
    fatal(std::string(name) + "[" + std::to_string(number) + "] is asked for, and there are " +
              std::to_string(table.size()),
          "", "", "ask by a number that registration has answered");
  return table[static_cast<std::size_t>(number)];
}

}  // namespace

RegisteredEntry RegisteredEntries::operator[](int number) const {
  const EntryInfo& entry = registered(registry().entries, number, "_entryTable");
  return {entry.name, entry.message, entry.chare};
}
RegisteredChare RegisteredChares::operator[](int number) const {
  const ChareInfo& chare = registered(registry().chares, number, "_chareTable");
  return {chare.name, static_cast<int>(chare.size)};
}
RegisteredChare RegisteredMessages::operator[](int number) const {
  const MessageInfo& message = registered(registry().messages, number, "_msgTable");
  return {message.name, static_cast<int>(message.size)};
}

}  // namespace periapt

int CkRegisterEp(const char* name, CkCallFnPtr call, int message, int chare, int flags) {
  const int ep = CkRegisterEp(name, periapt::call_hand_written, message, chare, periapt::flags_of(flags));
  auto& functions = periapt::hand_written();
  functions.resize(static_cast<std::size_t>(ep) + 1);
  functions.back() = call;
  return ep;
}
int CkRegisterEpTemplated(const char* name, CkCallFnPtr call, int message, int chare, int flags) {
  return CkRegisterEp((new std::string(name))->c_str(), call, message, chare, flags);  // as long as the process
}
void CkRegisterReadonly(const char* name, const char* type, std::size_t size, void*, void (*pup)(void* p)) {
  CkRegisterReadonly(name, type, size, new periapt::HandReadonly{pup},  // as long as the process
                     [](void* p, void* own) { static_cast<periapt::HandReadonly*>(own)->pup(p); });
}
void CkRegisterReadonlyMsg(const char* name, const char* type, void** message) {
  CkRegisterReadonly(name, type, sizeof *message, message, [](void* p, void* address) {
    CkPupMessage(*static_cast<PUP::er*>(p), static_cast<void**>(address));
  });
}
int CkMessageToEpIdx(void* message) { return UsrToEnv(message)->getEpIdx(); }
