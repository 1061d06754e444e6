// Entry methods are entered here, and nowhere else.
#include <exception>
#include <tuple>

#include "base/fatal.h"
#include "runtime/objects/node_groups.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace marshal {
void truncated(std::size_t offset, std::uint64_t count, std::size_t element_size) {
  fatal("the arguments of an entry method end before they should", describe_running(*Pe::current()),
        "an array of " + std::to_string(count) + " elements of " + std::to_string(element_size) + " bytes at offset " +
            std::to_string(offset) + " does not fit what was received",
        "check that sender and receiver were built from the same .ci file");
}
}  // namespace marshal

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

void* base_object(int type, int ep, void* object) { return base_object_of(type, entry_info(ep).chare, object); }
void* base_object_of(int type, int wanted, void* object) {
  if (wanted == type || type < 0) return object;
  void* found = adjusted(type, wanted, object);
  return found ? found : object;
}

void PeObjects::run_entry(Delivery& call) {
  const unsigned flags = entry_info(call.entry).flags;
  if (flags & (ep_nocopy | ep_threaded | ep_exclusive)) [[unlikely]]
    return flags & ep_nocopy ? run_without_copy(*this, call) : run_ready(call);
  enter(call);
}

void PeObjects::run_ready(Delivery& call) {
  if (entry_info(call.entry).flags & ep_threaded) return start_thread(call);
  enter(call);
  if (call.exclusive) node_groups().leave_exclusive(*this, call);
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

void PeObjects::call_aside(const Message& message, void* object, const std::function<void(Delivery&)>& function) {
  Delivery call = Delivery::view(message);
  call.object = object;
  const Delivery* const outer = pe.running;
  pe.running = &call;
  guarded(pe, [&] { function(call); });
  pe.running = outer;
}

// The one place where entry methods are entered.
void PeObjects::enter(Delivery& call) {
  const EntryInfo& entry = entry_info(call.entry);
  if (call.message && (!entry.runtime_frees() || (call.message->flags & envelope_packed))) [[unlikely]] {
    // The function owns what it gets, or unpack() changes it: what others hold too is copied first.
    if (call.message.shared()) [[unlikely]]
      call.message = unshared(std::move(call.message));
    unpack(call.message);
    call.arguments = call.message.payload();
    if (!entry.runtime_frees()) static_cast<void>(call.message.release());
  }
  const Delivery* const outer = pe.running;
  pe.running = &call;
  if (pe.watched(Observer::begin_execute)) [[unlikely]]
    pe.notify_begin();
  guarded(pe, [&] { entry.call(call, call.object); });
  if (pe.watched(Observer::end_execute)) [[unlikely]]
    pe.notify_end();
  pe.running = outer;
}

void PeObjects::construct(int ep, void* object, Message message) {
  Delivery call(std::move(message));
  call.entry = static_cast<std::uint16_t>(ep);
  call.object = object;
  // What the message says of the creation is no collection's number: traces, for one, would look it up.
  call.target = Target::none;
  call.collection = 0;
  // The constructor may send it on or copy it: what its envelope says of a creation would hide the class that packs it,
  // and be taken for the future of a [sync] entry. What enter() would copy is copied before.
  const bool is_changed =
      call.message && (!entry_info(ep).runtime_frees() || (call.message->flags & envelope_packed) != 0);
  if (is_changed && call.message.shared()) call.message = call.message.copy();
  if (call.message && !call.message.shared()) call.message->target = Target::none, call.message->extra = 0;
  if (!(entry_info(ep).flags & ep_threaded)) return enter(call);
  call.owner = ThreadOwner::of_chare(creating.chare.serial).key;
  start_thread(call);
}

// Of the thread of a constructor. CBase_ is made before that can wait; what runs from then on is not within the
// creation, and it may run before the creation's caller does: another thread. A creation within this one that has
// waited on the same thread leaves this one when it ends.
struct LeavesCreation : scheduler::ThreadListener {
  PeObjects& objects;
  const Creation own;

  explicit LeavesCreation(PeObjects& objects) : ThreadListener{}, objects(objects), own(objects.creating) {
    suspend = [](scheduler::ThreadListener* l) { static_cast<LeavesCreation*>(l)->leave(); };
    resume = [](scheduler::ThreadListener*) {};
    free = [](scheduler::ThreadListener* l) { delete static_cast<LeavesCreation*>(l); };
    objects.pe.threads.add_listener(objects.pe.threads.current(), this);
  }
  static auto key(const Creation& c) {
    return std::make_tuple(c.chare.onPE, c.chare.serial, c.group.idx, c.manager, c.element);
  }
  void leave() {
    if (key(objects.creating) == key(own)) objects.creating = {};
  }
};

// What the thread of a [threaded] entry needs. Inline arguments move here, as the thread may outlive its caller.
struct ThreadedCall {
  PeObjects& objects;
  Delivery call;
  alignas(16) char arguments[inline_arguments_max];

  ThreadedCall(PeObjects& objects, Delivery&& other) : objects(objects), call(std::move(other)) {
    if (call.message || call.length == 0) return;
    std::memcpy(arguments, call.arguments, inline_arguments_max);
    call.arguments = arguments;
  }
  ThreadedCall(const ThreadedCall&) = delete;

  struct Start {
    PeObjects& objects;
    Delivery& call;
  };
  static void main(void* argument) {
    // The call lies on the stack below that made the thread: it is moved before the thread first stops.
    const Start& start = *static_cast<Start*>(argument);
    ThreadedCall own(start.objects, std::move(start.call));
    const RunningThreads::Run run(own.objects.running_threads, ThreadOwner{own.call.owner}, own.call.entry);
    const bool constructs = entry_info(own.call.entry).flags & ep_constructor;
    LeavesCreation* const creation = constructs ? new LeavesCreation(own.objects) : nullptr;
    own.objects.enter(own.call);
    if (creation) creation->leave();
    if (own.call.exclusive) node_groups().leave_exclusive(own.objects, own.call);
  }
};

void PeObjects::start_thread(Delivery& call) {
  ThreadedCall::Start start{*this, call};
  const Delivery* const outer = pe.running;
  pe.threads.resume(pe.threads.create(ThreadedCall::main, &start, entry_info(call.entry).stack_size));
  pe.running = outer;
}

}  // namespace periapt
