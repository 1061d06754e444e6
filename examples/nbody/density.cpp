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

/// Neighbours in number are far apart on the circle of hues.
Colour colourOfPe(int pe) {
  const double hue = 6 * std::fmod(0.08 + 0.6180339887 * pe, 1.);
  const auto channel = [hue](double centre) {
    double away = std::abs(hue - centre);
    away = std::min(away, 6 - away);
    return 0.15 + 0.85 * std::clamp(2 - away, 0., 1.);
  };
  return {channel(0), channel(2), channel(4)};
}

/// One level of a pyramid: mass and number of particles in squares of some pixels' side.
struct Level {
  int side;
  std::vector<float> mass, count;
};

Level halved(const Level& fine) {
  Level coarse{(fine.side + 1) / 2, {}, {}};
  coarse.mass.resize(coarse.side * coarse.side);
  coarse.count.resize(coarse.mass.size());
  for (int y = 0; y < fine.side; ++y) {
    for (int x = 0; x < fine.side; ++x) {
      coarse.mass[y / 2 * coarse.side + x / 2] += fine.mass[y * fine.side + x];
      coarse.count[y / 2 * coarse.side + x / 2] += fine.count[y * fine.side + x];
    }
  }
  return coarse;
}

/// Between the middles of four squares, by distance.
double between(const std::vector<float>& values, int side, double x, double y) {
  x = std::clamp(x - 0.5, 0., side - 1.), y = std::clamp(y - 0.5, 0., side - 1.);
  const int i = std::min(int(x), side - 1), j = std::min(int(y), side - 1);
  const int right = std::min(i + 1, side - 1), below = std::min(j + 1, side - 1);
  const double u = x - i, v = y - j;
  return (1 - v) * ((1 - u) * values[j * side + i] + u * values[j * side + right]) +
         v * ((1 - u) * values[below * side + i] + u * values[below * side + right]);
}

}  // namespace

void DensityMap::add(std::span<const Particle> particles, int pe) {
  const Colour colour = colourOfPe(pe);
  for (const Particle& p : particles) {
    const double x = (p.position.x - centre_.x + half_) / (2 * half_) * pixels_;
    const double y = (centre_.y + half_ - p.position.y) / (2 * half_) * pixels_;
    if (!(x >= 0 && y >= 0 && x < pixels_ && y < pixels_)) continue;
    const int at = int(y) * pixels_ + int(x);
    grid_[at] += p.mass;
    grid_[pixels_ * pixels_ + at] += 1;
    if (!domains_) continue;
    int plane = 2;
    for (const double channel : {colour.r, colour.g, colour.b})
      grid_[plane++ * pixels_ * pixels_ + at] += float(p.mass * channel);
  }
}

/// From the widest squares to the pixels: a finer level takes over as far as it has particles enough.
std::vector<float> DensityMap::smoothed(int plane) const {
  constexpr double few = 3, enough = 24;
  const int size_of_plane = pixels_ * pixels_;
  const auto values = grid_.begin() + plane * size_of_plane, counts = grid_.begin() + size_of_plane;
  std::vector<Level> pyramid{{pixels_, {values, values + size_of_plane}, {counts, counts + size_of_plane}}};
  while (pyramid.back().side > 4) pyramid.push_back(halved(pyramid.back()));
  std::vector<float> density(pixels_ * pixels_);
  for (int y = 0; y < pixels_; ++y) {
    for (int x = 0; x < pixels_; ++x) {
      double value = 0;
      for (int level = int(pyramid.size()) - 1; level >= 0; --level) {
        const Level& l = pyramid[level];
        const double size = std::ldexp(1., level), u = (x + 0.5) / size, v = (y + 0.5) / size;
        const double share = std::clamp((between(l.count, l.side, u, v) - few) / (enough - few), 0., 1.);
        if (share == 0 && level + 1 < int(pyramid.size())) break;
        const double here = between(l.mass, l.side, u, v) / (size * size);
        value = level + 1 == int(pyramid.size()) ? here : value + share * (here - value);
      }
      density[y * pixels_ + x] = float(value);
    }
  }
  return density;
}

std::vector<double> DensityMap::brightness(const std::vector<float>& density) const {
  std::vector<float> sorted;
  for (const float d : density) {
    if (d > 0) sorted.push_back(d);
  }
  // From the emptiest pixels to all but the brightest few; at most six powers of ten.
  double bright = 1, dark = 0;
  if (!sorted.empty()) {
    std::ranges::sort(sorted);
    bright = std::log(sorted[sorted.size() - 1 - sorted.size() / 2000]);
    dark = std::clamp<double>(std::log(sorted[sorted.size() / 100]), bright - 14, bright - 1);
  }
  std::vector<double> values;
  for (const float d : density)
    values.push_back(d > 0 ? std::clamp((std::log(d) - dark) / (bright - dark), 0., 1.) : 0);
  return values;
}

namespace {
void put(Image& image, const Colour& colour) {
  for (const double channel : {colour.r, colour.g, colour.b})
    image.rgb.push_back(std::uint8_t(std::lround(255 * std::clamp(channel, 0., 1.))));
}
}  // namespace

Image DensityMap::image() const {
  Image image{pixels_, pixels_, {}};
  for (const double value : brightness(smoothed())) put(image, colourOf(value));
  return image;
}

Image DensityMap::domains() const {
  const std::vector<float> density = smoothed(), red = smoothed(2), green = smoothed(3), blue = smoothed(4);
  const std::vector<double> bright = brightness(density);
  Image image{pixels_, pixels_, {}};
  for (std::size_t i = 0; i < density.size(); ++i) {
    const double light = density[i] > 0 ? (0.15 + 0.85 * bright[i]) / density[i] : 0;
    put(image, {light * red[i], light * green[i], light * blue[i]});
  }
  return image;
}

double viewOf(std::span<const Particle> particles) {
  std::vector<double> extent;
  for (const Particle& p : particles) extent.push_back(std::max(std::abs(p.position.x), std::abs(p.position.y)));
  if (extent.empty()) return 1;
  const auto at = extent.begin() + extent.size() * 95 / 100;
  std::nth_element(extent.begin(), at, extent.end());
  return *at > 0 ? 1.1 * *at : 1;
}

}  // namespace periapt::nbody
