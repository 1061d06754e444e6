// The kernels, and GPUs as a Device. For nvcc and hipcc.
#include <algorithm>

#include "examples/gpu/runtime.h"
#include "examples/jacobi3d/device.h"

namespace periapt::jacobi3d {
namespace {

using gpu_example::check;

constexpr int threads = 256;
constexpr int across = 64, rows = 4;  // threads of a march
constexpr int march = 16;             // cells along z that a thread of it works on

__global__ void begin_cells(Shape shape, Cell origin, Solution start, double* field, double* other) {
  const long at = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (at >= shape.size()) return;
  const Cell cell{static_cast<int>(at % shape.row) - Shape::line,
                  static_cast<int>(at / shape.row % (shape.n[1] + 2)) - 1, static_cast<int>(at / shape.plane) - 1};
  const bool inside =
      cell.x >= 0 && cell.x < shape.n[0] && cell.y >= 0 && cell.y < shape.n[1] && cell.z >= 0 && cell.z < shape.n[2];
  field[at] = inside ? start.at(origin + cell) : 0;
  other[at] = 0;
}

// Goes along z, so that each cell is read once from memory: what lies below and above is kept in registers, and what
// lies beside is read by the neighbours at the same time.
__global__ void update_box(Shape shape, Box box, const double* __restrict__ from, double* __restrict__ to) {
  const int x = box.begin[0] + static_cast<int>(blockIdx.x * across + threadIdx.x);
  const int y = box.begin[1] + static_cast<int>(blockIdx.y * rows + threadIdx.y);
  const int first = box.begin[2] + static_cast<int>(blockIdx.z) * march;
  if (x >= box.end[0] || y >= box.end[1]) return;
  const int last = min(first + march, box.end[2]);
  long at = shape.index(x, y, first);
  double below = from[at - shape.plane], here = from[at];
#pragma unroll 4
  for (int z = first; z < last; ++z, at += shape.plane) {
    const double above = from[at + shape.plane];
    to[at] = relaxed(from[at - 1], from[at + 1], from[at - shape.row], from[at + shape.row], below, above);
    below = here;
    here = above;
  }
}

__global__ void update_boxes(Shape shape, Boxes boxes, const double* __restrict__ from, double* __restrict__ to) {
  const long thread = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (thread >= boxes.cells()) return;
  const long at = shape.index(cell_of(boxes, thread));
  to[at] = relaxed(shape, from, at);
}

// All faces by one kernel. `field` and `packed`: one is read and the other written.
template <bool unpacks>
__global__ void move_faces(Shape shape, Neighbours neighbours, double* field, double* packed) {
  const long thread = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  long at = thread;
  int face = 0;
  while (face < 4 && at >= shape.face_size(face)) at -= shape.face_size(face++);
  if (face == 4 || !neighbours.has(face)) return;
  double& cell = field[shape.index(cell_of_face(shape, face, at, unpacks))];
  if (unpacks)
    cell = packed[thread];
  else
    packed[thread] = cell;
}

/// As numbers whose order is that of doubles that are not negative; what is no number is larger than all.
__device__ void raise(double* largest, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(fabs(value))));
}

__global__ void compare_cells(Shape shape, Cell origin, Solution solution, const double* field, const double* before,
                              Largest* largest) {
  __shared__ double error_of_block, residual_of_block;
  if (threadIdx.x == 0) error_of_block = residual_of_block = 0;
  __syncthreads();
  Boxes all;
  all.count = 1;
  all.box[0] = {{0, 0, 0}, {shape.n[0], shape.n[1], shape.n[2]}};
  Largest mine;
  for (long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x; i < all.cells();
       i += gridDim.x * static_cast<long>(blockDim.x)) {
    const Cell cell = cell_of(all, i);
    const long at = shape.index(cell);
    const double error = fabs(field[at] - solution.at(origin + cell)), residual = fabs(field[at] - before[at]);
    if (!(error <= mine.error)) mine.error = error;
    if (!(residual <= mine.residual)) mine.residual = residual;
  }
  raise(&error_of_block, mine.error);
  raise(&residual_of_block, mine.residual);
  __syncthreads();
  if (threadIdx.x != 0) return;
  raise(&largest->error, error_of_block);
  raise(&largest->residual, residual_of_block);
}

unsigned parts(long whole, int part) { return static_cast<unsigned>((whole + part - 1) / part); }

class Gpus : public Device {
  int count_;
  std::string name_;
  static int& in_use() {
    static thread_local int gpu = 0;
    return gpu;
  }
  static GPU(Stream_t) native(Stream stream) { return stream; }
  static void launched(const char* kernel) { check(GPU(GetLastError)(), kernel); }

