#include "runtime/containers/vec.h"

#include <string>

namespace periapt {
void index_out_of_bounds(const char* container, std::size_t index, std::size_t length, std::size_t first) {
  fatal("index " + std::to_string(index) + " of a " + container + " that holds " + std::to_string(length), container,
        "the elements are numbered from " + std::to_string(first),
        "check the loop or the message that the index comes from");
}
}  // namespace periapt
