// bench_net_ucx: UCX (libucp) in the operations of operations.h, between two processes of this host (or --pairs of
// them). Which libucp is the dynamic linker's choice: LD_LIBRARY_PATH names another one, ours among them (lib/ucx of
// the build). UCX_TLS says which of its transports it may use.
#include <ucp/api/ucp.h>

#include "bench/net/command_line.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"

namespace {

using namespace periapt;
using namespace periapt::bench;

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) fatal(std::string(what) + ": " + ucs_status_string(status));
}

class UcxSide {
 public:
  using Request = void*;

  /// `allocated`: messages lie in memory of ucp_mem_map() instead of private memory.
  UcxSide(Place& place, bool allocated) : place_(place) {
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM;
    check(ucp_init(&parameters, nullptr, &context_), "ucp_init");
    ucp_worker_params_t of_worker{};
    of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &of_worker, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kActive;
    handler.cb = &UcxSide::show;
    handler.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
    connect();
    if (allocated) slots_ = Slots(address_of(mapped(Slots::kBytes)), address_of(mapped(Slots::kBytes)));
    open_window();
    meet();
  }

  static std::string about() { return std::string("UCX ") + ucp_get_version_string(); }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([this] { work(); });
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [this] { work(); });
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    return ucp_tag_send_nbx(endpoint_, outgoing(slot, size), size, kTag, &nothing_);
  }
  Request receive(int slot, std::size_t size) {
    return ucp_tag_recv_nbx(worker_, slots_.incoming(slot, size), size, kTag, ~std::uint64_t{0}, &nothing_);
  }
  void wait(Request& request) {
    if (request != nullptr) {
      if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a UCX operation");
      while (ucp_request_check_status(request) == UCS_INPROGRESS) look();
      ucp_request_free(request);
    }
    request = nullptr;
  }

  bool in_place() const { return true; }
  void on_active(Look look) {
    shown_ = std::move(look);
    actives_shown_ = actives_taken_ = 0;
  }
  Request send_active(std::size_t size) {
    ucp_request_param_t eager{};
    eager.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    eager.flags = UCP_AM_SEND_FLAG_EAGER;
    return ucp_am_send_nbx(endpoint_, kActive, nullptr, 0, outgoing(0, size), size, &eager);
  }
  void take_active(std::size_t) {
    for (++actives_taken_; actives_shown_ < actives_taken_;) look();
  }

  bool one_sided() const { return true; }
  volatile std::byte* window() { return window_; }
  Request put(int slot, std::size_t size) {
    return ucp_put_nbx(endpoint_, outgoing(slot, size), size, there(slot, size), key_, &nothing_);
  }
  Request get(int slot, std::size_t size) {
    return ucp_get_nbx(endpoint_, slots_.incoming(slot, size), size, there(slot, size), key_, &nothing_);
  }
  void flush() {
    Request request = ucp_ep_flush_nbx(endpoint_, &nothing_);
    wait(request);
  }
  void look() {
    if (work() == 0) place_.relax();
  }

 private:
  static constexpr std::uint64_t kTag = 7;
  static constexpr unsigned kActive = 1;

  unsigned work() { return ucp_worker_progress(worker_); }
  void connect() {
    ucp_address_t* address;
    std::size_t size;
    check(ucp_worker_get_address(worker_, &address, &size), "ucp_worker_get_address");
    std::vector<std::byte> theirs = place_.exchange(address, size, [] {});
    ucp_worker_release_address(worker_, address);
    ucp_ep_params_t of_endpoint{};
    of_endpoint.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    of_endpoint.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
    check(ucp_ep_create(worker_, &of_endpoint, &endpoint_), "ucp_ep_create");
    Request out = send(kAnswerSlot, 8), in = receive(kAnswerSlot, 8);
    wait(in);
    wait(out);
  }
  /// Memory that UCX allocates: it is shared where UCX can. Kept until the end of the process.
  ucp_mem_h mapped(std::size_t bytes) {
    ucp_mem_map_params_t asked{};
    asked.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    asked.length = bytes;
    asked.flags = UCP_MEM_MAP_ALLOCATE;
    ucp_mem_h memory;
    check(ucp_mem_map(context_, &asked, &memory), "ucp_mem_map");
    return memory;
  }
  static std::byte* address_of(ucp_mem_h memory) {
    ucp_mem_attr_t is{};
    is.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(memory, &is), "ucp_mem_query");
    return static_cast<std::byte*>(is.address);
  }
  void open_window() {
    ucp_mem_h memory = mapped(kMostBytes);
    window_ = address_of(memory);
    void* packed;
    std::size_t size;
    check(ucp_rkey_pack(context_, memory, &packed, &size), "ucp_rkey_pack");
    std::vector<std::byte> told(8 + size);
    std::memcpy(told.data(), &window_, 8);
    std::memcpy(told.data() + 8, packed, size);
    ucp_rkey_buffer_release(packed);
    std::vector<std::byte> theirs = place_.exchange(told.data(), told.size(), [this] { work(); });
    std::memcpy(&there_, theirs.data(), 8);
    check(ucp_ep_rkey_unpack(endpoint_, theirs.data() + 8, &key_), "ucp_ep_rkey_unpack");
  }
  std::uint64_t there(int slot, std::size_t size) const { return there_ + static_cast<std::uint64_t>(slot) * size; }
  static ucs_status_t show(void* self, const void*, std::size_t, void* data, std::size_t, const ucp_am_recv_param_t*) {
    auto& side = *static_cast<UcxSide*>(self);
    if (side.shown_) side.shown_(static_cast<const std::byte*>(data));
    ++side.actives_shown_;
    return UCS_OK;
  }

  Place& place_;
  Slots slots_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_request_param_t nothing_{};
  Look shown_;
  std::uint64_t actives_shown_ = 0, actives_taken_ = 0;
  std::byte* window_ = nullptr;
  std::uint64_t there_ = 0;
  ucp_rkey_h key_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  CommandLine command_line("UCX between two processes of this host", plan);
  std::string memory = "private";
  command_line.text("--memory", memory, "of messages: the program's own, or what UCX allocates",
                    {"private", "allocated"});
  if (const auto end = command_line.parse(argc, argv)) return end->print();
  return start_sides(plan, [&](Place& place) {
    UcxSide side(place, memory == "allocated");
    run(side, plan);
    if (side.index() == 0) print_about(side.about());
    side.flush();
    side.meet();
  });
}
