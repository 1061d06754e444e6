// CkSyncBarrier: AtSync for what is no element, and functions around a balancing. C++17: reached from cksyncbarrier.h.
//
// Each PE has one. A client takes part like an element that uses AtSync: a step begins when all elements and all
// clients of all PEs wait, and a client's function is called when the elements are resumed. Receivers are called on
// each PE when a step begins there, also one without elements and clients. A client or receiver stays until it is
// removed; none lasts beyond a restart from a checkpoint. A step at any time waits for no client, and calls no receiver
// but, where there is no period, those of its end; LBManager::StartLB() says when it resumes all clients.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <utility>

#include "runtime/api/objects.h"

namespace periapt::loadbalance {
class Balancer;
}

class LBClient {
 public:
  std::function<void()> fn;
  int epoch;    // the last step that it has come to
  int resumed;  // the last one that it was resumed from
};
class LBReceiver {
 public:
  std::function<void()> fn;
  bool on;
};
typedef std::list<LBClient*>::iterator LDBarrierClient;
typedef std::list<LBReceiver*>::iterator LDBarrierReceiver;

class CkSyncBarrier {
 public:
  explicit CkSyncBarrier(periapt::loadbalance::Balancer& balancer) : balancer_(balancer) {}
  ~CkSyncBarrier();
  CkSyncBarrier(const CkSyncBarrier&) = delete;

  // Of this PE.
  static CkSyncBarrier* object();

  // `fn` is called when it is resumed; whose it is doesn't matter. `epoch`: of a client that was removed on another PE,
  // what its LBClient had then: it may wait already.
  LDBarrierClient addClient(CkObject*, std::function<void()> fn, int epoch = -1);
  template <class T>
  LDBarrierClient addClient(T* object, void (T::*method)(), int epoch = -1) {
    return addClient(
        nullptr, [object, method] { (object->*method)(); }, epoch);
  }
  void removeClient(LDBarrierClient client);
  // It waits. Once more before it is resumed: in the next step too.
  void atBarrier(LDBarrierClient client);

  // Called in this order when a step begins: begin receivers, receivers; and when it ends, before an element is
  // resumed: end receivers.
  LDBarrierReceiver addReceiver(std::function<void()> fn) { return add(receivers_, std::move(fn)); }
  LDBarrierReceiver addBeginReceiver(std::function<void()> fn) { return add(begin_receivers_, std::move(fn)); }
  LDBarrierReceiver addEndReceiver(std::function<void()> fn) { return add(end_receivers_, std::move(fn)); }
  template <class T>
  LDBarrierReceiver addReceiver(T* object, void (T::*method)()) {
    return addReceiver([object, method] { (object->*method)(); });
  }
  template <class T>
  LDBarrierReceiver addBeginReceiver(T* object, void (T::*method)()) {
    return addBeginReceiver([object, method] { (object->*method)(); });
  }
  template <class T>
  LDBarrierReceiver addEndReceiver(T* object, void (T::*method)()) {
    return addEndReceiver([object, method] { (object->*method)(); });
  }
  void removeReceiver(LDBarrierReceiver receiver) { remove(receivers_, receiver); }
  void removeBeginReceiver(LDBarrierReceiver receiver) { remove(begin_receivers_, receiver); }
  void removeEndReceiver(LDBarrierReceiver receiver) { remove(end_receivers_, receiver); }
  static void turnOnReceiver(LDBarrierReceiver receiver) { (*receiver)->on = true; }
  static void turnOffReceiver(LDBarrierReceiver receiver) { (*receiver)->on = false; }
  // The balancer is one, unless it comes at any time.
  bool hasReceivers() const;

  // While it is off on a PE, no step begins.
  void turnOn();
  void turnOff();

 private:
  friend class periapt::loadbalance::Balancer;
  using Receivers = std::list<LBReceiver*>;

  static LDBarrierReceiver add(Receivers& receivers, std::function<void()> fn) {
    return receivers.insert(receivers.end(), new LBReceiver{std::move(fn), true});
  }
  static void remove(Receivers& receivers, LDBarrierReceiver receiver) {
    delete *receiver;
    receivers.erase(receiver);
  }
  static void call(const Receivers& receivers);

  // What the step waits for here: the clients, and that it is turned on; how many of them are there.
  std::uint32_t members() const { return static_cast<std::uint32_t>(clients_.size()) + !on_; }
  std::uint32_t waiting(std::uint32_t step) const;
  // Those that have come to the step; `all`: after a step at any time, which waits for none of them.
  void resume(std::uint32_t step, bool all);

  periapt::loadbalance::Balancer& balancer_;
  std::list<LBClient*> clients_;
  Receivers receivers_, begin_receivers_, end_receivers_;
  bool on_ = true;
};
