// See pieces.h.
#include "pieces.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace periapt::live_viz {
namespace {

// (Programs say where their pieces are: corners may be far outside.)
struct Span {
  std::int64_t begin, end;
};
Span across(const Rectangle& r) { return {r.x, std::int64_t{r.x} + r.width}; }
Span down(const Rectangle& r) { return {r.y, std::int64_t{r.y} + r.height}; }
Rectangle rectangle(Span across, Span down) {
  if (across.begin >= across.end || down.begin >= down.end) return {};
  return {static_cast<int>(across.begin), static_cast<int>(down.begin), static_cast<int>(across.end - across.begin),
          static_cast<int>(down.end - down.begin)};
}

// The row of `whole` at height y, from x on.
std::size_t offset(const Rectangle& whole, int pixel_bytes, int x, int y) {
  return (static_cast<std::size_t>(y - whole.y) * static_cast<std::size_t>(whole.width) +
          static_cast<std::size_t>(x - whole.x)) *
         static_cast<std::size_t>(pixel_bytes);
}

template <class Number, class Join>
void join_row(const byte* from, byte* to, std::size_t bytes, Join join) {
  for (std::size_t i = 0; i < bytes / sizeof(Number); ++i) {
    Number a, b;
    std::memcpy(&a, to + i * sizeof(Number), sizeof a);
    std::memcpy(&b, from + i * sizeof(Number), sizeof b);
    a = join(a, b);
    std::memcpy(to + i * sizeof(Number), &a, sizeof a);
  }
}

void join_row(const byte* from, byte* to, std::size_t bytes, liveVizCombine_t combine) {
  switch (combine) {
    case sum_image_data:
      return join_row<byte>(from, to, bytes, [](int a, int b) { return static_cast<byte>(std::min(a + b, 255)); });
    case max_image_data:
      return join_row<byte>(from, to, bytes, [](byte a, byte b) { return std::max(a, b); });
    case sum_float_image_data:
      return join_row<float>(from, to, bytes, [](float a, float b) { return a + b; });
    case max_float_image_data:
      return join_row<float>(from, to, bytes, [](float a, float b) { return std::max(a, b); });
  }
}

}  // namespace

Rectangle common(const Rectangle& a, const Rectangle& b) {
  const auto both = [](Span one, Span other) {
    return Span{std::max(one.begin, other.begin), std::min(one.end, other.end)};
  };
  return rectangle(both(across(a), across(b)), both(down(a), down(b)));
}

Rectangle around(const Rectangle& a, const Rectangle& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  const auto all = [](Span one, Span other) {
    return Span{std::min(one.begin, other.begin), std::max(one.end, other.end)};
  };
  return rectangle(all(across(a), across(b)), all(down(a), down(b)));
}

Rectangle lit(const Piece& piece, int pixel_bytes, const Rectangle& within) {
  const auto is_lit = [&](int x, int y, int width) {
    const byte* row = piece.pixels + offset(piece.where, pixel_bytes, x, y);
    return std::any_of(row, row + static_cast<std::size_t>(width) * static_cast<std::size_t>(pixel_bytes),
                       [](byte one) { return one != 0; });
  };
  int left = within.x + within.width, right = within.x, top = within.y + within.height, bottom = within.y;
  for (int y = within.y; y < within.y + within.height; ++y) {
    if (!is_lit(within.x, y, within.width)) continue;
    top = std::min(top, y);
    bottom = y + 1;
    // What is known to be wanted is not looked at again.
    for (int x = within.x; x < left; ++x)
      if (is_lit(x, y, 1)) left = x;
    for (int x = within.x + within.width; x > right; --x)
      if (is_lit(x - 1, y, 1)) right = x;
  }
  return rectangle({left, right}, {top, bottom});
}

void copy_part(const Piece& piece, int pixel_bytes, const Rectangle& part, byte* to) {
  const std::size_t bytes = static_cast<std::size_t>(part.width) * static_cast<std::size_t>(pixel_bytes);
  for (int y = part.y; y < part.y + part.height; ++y, to += bytes)
    std::memcpy(to, piece.pixels + offset(piece.where, pixel_bytes, part.x, y), bytes);
}

void blend(const Piece& piece, int pixel_bytes, liveVizCombine_t combine, const Rectangle& whole, byte* image) {
  const Rectangle& where = piece.where;
  const std::size_t bytes = static_cast<std::size_t>(where.width) * static_cast<std::size_t>(pixel_bytes);
  for (int y = where.y; y < where.y + where.height; ++y)
    join_row(piece.pixels + offset(where, pixel_bytes, where.x, y), image + offset(whole, pixel_bytes, where.x, y),
             bytes, combine);
}

}  // namespace periapt::live_viz
