// Ewald's sum, and Chebyshev series for the part of it that the tree walk leaves out.
#include "examples/nbody/ewald.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace periapt::nbody {
namespace {

constexpr double pi = std::numbers::pi;

// The split between near and far in units of 1/period, and how many images and waves it needs for 1e-12.
constexpr double alpha = 3;
constexpr int image_reach = 2;
constexpr int wave_reach = 5;

}  // namespace

Green ewald(const Vec3& x, int without) {
  Green sum;
  sum.depth = -pi / (alpha * alpha);
  const Vec3 nearest{x.x - std::round(x.x), x.y - std::round(x.y), x.z - std::round(x.z)};
  // Images are counted from x itself where some are to be left out.
  const Vec3 centre = without < 0 ? nearest : x;
  for (int i = -image_reach; i <= image_reach; ++i) {
    for (int j = -image_reach; j <= image_reach; ++j) {
      for (int k = -image_reach; k <= image_reach; ++k) {
        const Vec3 to = centre + Vec3(i, j, k);
        const double r2 = norm2(to), r = std::sqrt(r2);
        const bool left_out = std::max({std::abs(i), std::abs(j), std::abs(k)}) <= without;
        const double bell = 2 * alpha / std::sqrt(pi) * std::exp(-alpha * alpha * r2);
        if (left_out && r < 1e-4) {  // -erf(alpha r) / r
          sum.depth -= bell * (1 + 2. / 3 * alpha * alpha * r2);
          sum.gradient += 4. / 3 * alpha * alpha * alpha / std::sqrt(pi) * to;
        } else {
          const double part = left_out ? -std::erf(alpha * r) : std::erfc(alpha * r);
          sum.depth += part / r;
          sum.gradient -= (part / r + bell) / r2 * to;
        }
      }
    }
  }
  for (int i = -wave_reach; i <= wave_reach; ++i) {
    for (int j = -wave_reach; j <= wave_reach; ++j) {
      for (int k = -wave_reach; k <= wave_reach; ++k) {
        const int n2 = i * i + j * j + k * k;
        if (n2 == 0 || n2 > wave_reach * wave_reach) continue;
        const double weight = std::exp(-pi * pi * n2 / (alpha * alpha)) / (pi * n2);
        const double phase = 2 * pi * (i * x.x + j * x.y + k * x.z);
        sum.depth += weight * std::cos(phase);
        sum.gradient -= 2 * pi * weight * std::sin(phase) * Vec3(i, j, k);
      }
    }
  }
  return sum;
}

namespace {

/// ewald(x, 1).depth for all points whose coordinates are among `distances`, each from 0 to 1. The waves' cosines are
/// those of the coordinates multiplied, and images too far away to count are passed over, so that the table of some
/// thousand points costs little.
class FarDepth {
 public:
  explicit FarDepth(std::span<const double> distances) : distances_(distances) {
    for (const double d : distances) {
      Cosines& c = cosines_.emplace_back();
      for (int n = 0; n <= wave_reach; ++n) c[n] = (n == 0 ? 1 : 2) * std::cos(2 * pi * n * d);
    }
    for (int n2 = 1; n2 <= wave_reach * wave_reach; ++n2) {
      weight_[n2] = std::exp(-pi * pi * n2 / (alpha * alpha)) / (pi * n2);
    }
  }

  double at(int a, int b, int c) const {
    return -pi / (alpha * alpha) + images({distances_[a], distances_[b], distances_[c]}) +
           waves(cosines_[a], cosines_[b], cosines_[c]);
  }

 private:
  using Cosines = std::array<double, wave_reach + 1>;  // of n waves in a period; twice, for n and -n, but for n = 0

