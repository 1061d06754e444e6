// What a PE asks about a call that is to go to another host, where one is set (runtime/aggregation).
#pragma once
#include <cstdint>

namespace periapt {

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  // Whether it takes the line, to send it later; the line is copied. `meta` and `body` as in Work.
  virtual bool take(int to, std::uint64_t meta, const void* body) = 0;
};

}  // namespace periapt
