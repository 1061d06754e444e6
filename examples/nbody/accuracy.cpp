// The rival's accuracy.
#include "examples/nbody/accuracy.h"

#include <algorithm>
#include <cmath>

#include "examples/nbody/ewald.h"

namespace periapt::nbody {
namespace {

constexpr int hexadecapole_terms = 25;
static_assert(order >= 5, "the force of a hexadecapole takes derivatives of degree 5");

/// Adds what a cell's moments up to degree 4 make at a place `apart` from its centre.
void actOnParticle(const Node& cell, const Vec3& apart, Field& field) {
  const double r = norm(apart);
  Series<double> d, moments{};
  derivatives(apart.x / r, apart.y / r, apart.z / r, d);
  double power = 1;
  for (int n = 0, k = 0; n <= 4; ++n, power *= cell.radius / r) {
    for (; k < (n + 1) * (n + 1); ++k) moments[k] = power * cell.momentsHere().term[k];
  }
  // `contracted` for a first derivative goes to degree order - 1, beyond which moments are 0 here.
  static_assert(hexadecapole_terms <= order * order);
  field.potential -= contracted<0>(moments, d) / r;
  field.acceleration += 1 / (r * r) *
                        Vec3{contracted<place(1, 0, 0)>(moments, d), contracted<place(0, 1, 0)>(moments, d),
                             contracted<place(0, 0, 1)>(moments, d)};
}

const Node& leafOf(const Tree& tree, Key key) {
  const Node* node = &tree.roots()[0];
  while (!node->isLeaf()) node = &node->child(node->child(0).cell.end() <= key ? 1 : 0);
  return *node;
}

double boxDistance2(const Vec3& centre, const Node& leaf) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double along = centre[axis] - leaf.centre[axis];
    const double out = std::max({0., leaf.momentsHere().below[axis] - along, along - leaf.momentsHere().above[axis]});
    sum += out * out;
  }
  return sum;
}

double cornerDistance(const Node& n) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double half = std::max(-n.momentsHere().below[axis], n.momentsHere().above[axis]);
    sum += half * half;
  }
  return std::sqrt(sum);
}

struct Reference {
  std::span<const Particle> particles;
  const Particle& sink;
  const Node& bucket;
  double opening;
  Field field;

  void act(const Node& cell, const Vec3& shift) {
    const Vec3 centre = cell.centre + shift;
    const double radius = opening * cornerDistance(cell);
    if (boxDistance2(centre, bucket) > radius * radius) {
      actOnParticle(cell, sink.position - centre, field);
    } else if (cell.isLeaf()) {
      for (std::uint32_t i = cell.first; i < cell.first + cell.count; ++i) {
        const Particle& p = particles[i];
        const Vec3 to = p.position + shift - sink.position;
        if (norm2(to) == 0) continue;
        const SplineForce s = splineForce(norm2(to), double(p.softening) + sink.softening);
        field.acceleration += p.mass * s.pull * to;
        field.potential -= p.mass * s.depth;
      }
    } else {
      act(cell.child(0), shift);
      act(cell.child(1), shift);
    }
  }
};

}  // namespace

std::vector<Field> barnesHutHexadecapole(std::span<const Particle> particles, std::span<const std::uint32_t> at,
                                         const Gravity& gravity, int bucket) {
  const Box box = gravity.box(particles);
  const Tree tree = buildTree(particles, 0, key_end, 0, bucket, 1e-9 * box.side);
  std::vector<Particle> sinks;
  for (const std::uint32_t i : at) {
    sinks.push_back(particles[i]);
    sinks.back().acceleration = {};
    sinks.back().potential = 0;
  }
  if (gravity.periodic) {
    const FarImages far(box);
    auto moments = far.noMoments();
    far.addMoments(particles, moments);
    far.addField(far.field(moments), sinks, 0);
  }
  std::vector<Field> fields;
  for (const Particle& sink : sinks) {
    Reference walk{particles,
                   sink,
                   leafOf(tree, sink.key),
                   2 / std::sqrt(3.) / gravity.theta,
                   {sink.acceleration, sink.potential}};
    const int reach = gravity.periodic ? 1 : 0;
    for (int i = -reach; i <= reach; ++i) {
      for (int j = -reach; j <= reach; ++j) {
        for (int k = -reach; k <= reach; ++k) walk.act(tree.roots()[0], gravity.period * Vec3(i, j, k));
      }
    }
    fields.push_back(walk.field);
  }
  return fields;
}

}  // namespace periapt::nbody