  static double images(const Vec3& x) {
    constexpr double negligible = 2 * 2;  // erfc(alpha r) is below 1e-16 where r^2 is above
    double sum = 0;
    for (int i = -image_reach; i <= image_reach; ++i) {
      for (int j = -image_reach; j <= image_reach; ++j) {
        for (int k = -image_reach; k <= image_reach; ++k) {
          const double r2 = norm2(x + Vec3(i, j, k)), r = std::sqrt(r2);
          const bool neighbour = std::max({std::abs(i), std::abs(j), std::abs(k)}) <= 1;
          if (neighbour) {
            sum -= r < 1e-4 ? 2 * alpha / std::sqrt(pi) : std::erf(alpha * r) / r;
          } else if (r2 < negligible) {
            sum += std::erfc(alpha * r) / r;
          }
        }
      }
    }
    return sum;
  }

  double waves(const Cosines& x, const Cosines& y, const Cosines& z) const {
    double sum = 0;
    for (int i = 0; i <= wave_reach; ++i) {
      for (int j = 0; j <= wave_reach; ++j) {
        for (int k = 0; k <= wave_reach; ++k) {
          const int n2 = i * i + j * j + k * k;
          if (n2 > 0 && n2 <= wave_reach * wave_reach) sum += weight_[n2] * x[i] * y[j] * z[k];
        }
      }
    }
    return sum;
  }

  std::span<const double> distances_;
  std::vector<Cosines> cosines_;
  double weight_[wave_reach * wave_reach + 1] = {};
};

/// Takes the first axis of a table from distances to pairs of degrees, by weight[pair][distance], and puts it last.
std::vector<double> turned(const std::vector<double>& from, const std::vector<double>& weight, std::size_t distances) {
  const std::size_t rest = from.size() / distances, pairs = weight.size() / distances;
  std::vector<double> to(rest * pairs);
  for (std::size_t r = 0; r < rest; ++r) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      double sum = 0;
      for (std::size_t d = 0; d < distances; ++d) sum += weight[pair * distances + d] * from[d * rest + r];
      to[r * pairs + pair] = sum;
    }
  }
  return to;
}

}  // namespace

/// Coefficients from moments to field, for period 1, and the numbering of the terms.
struct FarImages::Operator {
  static constexpr int nodes = degree + 1;
  struct Term {
    int i, j, k;
  };
  std::vector<Term> terms;
  std::vector<double> matrix;  // terms x terms

  Operator() {
    for (int i = 0; i <= degree; ++i) {
      for (int j = 0; i + j <= degree; ++j) {
        for (int k = 0; i + j + k <= degree; ++k) terms.push_back({i, j, k});
      }
    }
    // Along one axis: the pairs of interpolation nodes by their distance, and what a distance adds to a pair of
    // degrees. It is the same for (k, l) and (l, k), and nothing where one is odd and the other even: the depth depends
    // on the distance alone.
    std::array<double, nodes> node;
    for (int n = 0; n < nodes; ++n) node[n] = std::cos(pi * (n + 0.5) / nodes);
    std::vector<double> distance;
    std::array<int, nodes * nodes> which;
    for (int n = 0; n < nodes * nodes; ++n) {
      const double d = std::abs(node[n / nodes] - node[n % nodes]) / 2;
      const auto same = std::ranges::find_if(distance, [&](double e) { return std::abs(e - d) < 1e-9; });
      which[n] = int(same - distance.begin());
      if (same == distance.end()) distance.push_back(d);
    }
    const int distances = int(distance.size());
    const auto basis = [](int k, int n) { return (k == 0 ? 1. : 2.) / nodes * std::cos(pi * k * (n + 0.5) / nodes); };
    std::vector<double> weight;  // pairs x distances
    int pairs = 0;
    int pairOf[nodes][nodes];
    for (int k = 0; k < nodes; ++k) {
      for (int l = k % 2; l <= k; l += 2) {
        pairOf[k][l] = pairOf[l][k] = pairs++;
        weight.resize(pairs * distances);
        for (int n = 0; n < nodes * nodes; ++n)
          weight.end()[which[n] - distances] += basis(k, n / nodes) * basis(l, n % nodes);
      }
    }
    // The depth at all distances, from those in order, by symmetry.
    const FarDepth depth(distance);
    std::vector<double> from(distances * distances * distances);
    const auto at = [&](int a, int b, int c) -> double& { return from[(a * distances + b) * distances + c]; };
    for (int a = 0; a < distances; ++a) {
      for (int b = 0; b <= a; ++b) {
        for (int c = 0; c <= b; ++c) {
          at(a, b, c) = at(a, c, b) = at(b, a, c) = at(b, c, a) = at(c, a, b) = at(c, b, a) = depth.at(a, b, c);
        }
      }
    }
    from = turned(turned(turned(from, weight, distances), weight, distances), weight, distances);
    matrix.reserve(terms.size() * terms.size());
    for (const Term& s : terms) {
      for (const Term& t : terms) {
        const bool isOdd = (s.i + t.i) % 2 != 0 || (s.j + t.j) % 2 != 0 || (s.k + t.k) % 2 != 0;
        matrix.push_back(isOdd ? 0 : from[(pairOf[s.i][t.i] * pairs + pairOf[s.j][t.j]) * pairs + pairOf[s.k][t.k]]);
      }
    }
  }
};

