// From a piece of work to the user's function.
#include <exception>

#include "base/fatal.h"
#include "runtime/chare/array_manager.h"
#include "runtime/chare/node_groups.h"
#include "runtime/chare/pe_objects.h"
#include "runtime/chare/start_gate.h"
#include "runtime/chare/zero_copy_entries.h"
#include "runtime/scheduler/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace marshal {
const char* arguments_end() {
  const Execution* running = Pe::current()->running;
  return running ? running->arguments_end : nullptr;
}
void truncated(std::size_t offset, std::uint64_t count, std::size_t element_size) {
  fatal("the arguments of an entry method end before they should", describe_running(*Pe::current()),
        "an array of " + std::to_string(count) + " elements of " + std::to_string(element_size) + " bytes at offset " +
            std::to_string(offset) + " does not fit what was received",
        "check that sender and receiver were built from the same .ci file");
}
}  // namespace marshal

void PeObjects::deliver(Work& work) {
  if (!started) [[unlikely]]
    return start_gate->hold(work);
  if (work.kind() == WorkKind::message) return deliver_message(Message(work.message()));

  const int ep = work.entry();
  const EntryInfo& entry = entry_info(ep);
  const char* end = reinterpret_cast<const char*>(work.arguments) + work.length();
  switch (entry.target) {
    case Target::array:
      if (ArrayManager* manager = array(CkArrayID(CkGroupID{static_cast<int>(work.collection())}))) [[likely]] {
        if (ArrayElement* element = manager->find(work.element)) [[likely]] {
          return run_entry(ep, manager->object_for(element, ep), work.arguments, end, Message(),
                           ThreadOwner::of(element));
        }
      }
      return deliver_message(
          boxed(pe, Target::array, ep, work.collection(), work.element, work.arguments, work.length()));
    case Target::group:
      return deliver_group(ep, work.collection(), work.arguments, end, Message());
    case Target::chare:
      return deliver_chare(ep, work.element, work.arguments, end, Message());
    case Target::node_group:
      return node_groups().deliver(*this, ep, work.collection(), work.arguments, end, Message());
    case Target::runtime:
      return entry.runtime(pe, {work.entry(), work.collection(), work.element, work.arguments, work.length(), nullptr});
    default:
      fatal("a call for a receiver that doesn't exist", entry_name(ep));
  }
}

void PeObjects::deliver_message(Message&& message) {
  Envelope* envelope = message.envelope();
  void* payload = message.payload();
  const char* end = static_cast<const char*>(payload) + envelope->size;
  const int ep = envelope->entry;
  if (envelope->flags & envelope_waits) [[unlikely]] {
    if (GroupRecord* missing = missing_group(envelope)) {
      missing->waiting.push_back(std::move(message));
      return;
    }
  }
  switch (envelope->target) {
    case Target::array: {
      ArrayManager* manager = array(CkArrayID(CkGroupID{static_cast<int>(envelope->collection)}));
      if (!manager) [[unlikely]] {
        group(static_cast<int>(envelope->collection)).waiting.push_back(std::move(message));
        return;
      }
      return manager->deliver(std::move(message));
    }
    case Target::broadcast: {
      ArrayManager* manager = array(CkArrayID(CkGroupID{static_cast<int>(envelope->collection)}));
      if (!manager) [[unlikely]] {
        group(static_cast<int>(envelope->collection)).waiting.push_back(std::move(message));
        return;
      }
      return manager->broadcasts().deliver(std::move(message));
    }
    case Target::group:
      return deliver_group(ep, envelope->collection, payload, end, std::move(message));
    case Target::chare:
      return deliver_chare(ep, envelope->element, payload, end, std::move(message));
    case Target::node_group:
      return node_groups().deliver(*this, ep, envelope->collection, payload, end, std::move(message));
    case Target::runtime:
      return entry_info(ep).runtime(pe, {static_cast<std::uint16_t>(ep), envelope->collection, envelope->element,
                                         payload, envelope->size, envelope});
    case Target::none:
      return;
    case Target::converse:
      return converse_deliver(pe, std::move(message));
    case Target::boxed_call: {
      Work work = *static_cast<Work*>(payload);
      return deliver(work);
    }
  }
}

