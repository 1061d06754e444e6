// Futures as programs see them. C++17: reached from charm++.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/api/reduction_message.h"
#include "runtime/converse/ck.h"

CkFuture CkCreateFuture();
void CkReleaseFuture(CkFuture future);
int CkProbeFuture(CkFuture future);
// The message that was sent; the calling thread waits. It stays the future's until it is released.
void* CkWaitFuture(CkFuture future);
void CkWaitVoidFuture(CkFuture future);
void CkSendToFuture(CkFuture future, void* message);

namespace ck {
// Until one of them has a value.
void wait_for_one(const CkFuture* futures, std::size_t count);
}  // namespace ck

// By its number alone, on the PE that made it.
namespace periapt {
inline CkFuture future_here(CkFutureID id) { return {id, CkMyPe()}; }
}  // namespace periapt
// The future is set by the answer to the call that `message` is, when a [sync] entry takes it, or by its number.
CkFutureID CkCreateAttachedFuture(void* message);
inline void* CkWaitFuture(CkFutureID id) { return CkWaitFuture(periapt::future_here(id)); }
inline void* CkWaitFutureID(CkFutureID id) { return CkWaitFuture(periapt::future_here(id)); }
inline void CkWaitVoidFuture(CkFutureID id) { CkWaitVoidFuture(periapt::future_here(id)); }
inline void CkReleaseFutureID(CkFutureID id) { CkReleaseFuture(periapt::future_here(id)); }
inline int CkProbeFutureID(CkFutureID id) { return CkProbeFuture(periapt::future_here(id)); }
inline void* CkWaitReleaseFuture(CkFutureID id) {
  void* message = CkWaitFutureID(id);
  CkReleaseFutureID(id);
  return message;
}
// The values of all, in their order.
inline std::vector<void*> CkWaitAllIDs(const std::vector<CkFutureID>& ids) {
  std::vector<void*> messages;
  for (const CkFutureID id : ids) messages.push_back(CkWaitFutureID(id));
  return messages;
}
// The first of the list that has a value by the time that one has.
inline std::pair<void*, CkFutureID> CkWaitAnyID(const std::vector<CkFutureID>& ids) {
  std::vector<CkFuture> futures;
  for (const CkFutureID id : ids) futures.push_back(periapt::future_here(id));
  ck::wait_for_one(futures.data(), futures.size());
  const CkFutureID first = *std::find_if(ids.begin(), ids.end(), [](CkFutureID id) { return CkProbeFutureID(id); });
  return {CkWaitFutureID(first), first};
}
// Calls of [sync] entries by their numbers: what is answered, for which the calling thread waits, or its future.
CkFutureID CkRemoteCallAsync(int entry, void* message, const CkChareID* chare);
CkFutureID CkRemoteBranchCallAsync(int entry, void* message, CkGroupID group, int pe);
CkFutureID CkRemoteNodeBranchCallAsync(int entry, void* message, CkGroupID group, int node);
inline void* CkRemoteCall(int entry, void* message, const CkChareID* chare) {
  return CkWaitReleaseFuture(CkRemoteCallAsync(entry, message, chare));
}
inline void* CkRemoteBranchCall(int entry, void* message, CkGroupID group, int pe) {
  return CkWaitReleaseFuture(CkRemoteBranchCallAsync(entry, message, group, pe));
}
inline void* CkRemoteNodeBranchCall(int entry, void* message, CkGroupID group, int node) {
  return CkWaitReleaseFuture(CkRemoteNodeBranchCallAsync(entry, message, group, node));
}
// `send`: what sends the message, CkSendMsgArray or the like.
CkFutureID CkCreateAttachedFutureSend(void* message, int entry, CkArrayID array, CkArrayIndex index,
                                      void (*send)(CkArrayID, CkArrayIndex, void*, int, int), int size = 0);
inline void CkSendToFutureID(CkFutureID id, void* message, int pe) { CkSendToFuture(CkFuture{id, pe}, message); }
inline void CkSendToFuture(CkFutureID id, void* message, int pe) { CkSendToFutureID(id, message, pe); }

