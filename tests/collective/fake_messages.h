// Messages in memory of malloc(), in the place of those of a PE's heap.
#pragma once
#include <cstddef>

namespace periapt::test {
// That there are now.
extern int messages_alive;
}  // namespace periapt::test
