#include "machine/gpu/hip/driver.h"

#include <memory>

#include "base/loaded_library.h"
#include "machine/gpu/driver_over.h"
#include "machine/gpu/hip/declarations.h"

namespace periapt::gpu::hip {
namespace {

constexpr const char* kOther = "PERIAPT_LIBAMDHIP64";
constexpr const char* kKernel = "/dev/kfd";  ///< there when the kernel has the driver
// GPUs that are there and may not be opened are not listed, and the runtime says that there is none.
constexpr const char* kMembers = "; the groups video and render may use the GPUs: usermod -aG video,render $USER";
constexpr int kOldest = 50'200'000;  // mapped memory came with 5.2

std::string in_words(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version % 10'000'000 / 100'000);
}

std::string words(const Functions& library, int error) {
  const char *said = library.error_string(error), *name = library.error_name(error);
  if (said == nullptr) return "error " + std::to_string(error);
  return std::string(said) + (name == nullptr ? "" : std::string(" (") + name + ")");
}

struct Calls {
  static constexpr const char* kVendor = "hip";

  Functions library;
  int runtime_version = 0;

  std::string version() const { return in_words(runtime_version); }
  std::string words(int error) const { return hip::words(library, error); }

  // A thread has a current GPU, which is the program's business: it gets it back.
  DriverAnswer enter(int gpu, void** before) {
    int current = 0;
    if (int error = library.get_device(&current); error != 0) return {error, "hipGetDevice"};
    *before = reinterpret_cast<void*>(static_cast<std::intptr_t>(current));
    return {current == gpu ? 0 : library.set_device(gpu), "hipSetDevice"};
  }
  void leave(void* before) { library.set_device(static_cast<int>(reinterpret_cast<std::intptr_t>(before))); }

  DriverAnswer ask(Question question, const void* address, void* data) {
    return {library.pointer_attribute(data, static_cast<int>(question), const_cast<void*>(address)),
            "hipPointerGetAttribute"};
  }
  DriverAnswer range(const void* address, std::uintptr_t* begin, std::uint64_t* size) {
    void* base = nullptr;
    std::size_t bytes = 0;
    const DriverAnswer answer = {library.address_range(&base, &bytes, const_cast<void*>(address)),
                                 "hipMemGetAddressRange"};
    *begin = reinterpret_cast<std::uintptr_t>(base);
    *size = bytes;
    return answer;
  }
  bool is_device(unsigned type) const { return type == (runtime_version >= kNewMemoryTypes ? 2u : 1u); }
  bool is_mapped_by_hand(const void* address) {
    AllocationHandle handle = nullptr;
    if (library.retain_allocation(&handle, const_cast<void*>(address)) != 0) return false;
    static_cast<void>(library.release_allocation(handle));
    return true;
  }

  DriverAnswer allocate(MemoryType kind, void** made, std::uint64_t bytes) {
    if (kind == MemoryType::pinned) return {library.host_alloc(made, bytes, kHostPortable), "hipHostMalloc"};
    if (kind == MemoryType::managed) return {library.managed_alloc(made, bytes, kManagedGlobal), "hipMallocManaged"};
    if (kind != MemoryType::pool) return {library.memory_alloc(made, bytes), "hipMalloc"};
    const DriverAnswer answer = {library.pool_alloc(made, bytes, nullptr), "hipMallocAsync"};
    return answer.error != 0 ? answer : DriverAnswer{library.stream_finish(nullptr), "hipStreamSynchronize"};
  }
  DriverAnswer free(MemoryType kind, void* memory) {
    if (kind == MemoryType::pinned) return {library.host_free(memory), "hipHostFree"};
    if (kind == MemoryType::pool) return {library.pool_free(memory, nullptr), "hipFreeAsync"};
    return {library.memory_free(memory), "hipFree"};
  }
  DriverAnswer pin(void* memory, std::uint64_t bytes) {
    return {library.host_register(memory, bytes, kHostPortable), "hipHostRegister"};
  }
  DriverAnswer unpin(void* memory) { return {library.host_unregister(memory), "hipHostUnregister"}; }

