// The device that is none: loops over the same functions that the kernels call.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "examples/jacobi3d/device.h"

namespace periapt::jacobi3d {
namespace {

template <class Work>
void for_each_cell(const Box& box, Work work) {
  for (int z = box.begin[2]; z < box.end[2]; ++z)
    for (int y = box.begin[1]; y < box.end[1]; ++y)
      for (int x = box.begin[0]; x < box.end[0]; ++x) work(Cell{x, y, z});
}
template <class Work>
void for_each_packed(const Shape& shape, Neighbours neighbours, Work work) {
  for (int face = 0; face < faces; ++face) {
    if (!neighbours.has(face) || !Shape::is_packed(face)) continue;
    for (long at = 0; at < shape.face_size(face); ++at) work(face, at);
  }
}

class Processor : public Device {
 public:
  std::string name() const override { return "the processor"; }
  int gpus() const override { return 0; }
  void use(int) override {}
  double* allocate(long count) override { return new double[static_cast<std::size_t>(count)]; }
  void free(double* memory) override { delete[] memory; }
  Largest* allocate_largest() override { return new Largest; }
  void free_largest(Largest* memory) override { delete memory; }
  Stream make_stream(bool) override { return {}; }
  void destroy(Stream) override {}

  void begin(Stream, const Shape& shape, const Cell& origin, const Solution& start, double* field,
             double* other) override {
    for (double* each : {field, other}) std::fill_n(each, shape.size(), 0.);
    for_each_cell(shape.all(), [&](const Cell& cell) { field[shape.index(cell)] = start.at(origin + cell); });
  }
  void update(Stream, const Shape& shape, const Boxes& boxes, const double* from, double* to) override {
    for (int i = 0; i < boxes.count; ++i) {
      const Box& box = boxes.box[i];
      for (int z = box.begin[2]; z < box.end[2]; ++z)
        for (int y = box.begin[1]; y < box.end[1]; ++y) {
          const long row = shape.index(0, y, z);
          for (int x = box.begin[0]; x < box.end[0]; ++x) to[row + x] = relaxed(shape, from, row + x);
        }
    }
  }
  void pack(Stream, const Shape& shape, Neighbours neighbours, const double* field, double* packed) override {
    for_each_packed(shape, neighbours, [&](int face, long at) {
      packed[shape.packed_at(face) + at] = field[shape.index(cell_of_face(shape, face, at, false))];
    });
  }
  void unpack(Stream, const Shape& shape, Neighbours neighbours, const double* packed, double* field) override {
    for_each_packed(shape, neighbours, [&](int face, long at) {
      field[shape.index(cell_of_face(shape, face, at, true))] = packed[shape.packed_at(face) + at];
    });
  }
  void compare(Stream, const Shape& shape, const Cell& origin, const Solution& solution, const double* field,
               const double* before, double*, Largest* largest) override {
    *largest = {};
    for_each_cell(shape.all(), [&](const Cell& cell) {
      const long at = shape.index(cell);
      const double error = std::abs(field[at] - solution.at(origin + cell)),
                   residual = std::abs(field[at] - before[at]);
      // What is no number is larger than all.
      if (!(error <= largest->error)) largest->error = error;
      if (!(residual <= largest->residual)) largest->residual = residual;
    });
  }
  void follow(Stream, Stream) override {}
  void call_back(Stream, const CkCallback& cb) override { cb.send(); }
};

}  // namespace

void too_large(std::size_t bytes, int gpu, std::size_t left, std::size_t all) {
  constexpr double mb = 1 << 20;
  CkAbort(
      "jacobi3d: a block needs %.0f MB more on GPU %d, which has %.0f of its %.0f MB left: fewer cells (--size), or "
      "more "
      "GPUs",
      static_cast<double>(bytes) / mb, gpu, static_cast<double>(left) / mb, static_cast<double>(all) / mb);
}

std::unique_ptr<Device> make_processor() { return std::make_unique<Processor>(); }

namespace {

struct Chosen {
  std::string why_not;
  std::unique_ptr<Device> device;
};
Chosen& chosen(bool wants_gpu) {
  static Chosen one = [wants_gpu] {
    Chosen chosen;
    if (wants_gpu) chosen.device = make_gpus(chosen.why_not);
    if (!chosen.device) chosen.device = make_processor();
    return chosen;
  }();
  return one;
}

}  // namespace

Device& device(bool wants_gpu) { return *chosen(wants_gpu).device; }
const std::string& why_no_gpu() { return chosen(true).why_not; }

}  // namespace periapt::jacobi3d
