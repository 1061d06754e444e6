// Ofi passes the suite over the providers of libfabric that need no adapter.
#include "tests/machine/conformance.h"

#include "machine/ofi/transport.h"

namespace {
using periapt::conformance::Subject;

Subject over(const char* provider) {
  return {.factory = &periapt::ofi::factory,
          .options = {{"+net-devices", "127.0.0.1"}, {"+ofi-provider", provider}},
          .many = 8};
}
}  // namespace

PERIAPT_CONFORMS(Tcp, (over("tcp/lo")));
PERIAPT_CONFORMS(Shm, (over("shm")));
PERIAPT_CONFORMS(Sockets, (over("sockets/lo")));
PERIAPT_CONFORMS(Udp, (over("udp/lo")));
