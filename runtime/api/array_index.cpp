#include "runtime/api/array_index.h"

#include <ostream>

#include "base/fatal.h"

std::string CkArrayIndex::toString() const {
  const bool custom = dimension == 0;
  const int count = custom ? nInts : dimension;
  std::string text(1, custom ? '<' : '[');
  for (int d = 0; d < count; ++d) {
    if (d > 0) text += ',';
    text += std::to_string(coordinate(d));
  }
  return text + (custom ? '>' : ']');
}

std::ostream& operator<<(std::ostream& out, const CkArrayIndex& i) { return out << i.toString(); }

namespace periapt {
namespace chare {

void unsupported_dimensions(int dimensions) {
  fatal("an array index has 1 to 6 dimensions, not " + std::to_string(dimensions), {}, {},
        "For more, derive an index class from CkArrayIndex (12 bytes) and declare the array [YourIndex]");
}

IndexRange::IndexRange(const CkArrayIndex& start, const CkArrayIndex& end, const CkArrayIndex& step)
    : start_(start), step_(step) {
  if (start.dimension != end.dimension || step.dimension != end.dimension)
    fatal("array bounds start " + start.toString() + ", end " + end.toString() + " and step " + step.toString() +
              " differ in their number of dimensions",
          {}, {}, "Give CkArrayOptions three indices of the same kind");
  size_ = end.dimension == 0 ? 0 : 1;
  for (int d = 0; d < end.dimension; ++d) {
    const std::int64_t length = std::int64_t{end.coordinate(d)} - start.coordinate(d);
    const int stride = step.coordinate(d);
    if (stride <= 0)
      fatal("the array step " + step.toString() + " is not positive in dimension " + std::to_string(d + 1), {}, {},
            "Steps in CkArrayOptions::setStep() start at 1");
    extent_[d] = length <= 0 ? 0 : static_cast<int>((length + stride - 1) / stride);
    size_ *= extent_[d];
  }
}

}  // namespace chare
}  // namespace periapt
