// What works on the blocks: the GPUs of this process, or its processor. A stream does what it is given in order, and
// no function waits for one but those that say so. (The processor's streams have always done all.)
//
// Functions that take a stream or memory work on the GPU that the calling thread has named last by use().
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "charm++.h"
#include "examples/jacobi3d/shape.h"
#include "examples/jacobi3d/stencil.h"

namespace periapt::jacobi3d {

class Device {
 public:
  using Stream = periapt::DeviceStream;

  virtual ~Device() = default;
  /// "2 GPUs (NVIDIA H200)", for people.
  virtual std::string name() const = 0;
  /// 0: none, all is in the host's memory.
  virtual int gpus() const = 0;
  virtual void use(int gpu) = 0;

  /// Memory for so many doubles; waits. There is not enough of it: the run ends with a sentence.
  virtual double* allocate(long count) = 0;
  virtual void free(double* memory) = 0;  // waits
  /// One that the host reads and GPUs write.
  virtual Largest* allocate_largest() = 0;
  virtual void free_largest(Largest* memory) = 0;
  /// Urgent: goes ahead of what other streams were given.
  virtual Stream make_stream(bool urgent) = 0;
  virtual void destroy(Stream stream) = 0;

  /// Both fields of a block at the start: the solution in its cells, 0 in all ghosts.
  virtual void begin(Stream stream, const Shape& shape, const Cell& origin, const Solution& start, double* field,
                     double* other) = 0;
  /// One step of Jacobi's for the cells of the boxes.
  virtual void update(Stream stream, const Shape& shape, const Boxes& boxes, const double* from, double* to) = 0;
  /// All faces that have neighbours and are packed, one behind another (Shape::packed_at()).
  virtual void pack(Stream stream, const Shape& shape, Neighbours neighbours, const double* field, double* packed) = 0;
  virtual void unpack(Stream stream, const Shape& shape, Neighbours neighbours, const double* packed,
                      double* field) = 0;
  /// Of a field and the one a step before it; `scratch` is two doubles of the GPU's.
  virtual void compare(Stream stream, const Shape& shape, const Cell& origin, const Solution& solution,
                       const double* field, const double* before, double* scratch, Largest* largest) = 0;

  /// What `later` is given from now on begins when `earlier` has done what it has been given so far.
  virtual void follow(Stream later, Stream earlier) = 0;
  /// Sends the callback when the stream has done what it has been given so far.
  virtual void call_back(Stream stream, const CkCallback& cb) = 0;
};

/// Ends the run: there is no memory for so many bytes.
[[noreturn]] void too_large(std::size_t bytes, int gpu, std::size_t left, std::size_t all);

/// Of processes that use no GPU.
std::unique_ptr<Device> make_processor();
/// The GPUs of this process; null, and why not, where none can be used. Defined by one of gpu.cu and no_gpu.cpp.
std::unique_ptr<Device> make_gpus(std::string& why_not);

/// The process's device: its GPUs if there are any and they are wanted. The first call decides, for all PEs.
Device& device(bool wants_gpu = true);
/// Why it is not a GPU; "" if it is one, or none was wanted.
const std::string& why_no_gpu();

}  // namespace periapt::jacobi3d
