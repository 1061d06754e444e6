// Images that are put together from pieces: rectangles of the image with their pixels. Pure functions on bytes.
//
// An image begins black, all bytes 0, and pieces are worked into it in any order: so a piece need not have its black
// borders, and two pieces make one that is the smallest rectangle around both. (Sums of floats are exact or depend on
// the order.)
#pragma once
#include <cstddef>

#include "liveViz.h"

namespace periapt::live_viz {

struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
  bool is_empty() const { return width <= 0 || height <= 0; }
  std::size_t area() const {
    return is_empty() ? 0 : static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  }
  bool operator==(const Rectangle& o) const { return x == o.x && y == o.y && width == o.width && height == o.height; }
};

/// What is in both; empty: {0, 0, 0, 0}.
Rectangle common(const Rectangle& a, const Rectangle& b);
/// The smallest around both. An empty one counts for nothing.
Rectangle around(const Rectangle& a, const Rectangle& b);

/// Rows of pixels from the top, without gaps.
struct Piece {
  Rectangle where;
  const byte* pixels;
};

/// The smallest part of `within`, which lies in the piece, that has all pixels that are not black.
Rectangle lit(const Piece& piece, int pixel_bytes, const Rectangle& within);
/// `part` lies in the piece; `to` has room for it alone.
void copy_part(const Piece& piece, int pixel_bytes, const Rectangle& part, byte* to);
/// Works the piece into the image of rectangle `whole`, in which it lies.
void blend(const Piece& piece, int pixel_bytes, liveVizCombine_t combine, const Rectangle& whole, byte* image);

}  // namespace periapt::live_viz
