// See sync_barrier.h.
#include "runtime/loadbalance/sync_barrier.h"

#include <algorithm>
#include <vector>

#include "runtime/loadbalance/balancer.h"

using periapt::loadbalance::Balancer;

namespace {
// Calls `call` for those that are in the list now and still are when their turn comes: what is called may remove some.
template <class T, class Call>
void for_each_still_there(const std::list<T*>& list, Call call) {
  const std::vector<T*> now(list.begin(), list.end());
  for (T* const one : now)
    if (std::find(list.begin(), list.end(), one) != list.end()) call(*one);
}
}  // namespace

CkSyncBarrier* CkSyncBarrier::object() {
  const periapt::Pe* const pe = periapt::Pe::current();
  return pe && pe->objects && pe->objects->balance ? &Balancer::of(*pe).barrier() : nullptr;
}

CkSyncBarrier::~CkSyncBarrier() {
  for (LBClient* client : clients_) delete client;
  for (Receivers* receivers : {&receivers_, &begin_receivers_, &end_receivers_})
    for (LBReceiver* receiver : *receivers) delete receiver;
}

LDBarrierClient CkSyncBarrier::addClient(CkObject*, std::function<void()> fn, int epoch) {
  const int now = balancer_.epoch();
  return clients_.insert(clients_.end(), new LBClient{std::move(fn), std::max(epoch, now), now});
}

void CkSyncBarrier::removeClient(LDBarrierClient client) {
  delete *client;
  clients_.erase(client);
  balancer_.barrier_changed();
}

void CkSyncBarrier::atBarrier(LDBarrierClient client) {
  balancer_.refuse_at_barrier();
  ++(*client)->epoch;
  balancer_.barrier_changed();
}

bool CkSyncBarrier::hasReceivers() const { return !balancer_.at_any_time() || !receivers_.empty(); }

void CkSyncBarrier::turnOn() {
  on_ = true;
  balancer_.barrier_changed();
}
void CkSyncBarrier::turnOff() { on_ = false; }

void CkSyncBarrier::call(const Receivers& receivers) {
  for_each_still_there(receivers, [](LBReceiver& receiver) {
    const std::function<void()> fn = receiver.fn;  // it may remove itself
    if (receiver.on) fn();
  });
}

std::uint32_t CkSyncBarrier::waiting(std::uint32_t step) const {
  return static_cast<std::uint32_t>(std::count_if(clients_.begin(), clients_.end(), [&](const LBClient* client) {
    return client->epoch >= static_cast<int>(step);
  }));
}

void CkSyncBarrier::resume(std::uint32_t step, bool all) {
  const int done = static_cast<int>(step);
  call(end_receivers_);
  for_each_still_there(clients_, [&](LBClient& client) {
    if (client.resumed >= done || (!all && client.epoch < done)) return;
    client.resumed = done;
    const std::function<void()> fn = client.fn;
    fn();
  });
}
