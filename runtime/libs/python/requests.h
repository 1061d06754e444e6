// What a client asks of an object, read from the bytes of its request (PythonCCS-client.h has the layout).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace periapt::python {

struct Request {
  enum class Kind { execute, print, finished };
  Kind kind = Kind::execute;
  std::uint32_t interpreter = 0;  // 0: a new one
  bool waits = false;             // the answer comes when there is something, or when the script has ended
  bool kills = false;
  bool is_persistent = false;
  bool keeps_print = false;
  bool is_high_level = false;
  bool iterates = false;
  std::string code;
  std::string method;    // of an iteration
  std::string iterator;  // its bytes
};

/// Bytes of a client are not trusted: the message says what is wrong with them.
Result<Request> read_request(std::string_view bytes);

}  // namespace periapt::python
