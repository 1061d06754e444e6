// CkGpuTimer: what a stream of CUDA's or HIP's is given is work of the element whose entry runs. C++17, and no vendor's
// toolkit: reached from charm++.h. docs/load-balancing.md has an example.
#pragma once
#include <cstdint>

struct CUstream_st;   // cudaStream_t points to it
struct ihipStream_t;  // hipStream_t does

// From its beginning to its end: the GPU's seconds between are measured by two events in the stream, and stand in the
// load database (`gpu_s` in records). Nothing waits for the GPU; what it has not done when a balancing begins counts
// for the next one. Work that other streams do meanwhile makes the seconds longer, as another process makes wall time.
//
// Both in one entry method, outside of a captured stream's graph. Without a GPU's driver, while measuring is off
// (LBTurnInstrumentOff(), no element takes part) and on a captured stream it does nothing.
class CkGpuTimer {
 public:
  explicit CkGpuTimer(CUstream_st* stream);
  explicit CkGpuTimer(ihipStream_t* stream);
  CkGpuTimer(const CkGpuTimer&) = delete;
  CkGpuTimer& operator=(const CkGpuTimer&) = delete;
  ~CkGpuTimer() { stop(); }
  // What the stream is given after this is not counted.
  void stop();

 private:
  std::int32_t pe_ = -1;
  std::uint64_t span_ = 0;  // 0: none
};