// The first of the groups that a message waits for and that isn't here yet. The message may be shared: nothing is noted
// in it, and it is asked again for each group that comes.
GroupRecord* PeObjects::missing_group(Envelope* envelope) {
  const GroupDependencies wanted(envelope);
  for (int i = 0; i < wanted.count(); ++i) {
    const CkGroupID id = wanted.get(i);
    if (id.isZero()) continue;
    GroupRecord& record = group(id.idx);
    if (!record.object && !record.array && !node_groups().find(id.idx)) return &record;
  }
  return nullptr;
}

void PeObjects::deliver_group(int ep, std::uint32_t collection, void* payload, const char* end, Message&& message) {
  GroupRecord* record = find_group(static_cast<int>(collection));
  if (!record || !record->object) [[unlikely]] {
    if (!message)
      message = boxed(pe, Target::group, ep, collection, 0, payload,
                      static_cast<unsigned>(end - static_cast<char*>(payload)));
    group(static_cast<int>(collection)).waiting.push_back(std::move(message));
    return;
  }
  run_entry(ep, object_for_entry(record->type, ep, record->object), payload, end, std::move(message), {});
}

void PeObjects::deliver_chare(int ep, std::uint64_t serial, void* payload, const char* end, Message&& message) {
  ChareRecord* record = chares_.find(serial);
  if (!record) [[unlikely]] {
    if (!message)
      message =
          boxed(pe, Target::chare, ep, 0, serial, payload, static_cast<unsigned>(end - static_cast<char*>(payload)));
    waiting_for_chare_[serial].push_back(std::move(message));
    return;
  }
  run_entry(ep, object_for_entry(record->type, ep, record->object), payload, end, std::move(message),
            ThreadOwner::of_chare(serial));
}

namespace {
// Bases that don't lie at the start of the object (multiple inheritance): entries of the base get its address.
void* adjusted(int type, int entry_type, void* object) {
  const ChareInfo& info = registry().chares[type];
  for (const ChareInfo::Base& base : info.bases) {
    void* there = static_cast<char*>(object) + base.offset;
    if (base.chare == entry_type) return there;
    if (void* deeper = adjusted(base.chare, entry_type, there)) return deeper;
  }
  return nullptr;
}
}  // namespace

bool bases_have_offsets = false;

void* base_object(int type, int ep, void* object) {
  const int wanted = entry_info(ep).chare;
  if (wanted == type || type < 0) return object;
  void* found = adjusted(type, wanted, object);
  return found ? found : object;
}

void PeObjects::run_entry(int ep, void* object, void* payload, const char* end, Message&& message, ThreadOwner owner,
                          int exclusive) {
  if (entry_info(ep).flags & (ep_threaded | ep_nocopy)) [[unlikely]] {
    if (entry_info(ep).flags & ep_nocopy)
      return zero_copy::run(*this, ep, object, payload, end, std::move(message), owner, exclusive);
    return start_thread(ep, object, payload, end, std::move(message), owner, exclusive);
  }
  enter(ep, object, payload, end, std::move(message));
  if (exclusive) [[unlikely]]
    node_groups().leave_exclusive(*this, exclusive);
}

void PeObjects::run_ready(int ep, void* object, void* payload, const char* end, Message&& message, ThreadOwner owner,
                          int exclusive) {
  if (entry_info(ep).flags & ep_threaded)
    return start_thread(ep, object, payload, end, std::move(message), owner, exclusive);
  enter(ep, object, payload, end, std::move(message));
  if (exclusive) node_groups().leave_exclusive(*this, exclusive);
}

namespace {
// Calls user code. No exception of it crosses the scheduler.
template <class Function>
PERIAPT_INLINE void guarded(Pe& pe, Function&& function) {
  try {
    function();
  } catch (const std::exception& e) {
    fatal(std::string("an exception left an entry method: ") + e.what(), describe_running(pe),
          "the scheduler cannot know what it left undone", "catch it inside the entry method");
  } catch (...) {
    fatal("an exception that is no std::exception left an entry method", describe_running(pe),
          "the scheduler cannot know what it left undone", "catch it inside the entry method");
  }
}
}  // namespace

