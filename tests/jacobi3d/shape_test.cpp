// What examples/jacobi3d needs no runtime for: parts of blocks, the closed form of the result, options.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "examples/jacobi3d/options.h"
#include "examples/jacobi3d/stencil.h"

namespace periapt::jacobi3d {
namespace {

std::set<long> cells_in(const Shape& shape, const Boxes& boxes) {
  std::set<long> found;
  for (long at = 0; at < boxes.cells(); ++at) {
    const Cell cell = cell_of(boxes, at);
    EXPECT_TRUE(found.insert(shape.index(cell)).second) << "twice: " << cell.x << ' ' << cell.y << ' ' << cell.z;
  }
  return found;
}

TEST(Jacobi3dShape, InnerAndOuterCellsAreAllCellsOnce) {
  for (const Shape& shape : {Shape(5, 4, 3), Shape(1, 4, 3), Shape(2, 1, 1), Shape(1, 1, 1), Shape(3, 3, 2)}) {
    for (unsigned bits = 0; bits < 64; ++bits) {
      const Neighbours neighbours{bits};
      const Boxes at_faces = outer(shape, neighbours);
      Boxes rest, all;
      rest.add(inner(shape, neighbours));
      all.add(shape.all());
      std::set<long> both = cells_in(shape, at_faces);
      for (long at : cells_in(shape, rest)) EXPECT_TRUE(both.insert(at).second);
      EXPECT_EQ(both, cells_in(shape, all)) << bits;
    }
  }
}

TEST(Jacobi3dShape, InnerCellsReadNoGhostThatANeighbourSends) {
  const Shape shape(4, 5, 6);
  for (int face = 0; face < faces; ++face) {
    Boxes rest;
    rest.add(inner(shape, Neighbours{1u << face}));
    for (long at = 0; at < rest.cells(); ++at) {
      const Cell cell = cell_of(rest, at);
      const int place[3] = {cell.x, cell.y, cell.z};
      EXPECT_NE(place[face / 2], face % 2 == 0 ? 0 : shape.n[face / 2] - 1);
    }
  }
}

TEST(Jacobi3dShape, EachFaceOfABlockMeetsItsNeighboursGhosts) {
  // Numbers of cells of the whole domain, as neighbours exchange them.
  Domain domain;
  domain.cells[0] = 6, domain.cells[1] = 10, domain.cells[2] = 8;
  domain.blocks[0] = 2, domain.blocks[1] = 2, domain.blocks[2] = 2;
  const Shape shape = domain.shape();
  const auto number = [&](const Cell& cell) { return 1. + cell.x + 100. * cell.y + 10000. * cell.z; };
  std::vector<std::vector<double>> fields;
  for (int block = 0; block < domain.count(); ++block) {
    fields.emplace_back(shape.size(), 0.);
    Boxes all;
    all.add(shape.all());
    for (long at = 0; at < all.cells(); ++at) {
      const Cell cell = cell_of(all, at);
      fields[block][shape.index(cell)] = number(domain.origin(block) + cell);
    }
  }
  for (int block = 0; block < domain.count(); ++block) {
    EXPECT_EQ(domain.neighbours(block).count(), 3);
    for (int face = 0; face < faces; ++face) {
      if (!domain.neighbours(block).has(face)) continue;
      const int from = domain.neighbour(block, face);
      ASSERT_TRUE(domain.neighbours(from).has(face ^ 1));
      ASSERT_EQ(shape.face_size(face), shape.face_size(face ^ 1));
      std::vector<double>& to = fields[block];
      if (Shape::is_packed(face)) {
        for (long at = 0; at < shape.face_size(face); ++at)
          to[shape.index(cell_of_face(shape, face, at, true))] =
              fields[from][shape.index(cell_of_face(shape, face ^ 1, at, false))];
      } else {
        for (long at = 0; at < shape.face_size(face); ++at)
          to[shape.plane_at(face, true) + at] = fields[from][shape.plane_at(face ^ 1, false) + at];
      }
      const int axis = face / 2, place = face % 2 == 0 ? -1 : shape.n[axis];
      for (int a = 0; a < shape.n[axis == 0 ? 1 : 0]; ++a)
        for (int b = 0; b < shape.n[axis == 2 ? 1 : 2]; ++b) {
          const Cell ghost = axis == 0 ? Cell{place, a, b} : axis == 1 ? Cell{a, place, b} : Cell{a, b, place};
          EXPECT_EQ(to[shape.index(ghost)], number(domain.origin(block) + ghost)) << face;
        }
    }
  }
}

TEST(Jacobi3dShape, RowsBeginAtLinesAndTheLastGhostIsInside) {
  for (int nx : {1, 2, 15, 16, 17, 512}) {
    const Shape shape(nx, 3, 2);
    EXPECT_EQ(shape.index(0, 0, 0) % Shape::line, 0);
    EXPECT_EQ(shape.index(0, 2, 1) % Shape::line, 0);
    EXPECT_GT(shape.index(-1, -1, -1), 0);
    EXPECT_LT(shape.index(nx, 3, 2), shape.size());
    EXPECT_LT(shape.index(nx, 0, 0), shape.index(-1, 1, 0));
  }
}

TEST(Jacobi3dStencil, StepsOfAWholeDomainGiveTheClosedForm) {
  Domain domain;
  domain.cells[0] = 11, domain.cells[1] = 7, domain.cells[2] = 9;
  const Shape shape = domain.shape();
  Boxes all;
  all.add(shape.all());
  std::vector<double> field(shape.size(), 0.), next(shape.size(), 0.);
  const Solution start(domain, 0);
  for (long at = 0; at < all.cells(); ++at) field[shape.index(cell_of(all, at))] = start.at(cell_of(all, at));
  for (int step = 1; step <= 25; ++step) {
    for (long at = 0; at < all.cells(); ++at) {
      const long cell = shape.index(cell_of(all, at));
      next[cell] = relaxed(shape, field.data(), cell);
    }
    field.swap(next);
    const Solution solution(domain, step);
    double moved = 0;
    for (long at = 0; at < all.cells(); ++at) {
      const Cell cell = cell_of(all, at);
      ASSERT_NEAR(field[shape.index(cell)], solution.at(cell), 1e-14);
      moved = std::max(moved, std::abs(field[shape.index(cell)] - next[shape.index(cell)]));
    }
    ASSERT_GT(moved, 1e-6);  // a step too few would be seen
  }
}

Options parsed(std::vector<const char*> words, int pes, bool& good, int& status) {
  Options options;
  words.insert(words.begin(), "jacobi3d");
  good = parseOptions(static_cast<int>(words.size()), const_cast<char**>(words.data()), pes, options, status);
  return options;
}

TEST(Jacobi3dOptions, BlocksAreSlabsThatFitUnlessSaid) {
  bool good = false;
  int status = 0;
  Options options = parsed({"--size", "20", "30", "14"}, 4, good, status);
  ASSERT_TRUE(good);
  EXPECT_EQ(options.plan.domain.cells[1], 30);
  EXPECT_EQ(options.plan.domain.blocks[2], 7);
  EXPECT_EQ(options.plan.domain.count(), 7);
  options = parsed({"--size", "24", "--blocks", "2", "3", "4", "--no-overlap"}, 1, good, status);
  ASSERT_TRUE(good);
  EXPECT_EQ(options.plan.domain.shape().n[1], 8);
  EXPECT_EQ(options.way, apart);
  EXPECT_EQ(parsed({"--compute-only"}, 1, good, status).way, alone);
}

TEST(Jacobi3dOptions, WhatCannotBeIsRefused) {
  bool good = true;
  int status = 0;
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--size", "10", "--blocks", "3", "1", "1"},
                                             {"--size", "10", "20"},
                                             {"--size", "0"},
                                             {"--steps", "0"},
                                             {"--blocks", "1", "1"},
                                             {"--compare", "--no-overlap"},
                                             {"--size", "2000"},
                                             {"--bogus"}}) {
    parsed(words, 1, good, status);
    EXPECT_FALSE(good) << words[0];
    EXPECT_NE(status, 0);
  }
  Domain domain;
  domain.blocks[1] = 3;
  EXPECT_EQ(wrongWith(domain), "128 cells along y cannot be cut into 3 equal blocks: 129 cells can (--size, --blocks)");
  domain.blocks[1] = 2;
  EXPECT_EQ(wrongWith(domain), "");
}

}  // namespace
}  // namespace periapt::jacobi3d