namespace {

constexpr int values = FarImages::degree + 1;

/// T_0 ... T_degree at x, and their derivatives.
struct Chebyshev {
  double t[values], slope[values];
  explicit Chebyshev(double x) {
    t[0] = 1, t[1] = x;
    slope[0] = 0, slope[1] = 1;
    for (int n = 2; n < values; ++n) {
      t[n] = 2 * x * t[n - 1] - t[n - 2];
      slope[n] = 2 * t[n - 1] + 2 * x * slope[n - 1] - slope[n - 2];
    }
  }
};

}  // namespace

FarImages::FarImages(const Box& box) : box_(box) {
  static const auto shared = std::make_shared<const Operator>();
  operator_ = shared;
}

FarImages::Moments FarImages::noMoments() const { return Moments(operator_->terms.size()); }

void FarImages::addMoments(std::span<const Particle> particles, Moments& moments) const {
  const double scale = 2 / box_.side;
  for (const Particle& p : particles) {
    const Vec3 at = scale * (p.position - box_.low) - Vec3{1, 1, 1};
    const Chebyshev x(at.x), y(at.y), z(at.z);
    double* to = moments.data();
    for (int i = 0; i <= degree; ++i) {
      for (int j = 0; i + j <= degree; ++j) {
        const double weight = p.mass * x.t[i] * y.t[j];
        for (int k = 0; i + j + k <= degree; ++k) *to++ += weight * z.t[k];
      }
    }
  }
}

std::vector<double> FarImages::field(const Moments& moments) const {
  const std::size_t n = operator_->terms.size();
  std::vector<double> field(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) field[i] += operator_->matrix[i * n + j] * moments[j];
    field[i] /= box_.side;
  }
  return field;
}

void FarImages::addField(const std::vector<double>& field, std::span<Particle> particles, int minRung) const {
  const double scale = 2 / box_.side;
  for (Particle& p : particles) {
    if (p.rung < minRung) continue;
    const Vec3 at = scale * (p.position - box_.low) - Vec3{1, 1, 1};
    const Chebyshev x(at.x), y(at.y), z(at.z);
    double depth = 0;
    Vec3 gradient;
    const double* from = field.data();
    for (int i = 0; i <= degree; ++i) {
      double overY = 0, overSlopeY = 0, overSlopeZ = 0;
      for (int j = 0; i + j <= degree; ++j) {
        double overZ = 0, slopeZ = 0;
        for (int k = 0; i + j + k <= degree; ++k, ++from) {
          overZ += *from * z.t[k];
          slopeZ += *from * z.slope[k];
        }
        overY += y.t[j] * overZ;
        overSlopeY += y.slope[j] * overZ;
        overSlopeZ += y.t[j] * slopeZ;
      }
      depth += x.t[i] * overY;
      gradient += {x.slope[i] * overY, x.t[i] * overSlopeY, x.t[i] * overSlopeZ};
    }
    p.potential -= depth;
    p.acceleration += scale * gradient;
  }
}

}  // namespace periapt::nbody
