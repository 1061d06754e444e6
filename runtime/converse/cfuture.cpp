// Futures of Converse. A value travels as a message with the address of its future's data.
#include "runtime/converse/cfuture.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"

struct Cfuture_data_s {
  std::vector<void*> values;  // messages; the last one counts, and threads may have the others
  std::vector<CthThread> waiters;
};

using namespace periapt;

namespace {
struct alignas(16) Value {
  CmiMsgHeader head;
  Cfuture_data_s* data;
  int bytes;  // of all
};
Value* value_of(void* buffer) { return static_cast<Value*>(buffer) - 1; }

void require_own(const Cfuture& f, const char* function) {
  if (f.pe == require_pe(function).index) return;
  fatal(std::string(function) + " of a Cfuture of PE " + std::to_string(f.pe), function,
        "only the PE that made a future may wait for it and destroy it",
        "send that PE a message, or make a future here and let it be set");
}

void store(Cfuture_data_s& data, Value* value) {
  data.values.push_back(value);
  for (const CthThread waiter : data.waiters) CthAwaken(waiter);
  data.waiters.clear();
}

void future_arrived(Pe&, Message message) {
  auto* value = reinterpret_cast<Value*>(message.release());
  store(*value->data, value);
}
const ConverseArrival future_arrives(handler_future, future_arrived);
}  // namespace

extern "C" {

Cfuture CfutureCreate() { return {require_pe("CfutureCreate").index, new Cfuture_data_s}; }
void* CfutureCreateBuffer(int bytes) {
  const int all = static_cast<int>(sizeof(Value)) + bytes;
  auto* value = static_cast<Value*>(CmiAlloc(all));
  CmiInitMsgHeader(value, all);
  CmiSetHandler(value, handler_future);
  value->bytes = all;
  return value + 1;
}
void CfutureDestroyBuffer(void* buffer) { CmiFree(value_of(buffer)); }
void CfutureStoreBuffer(Cfuture f, void* buffer) {
  Value* value = value_of(buffer);
  Pe& pe = require_pe("CfutureSet");
  if (f.pe == pe.index) return store(*f.data, value);
  value->data = f.data;
  converse_send(pe, f.pe, converse_take(value, value->bytes));
}
void CfutureSet(Cfuture f, void* value, int bytes) {
  void* copy = CfutureCreateBuffer(bytes);
  if (bytes) std::memcpy(copy, value, static_cast<std::size_t>(bytes));
  CfutureStoreBuffer(f, copy);
}
void* CfutureWait(Cfuture f) {
  require_own(f, "CfutureWait");
  if (f.data->values.empty()) {
    f.data->waiters.push_back(CthSelf());
    CthSuspend();
  }
  return static_cast<Value*>(f.data->values.back()) + 1;
}
void CfutureDestroy(Cfuture f) {
  require_own(f, "CfutureDestroy");
  if (!f.data->waiters.empty()) {
    fatal("a Cfuture is destroyed that a thread waits for", "CfutureDestroy", "it was not set yet",
          "set it first, or destroy it in the thread that waited");
  }
  for (void* value : f.data->values) CmiFree(value);
  delete f.data;
}
void CfutureInit() {}
void CfutureModuleInit() {}
}
