// Calls of a fake library that a test lets fail, by name.
#pragma once

#include <map>
#include <string>

namespace periapt::conformance {

struct FailingCalls {
  /// A call that fails: after so many that do not, with which error.
  struct Failure {
    int after = 0;
    int error = 0;
    int struck = 0;  ///< so often so far
    int times = 0;   ///< so often in all; 0: from then on, always
  };
  std::map<std::string, Failure> fails = {};

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

}  // namespace periapt::conformance
