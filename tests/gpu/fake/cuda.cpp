// libcuda.so.1 for tests: the functions that machine/gpu/cuda uses, over the fake GPUs of device.h.
#include <cstring>

#include "machine/gpu/cuda/declarations.h"
#include "tests/gpu/fake/calls.h"

namespace cuda = periapt::gpu::cuda;
namespace fake = periapt::fake_gpu;
using cuda::DevicePointer, cuda::Context, cuda::NativeEvent, cuda::NativeStream;
using fake::machine, fake::locked, fake::stream_of, fake::event_of;

namespace {

constexpr int kOwn = 1000;               // and above: contexts that a program has made
thread_local std::vector<int> contexts;  // of this thread, the current one last

Context context_of(int gpu) { return reinterpret_cast<Context>(static_cast<std::intptr_t>(gpu + 1)); }
int current() { return contexts.back() % kOwn; }
int gpu_of(Context context) { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1; }
void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }
/// What is wrong with the thread's context for work on that stream; 0: nothing.
int misplaced(NativeStream stream) {
  if (contexts.empty()) return fake::kInvalidContext;
  if (machine().settings.lost != 0) return fake::kLost;
  const bool standard = reinterpret_cast<std::uintptr_t>(stream) <= 2;
  return !standard && stream_of(stream)->gpu != current() ? fake::kInvalidHandle : 0;
}
int allocate(fake::Kind kind, DevicePointer* made, std::size_t bytes) {
  const auto lock = locked();
  if (contexts.empty()) return fake::kInvalidContext;
  void* memory = nullptr;
  const int error = machine().allocate(kind, current(), bytes, &memory, contexts.back() >= kOwn);
  *made = reinterpret_cast<DevicePointer>(memory);
  return error;
}
int release(void* memory) { return contexts.empty() ? fake::kInvalidContext : fake::release(memory); }
/// Of calls that ask for nothing but a context.
int unless_lost(int answer) { return machine().settings.lost != 0 ? fake::kLost : answer; }

}  // namespace

