// What the generated proxies call (docs/generated-code.md). The templates here marshal; the functions declared at the
// top, one pair a kind of receiver, find the receiver and send. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <new>
#include <type_traits>
#include <typeinfo>

#include "base/platform.h"
#include "base/void_t.h"
#include "runtime/api/device_marshal.h"
#include "runtime/api/marshal.h"
#include "runtime/api/proxies.h"
#include "runtime/api/zero_copy_marshal.h"
#include "runtime/scheduler/inline_limit.h"
#include "runtime/scheduler/open_call.h"

namespace periapt {

// `arguments`: inline_arguments_max readable bytes, of which `length` count.
void send_call(const CProxyElement_ArrayBase&, int ep, unsigned send, const void* arguments, unsigned length);
void send_call(const CProxyElement_Group&, int ep, unsigned send, const void* arguments, unsigned length);
void send_call(const CProxy_Group&, int ep, unsigned send, const void* arguments, unsigned length);
void send_call(const CProxyElement_NodeGroup&, int ep, unsigned send, const void* arguments, unsigned length);
void send_call(const CProxy_Chare&, int ep, unsigned send, const void* arguments, unsigned length);
// The same in two steps, for plain arguments. No open call: the receiver is not known here yet, or an observer wants to
// hear of every message, and send_call() is to be used. `together`: of an [aggregate] entry, which chares have none of.
OpenCall open_call(const CProxyElement_ArrayBase&, int ep, unsigned length, bool together);
OpenCall open_call(const CProxyElement_Group&, int ep, unsigned length, bool together);
OpenCall open_call(const CProxy_Chare&, int ep, unsigned length, bool together);
// `message` is the payload; ownership moves.
void send_message(const CProxyElement_ArrayBase&, int ep, unsigned send, void* message);
void send_message(const CProxy_ArrayBase&, int ep, unsigned send, void* message);
void send_message(const CProxySection_ArrayBase&, int ep, unsigned send, void* message);
void send_message(const CProxyElement_Group&, int ep, unsigned send, void* message);
void send_message(const CProxy_Group&, int ep, unsigned send, void* message);
void send_message(const CProxySection_Group&, int ep, unsigned send, void* message);
void send_message(const CProxyElement_NodeGroup&, int ep, unsigned send, void* message);
void send_message(const CProxy_NodeGroup&, int ep, unsigned send, void* message);
void send_message(const CProxy_Chare&, int ep, unsigned send, void* message);

// The PE that a message goes to, as far as its sender knows: an element may have moved on. -1: it knows nothing.
int receiver_pe(const CProxyElement_ArrayBase&);
int receiver_pe(const CProxyElement_Group&);
int receiver_pe(const CProxyElement_NodeGroup&);
int receiver_pe(const CProxy_Chare&);

CkChareID new_chare(int type, int ep, int pe, void* message);
CkGroupID new_group(int type, int ep, void* message);
CkGroupID new_node_group(int type, int ep, void* message);
CkArrayID new_array(int type, int ep, const CkArrayOptions& options, void* message);
void new_array_async(int type, int ep, const CkArrayOptions& options, const CkCallback& cb, void* message);
void insert_element(const CProxyElement_ArrayBase&, int ep, int pe, void* message);

void* local_object(const CProxyElement_ArrayBase&);
// The part of it that is of chare type `type`.
void* local_object(const CProxyElement_ArrayBase&, int type);
void* local_branch(CkGroupID group);
void* local_node_branch(CkGroupID group);
void* local_chare(const CkChareID& chare);
[[noreturn]] void not_local(const CProxyElement_ArrayBase&, const char* chare, const char* method);
[[noreturn]] void not_local(const CProxy_Group&, const char* chare, const char* method);

// A message of `size` bytes for marshalled arguments, with what the options ask for.
void* new_marshalled(std::size_t size, const CkEntryOptions* options);

template <class... A>
void* marshalled(const CkEntryOptions* options, const A&... a) {
  marshal::Sizer sizer;
  (sizer(a), ...);
  void* message = new_marshalled(sizer.size(), options);
  marshal::Writer writer(message);
  (writer(a), ...);
  return message;
}

// Room for the arguments of an inline call. All of it is copied although the tail may hold anything; the compiler is
// told that it has been written, or it would warn in every program.
struct alignas(16) InlineArguments {
  char bytes[inline_arguments_max];
  InlineArguments() { __asm__("" : "=m"(bytes)); }
  // For arguments whose size is known at run time alone: the compiler loses sight of where they go, or it would warn of
  // those that don't fit and never come here.
  char* hidden() {
    char* at = bytes;
    __asm__("" : "+r"(at));
    return at;
  }
};

// Which receivers take inline calls: single ones, and whole groups.
template <class P, class = void>
struct takes_call : std::false_type {};
template <class P>
struct takes_call<P, periapt::void_t<decltype(send_call(std::declval<const P&>(), 0, 0u, nullptr, 0u))>>
    : std::integral_constant<bool, !std::is_base_of<CProxySection_Group, P>::value> {};

template <class P>
constexpr bool opens_call = std::is_base_of<CProxyElement_ArrayBase, P>::value ||
                            std::is_base_of<CProxyElement_Group, P>::value || std::is_base_of<CProxy_Chare, P>::value;

// Proxies that stand for one receiver.
template <class P>
constexpr bool is_single =
    std::is_base_of<CProxyElement_ArrayBase, P>::value || std::is_base_of<CProxyElement_Group, P>::value ||
    std::is_base_of<CProxyElement_NodeGroup, P>::value || std::is_base_of<CProxy_Chare, P>::value;

template <class... A>
constexpr bool any_ncpy = (zero_copy::is_ncpy<A>::value || ...);
template <class... A>
constexpr bool any_device = (zero_copy::is_device<A>::value || ...);

// Some of the arguments are arrays sent without a copy: makes their message, which `send` is given.
template <class P, class Send, class... A>
void send_arrays(const P& proxy, int ep, const CkEntryOptions* options, const Send& send, const A&... a) {
  using zero_copy::Where;
  constexpr std::size_t arrays = (std::size_t{zero_copy::is_ncpy<A>::value} + ...);
  zero_copy::Sizer sizer(arrays);
  (sizer(a), ...);
  bool copied = true;
  if constexpr (is_single<P>) {
    const std::size_t bytes = sizer.elements();
    copied = bytes <= zero_copy::copied_max || zero_copy::copies_for(receiver_pe(proxy), ep, bytes);
  }
  const Where where = copied ? Where::in_message : Where::at_sender;
  void* message = new_marshalled(sizer.size(where), options);
  zero_copy::Writer writer(message, arrays, sizer.tail(), where);
  (writer(a), ...);
  send(message);
  if (copied) (zero_copy::tell_if_copied(a), ...);
}
template <class P, class... A>
std::enable_if_t<any_ncpy<A...>> invoke(const P& proxy, int ep, unsigned send, const CkEntryOptions* options,
                                        const A&... a) {
  send_arrays(
      proxy, ep, options, [&](void* message) { send_message(proxy, ep, send, message); }, a...);
}

// Some are arrays in the memory of a GPU.
template <class P, class... A>
std::enable_if_t<any_device<A...>> invoke(const P& proxy, int ep, unsigned send, const CkEntryOptions* options,
                                          const A&... a) {
  using zero_copy::Where;
  constexpr std::size_t arrays = (std::size_t{zero_copy::is_device<A>::value} + ...);
  constexpr Where where = is_single<P> ? Where::at_sender : Where::in_message;
  zero_copy::DeviceSizer sizer(arrays);
  (sizer(a), ...);
  void* message = new_marshalled(sizer.size(where, sizeof(zero_copy::DeviceSource)), options);
  zero_copy::DeviceArray list[arrays];
  zero_copy::DeviceWriter writer(message, arrays, sizer.tail(), where, list);
  (writer(a), ...);
  int to = -1;
  if constexpr (is_single<P>) to = receiver_pe(proxy);
  zero_copy::send_when_reached(message, list, arrays, where, to,
                               [proxy, ep, send, message] { send_message(proxy, ep, send, message); });
}

template <class P, class... A>
std::enable_if_t<!any_ncpy<A...> && !any_device<A...>> invoke(const P& proxy, int ep, unsigned send,
                                                              const CkEntryOptions* options, const A&... a) {
  if constexpr (takes_call<P>::value && (marshal::is_fixed<A> && ...)) {
    constexpr std::size_t size = marshal::fixed_size<A...>();
    if constexpr (size <= inline_arguments_max) {
      if (!options) {
        if constexpr (opens_call<P>) {
          if (send == 0 || send == send_together) {
            const OpenCall call = open_call(proxy, ep, size, send == send_together);
            if (PERIAPT_LIKELY(call.arguments != nullptr)) {
              marshal::Writer writer(call.arguments);
              (writer(a), ...);
              if (call.slot) call.commit();
              return;
            }
          }
        }
        InlineArguments arguments;
        marshal::Writer writer(arguments.bytes);
        (writer(a), ...);
        send_call(proxy, ep, send, arguments.bytes, size);
        return;
      }
    }
  } else if constexpr (takes_call<P>::value) {
    if (!options) {
      marshal::Sizer sizer;
      (sizer(a), ...);
      if (sizer.size() <= inline_arguments_max) {
        InlineArguments arguments;
        marshal::Writer writer(arguments.hidden());
        (writer(a), ...);
        send_call(proxy, ep, send, arguments.bytes, static_cast<unsigned>(sizer.size()));
        return;
      }
    }
  }
  send_message(proxy, ep, send, marshalled(options, a...));
}

template <class P>
void invokeMessage(const P& proxy, int ep, unsigned send, void* message) {
  send_message(proxy, ep, send, message);
}

// --- [sync] --------------------------------------------------------------------------------------------------------
// The call carries the future that the reply sets. The value comes back as the bytes of a message.
std::uint64_t sync_begin();                                  // must run in a user-level thread
void* sync_wait(std::uint64_t future);                       // CkDataMsg, or the message itself
void set_reply_future(void* message, std::uint64_t future);  // into the envelope
// The future of a call. Taken before the method runs: it may delete the message that it was given.
struct SyncCaller {
  std::uint64_t future;
  int pe;
};
SyncCaller syncCaller(const Delivery& call);
void send_reply(const SyncCaller& caller, void* message);
void* reply_message(std::size_t size);

// [iget]: the caller goes on, and waits for the future when it likes.
template <class P>
std::uint64_t invokeGetMessage(const P& proxy, int ep, void* message) {
  const std::uint64_t future = sync_begin();
  set_reply_future(message, future);
  send_message(proxy, ep, 0, message);
  return future;
}
template <class P, class... A>
std::uint64_t invokeGet(const P& proxy, int ep, const CkEntryOptions* options, const A&... a) {
  if constexpr (any_ncpy<A...>) {
    std::uint64_t future = 0;
    send_arrays(
        proxy, ep, options, [&](void* message) { future = invokeGetMessage(proxy, ep, message); }, a...);
    return future;
  } else {
    return invokeGetMessage(proxy, ep, marshalled(options, a...));
  }
}
// [sync]: the thread waits for what the method returns.
template <class Ret>
Ret sync_answer(std::uint64_t future) {
  void* reply = sync_wait(future);
  if constexpr (std::is_void<Ret>::value) {
    CkFreeMsg(reply);
  } else if constexpr (std::is_pointer<Ret>::value) {
    return static_cast<Ret>(reply);
  } else {
    Unmarshal in(reply, CkGetMsgSize(reply));
    PUP::detail::TemporaryObjectHolder<Ret> value;
    in.pup([&value](PUP::er& p) { p | value.t; }, 8);
    CkFreeMsg(reply);
    return std::move(value.t);
  }
}
template <class Ret, class P>
Ret invokeSyncMessage(const P& proxy, int ep, void* message) {
  return sync_answer<Ret>(invokeGetMessage(proxy, ep, message));
}
template <class Ret, class P, class... A>
Ret invokeSync(const P& proxy, int ep, const CkEntryOptions* options, const A&... a) {
  return sync_answer<Ret>(invokeGet(proxy, ep, options, a...));
}
inline void replySync(const SyncCaller& caller) { send_reply(caller, reply_message(0)); }
inline void replySync(const Delivery& call) { replySync(syncCaller(call)); }
template <class T>
void replySync(const SyncCaller& caller, const T& value) {
  if constexpr (std::is_pointer<T>::value) {
    send_reply(caller, const_cast<std::remove_const_t<std::remove_pointer_t<T>>*>(value));
  } else {
    PUP::detail::counter sizer;
    sizer | const_cast<T&>(value);
    void* message = reply_message(sizer.size());
    PUP::detail::writer p(message);
    p | const_cast<T&>(value);
    send_reply(caller, message);
  }
}
template <class T>
void replySync(const Delivery& call, const T& value) {
  replySync(syncCaller(call), value);
}

// --- creation ------------------------------------------------------------------------------------------------------
template <class... A>
CkChareID newChare(int type, int ep, int pe, const CkEntryOptions* options, const A&... a) {
  return new_chare(type, ep, pe, marshalled(options, a...));
}
inline CkChareID newChareMessage(int type, int ep, int pe, void* message) { return new_chare(type, ep, pe, message); }
template <class... A>
CkGroupID newGroup(int type, int ep, const CkEntryOptions* options, const A&... a) {
  return new_group(type, ep, marshalled(options, a...));
}
inline CkGroupID newGroupMessage(int type, int ep, void* message) { return new_group(type, ep, message); }
template <class... A>
CkGroupID newNodeGroup(int type, int ep, const CkEntryOptions* options, const A&... a) {
  return new_node_group(type, ep, marshalled(options, a...));
}
inline CkGroupID newNodeGroupMessage(int type, int ep, void* message) { return new_node_group(type, ep, message); }
template <class... A>
CkArrayID newArray(int type, int ep, const CkArrayOptions& array, const CkEntryOptions* options, const A&... a) {
  return new_array(type, ep, array, marshalled(options, a...));
}
inline CkArrayID newArrayMessage(int type, int ep, const CkArrayOptions& array, void* message) {
  return new_array(type, ep, array, message);
}
inline CkArrayID newEmptyArray(int type, const CkArrayOptions& array) { return new_array(type, -1, array, nullptr); }
template <class... A>
void newArrayAsync(int type, int ep, const CkArrayOptions& array, const CkCallback& cb, const CkEntryOptions* options,
                   const A&... a) {
  new_array_async(type, ep, array, cb, marshalled(options, a...));
}
inline void newArrayAsyncMessage(int type, int ep, const CkArrayOptions& array, const CkCallback& cb, void* message) {
  new_array_async(type, ep, array, cb, message);
}
template <class... A>
void insertElement(const CProxyElement_ArrayBase& proxy, int ep, int pe, const CkEntryOptions* options, const A&... a) {
  insert_element(proxy, ep, pe, marshalled(options, a...));
}
inline void insertElementMessage(const CProxyElement_ArrayBase& proxy, int ep, int pe, void* message) {
  insert_element(proxy, ep, pe, message);
}

template <class P>
std::enable_if_t<std::is_base_of<CProxyElement_ArrayBase, P>::value, void*> localObject(const P& proxy) {
  return local_object(proxy, P::index_t::__idx);
}
inline void* localObject(const CProxy_Chare& proxy) { return local_chare(proxy.ckGetChareID()); }
inline void* localBranch(const CProxy_Group& proxy) { return local_branch(proxy.ckGetGroupID()); }
inline void* localBranch(const CProxy_NodeGroup& proxy) { return local_node_branch(proxy.ckGetGroupID()); }
// The member that the proxy names, if it is the one of this PE or process; else null.
void* localMember(const CProxyElement_Group& proxy);
void* localMember(const CProxyElement_NodeGroup& proxy);
[[noreturn]] inline void notLocal(const CProxyElement_ArrayBase& p, const char* c, const char* m) {
  not_local(p, c, m);
}
[[noreturn]] inline void notLocal(const CProxy_Group& p, const char* c, const char* m) { not_local(p, c, m); }

// The number of an instance of a template entry; `use` is the function that asks, in the compiler's words.
[[noreturn]] void not_instantiated(const char* use);
inline int instantiated(int ep, const char* use) { return ep >= 0 ? ep : (not_instantiated(use), ep); }
// The same for CkIndex, which makes the instance where a program asks for it while it registers: so one that has no
// `extern entry` for it names it in a CkRegisterMainModule() or an initnode function of its own.
bool registers();
template <class Instantiate>
int instantiated(const int& ep, const char* use, Instantiate instantiate) {
  if (ep < 0 && registers()) instantiate(use);
  return instantiated(ep, use);
}

// Throws it where there is no object: it was only asked.
struct NoMigrationConstructor {};
[[noreturn]] void no_migration_constructor(const char* type, const void* object);
// What a mainchare that comes back from a checkpoint gets as its CkMigrateMessage*: its CkArgMsg. Else null.
inline void* migration_message = nullptr;
// Without an object it only answers whether it could make one.
template <class T>
void migrationConstruct(void* object) {
  if constexpr (std::is_constructible<T, CkMigrateMessage*>::value) {
    if (object) new (object) T(static_cast<CkMigrateMessage*>(migration_message));
  } else if constexpr (std::is_default_constructible<T>::value) {
    if (object) new (object) T();
  } else {
    no_migration_constructor(typeid(T).name(), object);
  }
}

// --- reduction targets ---------------------------------------------------------------------------------------------
const void* reduction_data(const void* message, std::size_t& size);
// Ends the run where the result is that of a tuple reduction: no values, but bytes for CkReductionMsg::toTuple().
void demand_values(const void* message);

class ReductionArgs {
 public:
  explicit ReductionArgs(const Delivery& call)
      : message_(call.arguments), data_(reduction_data(message_, size_)), in_(data_, size_) {}
  template <class T>
  T* array() const {
    if (sizeof(T) > 1) demand_values(message_);
    return static_cast<T*>(const_cast<void*>(data_));
  }
  template <class T>
  std::size_t count() const {
    return size_ / sizeof(T);
  }
  PUP::detail::reader& in() {
    demand_values(message_);
    return in_;
  }

 private:
  const void* message_;
  std::size_t size_ = 0;
  const void* data_;
  PUP::detail::reader in_;
};
template <class T>
class ReductionArg {
 public:
  explicit ReductionArg(ReductionArgs& args) { args.in() | holder_.t; }
  T&& move() { return static_cast<T&&>(holder_.t); }
  T& ref() { return holder_.t; }

 private:
  PUP::detail::TemporaryObjectHolder<T> holder_;
};

}  // namespace periapt
