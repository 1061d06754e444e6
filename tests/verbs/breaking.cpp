// The system's libibverbs, but for queue pairs that break: of so many sends, puts and gets one finds its queue pair in
// the error state, as after a fault of the network. For the suite on a real device (device_conformance_test.cpp):
//
//   PERIAPT_LIBIBVERBS=libbreaking_ibverbs.so PERIAPT_BREAK_ONE_IN=50 verbs_device_conformance_test
//
// With PERIAPT_BREAK_WHILE=FILE all of them do while there is a file of that name, as when a cable is pulled.
//
// What is not defined here is found in libibverbs itself, which this library needs.
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "bench/net/intercepted_ibverbs.h"

namespace {

using PostSend = int (*)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
PostSend post_send = nullptr;
std::atomic<unsigned> posts{0};

unsigned break_one_in() {
  static const unsigned one_in = [] {
    const char* text = std::getenv("PERIAPT_BREAK_ONE_IN");
    return text == nullptr ? 0u : static_cast<unsigned>(std::atoi(text));
  }();
  return one_in;
}

bool breaks_now() {
  static const char* const file = std::getenv("PERIAPT_BREAK_WHILE");
  if (file != nullptr && ::access(file, F_OK) == 0) return true;
  return break_one_in() != 0 && ++posts % break_one_in() == 0;
}

int post(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) {
  if (breaks_now()) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
  }
  return post_send(pair, request, bad);
}

}  // namespace

extern "C" ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* const context = periapt::bench::open_by_next(device);
  if (context == nullptr) return nullptr;
  post_send = context->ops.post_send;
  context->ops.post_send = post;
  return context;
}
