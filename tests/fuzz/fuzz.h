// Fuzz targets: parsers of what comes from outside, on bytes that make no sense.
//
// A target is a file NAME.cpp with one function
//
//   void periapt::fuzz::target(Input input)
//
// that makes of the bytes what the parser takes, and checks what can be said of the result whatever came in. It must do
// the same for the same bytes (verbs_messages and ofi_messages do nearly). It is linked with libFuzzer (preset `fuzz`,
// clang) or with run.cpp, which needs no special compiler and is what ctest runs; both begin with the files in
// corpus/NAME and use the words in corpus/NAME.words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/code_place.h"

namespace periapt::fuzz {

using Bytes = std::span<const std::byte>;

/// The bytes of one run, from the front; behind the end there are zeros.
class Input {
 public:
  explicit Input(Bytes bytes) : left_(bytes) {}

  bool more() const { return !left_.empty(); }
  std::size_t size() const { return left_.size(); }

  template <class T>
  T number() {
    T value{};
    const std::size_t count = std::min(sizeof value, left_.size());
    if (count != 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  /// 0 to `bound` - 1; takes one byte, or four when the bound is beyond it.
  std::size_t below(std::size_t bound) {
    return (bound <= 256 ? number<std::uint8_t>() : number<std::uint32_t>()) % std::max<std::size_t>(bound, 1);
  }
  bool flag() { return (number<std::uint8_t>() & 1) != 0; }

  /// At most so many bytes.
  Bytes bytes(std::size_t most) {
    const Bytes taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  Bytes rest() { return bytes(left_.size()); }
  std::string text() {
    const Bytes taken = rest();
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  /// A line, without its end.
  std::string line() {
    const auto end = std::find(left_.begin(), left_.end(), std::byte{'\n'});
    const Bytes taken = bytes(static_cast<std::size_t>(end - left_.begin()));
    if (more()) left_ = left_.subspan(1);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  /// Good bytes, damaged as the input says: a zero byte leaves them as they are.
  void damage(std::vector<std::byte>& good);

 private:
  Bytes left_;
};

inline void Input::damage(std::vector<std::byte>& good) {
  for (std::size_t changes = below(4); changes > 0 && !good.empty(); --changes) {
    const std::size_t how = below(5);
    const auto at = good.begin() + static_cast<std::ptrdiff_t>(below(good.size()));
    if (how == 0) {
      *at ^= std::byte{1} << below(8);
    } else if (how == 1) {
      *at = number<std::byte>();
    } else if (how == 2) {
      good.erase(at, at + static_cast<std::ptrdiff_t>(
                              std::min<std::size_t>(below(16), static_cast<std::size_t>(good.end() - at))));
    } else if (how == 3) {
      const Bytes more = bytes(below(16));
      good.insert(at, more.begin(), more.end());
    } else {
      const auto word = number<std::uint64_t>();
      std::memcpy(&*at, &word, std::min<std::size_t>(sizeof word, static_cast<std::size_t>(good.end() - at)));
    }
  }
}

/// What must hold whatever came in; the run ends here if it does not.
void expect(bool holds, const char* what, CodePlace where = CodePlace::here());

void target(Input input);

}  // namespace periapt::fuzz
