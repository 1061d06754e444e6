// What is used of libcuda.so.1, declared by us: types as wide as the driver's, functions by the names that its library
// has for the version meant (cuda.h renames cuMemAlloc to cuMemAlloc_v2 and so on). Where cuda.h is,
// tests/gpu/cuda_declarations_test.cpp holds each against the real one.
#pragma once

#include <cstddef>

namespace periapt::gpu::cuda {

using Result_ = int;  ///< CUresult
using DevicePointer = unsigned long long;
using Device = int;
struct OpaqueContext;
struct OpaqueStream;
struct OpaqueEvent;
struct OpaqueModule;
struct OpaqueFunction;
using Context = OpaqueContext*;
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
using AllocationHandle = unsigned long long;
struct MemoryAccess {  ///< CUmemAccessDesc
  int location_type, location;
  int rights;
};
struct OpaqueArray;
struct RowsOfMemory {  ///< CUDA_MEMCPY2D
  std::size_t from_x, from_y;
  unsigned from_type;
  const void* from_host;
  DevicePointer from;
  OpaqueArray* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  unsigned to_type;
  void* to_host;
  DevicePointer to;
  OpaqueArray* to_array;
  std::size_t to_pitch;
  std::size_t row_bytes, rows;
};

inline constexpr unsigned kStreamNonBlocking = 1, kHostPortable = 1, kManagedGlobal = 1, kIpcLazyPeers = 1,
                          kMemoryTypeDevice = 2, kMemoryTypeUnified = 4;
inline constexpr int kMpsEnabled = 133, kDmaBufSupported = 124, kFilesSupported = 103,
                     kFabricSupported = 128;                                         ///< of device_attribute()
inline constexpr int kPosixFile = 1, kFabric = 8, kOnDevice = 1, kReadAndWrite = 3;  ///< of what is mapped by hand
inline constexpr int kSyncMemops = 6;                                                ///< of set_pointer_attribute()
inline constexpr int kRangeAsDmaBuf = 1;
inline constexpr int kPeerAtomics = 3;  ///< of peer_attribute()
inline constexpr Result_ kNoContext = 201;

// X(our name, the library's name, result, arguments)
#define PERIAPT_CUDA_FUNCTIONS(X)                                                                                   \
  X(init, cuInit, (unsigned))                                                                                       \
  X(driver_version, cuDriverGetVersion, (int*))                                                                     \
  X(error_string, cuGetErrorString, (Result_, const char**))                                                        \
  X(error_name, cuGetErrorName, (Result_, const char**))                                                            \
  X(device_count, cuDeviceGetCount, (int*))                                                                         \
  X(device_get, cuDeviceGet, (Device*, int))                                                                        \
  X(device_name, cuDeviceGetName, (char*, int, Device))                                                             \
  X(device_uuid, cuDeviceGetUuid_v2, (Uuid*, Device))                                                               \
  X(device_bytes, cuDeviceTotalMem_v2, (std::size_t*, Device))                                                      \
  X(device_pci, cuDeviceGetPCIBusId, (char*, int, Device))                                                          \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, Device))                                                    \
  X(can_access_peer, cuDeviceCanAccessPeer, (int*, Device, Device))                                                 \
  X(peer_attribute, cuDeviceGetP2PAttribute, (int*, int, Device, Device))                                           \
  X(retain_primary, cuDevicePrimaryCtxRetain, (Context*, Device))                                                   \
  X(push_context, cuCtxPushCurrent_v2, (Context))                                                                   \
  X(pop_context, cuCtxPopCurrent_v2, (Context*))                                                                    \
  X(current_device, cuCtxGetDevice, (Device*))                                                                      \
  X(context_finish, cuCtxSynchronize, ())                                                                           \
  X(enable_peer, cuCtxEnablePeerAccess, (Context, unsigned))                                                        \
  X(pointer_attribute, cuPointerGetAttribute, (void*, int, DevicePointer))                                          \
  X(memory_alloc, cuMemAlloc_v2, (DevicePointer*, std::size_t))                                                     \
  X(memory_free, cuMemFree_v2, (DevicePointer))                                                                     \
  X(host_alloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                                                    \
  X(host_free, cuMemFreeHost, (void*))                                                                              \
  X(host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned))                                            \
  X(host_unregister, cuMemHostUnregister, (void*))                                                                  \
  X(managed_alloc, cuMemAllocManaged, (DevicePointer*, std::size_t, unsigned))                                      \
  X(pool_alloc, cuMemAllocAsync, (DevicePointer*, std::size_t, NativeStream))                                       \
  X(pool_free, cuMemFreeAsync, (DevicePointer, NativeStream))                                                       \
  X(retain_allocation, cuMemRetainAllocationHandle, (AllocationHandle*, void*))                                     \
  X(release_allocation, cuMemRelease, (AllocationHandle))                                                           \
  X(export_allocation, cuMemExportToShareableHandle, (void*, AllocationHandle, int, unsigned long long))            \
  X(import_allocation, cuMemImportFromShareableHandle, (AllocationHandle*, void*, int))                             \
  X(reserve_addresses, cuMemAddressReserve,                                                                         \
    (DevicePointer*, std::size_t, std::size_t, DevicePointer, unsigned long long))                                  \
  X(free_addresses, cuMemAddressFree, (DevicePointer, std::size_t))                                                 \
  X(map_allocation, cuMemMap, (DevicePointer, std::size_t, std::size_t, AllocationHandle, unsigned long long))      \
  X(unmap, cuMemUnmap, (DevicePointer, std::size_t))                                                                \
  X(set_access, cuMemSetAccess, (DevicePointer, std::size_t, const MemoryAccess*, std::size_t))                     \
  X(copy_async, cuMemcpyAsync, (DevicePointer, DevicePointer, std::size_t, NativeStream))                           \
  X(copy_rows_async, cuMemcpy2DAsync_v2, (const RowsOfMemory*, NativeStream))                                       \
  X(stream_create, cuStreamCreate, (NativeStream*, unsigned))                                                       \
  X(stream_create_at, cuStreamCreateWithPriority, (NativeStream*, unsigned, int))                                   \
  X(stream_priorities, cuCtxGetStreamPriorityRange, (int*, int*))                                                   \
  X(stream_destroy, cuStreamDestroy_v2, (NativeStream))                                                             \
  X(stream_finish, cuStreamSynchronize, (NativeStream))                                                             \
  X(stream_context, cuStreamGetCtx, (NativeStream, Context*))                                                       \
  X(stream_query, cuStreamQuery, (NativeStream))                                                                    \
  X(stream_capturing, cuStreamIsCapturing, (NativeStream, int*))                                                    \
  X(stream_wait, cuStreamWaitEvent, (NativeStream, NativeEvent, unsigned))                                          \
  X(event_create, cuEventCreate, (NativeEvent*, unsigned))                                                          \
  X(event_destroy, cuEventDestroy_v2, (NativeEvent))                                                                \
  X(event_record, cuEventRecord, (NativeEvent, NativeStream))                                                       \
  X(event_query, cuEventQuery, (NativeEvent))                                                                       \
  X(event_elapsed, cuEventElapsedTime, (float*, NativeEvent, NativeEvent))                                          \
  X(module_load, cuModuleLoadData, (Module*, const void*))                                                          \
  X(module_function, cuModuleGetFunction, (Function*, Module, const char*))                                         \
  X(launch, cuLaunchKernel,                                                                                         \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, NativeStream, void**, void**)) \
  X(ipc_export, cuIpcGetMemHandle, (MemoryHandle*, DevicePointer))                                                  \
  X(ipc_import, cuIpcOpenMemHandle_v2, (DevicePointer*, MemoryHandle, unsigned))                                    \
  X(ipc_forget, cuIpcCloseMemHandle, (DevicePointer))

struct Functions {
#define PERIAPT_DECLARE(ours, theirs, arguments) Result_(*ours) arguments = nullptr;
  PERIAPT_CUDA_FUNCTIONS(PERIAPT_DECLARE)
#undef PERIAPT_DECLARE
  // Not in all drivers.
  Result_ (*range_handle)(void*, DevicePointer, std::size_t, int, unsigned long long) = nullptr;  ///< from 11.7 on
  Result_ (*set_pointer_attribute)(const void*, int, DevicePointer) = nullptr;
};

}  // namespace periapt::gpu::cuda
