// The rival of examples/jacobi3d: the same kernels in bulk-synchronous steps over NCCL, by one thread for all GPUs. The
// domain is cut along z, one slab a GPU, so that a halo is sent from where it lies; all is put on one stream a GPU, and
// nothing waits between steps.
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "examples/jacobi3d/device.h"
#include "examples/jacobi3d/options.h"
#include "examples/jacobi3d/rival.h"

namespace periapt::jacobi3d {
namespace {

void check(ncclResult_t result) {
  if (result != ncclSuccess) CkAbort("NCCL: %s", ncclGetErrorString(result));
}
void check(cudaError_t result) {
  if (result != cudaSuccess) CkAbort("CUDA: %s", cudaGetErrorString(result));
}

struct Slab {
  int block;
  Neighbours neighbours;
  ncclComm_t communicator;
  cudaStream_t stream;
  double* fields[2];
  double* scratch;
  Largest* largest;
};

class Slabs {
  Device& device_;
  Domain domain_;  // a block a GPU
  Shape shape_;
  std::vector<Slab> all_;
  int step_ = 0;

  void use(const Slab& slab) { device_.use(slab.block); }
  void exchange() {
    const auto size = static_cast<std::size_t>(shape_.face_size(4));
    check(ncclGroupStart());
    for (Slab& slab : all_) {
      double* const field = slab.fields[step_ % 2];
      for (int face : {4, 5}) {
        if (!slab.neighbours.has(face)) continue;
        const int other = domain_.neighbour(slab.block, face);
        check(ncclSend(field + shape_.plane_at(face, false), size, ncclDouble, other, slab.communicator, slab.stream));
        check(ncclRecv(field + shape_.plane_at(face, true), size, ncclDouble, other, slab.communicator, slab.stream));
      }
    }
    check(ncclGroupEnd());
  }

 public:
  Slabs(Device& device, const Domain& domain) : device_(device), domain_(domain), shape_(domain.shape()) {
    std::vector<ncclComm_t> communicators(static_cast<std::size_t>(domain.count()));
    check(ncclCommInitAll(communicators.data(), domain.count(), nullptr));
    for (int block = 0; block < domain.count(); ++block) {
      Slab slab{block, domain.neighbours(block), communicators[static_cast<std::size_t>(block)], {}, {}, {}, {}};
      use(slab);
      slab.stream = device.make_stream(false);
      for (double*& field : slab.fields) field = device.allocate(shape_.size());
      slab.scratch = device.allocate(2);
      slab.largest = device.allocate_largest();
      device.begin(slab.stream, shape_, domain.origin(block), Solution(domain, 0), slab.fields[0], slab.fields[1]);
      all_.push_back(slab);
    }
  }
  ~Slabs() {
    for (Slab& slab : all_) {
      use(slab);
      ncclCommDestroy(slab.communicator);
      device_.destroy(slab.stream);
      for (double* field : slab.fields) device_.free(field);
      device_.free(slab.scratch);
      device_.free_largest(slab.largest);
    }
  }
  Slabs(const Slabs&) = delete;

  /// Seconds.
  double steps(int count) {
    const auto began = std::chrono::steady_clock::now();
    Boxes all;
    all.add(shape_.all());
    for (const int end = step_ + count; step_ < end; ++step_) {
      exchange();
      for (const Slab& slab : all_) {
        use(slab);
        device_.update(slab.stream, shape_, all, slab.fields[step_ % 2], slab.fields[1 - step_ % 2]);
      }
    }
    for (const Slab& slab : all_) check(cudaStreamSynchronize(slab.stream));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  Largest largest() {
    Largest largest;
    for (const Slab& slab : all_) {
      use(slab);
      device_.compare(slab.stream, shape_, domain_.origin(slab.block), Solution(domain_, step_), slab.fields[step_ % 2],
                      slab.fields[1 - step_ % 2], slab.scratch, slab.largest);
      check(cudaStreamSynchronize(slab.stream));
      largest.error = std::max(largest.error, slab.largest->error);
      largest.residual = std::max(largest.residual, slab.largest->residual);
    }
    return largest;
  }
};

Rival run_nccl(const Domain& domain, int warm_up, int steps) {
  Device& on = device();
  Rival rival;
  rival.name = "NCCL, bulk-synchronous";
  Domain slabs = domain;
  slabs.blocks[0] = slabs.blocks[1] = 1;
  slabs.blocks[2] = std::min(CkNumPes(), on.gpus());
  if (on.gpus() == 0) {
    rival.why_not = "no GPU is used";
  } else if (CkNumNodes() > 1) {
    rival.why_not = "it has all GPUs in one process, and the run has several";
  } else if (rival.why_not = wrongWith(slabs); rival.why_not.empty()) {
    Slabs all(on, slabs);
    all.steps(warm_up);
    rival.seconds = all.steps(steps);
    rival.largest = all.largest();
  }
  return rival;
}

}  // namespace

RunRival* const run_rival = run_nccl;

}  // namespace periapt::jacobi3d
