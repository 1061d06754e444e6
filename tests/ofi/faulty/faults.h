// What a test may break in libfabric (libfabric.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace periapt::faulty_fabric {

struct Faults {
  std::map<std::string, int> fails = {};  ///< a call by its name, and how it fails each time
  std::deque<int> next_sends = {};        ///< how the next sends end that end with a completion; 0: well
  std::deque<int> next_operations = {};   ///< the same of puts and gets
  bool nameless = false;                  ///< errors don't say of which operation they are
  unsigned seed = 0;                      ///< not 0: what one look finds is told in any order
  int overtaken_by = 0;                   ///< so many messages are told before the next one to arrive
  std::uint32_t version = 0;              ///< not 0: of the library
};

}  // namespace periapt::faulty_fabric
