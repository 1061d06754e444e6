// One block of the domain: two fields, of which each step reads one and writes the other, and what it exchanges with
// its neighbours.
//
// A step s reads field s % 2. Nothing waits for the GPU; what comes after what is said to its streams:
//
//   halos_  |  pack(s), the calls leave  |  outer cells(s)  |  pack(s + 1), ...
//   cells_  |  inner cells(s)            |  inner cells(s + 1) ...
//
// The outer cells are those at a face that has a neighbour. They are given to the GPU when all halos of the step are
// here, which their entries say. Inner cells(s) come after outer cells(s - 1) and the other way round; within a step
// the two know nothing of each other, so that halos(s + 1) can leave while inner cells(s) are at work.
//
// A neighbour is never more than a step ahead: its halo(s + 1) says that it has got halo(s). So two of each buffer, for
// even and odd steps, are enough, and what comes may be written at once.
#pragma once

#include "examples/jacobi3d/device.h"
#include "jacobi3d.decl.h"

class Block : public CBase_Block {
  Block_SDAG_CODE

      public : Block();
  explicit Block(CkMigrateMessage*);
  ~Block() override;
  void pup(PUP::er& p) override;
  void UserSetLBLoad() override;
  void ResumeFromSync() override { contribute(done_); }

  void begin(CkCallback done);
  void begun();
  void compare(CkCallback done);
  void compared();
  void balance(CkCallback done);
  // Where a halo goes.
  void halo(int& step, int& face, int& n, double*& cells, CkDeviceBufferPost* post);

 private:
  using Device = periapt::jacobi3d::Device;

  Device& here() const;  // and the GPU of this PE is the thread's
  void makeBuffers();
  void makeFields();
  void beginRun(int way);
  void beginStep();
  void endStep();
  void endRun();
  void meet();
  void tell(Device::Stream stream);

  periapt::jacobi3d::Shape shape_;
  periapt::jacobi3d::Neighbours neighbours_;
  double* fields_[2] = {};
  double* packed_[4] = {};     // sent and received, of even and odd steps
  double* buffers_ = nullptr;  // all of packed_, and two doubles more
  periapt::jacobi3d::Largest* largest_ = nullptr;
  Device::Stream cells_, halos_, idle_;

  Way way_ = overlap;
  int step_ = 0;     // since begin()
  int awaited_ = 0;  // halos of this step
  int given_ = 0;    // calls of reached() that are to come
  CkCallback done_;
};