  // Where the runtime does not say it, streams are taken for those of the thread's GPU.
  DriverAnswer gpu_of_stream(void* stream, int* gpu) {
    if (is_default_stream(stream) || library.stream_device == nullptr) return {library.get_device(gpu), "hipGetDevice"};
    return {library.stream_device(stream_of(stream), gpu), "hipStreamGetDevice"};
  }
  DriverAnswer make_stream(void** stream) {
    return {library.stream_create(reinterpret_cast<NativeStream*>(stream), kStreamNonBlocking),
            "hipStreamCreateWithFlags"};
  }
  static NativeStream stream_of(void* native) { return static_cast<NativeStream>(native); }
  static NativeEvent event_of(void* native) { return static_cast<NativeEvent>(native); }
  DriverAnswer destroy_stream(void* stream) { return {library.stream_destroy(stream_of(stream)), "hipStreamDestroy"}; }
  DriverAnswer copy(void* to, const void* from, std::uint64_t bytes, void* stream) {
    return {library.copy_async(to, from, bytes, kCopyDefault, stream_of(stream)), "hipMemcpyAsync"};
  }
  DriverAnswer copy_rows(const CopiedRows& rows, void* stream) {
    return {library.copy_rows_async(rows.to, rows.to_stride, rows.from, rows.from_stride, rows.bytes, rows.rows,
                                    kCopyDefault, stream_of(stream)),
            "hipMemcpy2DAsync"};
  }
  DriverAnswer wait_for(void* stream, void* event) {
    return {library.stream_wait(stream_of(stream), event_of(event), 0), "hipStreamWaitEvent"};
  }
  DriverAnswer capture_status(void* stream, int* status) {
    return {library.stream_capturing(stream_of(stream), status), "hipStreamIsCapturing"};
  }
  DriverAnswer finish(void* stream) { return {library.stream_finish(stream_of(stream)), "hipStreamSynchronize"}; }
  DriverAnswer finish_all() { return {library.device_finish(), "hipDeviceSynchronize"}; }
  DriverAnswer query_stream(void* stream) {
    if (is_default_stream(stream)) return {kNotReady, "hipStreamQuery"};  // it does not say what that waits for
    return {library.stream_query(stream_of(stream)), "hipStreamQuery"};
  }
  DriverAnswer make_event(void** event, unsigned flags) {
    return {library.event_create(reinterpret_cast<NativeEvent*>(event), flags), "hipEventCreateWithFlags"};
  }
  DriverAnswer destroy_event(void* event) { return {library.event_destroy(event_of(event)), "hipEventDestroy"}; }
  DriverAnswer record(void* event, void* stream) {
    return {library.event_record(event_of(event), stream_of(stream)), "hipEventRecord"};
  }
  DriverAnswer query(void* event) { return {library.event_query(event_of(event)), "hipEventQuery"}; }
  DriverAnswer elapsed(float* ms, void* begin, void* end) {
    return {library.event_elapsed(ms, event_of(begin), event_of(end)), "hipEventElapsedTime"};
  }

  static constexpr const char* kLoadModule = "hipModuleLoadData";
  DriverAnswer load_kernel(const void* image, const char* name, void** function) {
    Module module = nullptr;
    if (int error = library.module_load(&module, image); error != 0) return {error, kLoadModule};
    return {library.module_function(reinterpret_cast<Function*>(function), module, name), "hipModuleGetFunction"};
  }
  RunTimeCompiler compiler(int) const {
    return {"hiprtc", {"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6"}, "PERIAPT_LIBHIPRTC", "Code", ""};
  }
  DriverAnswer launch(void* function, unsigned blocks, unsigned threads, void* stream, void** arguments) {
    return {library.launch(static_cast<Function>(function), blocks, 1, 1, threads, 1, 1, 0, stream_of(stream),
                           arguments, nullptr),
            "hipModuleLaunchKernel"};
  }
  DriverAnswer make_urgent_stream(void** stream) {
    int lowest = 0, highest = 0;
    if (int error = library.stream_priorities(&lowest, &highest); error != 0)
      return {error, "hipDeviceGetStreamPriorityRange"};
    return {library.stream_create_at(reinterpret_cast<NativeStream*>(stream), kStreamNonBlocking, highest),
            "hipStreamCreateWithPriority"};
  }
  bool runs_processes_together(int) const { return true; }
  bool is_of_ours(const void*, int) const { return true; }  // there are no contexts beside the GPUs'

  DriverAnswer can_reach(int* can, int gpu, int other) {
    return {library.can_access_peer(can, gpu, other), "hipDeviceCanAccessPeer"};
  }
  DriverAnswer reach(int other) { return {library.enable_peer(other, 0), "hipDeviceEnablePeerAccess"}; }
  std::string link_between(int gpu, int other) {
    unsigned type = 0, hops = 0;
    if (library.link_type == nullptr || library.link_type(gpu, other, &type, &hops) != 0) return {};
    return type == kLinkXgmi ? "xGMI" : type == kLinkPcie ? "PCIe" : "";
  }
  DriverAnswer export_memory(std::byte* handle, void* begin) {
    return {library.ipc_export(reinterpret_cast<MemoryHandle*>(handle), begin), "hipIpcGetMemHandle"};
  }
  DriverAnswer import_memory(void** found, const std::byte* handle) {
    MemoryHandle native;
    std::memcpy(&native, handle, sizeof(native));
    return {library.ipc_import(found, native, kIpcLazyPeers), "hipIpcOpenMemHandle"};
  }
  DriverAnswer forget(void* imported) { return {library.ipc_forget(imported), "hipIpcCloseMemHandle"}; }

