// The seed balancers there are, by the names that they have in Charm++: for the runtime, and for charmc.
#pragma once
#include <string_view>
#include <vector>

namespace periapt::seeds {

inline std::vector<std::string_view> names() { return {"rand", "neighbor", "spray", "workstealing", "none"}; }

}  // namespace periapt::seeds
