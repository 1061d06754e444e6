// One PE's part in a strategy whose PEs decide for themselves: it knows what its own PE has measured, and what others
// send it. It knows of no runtime: messages go where the Seat says, so a test can carry them as it likes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

// An object that is to come to the PE that says so: by its place in what its home, the PE where it is, has measured.
struct Claim {
  std::int32_t home = 0;
  std::uint32_t object = 0;
};

// Where a member sits.
struct Seat {
  int pe = 0, pes = 1;
  std::uint32_t step = 0;
  // To the member of another PE. Arrives once, and never within the call; those from one PE to another arrive in any
  // order.
  std::function<void(int to, const std::vector<char>& bytes)> send;
  // Called once in a step, last of all: what comes to this PE. `wrong`: nothing moves anywhere, for what this member
  // has seen; where all PEs refuse a step, one of them says why.
  std::function<void(const std::vector<Claim>& claims, const std::string& wrong)> decided;
};

class Member {
 public:
  virtual ~Member() = default;
  // With the loads of its PE. Called once; messages may come before.
  virtual void begin(const LoadDatabase& own) = 0;
  // A message of the member on PE `from`; the bytes last as long as the call.
  virtual void hear(int from, const char* bytes, std::size_t length) = 0;
};

}  // namespace periapt::loadbalance
