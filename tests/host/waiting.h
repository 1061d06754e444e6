// How a thread of a test waits for another one. On a core that other programs keep busy, a yield hands them a whole
// slice of time each: a hundred thousand of them are minutes, in which both threads mostly sleep. So a thread pauses
// for some ten microseconds first; where the other one runs, that is enough.
#pragma once

#include <thread>

#include "base/platform.h"

namespace periapt::tests {

class Waiting {
 public:
  void again() {
    if (++times_ % 1000 == 0) {
      std::this_thread::yield();
    } else {
      platform::pause();
    }
  }

 private:
  unsigned times_ = 0;
};

/// A moment in which the other thread may come to the end of what there is.
inline void pause_for(unsigned pauses) {
  for (unsigned i = 0; i < pauses; ++i) platform::pause();
}

}  // namespace periapt::tests
