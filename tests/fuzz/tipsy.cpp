// Snapshots of N-body codes.
#include "examples/nbody/tipsy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  const Bytes bytes = input.rest();
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  expect(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a file");
  try {
    const nbody::Snapshot snapshot = nbody::readTipsy("/proc/self/fd/" + std::to_string(file));
    expect(snapshot.particles.size() * 36 <= bytes.size(), "no more particles than there are bytes for");
  } catch (const std::runtime_error& error) {
    expect(std::string(error.what()).find("/proc/self/fd/") == 0, "a failure names the file");
  }
  ::close(file);
}

}  // namespace periapt::fuzz
