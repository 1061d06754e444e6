// See image.h.
#include "runtime/containers/image.h"

template <class What>
void CkImage::each_pixel(int x, int y, const CkImage& image, What what) {
  for (int row = 0; row < image.height_; ++row)
    for (int column = 0; column < image.width_; ++column)
      what(image.getPixel(column, row), getPixel(x + column, y + row));
}

void CkImage::clear() {
  for (int row = 0; row < height_; ++row) std::fill_n(getPixel(0, row), std::size_t(width_) * colors_, channel_t{0});
}
void CkImage::put(int x, int y, const CkImage& image) {
  each_pixel(x, y, image, [this](const channel_t* from, channel_t* to) { copyPixel(from, to); });
}
void CkImage::add(int x, int y, const CkImage& image) {
  each_pixel(x, y, image, [this](const channel_t* from, channel_t* to) { addPixel(from, to); });
}
void CkImage::addClip(int x, int y, const CkImage& image, const channel_t* clip) {
  each_pixel(x, y, image, [this, clip](const channel_t* from, channel_t* to) { addPixelClip(from, to, clip); });
}
CkImage::channel_t* CkImage::newClip() {
  channel_t* clip = new channel_t[2 * channel_max + 1];
  for (int i = 0; i <= 2 * channel_max; ++i) clip[i] = static_cast<channel_t>(std::min<int>(i, channel_max));
  return clip;
}
