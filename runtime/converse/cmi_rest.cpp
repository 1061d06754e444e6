// Calls of Cmi and Csd that few programs need.
#include "runtime/converse/cmi_rest.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
constexpr double longest_resolution_s = 0.005;

std::atomic<std::uint64_t> least_memory{~std::uint64_t{0}}, marked_memory{0};

// --- one-sided transfers ---------------------------------------------------------------------------------------------

// One that this PE has begun.
struct Transfer {
  bool done = false;
  CmiRdmaCallbackFn fn = nullptr;
  void* argument = nullptr;
};
enum class Word : std::uint32_t { put, get, data, done };
// What goes with a word: the data of a put and of an answer lie behind it.
struct TransferOrder {
  Transfer* transfer;
  void* here;   // of the PE that has begun it
  void* there;  // of the other
  std::uint64_t bytes;
};

Message say(Word word, const TransferOrder& order, const void* data) {
  Message message = converse_system_message(handler_one_sided, sizeof order + (data ? order.bytes : 0));
  message->extra = static_cast<std::uint32_t>(word);
  std::memcpy(message.payload(), &order, sizeof order);
  if (data && order.bytes) std::memcpy(static_cast<char*>(message.payload()) + sizeof order, data, order.bytes);
  return message;
}

void end(const TransferOrder& order) {
  order.transfer->done = true;
  if (!order.transfer->fn) return;
  order.transfer->fn(order.transfer->argument);
  delete order.transfer;
}

Transfer* begin(Word word, const char* function, unsigned from, unsigned to, const TransferOrder& order) {
  Pe& pe = require_pe(function);
  if (from != static_cast<unsigned>(pe.index) || to >= static_cast<unsigned>(pe.process.pes())) {
    fatal("a transfer from PE " + std::to_string(from) + " to PE " + std::to_string(to) + ", on PE " +
              std::to_string(pe.index),
          function, "the first is the PE that calls, and the run has " + std::to_string(pe.process.pes()) + " PEs");
  }
  converse_send(pe, static_cast<int>(to), say(word, order, word == Word::put ? order.here : nullptr));
  return order.transfer;
}

