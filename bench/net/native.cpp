// bench_net: the layers of this house below the runtime, and what the machine can do at all, in the operations of
// operations.h, between two processes of this host (or --pairs of them).
//
//   bench_net bare|transport|engine --over shm|tcp [--memory private|allocated] [--bulk mapped|kernel|slots]
//   [--zero-copy] [--private-window] [--option +shm-cma=off] [--explain] [plan.h's options]
#include "bench/net/bare_shm.h"
#include "bench/net/bare_tcp.h"
#include "bench/net/command_line.h"
#include "bench/net/engine_side.h"
#include "bench/net/transport_side.h"

namespace {

using namespace periapt;
using namespace periapt::bench;

struct Request {
  std::string layer, over = "shm", memory = "private", bulk = "mapped";
  Options options;
  Plan plan;
  bool explain = false, zero_copy = false, private_window = false;
};

template <class S>
void measure(S&& side, const Request& request) {
  run(side, request.plan);
  if (side.index() == 0) print_about(side.about());
  if constexpr (std::is_same_v<S, EngineSide>) {
    if (side.index() == 0 && request.explain) std::fputs(side.explain().c_str(), stdout);
  }
  side.meet();
}

void body(Place& place, const Request& request) {
  if (request.layer == "engine")
    return measure(
        EngineSide(place, request.over, request.options, request.memory == "allocated", request.private_window),
        request);
  if (request.layer == "transport")
    return measure(TransportSide(place, request.over, request.options, request.memory == "allocated"), request);
  if (request.over == "tcp") return measure(BareTcp(place, request.zero_copy), request);
  const auto bulk = request.bulk == "kernel"  ? BareShm::Bulk::kernel
                    : request.bulk == "slots" ? BareShm::Bulk::slots
                                              : BareShm::Bulk::mapped;
  measure(BareShm(place, bulk), request);
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  std::vector<std::string> options;
  CommandLine command_line("Layers below the runtime between two processes of this host", request.plan);
  command_line.text("layer", request.layer, "bare, transport or engine", {"bare", "transport", "engine"});
  command_line.text("--over", request.over, "shm, tcp; transport and engine: any transport");
  command_line.text("--memory", request.memory, "of messages: the program's own, or what the layer allocates",
                    {"private", "allocated"});
  command_line.text("--bulk", request.bulk,
                    "bare, shm: shared memory, or private memory by the kernel or through slots",
                    {"mapped", "kernel", "slots"});
  command_line.texts("--option", options, "of the transport: +shm-cma=off");
  command_line.flag("--zero-copy", request.zero_copy, "bare, tcp: with MSG_ZEROCOPY");
  command_line.flag("--private-window", request.private_window,
                    "engine: put and get on private memory, not the engine's");
  command_line.flag("--explain", request.explain, "what the engine has chosen, and why");
  if (const auto end = command_line.parse(argc, argv)) return end->print();
  if (request.plan.across.empty()) request.options["+net-devices"] = "lo";
  if (!request.plan.across.empty() && request.layer == "bare") {
    std::fputs("the bare machine is measured on one host\n", stderr);
    return 77;
  }
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    request.options[option.substr(0, equals)] = equals == std::string::npos ? "" : option.substr(equals + 1);
  }
  return start_sides(request.plan, [&](Place& place) { body(place, request); });
}
