// bench_host_engine: the engine (tag messages, put, get) over the shared memory transport between two processes of this
// host, in the loops of bench_host and bench_host_ucx.
//
//   bench_host_engine [--rounds N] [--only TEXT]
#include "base/fatal.h"
#include "bench/net/two_sides.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/worker.h"

namespace {

using namespace periapt;
using namespace periapt::ucx;
using bench::Place;

class EngineSide {
 public:
  explicit EngineSide(Place& place) {
    ContextRequest request;
    request.factories = machine::transports();
    request.transports = "shm";
    request.self = static_cast<PeerId>(place.side()) + 1;
    request.host = "bench";
    request.secret.assign(16, std::byte{1});
    request.option = [](const std::string&) { return std::string(); };
    context = made(Context::create(std::move(request)));
    worker = made(Worker::create(*context));
    std::vector<std::byte> address = worker->address();
    place.tell(address.data(), address.size());
    place.meet();
    endpoint = made(worker->connect(place.other()));
    std::byte bytes[8] = {};
    send(bytes, 8);
    receive(bytes, 8);
    place.meet([this] { work(); });
  }
  template <class T>
  static T made(Result<T> result) {
    if (!result.ok()) fatal(result.message());
    return std::move(*result);
  }

  void work() { worker->progress(); }
  void expect(std::byte*) {}
  void wait(const RequestPtr& request) {
    while (request && !request->ended()) work();
  }
  void send(const std::byte* bytes, std::size_t size) { wait(endpoint->tag_send({bytes, size}, 7)); }
  void receive(std::byte* bytes, std::size_t size) { wait(worker->tag_receive({bytes, size}, 7)); }

  std::unique_ptr<Context> context;
  std::unique_ptr<Worker> worker;
  Endpoint* endpoint = nullptr;
};

void run(Place& place, int argc, char** argv) {
  bench::Wishes wishes(argc, argv);
  bench::Table table;
  EngineSide side(place);
  bool first = place.side() == 0;
  auto work = [&] { side.work(); };
  auto row = [&](const std::string& name, auto&& measure) {
    if (!wishes.wanted(name)) return;
    place.meet(work);
    double value = measure();
    if (first) table.add(name, value);
  };
  constexpr std::size_t kMost = 16 << 20;
  auto memory = [&] {
    return static_cast<std::byte*>(
        ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  };
  std::byte *out = memory(), *in = memory();
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
        std::vector<RequestPtr> window(kWindow);
        bench::Laps laps(size <= 1024 ? 4096 : 256);
        for (int i = 0; i < n; ++i) {
          RequestPtr& request = window[static_cast<std::size_t>(i % kWindow)];
          side.wait(request);
          request = first ? side.endpoint->tag_send({out, size}, 7) : side.worker->tag_receive({in, size}, 7);
          if (!first && i % 16 == 0) side.work();
          laps.piece();
        }
        for (RequestPtr& request : window) side.wait(request), request.reset();
        if (first) side.receive(in, 8);
        if (!first) side.send(out, 8);
        return 1e3 / laps.median();
      });
    }
  }
  place.meet(work);
  if (first) {
    std::printf("%-58s %12s %12s %12s\n", "the engine over shm, two processes", "median", "best", "worst");
    table.print();
    std::fputs(side.worker->explain(side.endpoint).c_str(), stdout);
  }
  place.meet(work);
}

}  // namespace

int main(int argc, char** argv) { return bench::start_sides(argc, argv, run); }
