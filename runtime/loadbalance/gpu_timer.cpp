// See gpu_timer.h.
#include "runtime/loadbalance/gpu_timer.h"

#include <string>
#include <utility>

#include "machine/gpu/vendors.h"
#include "runtime/loadbalance/balancer.h"

namespace periapt::loadbalance {
namespace {
// nullptr: it is not in use in this process.
gpu::Driver* driver_of(const char* vendor) {
  for (const gpu::Vendor& known : gpu::vendors())
    if (std::string(known.name) == vendor) return known.driver() ? known.driver().value() : nullptr;
  return nullptr;
}
std::uint64_t begin_span(const char* vendor, void* stream, std::int32_t* pe) {
  Pe& here = *Pe::current();
  Balancer& balancer = Balancer::of(here);
  if (!balancer.measures()) return 0;
  *pe = here.index;
  gpu::Driver* const driver = driver_of(vendor);
  return driver ? balancer.gpu_times().begin(*driver, stream) : 0;
}
}  // namespace
}  // namespace periapt::loadbalance

CkGpuTimer::CkGpuTimer(CUstream_st* stream) : span_(periapt::loadbalance::begin_span("cuda", stream, &pe_)) {}
CkGpuTimer::CkGpuTimer(ihipStream_t* stream) : span_(periapt::loadbalance::begin_span("hip", stream, &pe_)) {}
void CkGpuTimer::stop() {
  const std::uint64_t span = std::exchange(span_, 0);
  periapt::Pe* const here = periapt::Pe::current();
  if (span > 0 && here && here->index == pe_) periapt::loadbalance::Balancer::of(*here).gpu_times().end(span);
}
