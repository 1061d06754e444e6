// What a test may break in the fake libfabric, or have it be. A test finds these by faults() in
// tests/ofi/fake_fabric.h.
#pragma once

#include <cstdint>
#include <deque>

#include "tests/machine/failing_calls.h"

namespace periapt::fake_fabric {

/// Calls fail by the name of the function, "fi_cq_open".
struct Faults : conformance::FailingCalls {
  std::deque<int> next_sends = {};       ///< how the next sends end that end with a completion; 0: well
  std::deque<int> next_operations = {};  ///< the same of puts and gets
  bool nameless = false;                 ///< errors don't say of which operation they are
  bool registers_all = true;             ///< memory of this side must be registered as well (FI_MR_LOCAL)
  bool without_memory = false;           ///< no puts and gets
  bool has_descriptor = false;           ///< to sleep on
  std::uint64_t late_one_in = 0;         ///< of so many messages one is told after the next; 0: none
  std::uint64_t messages = 0;            ///< so far, where some are late
  bool next_twice = false;               ///< the next message comes twice
};

}  // namespace periapt::fake_fabric
