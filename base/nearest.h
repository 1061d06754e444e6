// "Did you mean ...": the known name that a name was probably meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace periapt {

/// The one of `known` from which `name` differs by the fewest letters changed, added or left out (Levenshtein's
/// distance; of several the first); empty when none differs by fewer than `limit`. Names are compared by their first 64
/// letters.
std::string nearest(std::string_view name, const std::vector<std::string_view>& known,
                    std::size_t limit = ~std::size_t{0});

}  // namespace periapt
