// What machine/gpu/hip declares of HIP's library is what its header declares. Compiled where that is; it has nothing to
// run.
#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

#include "machine/gpu/driver_over.h"
#include "machine/gpu/hip/declarations.h"
#include "tests/gpu/same_declaration.h"

namespace periapt::gpu::hip {
namespace {

// The header has templates of some names beside the functions that the library has: these are told by their types.
namespace real {
template <class... Arguments>
using Function = hipError_t (*)(Arguments...);
constexpr Function<void**, std::size_t> hipMalloc = &::hipMalloc;
constexpr Function<void**, std::size_t, unsigned> hipHostMalloc = &::hipHostMalloc;
constexpr Function<void**, std::size_t, unsigned> hipMallocManaged = &::hipMallocManaged;
constexpr Function<void**, std::size_t, hipStream_t> hipMallocAsync = &::hipMallocAsync;
}  // namespace real
using real::hipHostMalloc, real::hipMalloc, real::hipMallocAsync, real::hipMallocManaged;

#define PERIAPT_COMPARE(ours, theirs, arguments) \
  static_assert(Same<decltype(Functions::ours), std::decay_t<decltype(theirs)>>::value, #theirs);
PERIAPT_HIP_FUNCTIONS(PERIAPT_COMPARE)
#undef PERIAPT_COMPARE
static_assert(Same<decltype(Functions::error_string), decltype(&::hipGetErrorString)>::value);
static_assert(Same<decltype(Functions::error_name), decltype(&::hipGetErrorName)>::value);

static_assert(Same<decltype(Functions::link_type), decltype(&::hipExtGetLinkTypeAndHopCount)>::value);

static_assert(kStreamNonBlocking == hipStreamNonBlocking && kEventWithoutTiming == hipEventDisableTiming);
static_assert(kHostPortable == hipHostMallocPortable && kHostPortable == hipHostRegisterPortable);
static_assert(kManagedGlobal == hipMemAttachGlobal);
static_assert(kCopyDefault == hipMemcpyDefault && kAlreadyReached == hipErrorPeerAccessAlreadyEnabled);
static_assert(kInvalidValue == hipErrorInvalidValue && kOutOfMemory == hipErrorOutOfMemory);
static_assert(kNotReady == hipErrorNotReady);
constexpr bool is(Question question, int attribute) { return static_cast<int>(question) == attribute; }
static_assert(is(Question::memory_type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(is(Question::buffer, HIP_POINTER_ATTRIBUTE_BUFFER_ID));
static_assert(is(Question::is_managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(is(Question::gpu, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(is(Question::pool, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE));

TEST(HipDeclarations, AreThoseOfItsHeader) { SUCCEED() << "or this file would not have been compiled"; }

}  // namespace
}  // namespace periapt::gpu::hip