  // Which of these the program has made so, HIP does not say.
  bool gives_files(const void*) const { return false; }
  bool is_on_fabric(const void*) const { return false; }
  std::string why_no_fabric(int) const { return "HIP has no handles of memory that hold on other hosts"; }
  DriverAnswer export_to_fabric(const void*, std::byte*) const {
    return {kNotSupported, "hipMemExportToShareableHandle"};
  }
  DriverAnswer import_from_fabric(int, const std::byte*, std::uint64_t, void**) const {
    return {kNotSupported, "hipMemImportFromShareableHandle"};
  }
  std::string why_no_files(int) const { return "HIP does not say which memory that was mapped by hand has files"; }
  DriverAnswer open_file(const void*, int*) const { return {kNotSupported, "hipMemExportToShareableHandle"}; }
  DriverAnswer import_file(int, int, std::uint64_t, void**) const {
    return {kNotSupported, "hipMemImportFromShareableHandle"};
  }
  DriverAnswer forget_file(void*, std::uint64_t) const { return {kNotSupported, "hipMemUnmap"}; }

  std::string why_not_shared(int) const {
    if (library.export_dmabuf != nullptr) return {};
    return "HIP " + version() + " has no dma-buf; update ROCm";
  }
  // Not hipMemGetHandleForAddressRange(), which asks HSA for the same and does not tell where in the file, which may be
  // of a larger block, the memory begins.
  DriverAnswer share(void* begin, std::uint64_t size, int* fd, std::uint64_t* offset) {
    unsigned long at = 0;
    const int error = library.export_dmabuf(begin, size, fd, &at);
    *offset = at;
    return {error, "hsa_amd_portable_export_dmabuf"};
  }
  DriverAnswer end_copies_in_time(void*) const { return {}; }  // hipMemcpy() is at its end when it returns
};
static_assert(sizeof(MemoryHandle) == sizeof(IpcHandle));

Result<std::vector<Gpu>> find_gpus(const Functions& library) {
  int count = 0;
  if (int error = library.device_count(&count); error != 0) {
    return Status::failure("hipGetDeviceCount: " + words(library, error) + kMembers);
  }
  std::vector<Gpu> gpus(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Gpu& gpu = gpus[static_cast<std::size_t>(i)];
    Uuid uuid{};
    char name[256] = {}, pci[32] = {};
    std::size_t bytes = 0;
    int error = library.device_name(name, sizeof(name) - 1, i);
    if (error == 0) error = library.device_pci(pci, sizeof(pci) - 1, i);
    if (error == 0) error = library.device_uuid(&uuid, i);
    if (error == 0) error = library.device_bytes(&bytes, i);
    if (error != 0) return Status::failure("GPU " + std::to_string(i) + " cannot be asked: " + words(library, error));
    gpu.name = name;
    gpu.pci = pci;
    gpu.bytes = bytes;
    std::memcpy(gpu.uuid.data(), uuid.bytes, gpu.uuid.size());
  }
  return gpus;
}

bool has_library = false;

Result<std::unique_ptr<Driver>> load() {
  const std::string named = file_named_by(kOther, "");
  if (named.empty() && ::access(kKernel, F_OK) != 0) return Status::failure("no driver (/dev/kfd)");
  LoadedLibrary file(named.empty() ? std::vector<std::string>{"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                                              "libamdhip64.so.5"}
                                   : std::vector<std::string>{named});
  if (!file.fault.empty()) {
    return Status::failure("the kernel has the driver, but " + file.unusable() +
                           "; install ROCm's runtime (hip-runtime-amd)");
  }
  has_library = true;
  Calls calls;
#define PERIAPT_FIND(ours, theirs, arguments) file.find(calls.library.ours, #theirs);
  PERIAPT_HIP_FUNCTIONS(PERIAPT_FIND)
#undef PERIAPT_FIND
  file.find(calls.library.error_string, "hipGetErrorString");
  file.find(calls.library.error_name, "hipGetErrorName");
  file.find_if_there(calls.library.stream_device, "hipStreamGetDevice");
  file.find_if_there(calls.library.link_type, "hipExtGetLinkTypeAndHopCount");
  file.find_if_there(calls.library.export_dmabuf, "hsa_amd_portable_export_dmabuf");
  int& version = calls.runtime_version;
  const bool says = calls.library.runtime_version != nullptr && calls.library.runtime_version(&version) == 0;
  if (says && version < kOldest) {
    return Status::failure(file.path + " is HIP " + in_words(version) + ", and " + in_words(kOldest) +
                           " is the oldest that is used; update ROCm");
  }
  if (!file.missing.empty()) return Status::failure(file.path + " is no library of HIP: it lacks" + file.missing);
  if (int error = calls.library.init(0); error != 0)
    return Status::failure("hipInit: " + words(calls.library, error) + kMembers);
  Result<std::vector<Gpu>> gpus = find_gpus(calls.library);
  if (!gpus) return gpus.status();
  if (gpus->empty()) {
    return Status::failure("there is a driver, and no GPU for this process: does HIP_VISIBLE_DEVICES hide them?");
  }
  return std::unique_ptr<Driver>(std::make_unique<DriverOver<Calls>>(std::move(calls), std::move(*gpus)));
}

}  // namespace

bool is_installed() { return driver().ok() || has_library || ::access(kKernel, F_OK) == 0; }

const Result<Driver*>& driver() { return loaded_once<load>(); }

}  // namespace periapt::gpu::hip
