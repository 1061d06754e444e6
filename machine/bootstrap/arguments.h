// The command line as a list from which options are taken: each reader takes its own and leaves the rest as it was.
#pragma once

#include <string>

#include "base/status.h"

namespace periapt::bootstrap {

/// Looks at one argument after the other, the program's name excepted. What is taken is gone from argv, which stays
/// null-terminated.
///
///     for (Arguments arguments(argc, argv); arguments.more();) {
///       if (arguments.name() != "my-option") arguments.skip(); else { ... arguments.take_value("my-option") ... }
///     }
class Arguments {
 public:
  Arguments(int& argc, char** argv) : argc_(argc), argv_(argv) {}

  bool more() const { return at_ < argc_; }
  void skip() { ++at_; }

  /// The name behind one or two plus signs; empty if this argument has none.
  std::string name() const {
    const char* text = argv_[at_];
    if (text[0] != '+') return {};
    return text + (text[1] == '+' ? 2 : 1);
  }
  void take() {
    for (int i = at_; i < argc_; ++i) argv_[i] = argv_[i + 1];
    --argc_;
  }
  /// Takes the option and gives its value: what is attached ("4" of +p4), or else the next argument, taken too.
  Result<std::string> take_value(const std::string& option, const std::string& attached = {}) {
    take();
    if (!attached.empty()) return attached;
    if (!more()) return Status::failure("+" + option + " is the last argument, but wants a value behind it");
    std::string value = argv_[at_];
    take();
    return value;
  }

 private:
  int& argc_;
  char** argv_;
  int at_ = 1;
};

}  // namespace periapt::bootstrap