extern "C" {

fake::Settings* periapt_fake_gpu_settings() { return &machine().settings; }
std::size_t periapt_fake_gpu_contexts() { return contexts.size(); }
/// Memory as cuMemMap() makes it, which the face has no function for.
int periapt_fake_gpu_map(void** made, std::size_t bytes) {
  const auto lock = locked();
  return machine().allocate(fake::Kind::vmm, 0, bytes, made);
}
/// In place of a kernel: `function` is called when the stream has got there. It may call periapt_fake_gpu_bytes().
int periapt_fake_gpu_call(NativeStream stream, std::function<void()>* function) {
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().call(stream_of(stream), std::move(*function));
}
void* periapt_fake_gpu_bytes(const void* address) {
  const auto lock = locked();
  return machine().bytes_of(address);
}

int cuInit(unsigned) { return static_cast<int>(machine().settings.init_error); }
int cuDriverGetVersion(int* version) {
  *version = machine().settings.version != 0 ? static_cast<int>(machine().settings.version) : 13000;
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  static const struct {
    int error;
    const char* text;
  } known[] = {{1, "invalid argument"},
               {2, "out of memory"},
               {100, "no CUDA-capable device is detected"},
               {201, "invalid device context"},
               {205, "mapping of buffer object failed"},
               {719, "unspecified launch failure"},
               {800, "operation not permitted"}};
  *text = nullptr;
  for (const auto& one : known) {
    if (one.error == error) *text = one.text;
  }
  return *text == nullptr ? 1 : 0;
}
int cuGetErrorName(int error, const char** text) {
  *text = error == 719   ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 800 ? "CUDA_ERROR_NOT_PERMITTED"
                         : nullptr;
  return *text == nullptr ? 1 : 0;
}
int cuDeviceGetCount(int* count) {
  *count = machine().count();
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return machine().exists(ordinal) ? 0 : fake::kInvalidDevice;
}
int cuDeviceGetName(char* name, int length, int device) { return fake::describe(name, length, device); }
int cuDeviceGetUuid_v2(cuda::Uuid* uuid, int device) { return fake::identify(uuid, device); }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = static_cast<std::size_t>(machine().settings.memory);
  return 0;
}
int cuDeviceGetPCIBusId(char* pci, int length, int device) { return fake::describe_pci(pci, length, device); }
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = machine().settings.peers != 0;
  return 0;
}
int cuDeviceGetP2PAttribute(int* value, int attribute, int, int) {
  *value = attribute == cuda::kPeerAtomics && machine().settings.peers == 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(Context* context, int device) {
  *context = context_of(device);
  __atomic_fetch_or(&machine().settings.opened, std::int64_t{1} << device, __ATOMIC_RELAXED);
  return 0;
}
int cuCtxCreate_v2(Context* context, unsigned, int device) {
  *context = context_of(device + kOwn);
  contexts.push_back(device + kOwn);
  return 0;
}
int cuCtxPushCurrent_v2(Context context) {
  fake::count();
  contexts.push_back(gpu_of(context));
  return 0;
}
int cuCtxSetCurrent(Context context) {
  if (!contexts.empty()) contexts.pop_back();
  return cuCtxPushCurrent_v2(context);
}
int cuCtxPopCurrent_v2(Context* context) {
  fake::count();
  if (contexts.empty()) return fake::kInvalidContext;
  *context = context_of(contexts.back());
  contexts.pop_back();
  return 0;
}
int cuCtxEnablePeerAccess(Context context, unsigned) {
  const auto lock = locked();
  if (contexts.empty() || current() == gpu_of(context)) return fake::kInvalidContext;
  if (machine().settings.peers == 0) return fake::kNotPermitted;
  return fake::reached_before(current(), gpu_of(context)) ? fake::kPeerAlready : 0;
}
int cuPointerGetAttribute(void* data, int attribute, DevicePointer address) {
  fake::count();
  const auto lock = locked();
  ++machine().settings.questions;
  std::uintptr_t begin = 0;
  const fake::Allocation* found = machine().find(pointer(address), &begin);
  if (found == nullptr) return fake::kInvalidValue;
  switch (attribute) {
    case 1: {
      const Context context = context_of(found->gpu + (found->foreign ? kOwn : 0));
      std::memcpy(data, &context, sizeof(context));
      return 0;
    }
    case 10:
      *static_cast<unsigned char*>(data) = found->kind == fake::Kind::device;
      return 0;
    case 11:
    case 12: {  // of what is mapped by hand: all that was reserved with it
      std::uint64_t size = found->size;
      machine().reservation_of(pointer(address), &begin, &size);
      std::memcpy(data, attribute == 11 ? &begin : &size, 8);
      return 0;
    }
    case 14: {
      const std::uint64_t types = (found->exportable ? cuda::kPosixFile : 0) | (found->on_fabric ? cuda::kFabric : 0);
      std::memcpy(data, &types, 8);
      return 0;
    }
    default:
      return fake::answer(*found, pointer(address), attribute, found->kind == fake::Kind::pinned ? 1 : 2, data);
  }
}
int cuMemAlloc_v2(DevicePointer* made, std::size_t bytes) { return allocate(fake::Kind::device, made, bytes); }
int cuMemFree_v2(DevicePointer memory) { return release(pointer(memory)); }
int cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
  DevicePointer address = 0;
  const int error = allocate(fake::Kind::pinned, &address, bytes);
  *made = pointer(address);
  return error;
}
int cuMemFreeHost(void* memory) { return release(memory); }
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned) {
  const auto lock = locked();
  return contexts.empty() ? fake::kInvalidContext : machine().pin(current(), memory, bytes);
}
int cuMemHostUnregister(void* memory) {
  const auto lock = locked();
  return contexts.empty() ? fake::kInvalidContext : machine().unpin(memory);
}
int cuMemAllocManaged(DevicePointer* made, std::size_t bytes, unsigned) {
  return allocate(fake::Kind::managed, made, bytes);
}
int cuMemAllocAsync(DevicePointer* made, std::size_t bytes, NativeStream) {
  return allocate(fake::Kind::pool, made, bytes);
}
int cuMemFreeAsync(DevicePointer memory, NativeStream) { return release(pointer(memory)); }
int cuMemRetainAllocationHandle(cuda::AllocationHandle* handle, void* memory) {
  fake::count();
  const auto lock = locked();
  std::uint64_t found = 0;
  const int error = machine().retain(memory, &found);
  *handle = found;
  return error;
}
int cuMemRelease(cuda::AllocationHandle handle) {
  const auto lock = locked();
  return machine().release(handle);
}
int cuMemCreate(cuda::AllocationHandle* handle, std::size_t bytes, const fake::AllocationWishes* wishes,
                unsigned long long) {
  const auto lock = locked();
  if (wishes->type != 1 || wishes->location_type != cuda::kOnDevice) return fake::kInvalidValue;
  std::uint64_t made = 0;
  const int error = machine().create(wishes->location, bytes, (wishes->handle_types & cuda::kPosixFile) != 0,
                                     (wishes->handle_types & cuda::kFabric) != 0, &made);
  *handle = made;
  return error;
}
int cuMemExportToShareableHandle(void* file, cuda::AllocationHandle handle, int type, unsigned long long) {
  const auto lock = locked();
  if (type == cuda::kFabric) return machine().to_fabric(handle, static_cast<fake::Handle*>(file));
  return type == cuda::kPosixFile ? machine().file_of(handle, static_cast<int*>(file)) : fake::kInvalidValue;
}
int cuMemImportFromShareableHandle(cuda::AllocationHandle* handle, void* file, int type) {
  const auto lock = locked();
  if (type != cuda::kPosixFile && type != cuda::kFabric) return fake::kInvalidValue;
  std::uint64_t taken = 0;
  const int error = type == cuda::kFabric
                        ? machine().from_fabric(*static_cast<const fake::Handle*>(file), &taken)
                        : machine().take_file(static_cast<int>(reinterpret_cast<std::intptr_t>(file)), &taken);
  *handle = taken;
  return error;
}
int cuMemAddressReserve(DevicePointer* made, std::size_t bytes, std::size_t, DevicePointer, unsigned long long) {
  const auto lock = locked();
  void* memory = nullptr;
  const int error = machine().reserve(bytes, &memory);
  *made = reinterpret_cast<DevicePointer>(memory);
  return error;
}
int cuMemAddressFree(DevicePointer memory, std::size_t bytes) {
  const auto lock = locked();
  return machine().unreserve(pointer(memory), bytes);
}
int cuMemMap(DevicePointer at, std::size_t bytes, std::size_t offset, cuda::AllocationHandle handle,
             unsigned long long) {
  const auto lock = locked();
  return offset == 0 ? machine().map(pointer(at), bytes, handle) : fake::kNotSupported;
}
int cuMemUnmap(DevicePointer at, std::size_t bytes) {
  const auto lock = locked();
  return machine().unmap(pointer(at), bytes);
}
int cuMemSetAccess(DevicePointer at, std::size_t bytes, const cuda::MemoryAccess* access, std::size_t count) {
  const auto lock = locked();
  const bool good = count == 1 && access->location_type == cuda::kOnDevice && access->rights == cuda::kReadAndWrite;
  return good ? machine().open_to(access->location, pointer(at), bytes) : fake::kInvalidValue;
}
int cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().copy(stream_of(stream), pointer(to), pointer(from), bytes);
}
int cuMemcpy2DAsync_v2(const cuda::RowsOfMemory* rows, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  const bool plain = rows->from_type == cuda::kMemoryTypeUnified && rows->to_type == cuda::kMemoryTypeUnified &&
                     rows->from_x == 0 && rows->from_y == 0 && rows->to_x == 0 && rows->to_y == 0;
  if (!plain) return fake::kInvalidValue;
  return machine().copy_rows(stream_of(stream), {pointer(rows->to), rows->to_pitch},
                             {pointer(rows->from), rows->from_pitch}, rows->row_bytes, rows->rows);
}
int cuStreamCreate(NativeStream* stream, unsigned) {
  return contexts.empty() ? fake::kInvalidContext : unless_lost(fake::make_stream(stream, current()));
}
int cuStreamCreateWithPriority(NativeStream* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
int cuCtxGetStreamPriorityRange(int* lowest, int* highest) { return fake::priorities(lowest, highest); }
int cuModuleLoadData(cuda::Module* module, const void*) {
  *module = nullptr;
  return contexts.empty() ? fake::kInvalidContext : unless_lost(static_cast<int>(machine().settings.image_error));
}
int cuModuleGetFunction(cuda::Function* function, cuda::Module, const char* name) {
  return fake::find_function(function, name);
}
int cuLaunchKernel(cuda::Function function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   NativeStream stream, void** arguments, void**) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return fake::launch(function, blocks, stream, arguments);
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == cuda::kMpsEnabled        ? static_cast<int>(machine().settings.mps)
           : attribute == cuda::kDmaBufSupported ? static_cast<int>(machine().settings.dma_buf != 0)
           : attribute == cuda::kFilesSupported  ? static_cast<int>(machine().settings.files != 0)
           : attribute == cuda::kFabricSupported ? static_cast<int>(machine().settings.fabric != 0)
                                                 : 0;
  const bool is_known = attribute == cuda::kMpsEnabled || attribute == cuda::kDmaBufSupported ||
                        attribute == cuda::kFilesSupported || attribute == cuda::kFabricSupported;
  return is_known ? 0 : fake::kInvalidValue;
}
int cuMemGetHandleForAddressRange(void* handle, DevicePointer pages, std::size_t bytes, int type, unsigned long long) {
  const auto lock = locked();
  if (type != cuda::kRangeAsDmaBuf) return fake::kInvalidValue;
  return machine().share(pointer(pages), bytes, static_cast<int*>(handle));
}
int cuPointerSetAttribute(const void* value, int attribute, DevicePointer address) {
  const auto lock = locked();
  const bool good = attribute == cuda::kSyncMemops && *static_cast<const unsigned*>(value) == 1;
  if (!good || machine().find(pointer(address)) == nullptr) return fake::kInvalidValue;
  ++machine().settings.in_time;
  return 0;
}
int cuStreamDestroy_v2(NativeStream stream) { return fake::destroy_stream(stream); }
int cuStreamGetCtx(NativeStream stream, Context* context) {
  fake::count();
  *context = context_of(stream_of(stream)->gpu);
  return 0;
}
int cuStreamIsCapturing(NativeStream stream, int* status) {
  fake::count();
  *status = 0;
  if (contexts.empty()) return fake::kInvalidContext;
  return fake::capture_status(reinterpret_cast<std::uintptr_t>(stream), status);
}
int cuStreamQuery(NativeStream stream) {
  const auto lock = locked();
  if (!stream_of(stream)->has_kernel()) fake::count();  // whether a kernel lives is no message's question
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) {
    if (contexts.empty()) return fake::kInvalidContext;
    if (machine().settings.capturing != 0) machine().settings.capturing = -1;  // it is broken
    if (reinterpret_cast<std::uintptr_t>(stream) < 2 && machine().settings.busy_default != 0) return fake::kNotReady;
  }
  return unless_lost(machine().query(*stream_of(stream)));
}
int cuCtxGetDevice(int* device) {
  fake::count();
  if (contexts.empty()) return fake::kInvalidContext;
  *device = current();
  return 0;
}
int cuCtxSynchronize() {
  const auto lock = locked();
  return contexts.empty() ? fake::kInvalidContext : unless_lost(machine().finish_all(current()));
}
int cuStreamSynchronize(NativeStream stream) {
  const auto lock = locked();
  return unless_lost(machine().finish(stream_of(stream)));
}
int cuStreamWaitEvent(NativeStream stream, NativeEvent event, unsigned) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().wait(stream_of(stream), event_of(event));
}
int cuEventCreate(NativeEvent* event, unsigned flags) {
  fake::count();
  return contexts.empty() ? fake::kInvalidContext : unless_lost(fake::make_event(event, flags));
}
int cuEventDestroy_v2(NativeEvent event) {
  fake::count();
  delete &event_of(event);
  return 0;
}
int cuEventRecord(NativeEvent event, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return fake::record(stream, event);
}
int cuEventQuery(NativeEvent event) {
  fake::count();
  const auto lock = locked();
  const int answer = machine().query(*event_of(event));
  return answer == 0 || answer == fake::kNotReady ? unless_lost(answer) : answer;
}
int cuEventElapsedTime(float* ms, NativeEvent begin, NativeEvent end) { return fake::elapsed(ms, begin, end); }
int cuIpcGetMemHandle(cuda::MemoryHandle* handle, DevicePointer memory) {
  const auto lock = locked();
  return machine().export_memory(pointer(memory), reinterpret_cast<fake::Handle*>(handle));
}
int cuIpcOpenMemHandle_v2(DevicePointer* made, cuda::MemoryHandle handle, unsigned) {
  const auto lock = locked();
  if (contexts.empty()) return fake::kInvalidContext;
  fake::Handle named;
  std::memcpy(&named, &handle, sizeof(named));
  void* memory = nullptr;
  const int error = machine().import_memory(current(), named, &memory);
  *made = reinterpret_cast<DevicePointer>(memory);
  return error;
}
int cuIpcCloseMemHandle(DevicePointer memory) {
  const auto lock = locked();
  return machine().forget(pointer(memory));
}

PERIAPT_FAKE_COMPILER(nvrtc, PTX)

}  // extern "C"
