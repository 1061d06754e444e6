// Verbs on the RDMA device of this host passes the suite; skipped where there is none. scripts/soft-roce runs it on
// soft RoCE in a virtual machine. Its peers are workers of this host, over the device's own loopback.
#include <cstdio>

#include "machine/verbs/transport.h"
#include "tests/machine/conformance.h"

PERIAPT_CONFORMS(Device, (periapt::conformance::Subject{.factory = &periapt::verbs::factory, .many = 12}));

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string why;
  for (const periapt::ucx::Device& device : periapt::verbs::factory.probe({})) {
    if (device.usable) return RUN_ALL_TESTS();
    why += (why.empty() ? "" : "; ") + device.name + ": " + device.detail;
  }
  std::printf("skipped: no RDMA device can be used here: %s\n", why.c_str());
  return 77;
}
