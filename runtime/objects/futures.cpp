// See futures.h.
#include "runtime/objects/futures.h"

#include <algorithm>
#include <utility>

#include "base/fatal.h"
#include "runtime/api/ck_future.h"
#include "runtime/scheduler/nested_scheduling.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_set, entry_set_small, entry_set_whole;
struct SetCall {
  void* message;
};
// A small value travels in the call itself.
struct SetSmallCall {
  std::uint32_t size;
  std::uint16_t message_type;
  std::uint8_t flags;
  alignas(8) std::byte payload[inline_arguments_max - 8];
};
}  // namespace

void Futures::register_entries() {
  entry_set = register_runtime_entry("set future", on_set);
  entry_set_whole = register_runtime_entry("set future, from another host", on_set_whole);
  entry_set_small = register_runtime_entry("set future to a small value", on_set_small);
}

std::uint64_t Futures::create() {
  const std::uint64_t id = ++serial_;
  values_[id];
  return id;
}

Futures::Value& Futures::get(std::uint64_t id) {
  Value* value = values_.find(id);
  if (!value)
    fatal("a future is used that doesn't exist on PE " + std::to_string(pe_.index), describe_running(pe_),
          "it was released, or belongs to another PE", "wait for a future on the PE that made it");
  return *value;
}

bool Futures::ready(std::uint64_t id) const {
  const Value* value = values_.find(id);
  return value && value->set;
}

void* Futures::wait(std::uint64_t id, bool give, bool of_sync_call) {
  while (!get(id).set) {
    if (of_sync_call && !pe_.threads.current()) {
      wait_above();
    } else {
      const CkFuture one{id, pe_.index};
      suspend_for(&one, 1);
    }
  }
  Value& value = get(id);
  if (give) value.given = true;
  return value.message;
}

void Futures::wait_for_one(const CkFuture* futures, std::size_t count) {
  const auto is_set = [this](const CkFuture& future) { return get(future.id).set; };
  while (std::none_of(futures, futures + count, is_set)) suspend_for(futures, count);
}

Thread* Futures::waiting_thread() {
  Thread* thread = pe_.threads.current();
  if (!thread)
    fatal("something waits that is no thread", describe_running(pe_),
          "only a [threaded] entry method can wait (for a future, quiescence or a callback)",
          "declare the entry [threaded] in the .ci file");
  return thread;
}

// Until one of them is set, or the program itself awakens the thread.
void Futures::suspend_for(const CkFuture* futures, std::size_t count) {
  Waiter self{waiting_thread()};
  for (std::size_t i = 0; i < count; ++i) get(futures[i].id).waiters.push_back(&self);
  ++waiting_;
  pe_.suspend();
  --waiting_;
  if (self.awake && count == 1) [[likely]]
    return;
  for (std::size_t i = 0; i < count; ++i)
    if (Value* value = values_.find(futures[i].id)) std::erase(value->waiters, &self);
}

// Charm++ programs make [sync] calls in ordinary entries too: the scheduler goes on above this frame. Of several that
// wait like this the last one has to end first; [threaded] entries wait in any order.
void Futures::wait_above() {
  const scheduler::NestedScheduling nested(pe_);
  const auto mine = pe_.running;
  pe_.run_some(1);
  pe_.running = mine;
}

void* Futures::take(std::uint64_t id, bool of_sync_call) {
  void* message = wait(id, true, of_sync_call);
  values_.erase(id);
  return message;
}

void Futures::set(std::uint64_t id, void* message) {
  if (id & semaphore_bit) {
    Semaphore& s = semaphore(id);
    s.messages.push_back(message);
    // All of them: one may wait for more than there are, and another one for less.
    for (Thread* waiter : std::exchange(s.waiters, {})) pe_.enqueue_thread(waiter);
    return;
  }
  Value& value = get(id);
  if (value.set) {
    if (!value.given) CkFreeMsg(value.message);
    value.given = false;
    value.message = message;
    return;
  }
  value.message = message;
  value.set = true;
  for (Waiter* waiter : std::exchange(value.waiters, {}))
    if (!std::exchange(waiter->awake, true)) pe_.enqueue_thread(waiter->thread);
}

std::uint64_t Futures::create_semaphore() {
  const std::uint64_t id = ++serial_ | semaphore_bit;
  semaphores_[id];
  return id;
}

Futures::Semaphore& Futures::semaphore(std::uint64_t id) {
  const auto found = semaphores_.find(id);
  if (found == semaphores_.end())
    fatal("a semaphore is used that doesn't exist on PE " + std::to_string(pe_.index), describe_running(pe_),
          "it was destroyed, or belongs to another PE", "wait for a semaphore on the PE that made it");
  return found->second;
}

void Futures::wait_for_signals(std::uint64_t id, int count, void** messages) {
  while (semaphore(id).messages.size() < static_cast<std::size_t>(count)) {
    semaphore(id).waiters.push_back(waiting_thread());
    ++waiting_;
    pe_.suspend();
    --waiting_;
  }
  std::deque<void*>& waiting = semaphore(id).messages;
  std::copy_n(waiting.begin(), count, messages);
  waiting.erase(waiting.begin(), waiting.begin() + count);
}

void Futures::destroy_semaphore(std::uint64_t id) {
  for (void* message : semaphore(id).messages) CkFreeMsg(message);
  semaphores_.erase(id);
}

