// Where libFuzzer and run.cpp enter a target.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void expect(bool holds, const char* what, CodePlace where) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", where.file, where.line, what);
  std::abort();
}

}  // namespace periapt::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  periapt::fuzz::target(periapt::fuzz::Input({reinterpret_cast<const std::byte*>(data), size}));
  return 0;
}