void PeObjects::call_aside(int ep, void* object, const Message& message, const std::function<void()>& function) {
  const Execution execution{static_cast<std::uint16_t>(ep), object, message.envelope(),
                            static_cast<const char*>(message.payload()) + message->size};
  const Execution* const outer = pe.running;
  pe.running = &execution;
  guarded(pe, function);
  pe.running = outer;
}

// The one place where entry methods are entered.
void PeObjects::enter(int ep, void* object, void* payload, const char* end, Message&& message) {
  const EntryInfo& entry = entry_info(ep);
  count_processed();
  const Envelope* envelope = message.envelope();
  if (message && (!entry.runtime_frees() || (message->flags & envelope_packed))) [[unlikely]] {
    // The function owns what it gets, or unpack() changes it: what others hold too is copied first.
    if (message.shared()) message = message.copy();
    unpack(message);
    payload = message.payload();
    envelope = message.envelope();
    if (!entry.runtime_frees()) static_cast<void>(message.release());
  }
  const Execution execution{static_cast<std::uint16_t>(ep), object, envelope, end};
  const Execution* const outer = pe.running;
  pe.running = &execution;
  if (pe.watched(Observer::begin_execute)) [[unlikely]]
    pe.notify_begin();
  guarded(pe, [&] { entry.call(payload, object); });
  if (pe.watched(Observer::end_execute)) [[unlikely]]
    pe.notify_end();
  pe.running = outer;
}

// What the thread of a [threaded] entry needs. Inline arguments move here, as the thread may outlive its caller.
struct ThreadedCall {
  PeObjects& objects;
  int ep;
  void* object;
  void* payload;
  const char* end;
  Message message;
  ThreadOwner owner;
  int exclusive;
  alignas(16) char arguments[inline_arguments_max];

  ThreadedCall(PeObjects& objects, int ep, void* object, void* payload, const char* end, Message message,
               ThreadOwner owner, int exclusive)
      : objects(objects),
        ep(ep),
        object(object),
        payload(payload),
        end(end),
        message(std::move(message)),
        owner(owner),
        exclusive(exclusive) {}
  ThreadedCall(ThreadedCall&& other)
      : ThreadedCall(other.objects, other.ep, other.object, other.payload, other.end, std::move(other.message),
                     other.owner, other.exclusive) {
    if (!message) own_arguments();
  }
  void own_arguments() {
    const std::size_t length = end - static_cast<char*>(payload);
    std::memcpy(arguments, payload, inline_arguments_max);
    payload = arguments;
    end = arguments + length;
  }

  static void main(void* argument) {
    // It lies on the stack of who made the thread and is read before the thread first stops.
    ThreadedCall call(std::move(*static_cast<ThreadedCall*>(argument)));
    const RunningThreads::Run run(call.objects.running_threads, call.owner, call.ep);
    call.objects.enter(call.ep, call.object, call.payload, call.end, std::move(call.message));
    if (call.exclusive) node_groups().leave_exclusive(call.objects, call.exclusive);
  }
};

void PeObjects::start_thread(int ep, void* object, void* payload, const char* end, Message message, ThreadOwner owner,
                             int exclusive) {
  ThreadedCall call(*this, ep, object, payload, end, std::move(message), owner, exclusive);
  const Execution* const outer = pe.running;
  pe.threads.resume(pe.threads.create(ThreadedCall::main, &call, entry_info(ep).stack_size));
  pe.running = outer;
}

Message boxed(Pe& pe, Target target, int ep, std::uint32_t collection, std::uint64_t element, const void* arguments,
              unsigned length) {
  Message message = Message::make(length);
  message->target = target;
  message->entry = static_cast<std::uint16_t>(ep);
  message->message_type = static_cast<std::uint16_t>(CMessage_CkMarshallMsg::__idx);
  message->collection = collection;
  message->element = element;
  std::memcpy(message.payload(), arguments, length);
  return message;
}

Message set_aside(Pe& pe, const RuntimeCall& call) {
  if (!call.envelope)
    return boxed(pe, Target::runtime, call.entry, call.collection, call.element, call.arguments,
                 static_cast<unsigned>(call.length));
  Message borrowed(call.envelope);
  Message message = borrowed.share();
  static_cast<void>(borrowed.release());
  return message;
}

}  // namespace periapt
