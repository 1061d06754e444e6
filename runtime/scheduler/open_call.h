// A call that is being written: plain arguments go where they are read from, into the receiver's ring or our own queue,
// or into a spare line for another host. Pe::reserve() opens it; no other call may be sent before it is committed.
// C++17: reached from charm++.h.
#pragma once
#include <cstdint>

namespace periapt {

struct OpenCall {
  void* arguments = nullptr;  // where up to inline_arguments_max bytes are to be written; null: there is no open call
  void* slot = nullptr;       // what commit() sends; null: it lies in our own queue, and nothing is left to do
  std::uint64_t meta = 0;
  int to = 0;

  // Sends it. On the PE that has opened it.
  void commit() const;
};

}  // namespace periapt
