// CkRect, CkImage and CkAllocImage: rectangles of pixels, and what lies in them. C++17: reached from ckimage.h.
//
// y grows downward; a rectangle has its left and top edge and not its right and bottom one. Pixels of an image lie row
// by row, and the colours of a pixel together. Nothing checks whether a pixel is inside.
#pragma once
#include <algorithm>
#include <cstddef>

#include "runtime/pup/operators.h"

class CkRect {
 public:
  int l = -1, r = -1;
  int t = -1, b = -1;

  CkRect() = default;
  CkRect(int left, int top, int right, int bottom) : l(left), r(right), t(top), b(bottom) {}
  CkRect(int width, int height) : CkRect(0, 0, width, height) {}

  int wid() const { return r - l; }
  int ht() const { return b - t; }
  int getWidth() const { return wid(); }
  int getHeight() const { return ht(); }
  int area() const { return wid() * ht(); }
  int operator==(const CkRect& a) const { return l == a.l && r == a.r && t == a.t && b == a.b; }
  CkRect getUnion(const CkRect& a) const {
    return {std::min(l, a.l), std::min(t, a.t), std::max(r, a.r), std::max(b, a.b)};
  }
  CkRect getIntersect(const CkRect& a) const {
    return {std::max(l, a.l), std::max(t, a.t), std::min(r, a.r), std::min(b, a.b)};
  }
  CkRect getShift(int dx, int dy) const { return {l + dx, t + dy, r + dx, b + dy}; }
  bool isEmpty() const { return l >= r || t >= b; }
  bool inbounds(int x, int y) const { return l <= x && x < r && t <= y && y < b; }

  // Empty, such that add() makes it the rectangle of the points that are added.
  void makeEmpty() {
    l = t = 1000000000;
    b = r = -l;
  }
  void empty() { makeEmpty(); }
  void zero() { l = r = t = b = 0; }
  void add(int x, int y) { *this = getUnion({x, y, x, y}); }
  void enlarge(int dx, int dy) { *this = {l - dx, t - dy, r + dx, b + dy}; }

  void pup(PUP::er& p) {
    p | l;
    p | r;
    p | t;
    p | b;
  }
};

// Pixels that the caller owns.
class CkImage {
 public:
  typedef unsigned char channel_t;
  enum { channel_max = 255 };
  // Colours of a pixel: red, green, blue, and with four of them alpha first; or backwards.
  enum layout_t { layout_default = 0, layout_reversed = 1 };

  CkImage() = default;
  CkImage(int width, int height, int colors, channel_t* data)
      : row_(width * colors), colors_(colors), width_(width), height_(height), data_(data) {}
  CkImage(const CkImage&) = delete;
  void operator=(const CkImage&) = delete;

  channel_t* getData() { return data_; }
  void setData(channel_t* data) { data_ = data; }
  CkRect getRect() const { return CkRect(width_, height_); }
  int getRow() const { return row_; }  // from a row to the next one
  int getColors() const { return colors_; }
  int getWidth() const { return width_; }
  int getHeight() const { return height_; }
  layout_t getLayout() const { return static_cast<layout_t>(layout_); }
  void setLayout(layout_t layout) { layout_ = layout; }

  channel_t* getPixel(int x, int y) { return data_ + place(x, y); }
  const channel_t* getPixel(int x, int y) const { return data_ + place(x, y); }
  void copyPixel(const channel_t* from, channel_t* to) { std::copy(from, from + colors_, to); }
  void setPixel(channel_t all, channel_t* to) { std::fill(to, to + colors_, all); }
  void addPixel(const channel_t* from, channel_t* to) {  // modulo 256
    for (int i = 0; i < colors_; ++i) to[i] = static_cast<channel_t>(to[i] + from[i]);
  }
  void addPixelClip(const channel_t* from, channel_t* to, const channel_t* clip) {
    for (int i = 0; i < colors_; ++i) to[i] = clip[to[i] + from[i]];
  }

  // Becomes a part of itself.
  void window(const CkRect& part) {
    data_ += place(part.l, part.t);
    width_ = part.wid();
    height_ = part.ht();
  }
  void clear();
  // All of another image, its upper left corner at (x, y).
  void put(int x, int y, const CkImage& image);
  void add(int x, int y, const CkImage& image);
  void addClip(int x, int y, const CkImage& image, const channel_t* clip);
  // The table for addClip: what each sum of two channels becomes. To delete[].
  static channel_t* newClip();

  // The size, not the pixels.
  void pup(PUP::er& p) {
    p | width_;
    p | height_;
    p | colors_;
    p | layout_;
    p | row_;
  }

 private:
  std::ptrdiff_t place(int x, int y) const { return std::ptrdiff_t{x} * colors_ + std::ptrdiff_t{y} * row_; }
  template <class What>
  void each_pixel(int x, int y, const CkImage& image, What what);

  int row_ = -1, colors_ = -1;
  int layout_ = layout_default;
  int width_ = -1, height_ = -1;
  channel_t* data_ = nullptr;
};

// An image with its pixels.
class CkAllocImage : public CkImage {
 public:
  CkAllocImage() = default;
  CkAllocImage(int width, int height, int colors) : CkImage(width, height, colors, nullptr) { allocate(); }
  ~CkAllocImage() { delete[] own_; }
  void allocate() {
    deallocate();
    setData(own_ = new channel_t[bytes()]);
  }
  void deallocate() {
    delete[] own_;
    setData(own_ = nullptr);
  }
  void pup(PUP::er& p) {
    CkImage::pup(p);
    if (p.isUnpacking()) allocate();
    p(own_, bytes());
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(getRect().area()) * getColors(); }
  channel_t* own_ = nullptr;
};
