// How seeds spread over the PEs: the interface of a policy, of which there is an object on each PE. A policy is a file
// of this folder and a line in policies.cpp.
//
// A policy knows how many seeds wait on its own PE, gives some of them to other PEs, and exchanges words with the
// policies there. It keeps no timer and sends nothing while no seed waits anywhere, so that the end of a run's work is
// seen as it is without it.
#pragma once
#include <cstdint>
#include <memory>

namespace periapt::seeds {

class Pool;

// What one PE's policy tells another's.
struct Word {
  std::int32_t from = 0;  // PE
  std::int32_t kind = 0;  // of the policy's own, as the rest
  std::int64_t number = 0;
  std::int64_t second = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Another PE has given the seed that comes to the pool next.
  virtual void came(int from) { static_cast<void>(from); }
  // A seed has come to the pool, or was taken from it to be run.
  virtual void changed() = 0;
  // The PE has nothing more to do.
  virtual void idle() {}
  virtual void heard(const Word& word) = 0;
};

std::unique_ptr<Policy> neighbor(Pool& pool);
std::unique_ptr<Policy> spray(Pool& pool);
std::unique_ptr<Policy> workstealing(Pool& pool);

}  // namespace periapt::seeds
