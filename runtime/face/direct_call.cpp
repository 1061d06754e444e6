// See runtime/api/direct_call.h.
#include "runtime/api/direct_call.h"

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

void DirectCall::begin(int entry, void* object, int array) {
  if (!is_traced(entry)) return;
  call_ =
      new Delivery(static_cast<std::uint16_t>(entry), Target::none, static_cast<std::uint32_t>(array), 0, nullptr, 0);
  call_->object = object;
  DirectCalls::observer->on_direct_call(*Pe::current(), *call_, true);
}

void DirectCall::end() {
  DirectCalls::observer->on_direct_call(*Pe::current(), *call_, false);
  delete call_;
}

void called_by_message(Delivery& call, void*) {
  fatal("a message calls a [local] entry", describe_running(*Pe::current()),
        "it is for " + std::string(entry_name(call.entry)) + ", which has no way of taking its arguments from one",
        "leave [local] away in the .ci file");
}

}  // namespace periapt