void Futures::release(std::uint64_t id) {
  if (Value* value = values_.find(id)) {
    if (!value->given) CkFreeMsg(value->message);
    values_.erase(id);
  }
}

std::size_t Futures::kept() const {
  std::size_t count = 0;
  values_.for_each([&](std::uint64_t, const Value& value) { count += value.is_kept(); });
  return count;
}

void Futures::pup(PUP::er& p) {
  p | serial_;
  std::uint64_t count = kept();
  p | count;
  const auto pup_one = [&p](std::uint64_t& id, Value& value) {
    p | id;
    p | value.set;
    if (value.set) CkPupMessage(p, &value.message);
  };
  if (!p.isUnpacking()) {
    values_.for_each([&](std::uint64_t id, Value& value) {
      if (value.is_kept()) pup_one(id, value);
    });
    return;
  }
  for (; count > 0; --count) {
    Value value;
    std::uint64_t id = 0;
    pup_one(id, value);
    values_[id] = std::move(value);
  }
}

// The message travels as itself, addressed to the future's entry.
void Futures::send(Pe& pe, CkFuture future, void* payload) {
  if (!payload) payload = payload_of(Message::make(0).release());
  if (future.pe == pe.index) return pe.objects->futures->set(future.id, payload);
  Message message = given_away(payload);
  // The program's message keeps its own envelope; a small one refers to it, as in a process or a host pointers hold.
  pack(message);
  if (message->size <= sizeof(SetSmallCall::payload) && message->priority_bits == 0) {
    SetSmallCall call{static_cast<std::uint32_t>(message->size), message->message_type, message->flags, {}};
    std::memcpy(call.payload, message.payload(), message->size);
    return send_runtime(pe, future.pe, entry_set_small, 0, future.id, call);
  }
  if (pe.process.layer().route(future.pe) == machine::Route::other_host)
    return send_whole(pe, future.pe, entry_set_whole, future.id, std::move(message));
  const SetCall call{payload_of(message.release())};
  send_runtime(pe, future.pe, entry_set, 0, future.id, call);
}

void Futures::on_set(Pe& pe, Delivery& call) {
  const SetCall set = call.read<SetCall>();
  Message message = Message::from_payload(set.message);
  unpack(message);
  pe.objects->futures->set(call.element, payload_of(message.release()));
}

void Futures::on_set_whole(Pe& pe, Delivery& call) {
  pe.objects->futures->set(call.element, payload_of(received_whole(call).release()));
}

void Futures::on_set_small(Pe& pe, Delivery& call) {
  const SetSmallCall set = call.read<SetSmallCall>();
  Message message = Message::make(set.size);
  message->message_type = set.message_type;
  message->flags = set.flags;
  std::memcpy(message.payload(), set.payload, set.size);
  unpack(message);
  pe.objects->futures->set(call.element, payload_of(message.release()));
}

// --- [sync] ----------------------------------------------------------------------------------------------------------

std::uint64_t sync_begin() {
  Pe& pe = *Pe::current();
  return pe.objects->futures->create();
}
void* sync_wait(std::uint64_t future) { return PeObjects::current().futures->take(future, true); }
void set_reply_future(void* message, std::uint64_t future) {
  envelope_of(message)->extra = static_cast<std::uint32_t>(future);
  envelope_of(message)->source = Pe::current()->index;
}
SyncCaller syncCaller(const Delivery& call) {
  const Envelope* envelope = envelope_of(call.arguments);
  return {envelope->extra, static_cast<int>(envelope->source)};
}
void send_reply(const SyncCaller& caller, void* message) {
  Futures::send(*Pe::current(), CkFuture{caller.future, caller.pe}, message);
}
void* reply_message(std::size_t size) { return new_marshalled(size, nullptr); }

}  // namespace periapt

using periapt::Pe;
using periapt::PeObjects;

CkFuture CkCreateFuture() { return {PeObjects::current().futures->create(), Pe::current()->index}; }
CkFutureID CkCreateAttachedFuture(void* message) {
  const CkFuture future = CkCreateFuture();
  periapt::set_reply_future(message, future.id);
  return future.id;
}
void CkReleaseFuture(CkFuture future) { PeObjects::current().futures->release(future.id); }
int CkProbeFuture(CkFuture future) { return PeObjects::current().futures->ready(future.id); }
void* CkWaitFuture(CkFuture future) { return PeObjects::current().futures->wait(future.id); }
void CkWaitVoidFuture(CkFuture future) { PeObjects::current().futures->wait(future.id, false); }
void CkSendToFuture(CkFuture future, void* message) { periapt::Futures::send(*Pe::current(), future, message); }

void ck::wait_for_one(const CkFuture* futures, std::size_t count) {
  PeObjects::current().futures->wait_for_one(futures, count);
}

CkSemaID CkSemaCreate() { return {Pe::current()->index, PeObjects::current().futures->create_semaphore()}; }
void* CkSemaWait(CkSemaID id) {
  void* message = nullptr;
  CkSemaWaitN(id, 1, &message);
  return message;
}
void CkSemaWaitN(CkSemaID id, int count, void* messages[]) {
  PeObjects::current().futures->wait_for_signals(id.id, count, messages);
}
void CkSemaSignal(CkSemaID id, void* message) { CkSendToFuture(CkFuture{id.id, id.pe}, message); }
void CkSemaDestroy(CkSemaID id) { PeObjects::current().futures->destroy_semaphore(id.id); }
