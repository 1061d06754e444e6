// What a block does in each phase.
#include "examples/jacobi3d/block.h"

#include <algorithm>

using namespace periapt::jacobi3d;

extern CProxy_Block blocks;
extern Plan plan;

Block::Block() {
  makeBuffers();
  makeFields();
}

Block::Block(CkMigrateMessage*) { makeBuffers(); }

Block::~Block() {
  Device& device = here();
  for (double* field : fields_) device.free(field);
  device.free(buffers_);
  device.free_largest(largest_);
  for (const Device::Stream stream : {cells_, halos_, idle_}) device.destroy(stream);
}

Device& Block::here() const {
  Device& device = periapt::jacobi3d::device(plan.wants_gpu);
  if (device.gpus() > 0) device.use(CkMyPe() % device.gpus());
  return device;
}

/// What does not move with the block.
void Block::makeBuffers() {
  usesAtSync = plan.balances;
  usesAutoMeasure = false;
  shape_ = plan.domain.shape();
  neighbours_ = plan.domain.neighbours(thisIndex);
  Device& device = here();
  const bool packs = (neighbours_.bits & 15) != 0;
  const long size = packs ? shape_.packed_size() : 0;
  buffers_ = device.allocate(4 * size + 2);
  for (int i = 0; i < 4; ++i) packed_[i] = packs ? buffers_ + 2 + i * size : nullptr;
  largest_ = device.allocate_largest();
  cells_ = device.make_stream(false);
  halos_ = device.make_stream(true);
  idle_ = device.make_stream(false);
}

void Block::makeFields() {
  for (double*& field : fields_) field = here().allocate(shape_.size());
}

void Block::pup(PUP::er& p) {
  p | step_;
  p | done_;
  const bool is_gpu = here().gpus() > 0;
  if (p.isUnpacking() && !is_gpu) makeFields();
  for (double*& field : fields_) {
    if (is_gpu)
      p | PUP::device(field, static_cast<std::size_t>(shape_.size()));
    else
      PUParray(p, field, static_cast<std::size_t>(shape_.size()));
  }
}

/// Entries only hand work to the GPU, so that their time says nothing: the cells do, by some 3e11 a second.
void Block::UserSetLBLoad() { setObjTime(static_cast<double>(shape_.cells()) * 3e-12); }

void Block::begin(CkCallback done) {
  Device& device = here();
  step_ = 0;
  done_ = done;
  device.begin(cells_, shape_, plan.domain.origin(thisIndex), Solution(plan.domain, 0), fields_[0], fields_[1]);
  device.follow(halos_, cells_);
  device.call_back(cells_, CkCallback(CkIndex_Block::begun(), thisProxy[thisIndex]));
}

void Block::begun() { contribute(done_); }

void Block::beginRun(int way) { way_ = static_cast<Way>(way); }

void Block::beginStep() {
  Device& device = here();
  const double* const from = fields_[step_ % 2];
  double* const to = fields_[1 - step_ % 2];
  awaited_ = way_ == alone ? 0 : neighbours_.count();
  if (awaited_ == 0) return;
  device.follow(cells_, halos_);
  double* const packed = packed_[step_ % 2];
  if (packed != nullptr) device.pack(halos_, shape_, neighbours_, from, packed);
  for (int face = 0; face < faces; ++face) {
    if (!neighbours_.has(face)) continue;
    const double* const cells =
        Shape::is_packed(face) ? packed + shape_.packed_at(face) : from + shape_.plane_at(face, false);
    blocks[plan.domain.neighbour(thisIndex, face)].halo(step_, face ^ 1, static_cast<int>(shape_.face_size(face)),
                                                        CkDeviceBuffer(cells, halos_));
  }
  if (way_ != overlap) return;
  device.follow(halos_, cells_);
  Boxes box;
  box.add(inner(shape_, neighbours_));
  device.update(cells_, shape_, box, from, to);
}

/// The stream has nothing to do, ever: the buffers are free when the halo can come.
void Block::halo(int& step, int& face, int&, double*& cells, CkDeviceBufferPost* post) {
  cells = Shape::is_packed(face) ? packed_[2 + step % 2] + shape_.packed_at(face)
                                 : fields_[step % 2] + shape_.plane_at(face, true);
  post[0].cuda_stream = idle_;
}

void Block::endStep() {
  Device& device = here();
  const double* const from = fields_[step_ % 2];
  double* const to = fields_[1 - step_ % 2];
  const bool exchanged = way_ != alone && neighbours_.bits != 0;
  if (exchanged && packed_[2] != nullptr)
    device.unpack(halos_, shape_, neighbours_, packed_[2 + step_ % 2], fields_[step_ % 2]);
  if (exchanged && way_ == overlap) {
    device.update(halos_, shape_, outer(shape_, neighbours_), from, to);
  } else {
    Boxes box;
    box.add(shape_.all());
    device.update(halos_, shape_, box, from, to);
    tell(halos_);
  }
  ++step_;
}

void Block::endRun() {
  Device& device = here();
  device.follow(cells_, halos_);
  device.follow(halos_, cells_);
  tell(cells_);
}

/// reached() when the stream has done what it has been given.
void Block::tell(Device::Stream stream) {
  ++given_;
  here().call_back(stream, CkCallback(CkIndex_Block::reached(), thisProxy[thisIndex]));
}

void Block::meet() { contribute(CkCallback(CkReductionTarget(Block, met), thisProxy)); }

void Block::compare(CkCallback done) {
  done_ = done;
  Device& device = here();
  device.compare(cells_, shape_, plan.domain.origin(thisIndex), Solution(plan.domain, step_), fields_[step_ % 2],
                 fields_[1 - step_ % 2], buffers_, largest_);
  device.call_back(cells_, CkCallback(CkIndex_Block::compared(), thisProxy[thisIndex]));
}

void Block::compared() { contribute(sizeof *largest_, largest_, CkReduction::max_double, done_); }

void Block::balance(CkCallback done) {
  done_ = done;
  AtSync();
}
