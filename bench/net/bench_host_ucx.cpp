// bench_host_ucx: UCX (libucp) between two processes of this host, in the loops of bench_host. UCX_TLS says which of
// its transports it may use; without it, it chooses.
//
//   bench_host_ucx [--rounds N] [--only TEXT]
#include <ucp/api/ucp.h>

#include "base/fatal.h"
#include "bench/net/two_sides.h"

namespace {

using namespace periapt;
using bench::Place;
using clock::now_ns;

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) fatal(std::string(what) + ": " + ucs_status_string(status));
}

class UcxSide {
 public:
  explicit UcxSide(Place& place) {
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    check(ucp_init(&parameters, nullptr, &context_), "ucp_init");
    ucp_worker_params_t of_worker{};
    of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &of_worker, &worker_), "ucp_worker_create");
    ucp_address_t* address;
    std::size_t size;
    check(ucp_worker_get_address(worker_, &address, &size), "ucp_worker_get_address");
    place.tell(address, size);
    place.meet();
    std::vector<std::byte> theirs = place.other();
    ucp_ep_params_t of_endpoint{};
    of_endpoint.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    of_endpoint.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
    check(ucp_ep_create(worker_, &of_endpoint, &endpoint_), "ucp_ep_create");
    std::byte bytes[8] = {};
    send(bytes, 8);
    receive(bytes, 8);
    place.meet([this] { work(); });
  }

  void expect(std::byte*) {}
  void work() { ucp_worker_progress(worker_); }
  void wait(void* request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a UCX operation");
    while (ucp_request_check_status(request) == UCS_INPROGRESS) work();
    ucp_request_free(request);
  }
  void* start_send(const std::byte* bytes, std::size_t size) {
    return ucp_tag_send_nbx(endpoint_, bytes, size, 7, &nothing_);
  }
  void* start_receive(std::byte* bytes, std::size_t size) {
    return ucp_tag_recv_nbx(worker_, bytes, size, 7, ~std::uint64_t{0}, &nothing_);
  }
  void send(const std::byte* bytes, std::size_t size) { wait(start_send(bytes, size)); }
  void receive(std::byte* bytes, std::size_t size) { wait(start_receive(bytes, size)); }
  void flush() { wait(ucp_worker_flush_nbx(worker_, &nothing_)); }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;

 private:
  ucp_request_param_t nothing_{};
};

void run(Place& place, int argc, char** argv) {
  bench::Wishes wishes(argc, argv);
  bench::Table table;
  UcxSide side(place);
  bool first = place.side() == 0;
  auto work = [&] { side.work(); };
  auto row = [&](const std::string& name, auto&& measure) {
    if (!wishes.wanted(name)) return;
    place.meet(work);
    double value = measure();
    if (first) table.add(name, value);
  };

  constexpr std::size_t kMost = 16 << 20;
  auto private_memory = [&] {
    return static_cast<std::byte*>(
        ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  };
  std::byte *out = private_memory(), *in = private_memory();

  // Memory that UCX has allocated: shared, where it can.
  ucp_mem_map_params_t asked{};
  asked.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  asked.length = kMost;
  asked.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h memory;
  check(ucp_mem_map(side.context_, &asked, &memory), "ucp_mem_map");
  ucp_mem_attr_t is{};
  is.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  check(ucp_mem_query(memory, &is), "ucp_mem_query");
  std::byte* shared = static_cast<std::byte*>(is.address);
  std::memset(shared, 1, kMost);
  void* packed;
  std::size_t packed_size;
  check(ucp_rkey_pack(side.context_, memory, &packed, &packed_size), "ucp_rkey_pack");
  std::vector<std::byte> told(8 + packed_size);
  std::memcpy(told.data(), &shared, 8);
  std::memcpy(told.data() + 8, packed, packed_size);
  place.meet(work);
  place.tell(told.data(), told.size());
  place.meet(work);
  std::vector<std::byte> theirs = place.other();
  std::uint64_t at;
  std::memcpy(&at, theirs.data(), 8);
  ucp_rkey_h key;
  check(ucp_ep_rkey_unpack(side.endpoint_, theirs.data() + 8, &key), "ucp_ep_rkey_unpack");
  ucp_request_param_t nothing{};

  for (int round = 0; round < wishes.rounds; ++round) {
    for (bool rewritten : {true, false}) {
      for (std::size_t size : bench::kSizes) {
        row(std::string("tag message, ") + (rewritten ? "rewritten, " : "untouched, ") + bench::in_words(size) + ", us",
            [&] { return bench::latency(place, side, out, in, size, rewritten) / 1e3; });
      }
    }
    for (std::size_t size : {8, 64, 1024, 8192}) {
      row("stream of tag messages of " + bench::in_words(size) + ", M/s", [&] {
        const int n = size <= 64 ? 200000 : 20000;
        constexpr int kWindow = 64;
        std::vector<void*> window(kWindow, nullptr);
        bench::Laps laps(size <= 1024 ? 4096 : 256);
        // Receives are posted ahead, as good programs do.
        for (int i = 0; i < n; ++i) {
          void*& request = window[static_cast<std::size_t>(i % kWindow)];
          side.wait(request);
          request = first ? side.start_send(out, size) : side.start_receive(in, size);
          if (!first && i % 16 == 0) side.work();
          laps.piece();
        }
        for (void* request : window) side.wait(request);
        if (first) side.receive(in, 8);
        if (!first) side.send(out, 8);
        return 1e3 / laps.median();
      });
    }
    for (std::size_t size : {std::size_t{8}, std::size_t{8192}, std::size_t{1} << 20, std::size_t{16} << 20}) {
      row("put ping-pong, " + bench::in_words(size) + ", us", [&] {
        volatile std::byte* last = shared + size - 1;
        *last = std::byte{0};
        place.meet(work);
        const int n = std::min(bench::repetitions(size), 1000);
        bench::Laps laps(bench::pieces_a_lap(size));
        for (int i = 1; i <= n; ++i) {
          std::byte mark{static_cast<unsigned char>(i % 100 + 1)};
          auto put = [&] {
            out[size - 1] = mark;
            side.wait(ucp_put_nbx(side.endpoint_, out, size, at, key, &nothing));
          };
          if (first) put();
          while (*last != mark) side.work();
          if (!first) put();
          laps.piece();
        }
        place.meet(work);
        return laps.median() / 2e3;
      });
      row("get, " + bench::in_words(size) + ", us", [&] {
        place.meet(work);
        const int n = bench::repetitions(size);
        bench::Laps laps(bench::pieces_a_lap(size));
        if (first) {
          for (int i = 0; i < n; ++i) {
            side.wait(ucp_get_nbx(side.endpoint_, out, size, at, key, &nothing));
            laps.piece();
          }
        }
        place.meet(work);
        return laps.median() / 1e3;
      });
    }
  }
  side.flush();
  place.meet(work);
  if (first) {
    std::printf("%-58s %12s %12s %12s\n", (std::string("UCX ") + ucp_get_version_string()).c_str(), "median", "best",
                "worst");
    table.print();
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::start_sides(argc, argv, run); }
