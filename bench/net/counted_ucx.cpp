// bench_net_counted_ucx: UCX, for counted.h. UCX_TLS=rc_v and UCX_NET_DEVICES say over what.
//
//   bench_net_counted_ucx MESSAGES IN_A_ROW
#include <ucp/api/ucp.h>

#include <array>
#include <string>

#include "base/fatal.h"
#include "bench/net/counted.h"

namespace {

using namespace periapt;

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) fatal(std::string(what) + ": " + ucs_status_string(status));
}

class UcxEnds {
 public:
  UcxEnds() {
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG;
    for (std::size_t end : {0, 1}) {
      check(ucp_init(&parameters, nullptr, &contexts_[end]), "ucp_init");
      ucp_worker_params_t of_worker{};
      of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
      of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
      check(ucp_worker_create(contexts_[end], &of_worker, &workers_[end]), "ucp_worker_create");
    }
    ucp_address_t* address;
    std::size_t size;
    check(ucp_worker_get_address(workers_[1], &address, &size), "ucp_worker_get_address");
    ucp_ep_params_t of_endpoint{};
    of_endpoint.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    of_endpoint.address = address;
    check(ucp_ep_create(workers_[0], &of_endpoint, &endpoint_), "ucp_ep_create");
    ucp_worker_release_address(workers_[1], address);
  }
  void expect() {
    receives_[expected_++ % kMost] =
        ucp_tag_recv_nbx(workers_[1], &in_, sizeof in_, kTag, ~std::uint64_t{0}, &nothing_);
  }
  void send() {
    void* request = ucp_tag_send_nbx(endpoint_, &out_, sizeof out_, kTag, &nothing_);
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "ucp_tag_send_nbx");
    ucp_request_free(request);  // it goes on by itself
  }
  void look(int end) {
    ucp_worker_progress(workers_[static_cast<std::size_t>(end)]);
    while (taken_ < expected_ && ucp_request_check_status(receives_[taken_ % kMost]) != UCS_INPROGRESS)
      ucp_request_free(receives_[taken_++ % kMost]);
  }
  long taken() const { return static_cast<long>(taken_); }

 private:
  static constexpr std::uint64_t kTag = 7;
  static constexpr std::size_t kMost = 64;
  std::array<ucp_context_h, 2> contexts_{};
  std::array<ucp_worker_h, 2> workers_{};
  ucp_ep_h endpoint_ = nullptr;
  ucp_request_param_t nothing_{};
  std::array<void*, kMost> receives_{};
  std::size_t expected_ = 0, taken_ = 0;
  std::uint64_t out_ = 1, in_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  UcxEnds ends;
  return bench::count(ends, argc, argv);
}
