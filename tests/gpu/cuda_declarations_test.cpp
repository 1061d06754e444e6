// What machine/gpu/cuda declares of the driver is what cuda.h declares. Compiled where cuda.h is; it has nothing to
// run.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "machine/gpu/cuda/declarations.h"
#include "machine/gpu/driver_over.h"
#include "tests/gpu/same_declaration.h"

namespace periapt::gpu::cuda {
namespace {

// cuda.h renames cuMemAlloc to cuMemAlloc_v2: both names lead to the same declaration.
#define PERIAPT_COMPARE(ours, theirs, arguments) \
  static_assert(Same<decltype(Functions::ours), decltype(&::theirs)>::value, #theirs);
PERIAPT_CUDA_FUNCTIONS(PERIAPT_COMPARE)
#undef PERIAPT_COMPARE

static_assert(Same<decltype(Functions::range_handle), decltype(&::cuMemGetHandleForAddressRange)>::value);
static_assert(Same<decltype(Functions::set_pointer_attribute), decltype(&::cuPointerSetAttribute)>::value);
static_assert(kRangeAsDmaBuf == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD && kSyncMemops == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
static_assert(kPeerAtomics == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
static_assert(kDmaBufSupported == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING && kEventWithoutTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE && kHostPortable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(kManagedGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kIpcLazyPeers == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS && kMemoryTypeDevice == CU_MEMORYTYPE_DEVICE);
static_assert(kMemoryTypeUnified == CU_MEMORYTYPE_UNIFIED);
static_assert(offsetof(RowsOfMemory, from) == offsetof(CUDA_MEMCPY2D, srcDevice) &&
              offsetof(RowsOfMemory, from_type) == offsetof(CUDA_MEMCPY2D, srcMemoryType) &&
              offsetof(RowsOfMemory, from_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
              offsetof(RowsOfMemory, to) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
              offsetof(RowsOfMemory, to_type) == offsetof(CUDA_MEMCPY2D, dstMemoryType) &&
              offsetof(RowsOfMemory, to_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
              offsetof(RowsOfMemory, row_bytes) == offsetof(CUDA_MEMCPY2D, WidthInBytes) &&
              offsetof(RowsOfMemory, rows) == offsetof(CUDA_MEMCPY2D, Height));
static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kNotReady == CUDA_ERROR_NOT_READY && kAlreadyReached == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
constexpr bool is(Question question, int attribute) { return static_cast<int>(question) == attribute; }
static_assert(is(Question::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(is(Question::buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID));
static_assert(is(Question::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(is(Question::gpu, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(is(Question::legacy_ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
static_assert(is(Question::begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
static_assert(is(Question::size, CU_POINTER_ATTRIBUTE_RANGE_SIZE));
static_assert(is(Question::handle_types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES));
static_assert(kFilesSupported == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
#if CUDA_VERSION >= 12030
static_assert(kFabricSupported == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
static_assert(kFabric == CU_MEM_HANDLE_TYPE_FABRIC && sizeof(CUmemFabricHandle) == sizeof(IpcHandle));
#endif
static_assert(kPosixFile == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && kOnDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kReadAndWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE && kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(offsetof(MemoryAccess, location) == offsetof(CUmemAccessDesc, location.id) &&
              offsetof(MemoryAccess, rights) == offsetof(CUmemAccessDesc, flags));
static_assert(is(Question::pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE));

TEST(CudaDeclarations, AreThoseOfCudaH) { SUCCEED() << "or this file would not have been compiled"; }

}  // namespace
}  // namespace periapt::gpu::cuda
