// The runtime's own threads. Where the system makes no more of them, the run ends with what the limit is.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error_text.h"
#include "base/fatal.h"

namespace periapt {

/// A thread that runs `body`. `work`: what it is for, "that watches over this process".
template <typename Body>
std::thread make_thread(const char* work, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    fatal(std::string("no thread can be made ") + work + ": " + error_text(error.code().value()));
  }
}

}  // namespace periapt