void one_sided_arrived(Pe& pe, Message message) {
  TransferOrder order;
  std::memcpy(&order, message.payload(), sizeof order);
  const char* const data = static_cast<const char*>(message.payload()) + sizeof order;
  switch (static_cast<Word>(message->extra)) {
    case Word::put:
      std::memcpy(order.there, data, order.bytes);
      return converse_send(pe, message->source, say(Word::done, order, nullptr));
    case Word::get:
      return converse_send(pe, message->source, say(Word::data, order, order.there));
    case Word::data:
      std::memcpy(order.here, data, order.bytes);
      return end(order);
    case Word::done:
      return end(order);
  }
}
const ConverseArrival one_sided_arrives(handler_one_sided, one_sided_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

namespace {
ConverseState& timers_of() { return ConverseState::of(require_pe("CcdSetResolution")); }
}  // namespace

extern "C" {

double CcdSetResolution(double seconds) {
  return std::exchange(timers_of().timer_resolution_s, std::clamp(seconds, 0.0, longest_resolution_s));
}
double CcdResetResolution() { return CcdSetResolution(longest_resolution_s); }
double CcdIncreaseResolution(double seconds) {
  return CcdSetResolution(std::min(seconds, timers_of().timer_resolution_s));
}
int CcdNumTimerCBs() { return static_cast<int>(require_pe("CcdNumTimerCBs").conditions.timers()); }

CMK_TYPEDEF_UINT8 CmiMaxMemoryUsageR() { return CmiMaxMemoryUsage(); }
void CmiResetMaxMemory() {
  if (FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}
CMK_TYPEDEF_UINT8 CmiMinMemoryUsage() {
  const std::uint64_t now = CmiMemoryUsage();
  std::uint64_t least = least_memory.load(std::memory_order_relaxed);
  while (now < least && !least_memory.compare_exchange_weak(least, now, std::memory_order_relaxed)) {
  }
  return std::min(now, least);
}
void CmiResetMinMemory() { least_memory.store(CmiMemoryUsage(), std::memory_order_relaxed); }
void CmiMemoryMark() { marked_memory.store(CmiMemoryUsage(), std::memory_order_relaxed); }
void CmiMemoryMarkBlock(void*) {}
void CmiMemorySweep(const char* where) {
  const auto more = static_cast<long long>(CmiMemoryUsage() - marked_memory.load(std::memory_order_relaxed));
  CmiPrintf("[%d] %s: process %d holds %lld bytes %s than at the mark\n", CmiMyPe(), where, CmiMyNode(),
            more < 0 ? -more : more, more < 0 ? "less" : "more");
}
int CmiMemoryIs(int flag) { return (flag & CMI_MEMORY_IS_OS) != 0; }
int CmiThreadIs(int flag) { return (flag & CMI_THREAD_IS_CONTEXT) != 0; }

void CsdBeginIdle() { CcdRaiseCondition(CcdPROCESSOR_BEGIN_IDLE); }
void CsdStillIdle() { CcdRaiseCondition(CcdPROCESSOR_STILL_IDLE); }
void CsdEndIdle() { CcdRaiseCondition(CcdPROCESSOR_END_IDLE); }
void CmiNotifyIdle() { require_pe("CmiNotifyIdle").idle(); }
void CsdSchedulerState_new(CsdSchedulerState_t* state) { state->pe = CmiMyPe(); }
void* CsdNextMessage(CsdSchedulerState_t*) { return CmiGetNonLocal(); }
void* CsdNextLocalNodeMessage(CsdSchedulerState_t*) { return CmiGetNonLocal(); }
void CmiSetPeHelpsOtherThreads(int yes) {
  ConverseState::of(require_pe("CmiSetPeHelpsOtherThreads")).helps_others = yes != 0;
}
int CmiPeHelpsOtherThreads() {
  const Pe& pe = require_pe("CmiPeHelpsOtherThreads");
  return !pe.converse || pe.converse->helps_others;
}

void* CmiPut(unsigned from, unsigned to, void* source, void* target, unsigned bytes) {
  return begin(Word::put, "CmiPut", from, to, {new Transfer, source, target, bytes});
}
void* CmiGet(unsigned from, unsigned to, void* source, void* target, unsigned bytes) {
  return begin(Word::get, "CmiGet", from, to, {new Transfer, source, target, bytes});
}
void CmiPutCb(unsigned from, unsigned to, void* source, void* target, unsigned bytes, CmiRdmaCallbackFn fn,
              void* argument) {
  begin(Word::put, "CmiPutCb", from, to, {new Transfer{false, fn, argument}, source, target, bytes});
}
void CmiGetCb(unsigned from, unsigned to, void* source, void* target, unsigned bytes, CmiRdmaCallbackFn fn,
              void* argument) {
  begin(Word::get, "CmiGetCb", from, to, {new Transfer{false, fn, argument}, source, target, bytes});
}
int CmiWaitTest(void* transfer) {
  auto* begun = static_cast<Transfer*>(transfer);
  if (!begun->done) return 0;
  delete begun;
  return 1;
}
int CmiRegisterMemory(void*, unsigned) { return 1; }
int CmiUnRegisterMemory(void*, unsigned) { return 1; }
void* CmiDMAAlloc(int bytes) { return CmiAlignedAlloc(64, static_cast<std::size_t>(bytes)); }

char* CmiPrintDate() {
  thread_local char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm local;
  ::asctime_r(::localtime_r(&now, &local), text);
  return text;
}
int CmiLongSendQueue(int, int) { return 0; }
int CmiIsFortranLibraryCall() { return 0; }
void CmiTimerInit(char**) {}
void CmiDeprecateArgInt(char** argv, const char* arg, const char* desc, const char* warning) {
  int value;
  if (CmiGetArgIntDesc(argv, arg, &value, desc) && CmiMyPe() <= 0) CmiPrintf("%s\n", warning);
}
}
