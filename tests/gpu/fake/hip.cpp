// libamdhip64.so for tests: the functions that machine/gpu/hip uses, over the fake GPUs of device.h.
#include <cstdio>
#include <cstring>
#include <utility>

#include "machine/gpu/hip/declarations.h"
#include "tests/gpu/fake/device.h"

namespace hip = periapt::gpu::hip;
namespace fake = periapt::fake_gpu;
using hip::NativeEvent, hip::NativeStream;

namespace {

thread_local int current = 0;

fake::Machine& machine() { return fake::Machine::of_process(); }
auto locked() { return std::lock_guard(machine().mutex); }
fake::Stream* stream_of(NativeStream stream) {
  static fake::Stream standard;
  return stream == nullptr ? &standard : reinterpret_cast<fake::Stream*>(stream);
}
std::shared_ptr<fake::Event>& event_of(NativeEvent event) {
  return *reinterpret_cast<std::shared_ptr<fake::Event>*>(event);
}
int misplaced(NativeStream stream) {
  return stream != nullptr && stream_of(stream)->gpu != current ? fake::kInvalidHandle : 0;
}
int allocate(fake::Kind kind, void** made, std::size_t bytes) {
  const auto lock = locked();
  return machine().allocate(kind, current, bytes, made);
}
int release(void* memory) {
  const auto lock = locked();
  return machine().free(memory);
}

}  // namespace

extern "C" {

fake::Settings* periapt_fake_gpu_settings() { return &machine().settings; }
std::size_t periapt_fake_gpu_contexts() { return static_cast<std::size_t>(current); }
int periapt_fake_gpu_map(void** made, std::size_t bytes) { return allocate(fake::Kind::vmm, made, bytes); }

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
int hipDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", machine().physical(device));
  return 0;
}
int hipDeviceGetUuid(hip::Uuid* uuid, int device) {
  std::memset(uuid->bytes, machine().physical(device) + 1, sizeof(uuid->bytes));
  return 0;
}
int hipDeviceTotalMem(std::size_t* bytes, int) {
  *bytes = static_cast<std::size_t>(machine().settings.memory);
  return 0;
}
int hipDeviceGetPCIBusId(char* pci, int length, int device) {
  std::snprintf(pci, static_cast<std::size_t>(length), "0000:%02x:00.0", machine().physical(device) + 16);
  return 0;
}
int hipDeviceCanAccessPeer(int* can, int, int) {
  *can = machine().settings.peers != 0;
  return 0;
}
int hipGetDevice(int* device) {
  *device = current;
  return 0;
}
int hipSetDevice(int device) {
  if (!machine().exists(device)) return fake::kInvalidDevice;
  current = device;
  return 0;
}
int hipDeviceEnablePeerAccess(int other, unsigned) {
  static bool enabled[64][64] = {};
  const auto lock = locked();
  if (other == current) return fake::kInvalidDevice;
  return std::exchange(enabled[current][other], true) ? fake::kPeerAlready : 0;
}
int hipPointerGetAttribute(void* data, int attribute, void* address) {
  const auto lock = locked();
  ++machine().settings.questions;
  const fake::Allocation* found = machine().find(address);
  if (found == nullptr) return fake::kInvalidValue;
  const fake::Kind kind = found->kind;
  const std::uintptr_t pool = kind == fake::Kind::pool ? 1 : 0;
  const bool old = machine().settings.version != 0 && machine().settings.version < hip::kNewMemoryTypes;
  switch (attribute) {
    case 2:
      *static_cast<unsigned*>(data) = (kind == fake::Kind::pinned ? 1u : 2u) - (old ? 1u : 0u);
      return 0;
    case 7:
      std::memcpy(data, &found->id, 8);
      return 0;
    case 8:
      *static_cast<unsigned char*>(data) = kind == fake::Kind::managed;
      return 0;
    case 9:
      std::memcpy(data, &found->gpu, 4);
      return 0;
    case 17:
      std::memcpy(data, &pool, 8);
      return 0;
    default:  // whether there are handles for other processes can only be tried
      return fake::kInvalidValue;
  }
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
int hipMallocManaged(void** made, std::size_t bytes, unsigned) { return allocate(fake::Kind::managed, made, bytes); }
int hipMallocAsync(void** made, std::size_t bytes, NativeStream) { return allocate(fake::Kind::pool, made, bytes); }
int hipFreeAsync(void* memory, NativeStream) { return release(memory); }
int hipMemRetainAllocationHandle(hip::AllocationHandle*, void* memory) {
  const auto lock = locked();
  const fake::Allocation* found = machine().find(memory);
  return found != nullptr && found->kind == fake::Kind::vmm ? 0 : fake::kInvalidValue;
}
int hipMemRelease(hip::AllocationHandle) { return 0; }
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, NativeStream stream) {
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().copy(stream_of(stream), to, from, bytes);
}
int hipStreamCreateWithFlags(NativeStream* stream, unsigned) {
  auto* made = new fake::Stream;
  made->gpu = current;
  *stream = reinterpret_cast<NativeStream>(made);
  return 0;
}
int hipStreamDestroy(NativeStream stream) {
  delete stream_of(stream);
  return 0;
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
int hipEventCreateWithFlags(NativeEvent* event, unsigned) {
  *event = reinterpret_cast<NativeEvent>(new std::shared_ptr<fake::Event>(std::make_shared<fake::Event>()));
  return 0;
}
int hipEventDestroy(NativeEvent event) {
  delete &event_of(event);
  return 0;
}
int hipEventRecord(NativeEvent event, NativeStream stream) {
  const auto lock = locked();
  if (const int error = misplaced(stream); error != 0) return error;
  return machine().record(stream_of(stream), event_of(event));
}
int hipEventQuery(NativeEvent event) {
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

}  // extern "C"
