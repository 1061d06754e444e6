// libamdhip64.so for tests: the functions that machine/gpu/hip uses, over the fake GPUs of device.h.
#include <cstring>

#include "machine/gpu/hip/declarations.h"
#include "tests/gpu/fake/calls.h"

namespace hip = periapt::gpu::hip;
namespace fake = periapt::fake_gpu;
using fake::machine, fake::locked, fake::stream_of, fake::event_of, fake::release;
using hip::NativeEvent, hip::NativeStream;

namespace {

thread_local int current = 0;

int misplaced(NativeStream stream) {
  if (machine().settings.lost != 0) return fake::kLost;
  const bool standard = reinterpret_cast<std::uintptr_t>(stream) <= 2;
  return !standard && stream_of(stream)->gpu != current ? fake::kInvalidHandle : 0;
}
int allocate(fake::Kind kind, void** made, std::size_t bytes) {
  const auto lock = locked();
  return machine().allocate(kind, current, bytes, made);
}

}  // namespace

extern "C" {

fake::Settings* periapt_fake_gpu_settings() { return &machine().settings; }
std::size_t periapt_fake_gpu_contexts() { return static_cast<std::size_t>(current); }
int periapt_fake_gpu_map(void** made, std::size_t bytes) { return allocate(fake::Kind::vmm, made, bytes); }

void* periapt_fake_gpu_bytes(const void* address) {
  const auto lock = locked();
  return machine().bytes_of(address);
}

int hipInit(unsigned) { return static_cast<int>(machine().settings.init_error); }
int hipRuntimeGetVersion(int* version) {
  *version = machine().settings.version != 0 ? static_cast<int>(machine().settings.version) : 60'100'000;
  return 0;
}
const char* hipGetErrorString(int error) {
  return error == 2 ? "out of memory" : error == fake::kNotPermitted ? "operation not permitted" : "an error";
}
const char* hipGetErrorName(int error) { return error == 2 ? "hipErrorOutOfMemory" : nullptr; }
int hipGetDeviceCount(int* count) {
  *count = machine().count();
  return 0;
}
int hipDeviceGetName(char* name, int length, int device) { return fake::describe(name, length, device); }
int hipDeviceGetUuid(hip::Uuid* uuid, int device) { return fake::identify(uuid, device); }
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = static_cast<std::size_t>(machine().settings.memory);
  return 0;
}
int hipDeviceGetPCIBusId(char* pci, int length, int device) { return fake::describe_pci(pci, length, device); }
int hipDeviceCanAccessPeer(int* can, int, int) {
  *can = machine().settings.peers != 0;
  return 0;
}
int hipExtGetLinkTypeAndHopCount(int, int, unsigned* type, unsigned* hops) {
  *type = machine().settings.peers == 1 ? hip::kLinkXgmi : hip::kLinkPcie;
  *hops = 1;
  return 0;
}
int hipGetDevice(int* device) {
  *device = current;
  return 0;
}
int hipSetDevice(int device) {
  fake::count();
  if (!machine().exists(device)) return fake::kInvalidDevice;
  current = device;
  return 0;
}
int hipDeviceEnablePeerAccess(int other, unsigned) {
  const auto lock = locked();
  if (other == current) return fake::kInvalidDevice;
  return fake::reached_before(current, other) ? fake::kPeerAlready : 0;
}
int hipPointerGetAttribute(void* data, int attribute, void* address) {
  fake::count();
  const auto lock = locked();
  ++machine().settings.questions;
  const fake::Allocation* found = machine().find(address);
  if (found == nullptr) return fake::kInvalidValue;
  const bool old = machine().settings.version != 0 && machine().settings.version < hip::kNewMemoryTypes;
  const unsigned type = (found->kind == fake::Kind::pinned ? 1u : 2u) - (old ? 1u : 0u);
  return fake::answer(*found, address, attribute, type, data);  // handles for other processes: can only be tried
}
int hipMemGetAddressRange(void** begin, std::size_t* size, void* address) {
  const auto lock = locked();
  std::uintptr_t at = 0;
  const fake::Allocation* found = machine().find(address, &at);
  if (found == nullptr) return fake::kInvalidValue;
  *begin = reinterpret_cast<void*>(at);
  *size = found->size;
  return 0;
}
int hipMalloc(void** made, std::size_t bytes) { return allocate(fake::Kind::device, made, bytes); }
int hipFree(void* memory) { return release(memory); }
int hipHostMalloc(void** made, std::size_t bytes, unsigned) { return allocate(fake::Kind::pinned, made, bytes); }
int hipHostFree(void* memory) { return release(memory); }
int hipHostRegister(void* memory, std::size_t bytes, unsigned) {
  const auto lock = locked();
  return machine().pin(current, memory, bytes);
}
int hipHostUnregister(void* memory) {
  const auto lock = locked();
  return machine().unpin(memory);
}
int hipMallocManaged(void** made, std::size_t bytes, unsigned) { return allocate(fake::Kind::managed, made, bytes); }
int hipMallocAsync(void** made, std::size_t bytes, NativeStream) { return allocate(fake::Kind::pool, made, bytes); }
int hipFreeAsync(void* memory, NativeStream) { return release(memory); }
int hipMemRetainAllocationHandle(hip::AllocationHandle*, void* memory) {
  return fake::is_mapped_by_hand(memory) ? 0 : fake::kInvalidValue;
}
int hipMemRelease(hip::AllocationHandle) { return 0; }
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().copy(stream_of(stream), to, from, bytes);
}
int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                     std::size_t rows, int, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().copy_rows(stream_of(stream), {to, to_pitch}, {const_cast<void*>(from), from_pitch}, bytes, rows);
}
int hipStreamCreateWithFlags(NativeStream* stream, unsigned) { return fake::make_stream(stream, current); }
int hipStreamCreateWithPriority(NativeStream* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}
int hipDeviceGetStreamPriorityRange(int* lowest, int* highest) { return fake::priorities(lowest, highest); }
int hipModuleLoadData(hip::Module* module, const void*) {
  *module = nullptr;
  return static_cast<int>(machine().settings.image_error);
}
int hipModuleGetFunction(hip::Function* function, hip::Module, const char* name) {
  return fake::find_function(function, name);
}
int hipModuleLaunchKernel(hip::Function function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, NativeStream stream, void** arguments, void**) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return fake::launch(function, blocks, stream, arguments);
}
int hipStreamDestroy(NativeStream stream) { return fake::destroy_stream(stream); }
int hipStreamQuery(NativeStream stream) {
  fake::count();
  const auto lock = locked();
  return machine().query(*stream_of(stream));
}
int hipStreamGetDevice(NativeStream stream, int* device) {
  fake::count();
  *device = stream_of(stream)->gpu;
  return 0;
}
int hipDeviceSynchronize() {
  const auto lock = locked();
  return machine().finish_all(current);
}
int hipStreamSynchronize(NativeStream stream) {
  const auto lock = locked();
  return machine().finish(stream_of(stream));
}
int hipStreamWaitEvent(NativeStream stream, NativeEvent event, unsigned) {
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().wait(stream_of(stream), event_of(event));
}
int hipEventCreateWithFlags(NativeEvent* event, unsigned flags) { return fake::make_event(event, flags); }
int hipEventElapsedTime(float* ms, NativeEvent begin, NativeEvent end) { return fake::elapsed(ms, begin, end); }
int hipStreamIsCapturing(NativeStream stream, int* status) {
  fake::count();
  *status = 0;
  return fake::capture_status(reinterpret_cast<std::uintptr_t>(stream), status);
}
int hipEventDestroy(NativeEvent event) {
  fake::count();
  delete &event_of(event);
  return 0;
}
int hipEventRecord(NativeEvent event, NativeStream stream) {
  fake::count();
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return fake::record(stream, event);
}
int hipEventQuery(NativeEvent event) {
  fake::count();
  const auto lock = locked();
  return machine().query(*event_of(event));
}
int hipIpcGetMemHandle(hip::MemoryHandle* handle, void* memory) {
  const auto lock = locked();
  return machine().export_memory(memory, reinterpret_cast<fake::Handle*>(handle));
}
int hipIpcOpenMemHandle(void** made, hip::MemoryHandle handle, unsigned) {
  const auto lock = locked();
  fake::Handle named;
  std::memcpy(&named, &handle, sizeof(named));
  return machine().import_memory(current, named, made);
}
int hipIpcCloseMemHandle(void* memory) {
  const auto lock = locked();
  return machine().forget(memory);
}

// Of HSA's library, which HIP's brings along.
int hsa_amd_portable_export_dmabuf(const void* memory, std::size_t bytes, int* file, unsigned long* offset) {
  const auto lock = locked();
  constexpr std::uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  *offset = at % kPage;
  const std::uint64_t pages = (*offset + bytes + kPage - 1) / kPage * kPage;
  return machine().share(reinterpret_cast<const void*>(at - *offset), pages, file);
}

PERIAPT_FAKE_COMPILER(hiprtc, Code)

}  // extern "C"
