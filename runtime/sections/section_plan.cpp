// See section_plan.h.
#include "runtime/sections/section_plan.h"

#include <algorithm>

namespace periapt {

std::vector<SectionStop> section_row(int root, int pes, const std::vector<SectionMember>& members,
                                     const std::vector<int>& places) {
  const auto distance = [&](int pe) { return (pe - root + pes) % pes; };
  std::vector<std::uint32_t> order(members.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return distance(places[a]) < distance(places[b]); });
  std::vector<SectionStop> row(1);
  row[0].pe = root;
  for (std::uint32_t i : order) {
    if (row.back().pe != places[i]) row.push_back({places[i], {}});
    row.back().members.push_back(members[i]);
  }
  return row;
}

std::vector<std::pair<std::size_t, std::size_t>> section_pieces(std::size_t length, int branching) {
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  if (length <= 1) return pieces;
  const std::size_t rest = length - 1;
  const std::size_t count = std::min<std::size_t>(rest, static_cast<std::size_t>(branching));
  for (std::size_t i = 0; i < count; ++i) pieces.push_back({1 + rest * i / count, 1 + rest * (i + 1) / count});
  return pieces;
}

}  // namespace periapt
