#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace periapt {
namespace {

constexpr std::size_t kLettersCompared = 64;  // names come from command lines, where they may be of any length

// Levenshtein's distance, one row of the table at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (letter == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string_view>& known, std::size_t limit) {
  std::string_view best;
  for (std::string_view candidate : known) {
    const std::size_t far = distance(name.substr(0, kLettersCompared), candidate.substr(0, kLettersCompared));
    if (far >= limit) continue;
    limit = far;
    best = candidate;
  }
  return std::string(best);
}

}  // namespace periapt
