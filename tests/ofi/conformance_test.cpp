// Ofi passes the suite over the providers of libfabric that need no adapter.
#include "tests/machine/conformance.h"

#include <filesystem>
#include <regex>
#include <string>

#include "machine/ofi/transport.h"

namespace {
using periapt::conformance::Subject;

Subject over(const char* provider) {
  return {.factory = &periapt::ofi::factory,
          .options = {{"+net-devices", "127.0.0.1"}, {"+ofi-provider", provider}},
          .many = 8};
}
// A process that is killed inside the library may leave a lock of the memory that the others share with it.
Subject over_shm() {
  Subject shm = over("shm");
  shm.dies_anywhere = false;
  return shm;
}
// Of 25 runs beside other work one stood still there, and once a message of 405 bytes came with 350 of them.
Subject over_udp() {
  Subject udp = over("udp/lo");
  udp.not_by_two_threads =
      "two threads that flood each other over libfabric's udp now and then stand still: not understood";
  return udp;
}
}  // namespace

PERIAPT_CONFORMS(Tcp, (over("tcp/lo")));
PERIAPT_CONFORMS(Shm, (over_shm()));
PERIAPT_CONFORMS(Sockets, (over("sockets/lo")));
PERIAPT_CONFORMS(Udp, (over_udp()));

namespace {
// Peers that are killed before another one has heard their names leave files of libfabric behind.
class DeadPeersFiles : public ::testing::Environment {
  void TearDown() override {
    const std::regex of_a_process("([0-9]+):[0-9]+:[0-9]+");
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm", ignored)) {
      const std::string name = file.path().filename();
      std::smatch parts;
      if (std::regex_match(name, parts, of_a_process) && !std::filesystem::exists("/proc/" + parts[1].str(), ignored))
        std::filesystem::remove(file.path(), ignored);
    }
  }
};
[[maybe_unused]] const auto* const kDeadPeersFiles = ::testing::AddGlobalTestEnvironment(new DeadPeersFiles);
}  // namespace
