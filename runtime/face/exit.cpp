// The end of a run. PE 0 is asked for it, calls what the program has registered, one after the other, and then tells
// all PEs to leave.
//
// A registered function may begin something and call CkContinueExit() when that is over, on any PE. For one that never
// does, quiescence stands in: nothing that it began is left then.
#include "runtime/face/exit.h"

#include <cstdint>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/entry/dispatch.h"
#include "runtime/face/startup.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt {
namespace {

int entry_exit_request, entry_exit, entry_continue;
void (*end_of_parts)(Pe&);

std::vector<void (*)()>& exit_functions() {
  static std::vector<void (*)()> functions;
  return functions;
}

struct ExitRequest {
  std::int32_t code;
  bool goes_on;  // in another start of the program
};

// On PE 0.
struct Ending {
  bool may_wait = false;
  bool begun = false;
  ExitRequest request{};
  std::uint32_t called = 0;  // of the registered functions; the last one of these is waited for
};
Ending ending;

// What a step of the end waits for: CkContinueExit(), or quiescence behind a certain function.
struct Continue {
  static constexpr std::uint32_t any = 0;
  std::uint32_t called;
};

template <class T>
Message message_of(int entry, const T& value) {
  Message message = runtime_message({bytes_of(value)}, entry, 0);
  message->flags |= envelope_expedited;
  return message;
}

[[noreturn]] void leave(Pe& pe, int code) {
  end_of_parts(pe);
  pe.process.finish(pe, code);
}

void on_quiet(void* called, void* message) {
  CkFreeMsg(message);
  const Continue word{static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(called))};
  Pe::current()->send(0, message_of(entry_continue, word));
}

void go_on(Pe& pe) {
  while (!ending.request.goes_on && ending.called < exit_functions().size()) {
    const auto function = exit_functions()[ending.called++];
    if (!ending.may_wait) {
      function();
      continue;
    }
    CkStartQD(CkCallback(on_quiet, reinterpret_cast<void*>(std::uintptr_t{ending.called})));
    return function();
  }
  pe.process.layer().announce_end();
  const std::int32_t code = ending.request.code;
  pe.broadcast(message_of(entry_exit, code));
  leave(pe, code);
}

void on_exit_request(Pe& pe, Delivery& call) {
  if (ending.begun) return;
  ending.begun = true;
  ending.request = call.read<ExitRequest>();
  go_on(pe);
}
void on_continue(Pe& pe, Delivery& call) {
  const auto word = call.read<Continue>();
  if (ending.begun && (word.called == Continue::any || word.called == ending.called)) go_on(pe);
}
void on_exit(Pe& pe, Delivery& call) { leave(pe, call.read<std::int32_t>()); }

void request(ExitRequest what) { Pe::current()->send(0, message_of(entry_exit_request, what)); }

}  // namespace

void program_has_begun() { ending.may_wait = true; }
void request_exit(int code) { request({code, false}); }
void request_end_of_start() { request({0, true}); }

void register_exit_entries(void (*parts)(Pe& pe)) {
  end_of_parts = parts;
  entry_exit_request = register_runtime_entry("exit request", on_exit_request, ep_expedited | ep_uncounted);
  entry_exit = register_runtime_entry("exit", on_exit, ep_expedited | ep_uncounted);
  entry_continue = register_runtime_entry("exit continues", on_continue, ep_expedited | ep_uncounted);
}

}  // namespace periapt

using periapt::Pe;

void realCkExit(int code) {
  periapt::request_exit(code);
  // The end comes as a message; until then this PE goes on like any other.
  Pe& pe = *Pe::current();
  if (pe.threads.current()) {
    while (true) pe.threads.suspend();
  }
  while (true) pe.run();
}
void registerExitFn(void (*function)()) { periapt::exit_functions().push_back(function); }
void CkContinueExit() {
  Pe::current()->send(0, periapt::message_of(periapt::entry_continue, periapt::Continue{periapt::Continue::any}));
}
