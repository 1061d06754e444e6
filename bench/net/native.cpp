// bench_net: the layers of this house below the runtime, and what the machine can do at all, in the operations of
// operations.h, between two processes of this host (or --pairs of them).
//
//   bench_net bare|transport|engine --over shm|tcp [--memory private|allocated] [--bulk mapped|kernel|slots]
//   [--zero-copy] [--private-window] [--option +shm-cma=off] [--explain] [plan.h's options]
#include "bench/net/bare_shm.h"
#include "bench/net/bare_tcp.h"
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
  CLI::App app("Layers below the runtime between two processes of this host");
  app.add_option("layer", request.layer, "bare, transport or engine")
      ->required()
      ->check(CLI::IsMember({"bare", "transport", "engine"}));
  app.add_option("--over", request.over, "shm, tcp; transport and engine: any transport");
  app.add_option("--memory", request.memory, "of messages: the program's own, or what the layer allocates")
      ->check(CLI::IsMember({"private", "allocated"}));
  app.add_option("--bulk", request.bulk, "bare, shm: shared memory, or private memory by the kernel or through slots")
      ->check(CLI::IsMember({"mapped", "kernel", "slots"}));
  app.add_option("--option", options, "of the transport: +shm-cma=off");
  app.add_flag("--zero-copy", request.zero_copy, "bare, tcp: with MSG_ZEROCOPY");
  app.add_flag("--private-window", request.private_window, "engine: put and get on private memory, not the engine's");
  app.add_flag("--explain", request.explain, "what the engine has chosen, and why");
  request.plan.add_options(app);
  CLI11_PARSE(app, argc, argv);
  request.options["+net-devices"] = "lo";
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    request.options[option.substr(0, equals)] = equals == std::string::npos ? "" : option.substr(equals + 1);
  }
  return start_sides(request.plan.pairs, [&](Place& place) { body(place, request); });
}