// Semaphores: any PE signals with a message, which is one waiting thread's. The PE that made one has its threads wait
// for it and destroys it, with the messages that are left.
struct CkSemaID {
  int pe;
  std::uint64_t id;
  void pup(PUP::er& p) {
    p | pe;
    p | id;
  }
};
CkSemaID CkSemaCreate();
void* CkSemaWait(CkSemaID id);
void CkSemaWaitN(CkSemaID id, int count, void* messages[]);  // until there are so many: one thread's alone
void CkSemaSignal(CkSemaID id, void* message);
void CkSemaDestroy(CkSemaID id);

namespace ck {

// A value that some thread or entry sets once and threads of the making PE wait for.
template <typename T>
class future {
  CkFuture handle_;

 public:
  typedef T value_type;
  future() : handle_(CkCreateFuture()) {}
  explicit future(PUP::reconstruct) {}
  explicit future(const CkFuture& handle) : handle_(handle) {}
  const CkFuture& handle() const { return handle_; }

  T get() const {
    void* message = CkWaitFuture(handle_);
    // A reduction's result, when the future's handle was its callback.
    const bool reduced = periapt::envelope_of(message)->message_type == CMessage_CkReductionMsg::__idx;
    return reduced ? unpacked(static_cast<CkReductionMsg*>(message)) : unpacked(static_cast<CkDataMsg*>(message));
  }
  void set(const T& value) const {
    PUP::detail::counter size;
    size | const_cast<T&>(value);
    CkDataMsg* message = CkDataMsg::buildNew(static_cast<int>(size.size()), nullptr);
    PUP::detail::writer p(message->getData());
    p | const_cast<T&>(value);
    CkSendToFuture(handle_, message);
  }
  bool is_ready() const { return CkProbeFuture(handle_); }
  bool is_local() const { return handle_.pe == CkMyPe(); }
  void release() { CkReleaseFuture(handle_); }
  bool operator==(const future& o) const { return handle_ == o.handle_; }
  bool operator!=(const future& o) const { return handle_ != o.handle_; }
  void pup(PUP::er& p) { p | handle_; }

 private:
  template <class Msg>
  static T unpacked(Msg* message) {
    PUP::detail::reader p(message->getData(), static_cast<std::size_t>(message->getSize()));
    PUP::detail::TemporaryObjectHolder<T> value;
    p | value.t;
    return std::move(value.t);
  }
};

// For messages, which pass without being copied.
template <typename Msg>
class future<Msg*> {
  CkFuture handle_;

 public:
  typedef Msg* value_type;
  future() : handle_(CkCreateFuture()) {}
  explicit future(PUP::reconstruct) {}
  const CkFuture& handle() const { return handle_; }
  Msg* get() const { return static_cast<Msg*>(CkWaitFuture(handle_)); }
  void set(Msg* message) const { CkSendToFuture(handle_, message); }
  bool is_ready() const { return CkProbeFuture(handle_); }
  bool is_local() const { return handle_.pe == CkMyPe(); }
  void release() { CkReleaseFuture(handle_); }
  void pup(PUP::er& p) { p | handle_; }
};

// The values of all, in their order.
template <typename Iterator, typename T = typename std::iterator_traits<Iterator>::value_type::value_type>
std::vector<T> wait_all(Iterator first, Iterator last) {
  std::vector<T> values;
  for (; first != last; ++first) values.push_back(first->get());
  return values;
}
// The first that is ready, with its value.
template <typename Iterator, typename T = typename std::iterator_traits<Iterator>::value_type::value_type>
std::pair<T, Iterator> wait_any(Iterator first, Iterator last) {
  std::vector<CkFuture> handles;
  for (Iterator i = first; i != last; ++i) handles.push_back(i->handle());
  wait_for_one(handles.data(), handles.size());
  for (; first != last; ++first)
    if (first->is_ready()) break;
  return {first->get(), first};
}
// Those that are ready now come first in the range: their values, and where the others begin. Does not wait.
template <typename Iterator, typename T = typename std::iterator_traits<Iterator>::value_type::value_type>
std::pair<std::vector<T>, Iterator> wait_some(Iterator first, Iterator last) {
  const Iterator pending = std::partition(first, last, [](const auto& f) { return f.is_ready(); });
  return {wait_all(first, pending), pending};
}

}  // namespace ck
