// What tests that step the runtime by hand have in common: all PEs in this one thread, each step's PE drawn from a
// seed.
#pragma once
#include <random>

#include "runtime/scheduler/process.h"

namespace periapt::test {

inline std::mt19937 chance;
inline int pick(int below) { return static_cast<int>(chance() % static_cast<unsigned>(below)); }

/// What follows is called by that PE.
inline Pe& on(int pe) {
  Pe& chosen = Process::current()->pe(pe);
  Pe::set_current(&chosen);
  return chosen;
}

/// Some PEs are slow for a while, which ends at one draw of `change`: what is sent to them and by them takes long.
inline int some_pe(int change = 200) {
  static int slow = 0;  // as bits
  const int pes = Process::current()->pes();
  if (pick(change) == 0) slow = pick(1 << pes);
  const int pe = pick(pes);
  return slow >> pe & 1 && pick(50) != 0 ? pick(pes) : pe;
}

/// Steps at random until nothing moves on any PE for long. False: it goes on for ever.
inline bool settle() {
  const int pes = Process::current()->pes();
  for (int idle = 0, steps = 0; idle < 100 * pes; ++steps) {
    idle = on(pick(pes)).step() ? 0 : idle + 1;
    if (steps > 10'000'000) return false;
  }
  return true;
}

}  // namespace periapt::test
