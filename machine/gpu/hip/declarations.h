// What is used of libamdhip64.so, declared by us; where HIP's headers are, tests/gpu/hip_declarations_test.cpp holds
// each against the real one.
#pragma once

#include <cstddef>

namespace periapt::gpu::hip {

using Result_ = int;  ///< hipError_t
struct OpaqueStream;
struct OpaqueEvent;
struct OpaqueModule;
struct OpaqueFunction;
using NativeStream = OpaqueStream*;
using NativeEvent = OpaqueEvent*;
using Module = OpaqueModule*;
using Function = OpaqueFunction*;
struct Uuid {
  char bytes[16];
};
struct MemoryHandle {
  char reserved[64];
};
struct OpaqueAllocation;
using AllocationHandle = OpaqueAllocation*;

inline constexpr unsigned kStreamNonBlocking = 1, kHostPortable = 1, kManagedGlobal = 1, kIpcLazyPeers = 1;
inline constexpr int kCopyDefault = 4;
inline constexpr unsigned kLinkPcie = 2, kLinkXgmi = 4;  ///< of link_type(): HSA_AMD_LINK_INFO_TYPE_...
/// The numbers of memory types have changed: device memory is 2 from this version on, and was 1 before.
inline constexpr int kNewMemoryTypes = 60'000'000;

// X(our name, the library's name, arguments)
#define PERIAPT_HIP_FUNCTIONS(X)                                                                                    \
  X(init, hipInit, (unsigned))                                                                                      \
  X(runtime_version, hipRuntimeGetVersion, (int*))                                                                  \
  X(device_count, hipGetDeviceCount, (int*))                                                                        \
  X(device_name, hipDeviceGetName, (char*, int, int))                                                               \
  X(device_uuid, hipDeviceGetUuid, (Uuid*, int))                                                                    \
  X(device_bytes, hipDeviceTotalMem, (std::size_t*, int))                                                           \
  X(device_pci, hipDeviceGetPCIBusId, (char*, int, int))                                                            \
  X(can_access_peer, hipDeviceCanAccessPeer, (int*, int, int))                                                      \
  X(get_device, hipGetDevice, (int*))                                                                               \
  X(set_device, hipSetDevice, (int))                                                                                \
  X(device_finish, hipDeviceSynchronize, ())                                                                        \
  X(enable_peer, hipDeviceEnablePeerAccess, (int, unsigned))                                                        \
  X(pointer_attribute, hipPointerGetAttribute, (void*, int, void*))                                                 \
  X(address_range, hipMemGetAddressRange, (void**, std::size_t*, void*))                                            \
  X(memory_alloc, hipMalloc, (void**, std::size_t))                                                                 \
  X(memory_free, hipFree, (void*))                                                                                  \
  X(host_alloc, hipHostMalloc, (void**, std::size_t, unsigned))                                                     \
  X(host_free, hipHostFree, (void*))                                                                                \
  X(host_register, hipHostRegister, (void*, std::size_t, unsigned))                                                 \
  X(host_unregister, hipHostUnregister, (void*))                                                                    \
  X(managed_alloc, hipMallocManaged, (void**, std::size_t, unsigned))                                               \
  X(pool_alloc, hipMallocAsync, (void**, std::size_t, NativeStream))                                                \
  X(pool_free, hipFreeAsync, (void*, NativeStream))                                                                 \
  X(retain_allocation, hipMemRetainAllocationHandle, (AllocationHandle*, void*))                                    \
  X(release_allocation, hipMemRelease, (AllocationHandle))                                                          \
  X(copy_async, hipMemcpyAsync, (void*, const void*, std::size_t, int, NativeStream))                               \
  X(copy_rows_async, hipMemcpy2DAsync,                                                                              \
    (void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, NativeStream))                    \
  X(stream_create, hipStreamCreateWithFlags, (NativeStream*, unsigned))                                             \
  X(stream_destroy, hipStreamDestroy, (NativeStream))                                                               \
  X(stream_finish, hipStreamSynchronize, (NativeStream))                                                            \
  X(stream_query, hipStreamQuery, (NativeStream))                                                                   \
  X(stream_capturing, hipStreamIsCapturing, (NativeStream, int*))                                                   \
  X(stream_wait, hipStreamWaitEvent, (NativeStream, NativeEvent, unsigned))                                         \
  X(event_create, hipEventCreateWithFlags, (NativeEvent*, unsigned))                                                \
  X(event_destroy, hipEventDestroy, (NativeEvent))                                                                  \
  X(event_record, hipEventRecord, (NativeEvent, NativeStream))                                                      \
  X(event_query, hipEventQuery, (NativeEvent))                                                                      \
  X(event_elapsed, hipEventElapsedTime, (float*, NativeEvent, NativeEvent))                                         \
  X(stream_create_at, hipStreamCreateWithPriority, (NativeStream*, unsigned, int))                                  \
  X(stream_priorities, hipDeviceGetStreamPriorityRange, (int*, int*))                                               \
  X(module_load, hipModuleLoadData, (Module*, const void*))                                                         \
  X(module_function, hipModuleGetFunction, (Function*, Module, const char*))                                        \
  X(launch, hipModuleLaunchKernel,                                                                                  \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, NativeStream, void**, void**)) \
  X(ipc_export, hipIpcGetMemHandle, (MemoryHandle*, void*))                                                         \
  X(ipc_import, hipIpcOpenMemHandle, (void**, MemoryHandle, unsigned))                                              \
  X(ipc_forget, hipIpcCloseMemHandle, (void*))

struct Functions {
#define PERIAPT_DECLARE(ours, theirs, arguments) Result_(*ours) arguments = nullptr;
  PERIAPT_HIP_FUNCTIONS(PERIAPT_DECLARE)
#undef PERIAPT_DECLARE
  const char* (*error_string)(Result_) = nullptr;
  const char* (*error_name)(Result_) = nullptr;
  Result_ (*link_type)(int, int, unsigned*, unsigned*) = nullptr;
  Result_ (*stream_device)(NativeStream, int*) = nullptr;  ///< from 5.6 on
  // Memory for other devices: of the library HSA, which HIP's depends on.
  int (*export_dmabuf)(const void*, std::size_t, int*, unsigned long*) = nullptr;
};

}  // namespace periapt::gpu::hip
