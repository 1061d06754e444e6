// See problems.h.
#include "tools/lb-lab/problems.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/nearest.h"

namespace periapt::lab {

using namespace loadbalance;

namespace {
constexpr double unit = 1e-3;  // seconds of an object of load one

double square(double x) { return x * x; }
double distance_square(const Position& a, double x, double y, double z) {
  return square(a.x - x) + square(a.y - y) + square(a.z - z);
}

double uniform(const Position&, double chance, unsigned, const StrategyOptions&) { return unit * (0.5 + chance); }

// The object of rank r has 1/r^exponent of the largest load.
double zipf(const Position&, double chance, unsigned, const StrategyOptions& options) {
  const double rank = 1 + std::floor(chance * options["objects"]);
  return unit * std::pow(options["objects"] / rank, options["exponent"]);
}

// Goes round in the middle plane.
double hotspot(const Position& at, double chance, unsigned step, const StrategyOptions& options) {
  const double angle = options["speed"] * step;
  const double r2 = distance_square(at, 0.5 + 0.3 * std::cos(angle), 0.5 + 0.3 * std::sin(angle), 0.5);
  return unit * (0.5 + chance) * (1 + options["height"] * std::exp(-r2 / (2 * square(options["width"]))));
}

// A shock that runs outwards; blocks are refined up to `levels` times near it, and each time have four times the cells
// of the surface in them.
double mesh(const Position& at, double, unsigned step, const StrategyOptions& options) {
  const double radius = 0.2 + options["speed"] * step;
  const double away = std::abs(std::sqrt(distance_square(at, 0.5, 0.5, 0.5)) - radius);
  int level = 0;
  for (double near = 0.2; level < options["levels"] && away < near; near /= 2) ++level;
  return unit * std::pow(4.0, level);
}

// Plummer's spheres (H. C. Plummer, MNRAS 71, 1911) that fall towards each other; work goes with the density.
double nbody(const Position& at, double chance, unsigned step, const StrategyOptions& options) {
  const int clusters = static_cast<int>(options["clusters"]);
  const double a2 = square(options["width"]);
  const double away = 0.35 * std::max(0.1, 1 - options["speed"] * step);
  double density = 0;
  for (int k = 0; k < clusters; ++k) {
    const double angle = 2 * M_PI * k / clusters;
    const double r2 = distance_square(at, 0.5 + away * std::cos(angle), 0.5 + away * std::sin(angle), 0.5);
    density += std::pow(1 + r2 / a2, -2.5) / (k + 1);
  }
  return unit * (0.1 + 0.1 * chance + 1000 * density);
}

std::vector<StrategyOption> with_common(std::vector<StrategyOption> own) {
  own.insert(own.begin(), {{"objects", 10000, 1, 1e8, "how many"},
                           {"pes", 64, 1, 1e6, "how many PEs are simulated"},
                           {"edges", 3, 0, 13, "messages of each object: to how many neighbours"},
                           {"steps", 1, 1, 10000, "how many"},
                           {"seed", 1, 0, 1e9, "of chance"}});
  return own;
}

double chance_of(std::uint64_t seed, std::uint64_t object) {
  std::uint64_t z = (seed << 40) + object + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Each pair of a grid's neighbours once: the half of them that comes after.
constexpr std::array<std::array<int, 3>, 13> neighbours = {{{1, 0, 0},
                                                            {0, 1, 0},
                                                            {0, 0, 1},
                                                            {1, 1, 0},
                                                            {-1, 1, 0},
                                                            {1, 0, 1},
                                                            {-1, 0, 1},
                                                            {0, 1, 1},
                                                            {0, -1, 1},
                                                            {1, 1, 1},
                                                            {-1, 1, 1},
                                                            {1, -1, 1},
                                                            {-1, -1, 1}}};

void add_messages(LoadDatabase& database, std::int64_t side, int edges) {
  const auto objects = static_cast<std::int64_t>(database.objects.size());
  database.communication.reserve(static_cast<std::size_t>(objects) * static_cast<std::size_t>(edges));
  for (std::int64_t i = 0; i < objects; ++i)
    for (int k = 0; k < edges; ++k) {
      const auto [dx, dy, dz] = neighbours[k];
      const std::int64_t x = i % side + dx, y = i / side % side + dy, z = i / (side * side) + dz;
      const std::int64_t to = x + side * (y + side * z);
      if (x < 0 || y < 0 || x >= side || y >= side || to >= objects) continue;
      database.communication.push_back(
          {{1, static_cast<std::uint64_t>(i)}, {1, static_cast<std::uint64_t>(to)}, 2, k < 3 ? 8000u : 400u});
    }
}
}  // namespace

const std::vector<ProblemKind>& problem_kinds() {
  static const std::vector<ProblemKind> list = {
      {"uniform", "loads from a half to one and a half", uniform, with_common({})},
      {"zipf", "few heavy ones, many light ones", zipf, with_common({{"exponent", 0.7, 0, 5, "of the rank"}})},
      {"hotspot", "a place of much work that goes round", hotspot,
       with_common({{"height", 20, 0, 1e6, "of the hot spot, in times of the rest"},
                    {"width", 0.1, 0.001, 10, "of the hot spot; the cube is 1"},
                    {"speed", 0.2, 0, 10, "radians a step"}})},
      {"mesh", "blocks of a mesh that is refined near a shock", mesh,
       with_common({{"levels", 4, 0, 12, "of refinement"}, {"speed", 0.02, 0, 1, "of the shock, a step"}})},
      {"nbody", "pieces of space with clusters of particles", nbody,
       with_common({{"clusters", 2, 1, 100, "how many"},
                    {"width", 0.05, 0.001, 10, "Plummer's radius; the cube is 1"},
                    {"speed", 0.05, 0, 1, "of their fall, a step"}})},
  };
  return list;
}

std::optional<Problem> read_problem(const std::string& text, Complaint* complaint) {
  const std::string name = text.substr(0, text.find(':'));
  std::vector<std::string_view> known;
  for (const ProblemKind& kind : problem_kinds()) {
    known.push_back(kind.name);
    if (name != kind.name) continue;
    Problem problem{&kind, StrategyOptions(kind.options)};
    if (!read_options(text, {"problem", kind.name, kind.name, kind.options}, problem.options, complaint))
      return std::nullopt;
    return problem;
  }
  *complaint = {"there is no problem called " + name, "", "did you mean " + nearest(name, known) + "?",
                "lb-lab --help lists them"};
  return std::nullopt;
}

unsigned steps_of(const Problem& problem) { return static_cast<unsigned>(problem.options["steps"]); }

LoadDatabase make_step(const Problem& problem, unsigned step) {
  const auto objects = static_cast<std::int64_t>(problem.options["objects"]);
  const auto pes = static_cast<std::int64_t>(problem.options["pes"]);
  const auto seed = static_cast<std::uint64_t>(problem.options["seed"]);
  auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(objects)));
  while (side * side * side < objects) ++side;
  LoadDatabase database;
  database.step = step + 1;
  database.pes.resize(static_cast<std::size_t>(pes));
  database.objects.reserve(static_cast<std::size_t>(objects));
  database.positions.reserve(static_cast<std::size_t>(objects));
  const double cell = 1.0 / static_cast<double>(side);
  for (std::int64_t i = 0; i < objects; ++i) {
    const Position at{static_cast<float>((static_cast<double>(i % side) + 0.5) * cell),
                      static_cast<float>((static_cast<double>(i / side % side) + 0.5) * cell),
                      static_cast<float>((static_cast<double>(i / (side * side)) + 0.5) * cell)};
    const auto element = static_cast<std::uint64_t>(i);
    const double seconds = problem.kind->load(at, chance_of(seed, element), step, problem.options);
    const auto bytes = static_cast<std::uint64_t>(1000 + 1e6 * seconds);
    database.objects.push_back({1, element, static_cast<std::int32_t>(i * pes / objects), seconds, bytes, true});
    database.positions.push_back(at);
  }
  for (const ObjectLoad& object : database.objects) database.pes[object.pe].wall += object.seconds;
  add_messages(database, side, static_cast<int>(problem.options["edges"]));
  return database;
}

}  // namespace periapt::lab