 public:
  explicit Gpus(int count) : count_(count), name_(gpu_example::describe(count)) {}
  std::string name() const override { return name_; }
  int gpus() const override { return count_; }
  void use(int gpu) override {
    in_use() = gpu;
    check(GPU(SetDevice)(gpu), "the choice of a GPU");
  }

  double* allocate(long doubles) override {
    void* memory = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(doubles) * sizeof(double);
    if (GPU(Malloc)(&memory, bytes) != GPU(Success)) {
      (void)GPU(GetLastError)();
      std::size_t left = 0, all = 0;
      check(GPU(MemGetInfo)(&left, &all), "the size of a GPU's memory");
      too_large(bytes, in_use(), left, all);
    }
    return static_cast<double*>(memory);
  }
  void free(double* memory) override { check(GPU(Free)(memory), "giving memory back"); }
  Largest* allocate_largest() override {
    void* memory = nullptr;
    check(GPU(HostAlloc)(&memory, sizeof(Largest), 0), "pinned memory");
    return static_cast<Largest*>(memory);
  }
  void free_largest(Largest* memory) override { check(GPU(FreeHost)(memory), "giving memory back"); }
  Stream make_stream(bool urgent) override {
    int least = 0, most = 0;
    check(GPU(DeviceGetStreamPriorityRange)(&least, &most), "the priorities of streams");
    GPU(Stream_t) stream;
    check(GPU(StreamCreateWithPriority)(&stream, GPU(StreamNonBlocking), urgent ? most : least), "a stream");
    return stream;
  }
  void destroy(Stream stream) override { check(GPU(StreamDestroy)(native(stream)), "the end of a stream"); }

  void begin(Stream stream, const Shape& shape, const Cell& origin, const Solution& start, double* field,
             double* other) override {
    begin_cells<<<parts(shape.size(), threads), threads, 0, native(stream)>>>(shape, origin, start, field, other);
    launched("begin_cells");
  }
  void update(Stream stream, const Shape& shape, const Boxes& boxes, const double* from, double* to) override {
    if (boxes.count == 0) return;
    const CkGpuTimer timer(native(stream));  // for the load database, where blocks are balanced
    if (boxes.count == 1) {
      const Box& box = boxes.box[0];
      const dim3 grid(parts(box.end[0] - box.begin[0], across), parts(box.end[1] - box.begin[1], rows),
                      parts(box.end[2] - box.begin[2], march));
      update_box<<<grid, dim3(across, rows), 0, native(stream)>>>(shape, box, from, to);
    } else {
      update_boxes<<<parts(boxes.cells(), threads), threads, 0, native(stream)>>>(shape, boxes, from, to);
    }
    launched("update");
  }
  void pack(Stream stream, const Shape& shape, Neighbours neighbours, const double* field, double* packed) override {
    move_faces<false><<<parts(shape.packed_size(), threads), threads, 0, native(stream)>>>(
        shape, neighbours, const_cast<double*>(field), packed);
    launched("pack");
  }
  void unpack(Stream stream, const Shape& shape, Neighbours neighbours, const double* packed, double* field) override {
    move_faces<true><<<parts(shape.packed_size(), threads), threads, 0, native(stream)>>>(shape, neighbours, field,
                                                                                          const_cast<double*>(packed));
    launched("unpack");
  }
  void compare(Stream stream, const Shape& shape, const Cell& origin, const Solution& solution, const double* field,
               const double* before, double* scratch, Largest* largest) override {
    static_assert(sizeof(Largest) == 2 * sizeof(double));
    check(GPU(MemsetAsync)(scratch, 0, sizeof(Largest), native(stream)), "setting memory to 0");
    const unsigned grid = std::min(parts(shape.cells(), threads), 1024u);
    compare_cells<<<grid, threads, 0, native(stream)>>>(shape, origin, solution, field, before,
                                                        reinterpret_cast<Largest*>(scratch));
    launched("compare");
    check(GPU(MemcpyAsync)(largest, scratch, sizeof(Largest), GPU(MemcpyDeviceToHost), native(stream)), "a copy");
  }
  void follow(Stream later, Stream earlier) override { gpu_example::follow(in_use(), native(later), native(earlier)); }
  void call_back(Stream stream, const CkCallback& cb) override { gpu_example::call_back(native(stream), cb); }
};

}  // namespace

std::unique_ptr<Device> make_gpus(std::string& why_not) {
  const int count = gpu_example::count(why_not);
  return count > 0 ? std::make_unique<Gpus>(count) : nullptr;
}

}  // namespace periapt::jacobi3d
