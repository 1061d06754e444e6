// How many seeds a test goes through. The release run tries all orders of events that they stand for; a sanitizer looks
// at what each line does to memory, takes ten times as long for it, and has seen that in a quarter of them.
#pragma once

#include "base/platform.h"

namespace periapt::tests {

template <class Count>
constexpr Count amount(Count all) {
#if defined(PERIAPT_ASAN) || defined(PERIAPT_TSAN)
  return (all + 3) / 4;
#else
  return all;
#endif
}

/// Of moments at which something goes wrong a sanitizer sees every third, of every second one every fifth: an odd
/// number, so that both of two that take turns come to it.
constexpr int every(int step = 1) { return amount(4) < 4 ? 2 * step + 1 : step; }

}  // namespace periapt::tests
