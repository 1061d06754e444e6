// What a PE asks about a call that may go together with others, where one is set (runtime/aggregation).
#pragma once
#include <cstdint>

namespace periapt {

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  // Room for the arguments of the call in what is sent later: inline_arguments_max bytes, to be written before the PE
  // does anything else; nullptr: the call is to go by itself. `meta` and `element` as in Work.
  virtual void* reserve(int to, std::uint64_t meta, std::uint64_t element) = 0;
};

}  // namespace periapt
