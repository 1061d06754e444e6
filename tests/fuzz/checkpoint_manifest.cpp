// The manifest of a checkpoint: as it comes, and with a checksum that is right, so that its lines are read.
#include <cstdio>

#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/manifest.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  using namespace checkpoint;
  std::string text = input.text();
  const auto as_it_is = parse_manifest(text, "m");
  expect(as_it_is.ok() || !as_it_is.message().empty(), "a failure says why");
  text = "periapt checkpoint\nversion 1\nbyte-order little\n" + text + "\n";
  char sum[32];
  std::snprintf(sum, sizeof sum, "%016llx\n", static_cast<unsigned long long>(checksum(text.data(), text.size(), 0)));
  const auto manifest = parse_manifest(text + "checksum " + sum, "m");
  if (!manifest.ok()) return expect(!manifest.message().empty(), "a failure says why");
  const auto again = parse_manifest(manifest->text(), "m");
  expect(again.ok() && again->text() == manifest->text(), "what was read can be written and read again");
}

}  // namespace periapt::fuzz
