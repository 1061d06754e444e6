// The file in which measured costs are kept: a line is good or is passed over.
#include "machine/ucx-like/plan.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  ucx::WayTimes times;
  while (input.more()) times.read_line("tcp/eth0", input.line());
  for (std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    static_cast<void>(times.choose(bit_of(ucx::LargeWay::data) | bit_of(ucx::LargeWay::get), size));
    expect(!times.explain(bit_of(ucx::LargeWay::get), bit_of(ucx::LargeWay::get), size).empty(),
           "what was measured can be said");
  }
  ucx::WayTimes again;
  std::string lines = times.lines("tcp/eth0");
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    again.read_line("tcp/eth0", lines.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace periapt::fuzz
