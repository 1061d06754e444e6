// The system's libibverbs, but for programs that look for completions in vain: after 32 such looks they give up their
// core for once, as the verbs transport does over soft RoCE. The device's work is done by kernel threads there, for
// which two programs that spin on two cores leave nothing. To be preloaded to perftest, UCX and MPI, so that what is
// measured is how much they do, and not how long a core is theirs:
//
//   LD_PRELOAD=libyielding_ibverbs.so ib_send_lat -d rxe0
#include <sched.h>

#include "bench/net/intercepted_ibverbs.h"

namespace {

using Poll = int (*)(ibv_cq*, int, ibv_wc*);
Poll poll = nullptr;

int poll_and_yield(ibv_cq* queue, int room, ibv_wc* into) {
  constexpr unsigned kEmptyLooks = 32;
  static thread_local unsigned empty = 0;
  const int found = poll(queue, room, into);
  empty = found == 0 ? empty + 1 : 0;
  if (empty >= kEmptyLooks) empty = 0, ::sched_yield();
  return found;
}

}  // namespace

extern "C" ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* const context = periapt::bench::open_by_next(device);
  if (context == nullptr) return nullptr;
  poll = context->ops.poll_cq;
  context->ops.poll_cq = poll_and_yield;
  return context;
}
