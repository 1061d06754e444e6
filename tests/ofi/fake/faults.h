// What a test may break in the fake libfabric, or have it be. A test finds these by faults() in
// tests/ofi/fake_fabric.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace periapt::fake_fabric {

struct Faults {
  /// A call that fails: after so many that do not, with which error.
  struct Failure {
    int after = 0;
    int error = 0;
    int struck = 0;  ///< so often so far
    int times = 0;   ///< so often in all; 0: from then on, always
  };
  std::map<std::string, Failure> fails = {};  ///< by the name of the function, "fi_cq_open"
  std::deque<int> next_sends = {};            ///< how the next sends end that end with a completion; 0: well
  std::deque<int> next_operations = {};       ///< the same of puts and gets
  bool nameless = false;                      ///< errors don't say of which operation they are
  bool registers_all = true;                  ///< memory of this side must be registered as well (FI_MR_LOCAL)
  bool without_memory = false;                ///< no puts and gets
  bool has_descriptor = false;                ///< to sleep on
  std::uint64_t late_one_in = 0;              ///< of so many messages one is told after the next; 0: none
  std::uint64_t messages = 0;                 ///< so far, where some are late
  bool next_twice = false;                    ///< the next message comes twice

  /// 0, or the error with which this call fails.
  int hit(const char* call) {
    auto found = fails.find(call);
    if (found == fails.end() || found->second.after-- > 0) return 0;
    found->second.after = 0;
    if (found->second.times != 0 && found->second.struck >= found->second.times) return 0;
    ++found->second.struck;
    return found->second.error;
  }
};

}  // namespace periapt::fake_fabric
