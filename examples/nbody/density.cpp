// Projected density.
#include "examples/nbody/density.h"

#include <algorithm>
#include <cmath>

namespace periapt::nbody {
namespace {

struct Colour {
  double r, g, b;
};

/// From near black over blue, violet and orange to white; lightness rises all the way.
Colour colourOf(double value) {
  constexpr Colour stops[] = {{0.01, 0.01, 0.04}, {0.09, 0.07, 0.30}, {0.36, 0.12, 0.50}, {0.70, 0.22, 0.45},
                              {0.95, 0.48, 0.26}, {0.99, 0.80, 0.42}, {1.00, 1.00, 0.94}};
  constexpr int last = int(std::size(stops)) - 1;
  const double at = std::clamp(value, 0., 1.) * last;
  const int i = std::min(int(at), last - 1);
  const double t = at - i;
  const Colour &a = stops[i], &b = stops[i + 1];
  return {a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b)};
}

}  // namespace

void DensityMap::add(std::span<const Particle> particles) {
  // A 3 x 3 cloud of triangular weights (second order).
  for (const Particle& p : particles) {
    const double x = (p.position.x - centre_.x + half_) / (2 * half_) * pixels_;
    const double y = (centre_.y + half_ - p.position.y) / (2 * half_) * pixels_;
    if (!(x >= 1 && y >= 1 && x < pixels_ - 1 && y < pixels_ - 1)) continue;
    const int i = int(x), j = int(y);
    const double u = x - i - 0.5, v = y - j - 0.5;
    const double wx[3] = {0.5 * (0.5 - u) * (0.5 - u), 0.75 - u * u, 0.5 * (0.5 + u) * (0.5 + u)};
    const double wy[3] = {0.5 * (0.5 - v) * (0.5 - v), 0.75 - v * v, 0.5 * (0.5 + v) * (0.5 + v)};
    for (int dj = 0; dj < 3; ++dj) {
      for (int di = 0; di < 3; ++di) mass_[(j + dj - 1) * pixels_ + i + di - 1] += float(p.mass * wx[di] * wy[dj]);
    }
  }
}

Image DensityMap::image() const {
  std::vector<float> filled;
  for (const float m : mass_) {
    if (m > 0) filled.push_back(m);
  }
  Image image{pixels_, pixels_, {}};
  image.rgb.reserve(3 * mass_.size());
  // Black is the faintest few per cent of what is there, white all but the brightest few pixels.
  double dark = 0, bright = 1;
  if (!filled.empty()) {
    std::ranges::sort(filled);
    dark = std::log(filled[filled.size() / 20]);
    bright = std::max<double>(std::log(filled[filled.size() - 1 - filled.size() / 500]), dark + 1);
  }
  for (const float m : mass_) {
    const Colour c = colourOf(m > 0 ? 0.1 + 0.9 * (std::log(m) - dark) / (bright - dark) : 0);
    for (const double channel : {c.r, c.g, c.b}) image.rgb.push_back(std::uint8_t(std::lround(255 * channel)));
  }
  return image;
}

double viewOf(std::span<const Particle> particles) {
  std::vector<double> extent;
  for (const Particle& p : particles) extent.push_back(std::max(std::abs(p.position.x), std::abs(p.position.y)));
  if (extent.empty()) return 1;
  const auto at = extent.begin() + extent.size() * 98 / 100;
  std::nth_element(extent.begin(), at, extent.end());
  return *at > 0 ? 1.1 * *at : 1;
}

}  // namespace periapt::nbody
