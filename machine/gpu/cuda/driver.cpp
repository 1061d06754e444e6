#include "machine/gpu/cuda/driver.h"

#include <unistd.h>

#include <memory>
#include <mutex>

#include "base/loaded_library.h"
#include "machine/gpu/cuda/declarations.h"
#include "machine/gpu/driver_over.h"

namespace periapt::gpu::cuda {
namespace {

constexpr const char* kOther = "PERIAPT_LIBCUDA";
constexpr const char* kKernel = "/proc/driver/nvidia/version";  ///< there when the kernel has the driver
constexpr int kOldest = 11040;                                  // the last of the functions came with 11.4

std::string in_words(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

std::string words(const Functions& library, int error) {
  const char *said = nullptr, *name = nullptr;
  library.error_string(error, &said);
  library.error_name(error, &name);
  if (said == nullptr) return "error " + std::to_string(error);
  return std::string(said) + (name == nullptr ? "" : std::string(" (") + name + ")");
}

const NativeStream kOfProcess = reinterpret_cast<NativeStream>(1), kOfThread = reinterpret_cast<NativeStream>(2);

struct Calls {
  static constexpr const char* kVendor = "cuda";

  Functions library;
  int driver_version = 0;
  struct Primary {
    std::mutex mutex;
    Context context = nullptr;
  };
  std::unique_ptr<Primary[]> primaries;  ///< by GPU; each is retained at its first use, since it costs memory there

  std::string version() const { return in_words(driver_version); }
  std::string words(int error) const { return cuda::words(library, error); }
  static DevicePointer of(const void* address) { return reinterpret_cast<DevicePointer>(address); }

  DriverAnswer context_of(int gpu, Context* context) {
    Primary& primary = primaries[static_cast<std::size_t>(gpu)];
    std::lock_guard lock(primary.mutex);
    if (primary.context == nullptr) {
      Device device = 0;
      if (int error = library.device_get(&device, gpu); error != 0) return {error, "cuDeviceGet"};
      if (int error = library.retain_primary(&primary.context, device); error != 0) {
        primary.context = nullptr;
        return {error, "cuDevicePrimaryCtxRetain"};
      }
    }
    *context = primary.context;
    return {};
  }
  DriverAnswer enter(int gpu, void**) {
    Context context = nullptr;
    if (const DriverAnswer found = context_of(gpu, &context); found.error != 0) return found;
    return {library.push_context(context), "cuCtxPushCurrent"};
  }
  void leave(void*) {
    Context ours = nullptr;
    library.pop_context(&ours);
  }

  DriverAnswer ask(Question question, const void* address, void* data) {
    return {library.pointer_attribute(data, static_cast<int>(question), of(address)), "cuPointerGetAttribute"};
  }
  DriverAnswer range(const void* address, std::uintptr_t* begin, std::uint64_t* size) {
    const DriverAnswer answer = ask(Question::begin, address, begin);
    return answer.error != 0 ? answer : ask(Question::size, address, size);
  }
  bool is_device(unsigned type) const { return type == kMemoryTypeDevice; }
  bool is_mapped_by_hand(const void* address) {
    AllocationHandle handle = 0;
    if (library.retain_allocation(&handle, const_cast<void*>(address)) != 0) return false;
    library.release_allocation(handle);
    return true;
  }
  bool has_handles(const void* address, std::uint64_t type) {
    std::uint64_t types = 0;
    return ask(Question::handle_types, address, &types).error == 0 && (types & type) != 0;
  }
  bool gives_files(const void* address) { return has_handles(address, kPosixFile); }
  bool is_on_fabric(const void* address) { return has_handles(address, kFabric); }

  DriverAnswer allocate(MemoryType kind, void** made, std::uint64_t bytes) {
    if (kind == MemoryType::pinned) return {library.host_alloc(made, bytes, kHostPortable), "cuMemHostAlloc"};
    DevicePointer address = 0;
    DriverAnswer answer;
    if (kind == MemoryType::managed) {
      answer = {library.managed_alloc(&address, bytes, kManagedGlobal), "cuMemAllocManaged"};
    } else if (kind == MemoryType::pool) {
      answer = {library.pool_alloc(&address, bytes, nullptr), "cuMemAllocAsync"};
      if (answer.error == 0) answer = {library.stream_finish(nullptr), "cuStreamSynchronize"};
    } else {
      answer = {library.memory_alloc(&address, bytes), "cuMemAlloc"};
    }
    *made = reinterpret_cast<void*>(address);
    return answer;
  }
  DriverAnswer free(MemoryType kind, void* memory) {
    if (kind == MemoryType::pinned) return {library.host_free(memory), "cuMemFreeHost"};
    if (kind == MemoryType::pool) return {library.pool_free(of(memory), nullptr), "cuMemFreeAsync"};
    return {library.memory_free(of(memory)), "cuMemFree"};
  }
  DriverAnswer pin(void* memory, std::uint64_t bytes) {
    return {library.host_register(memory, bytes, kHostPortable), "cuMemHostRegister"};
  }
  DriverAnswer unpin(void* memory) { return {library.host_unregister(memory), "cuMemHostUnregister"}; }

  DriverAnswer gpu_of_stream(void* stream, int* gpu) {
    if (is_default_stream(stream)) {
      const int error = library.current_device(gpu);
      return {error == kNoContext ? 0 : error, "cuCtxGetDevice"};
    }
    Context context = nullptr;
    if (int error = library.stream_context(stream_of(stream), &context); error != 0) return {error, "cuStreamGetCtx"};
    if (int error = library.push_context(context); error != 0) return {error, "cuCtxPushCurrent"};
    const DriverAnswer answer{library.current_device(gpu), "cuCtxGetDevice"};
    leave(nullptr);
    return answer;
  }
  DriverAnswer make_stream(void** stream) {
    return {library.stream_create(reinterpret_cast<NativeStream*>(stream), kStreamNonBlocking), "cuStreamCreate"};
  }
  static NativeStream stream_of(void* native) { return static_cast<NativeStream>(native); }
  static NativeEvent event_of(void* native) { return static_cast<NativeEvent>(native); }
  DriverAnswer destroy_stream(void* stream) { return {library.stream_destroy(stream_of(stream)), "cuStreamDestroy"}; }
  DriverAnswer copy(void* to, const void* from, std::uint64_t bytes, void* stream) {
    return {library.copy_async(of(to), of(from), bytes, stream_of(stream)), "cuMemcpyAsync"};
  }
  DriverAnswer copy_rows(const CopiedRows& rows, void* stream) {
    RowsOfMemory copied{};
    copied.from_type = copied.to_type = kMemoryTypeUnified;
    copied.from = of(rows.from);
    copied.from_pitch = rows.from_stride;
    copied.to = of(rows.to);
    copied.to_pitch = rows.to_stride;
    copied.row_bytes = rows.bytes;
    copied.rows = rows.rows;
    return {library.copy_rows_async(&copied, stream_of(stream)), "cuMemcpy2DAsync"};
  }
  DriverAnswer wait_for(void* stream, void* event) {
    return {library.stream_wait(stream_of(stream), event_of(event), 0), "cuStreamWaitEvent"};
  }
  DriverAnswer capture_status(void* stream, int* status) {
    return {library.stream_capturing(stream_of(stream), status), "cuStreamIsCapturing"};
  }
  DriverAnswer finish(void* stream) { return {library.stream_finish(stream_of(stream)), "cuStreamSynchronize"}; }
  DriverAnswer finish_all() { return {library.context_finish(), "cuCtxSynchronize"}; }
  // A default stream waits for the process's, which waits for all that do not say otherwise. Asked about while one of
  // those is captured, the process's would break the capture: that it is captured is to be asked first, and does not.
  DriverAnswer query_stream(void* stream) {
    if (!is_default_stream(stream)) return {library.stream_query(stream_of(stream)), "cuStreamQuery"};
    int captured = 0;
    if (int error = library.stream_capturing(kOfProcess, &captured); error != 0) return {error, "cuStreamIsCapturing"};
    int error = library.stream_query(kOfProcess);
    if (error == 0 && stream == kOfThread) error = library.stream_query(kOfThread);
    return {error, "cuStreamQuery"};
  }
  DriverAnswer make_event(void** event, unsigned flags) {
    return {library.event_create(reinterpret_cast<NativeEvent*>(event), flags), "cuEventCreate"};
  }
  DriverAnswer destroy_event(void* event) { return {library.event_destroy(event_of(event)), "cuEventDestroy"}; }
  DriverAnswer record(void* event, void* stream) {
    return {library.event_record(event_of(event), stream_of(stream)), "cuEventRecord"};
  }
  DriverAnswer query(void* event) { return {library.event_query(event_of(event)), "cuEventQuery"}; }
  DriverAnswer elapsed(float* ms, void* begin, void* end) {
    return {library.event_elapsed(ms, event_of(begin), event_of(end)), "cuEventElapsedTime"};
  }

  static constexpr const char* kLoadModule = "cuModuleLoadData";
  DriverAnswer load_kernel(const void* image, const char* name, void** function) {
    Module module = nullptr;
    if (int error = library.module_load(&module, image); error != 0) return {error, kLoadModule};
    return {library.module_function(reinterpret_cast<Function*>(function), module, name), "cuModuleGetFunction"};
  }
  RunTimeCompiler compiler(int) const {
    return {"nvrtc",
            {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
            "PERIAPT_LIBNVRTC",
            "PTX",
            "--gpu-architecture=compute_75"};
  }
  DriverAnswer launch(void* function, unsigned blocks, unsigned threads, void* stream, void** arguments) {
    return {library.launch(static_cast<Function>(function), blocks, 1, 1, threads, 1, 1, 0, stream_of(stream),
                           arguments, nullptr),
            "cuLaunchKernel"};
  }
  DriverAnswer make_urgent_stream(void** stream) {
    int lowest = 0, highest = 0;
    if (int error = library.stream_priorities(&lowest, &highest); error != 0)
      return {error, "cuCtxGetStreamPriorityRange"};
    return {library.stream_create_at(reinterpret_cast<NativeStream*>(stream), kStreamNonBlocking, highest),
            "cuStreamCreateWithPriority"};
  }
  // A driver that does not know the question has none that says so.
  bool runs_processes_together(int gpu) {
    int yes = 0;
    Device device = 0;
    return library.device_get(&device, gpu) == 0 && library.device_attribute(&yes, kMpsEnabled, device) == 0 &&
           yes != 0;
  }
  bool is_of_ours(const void* address, int gpu) {
    Context theirs = nullptr, ours = nullptr;
    return ask(Question::context, address, &theirs).error == 0 && context_of(gpu, &ours).error == 0 && theirs == ours;
  }

  DriverAnswer can_reach(int* can, int gpu, int other) {
    return {library.can_access_peer(can, gpu, other), "cuDeviceCanAccessPeer"};
  }
  DriverAnswer reach(int other) {
    Context theirs = nullptr;
    if (const DriverAnswer found = context_of(other, &theirs); found.error != 0) return found;
    return {library.enable_peer(theirs, 0), "cuCtxEnablePeerAccess"};
  }
  // The driver has no name for it. GPUs do atomic operations on each other's memory over NVLink, and not over PCIe.
  std::string link_between(int gpu, int other) {
    int yes = 0;
    Device here = 0, there = 0;
    if (library.device_get(&here, gpu) != 0 || library.device_get(&there, other) != 0 ||
        library.peer_attribute(&yes, kPeerAtomics, here, there) != 0) {
      return {};
    }
    return yes != 0 ? "NVLink" : "PCIe";
  }
  DriverAnswer export_memory(std::byte* handle, void* begin) {
    return {library.ipc_export(reinterpret_cast<MemoryHandle*>(handle), of(begin)), "cuIpcGetMemHandle"};
  }
  DriverAnswer import_memory(void** found, const std::byte* handle) {
    MemoryHandle native;
    std::memcpy(&native, handle, sizeof(native));
    DevicePointer address = 0;
    const DriverAnswer answer = {library.ipc_import(&address, native, kIpcLazyPeers), "cuIpcOpenMemHandle"};
    *found = reinterpret_cast<void*>(address);
    return answer;
  }
  DriverAnswer forget(void* imported) { return {library.ipc_forget(of(imported)), "cuIpcCloseMemHandle"}; }

  bool has_attribute(int gpu, int attribute) {
    int yes = 0;
    Device device = 0;
    return library.device_get(&device, gpu) == 0 && library.device_attribute(&yes, attribute, device) == 0 && yes != 0;
  }
  std::string why_no_files(int gpu) {
    return has_attribute(gpu, kFilesSupported) ? "" : "its driver gives no files of memory that was mapped by hand";
  }
  // A driver that does not know the question has none.
  std::string why_no_fabric(int gpu) {
    return has_attribute(gpu, kFabricSupported)
               ? ""
               : "its driver gives no fabric handles; they want GPUs that are joined by "
                 "NVSwitches, and the fabric manager and the IMEX service running";
  }
  DriverAnswer export_by_hand(const void* mapping, void* into, int type) {
    AllocationHandle handle = 0;
    if (int error = library.retain_allocation(&handle, const_cast<void*>(mapping)); error != 0)
      return {error, "cuMemRetainAllocationHandle"};
    const int error = library.export_allocation(into, handle, type, 0);
    library.release_allocation(handle);
    return {error, "cuMemExportToShareableHandle"};
  }
  DriverAnswer import_by_hand(int gpu, void* named, int type, std::uint64_t size, void** found) {
    AllocationHandle handle = 0;
    if (int error = library.import_allocation(&handle, named, type); error != 0)
      return {error, "cuMemImportFromShareableHandle"};
    DevicePointer address = 0;
    DriverAnswer answer{library.reserve_addresses(&address, size, 0, 0, 0), "cuMemAddressReserve"};
    if (answer.error == 0) {
      answer = map_all(gpu, address, size, handle);
      if (answer.error != 0) library.free_addresses(address, size);
    }
    library.release_allocation(handle);  // the mapping keeps it
    *found = reinterpret_cast<void*>(address);
    return answer;
  }
  DriverAnswer open_file(const void* mapping, int* file) { return export_by_hand(mapping, file, kPosixFile); }
  DriverAnswer import_file(int gpu, int file, std::uint64_t size, void** found) {
    return import_by_hand(gpu, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), kPosixFile, size, found);
  }
  DriverAnswer export_to_fabric(const void* mapping, std::byte* handle) {
    return export_by_hand(mapping, handle, kFabric);
  }
  DriverAnswer import_from_fabric(int gpu, const std::byte* handle, std::uint64_t size, void** found) {
    IpcHandle named;
    std::memcpy(&named, handle, sizeof(named));
    return import_by_hand(gpu, &named, kFabric, size, found);
  }
  DriverAnswer map_all(int gpu, DevicePointer address, std::uint64_t size, AllocationHandle handle) {
    if (int error = library.map_allocation(address, size, 0, handle, 0); error != 0) return {error, "cuMemMap"};
    const MemoryAccess access{kOnDevice, gpu, kReadAndWrite};
    const int error = library.set_access(address, size, &access, 1);
    if (error != 0) library.unmap(address, size);
    return {error, "cuMemSetAccess"};
  }
  DriverAnswer forget_file(void* imported, std::uint64_t size) {
    if (int error = library.unmap(of(imported), size); error != 0) return {error, "cuMemUnmap"};
    return {library.free_addresses(of(imported), size), "cuMemAddressFree"};
  }

  std::string why_not_shared(int gpu) {
    if (library.range_handle == nullptr) {
      return "the driver, for CUDA " + version() + ", has no dma-buf; update it to one for CUDA 11.7 or newer";
    }
    int yes = 0;
    Device device = 0;
    if (library.device_get(&device, gpu) == 0 && library.device_attribute(&yes, kDmaBufSupported, device) == 0 &&
        yes != 0) {
      return {};
    }
    return "its driver has no dma-buf; it wants NVIDIA's open kernel modules, and Linux 5.12 or newer";
  }
  // The driver takes whole pages of the host's; an allocation may begin within one.
  DriverAnswer share(void* begin, std::uint64_t size, int* fd, std::uint64_t* offset) {
    const auto page = static_cast<DevicePointer>(::sysconf(_SC_PAGESIZE));
    const DevicePointer first = of(begin) / page * page, end = (of(begin) + size + page - 1) / page * page;
    *offset = of(begin) - first;
    return {library.range_handle(fd, first, end - first, kRangeAsDmaBuf, 0), "cuMemGetHandleForAddressRange"};
  }
  // Else cuMemcpy() of a program may return before its bytes are where an adapter would read them.
  DriverAnswer end_copies_in_time(void* begin) {
    const unsigned yes = 1;
    if (library.set_pointer_attribute == nullptr) return {};
    return {library.set_pointer_attribute(&yes, kSyncMemops, of(begin)), "cuPointerSetAttribute"};
  }
};
static_assert(sizeof(MemoryHandle) == sizeof(IpcHandle));

Result<std::vector<Gpu>> find_gpus(const Functions& library) {
  int count = 0;
  if (int error = library.device_count(&count); error != 0) {
    return Status::failure("cuDeviceGetCount: " + words(library, error));
  }
  std::vector<Gpu> gpus(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Gpu& gpu = gpus[static_cast<std::size_t>(i)];
    Device device = 0;
    Uuid uuid{};
    char name[256] = {}, pci[32] = {};
    std::size_t bytes = 0;
    int error = library.device_get(&device, i);
    if (error == 0) error = library.device_name(name, sizeof(name) - 1, device);
    if (error == 0) error = library.device_pci(pci, sizeof(pci) - 1, device);
    if (error == 0) error = library.device_uuid(&uuid, device);
    if (error == 0) error = library.device_bytes(&bytes, device);
    if (error != 0) return Status::failure("GPU " + std::to_string(i) + " cannot be asked: " + words(library, error));
    gpu.name = name;
    gpu.pci = pci;
    gpu.bytes = bytes;
    std::memcpy(gpu.uuid.data(), uuid.bytes, gpu.uuid.size());
  }
  return gpus;
}

Status not_loaded(const LoadedLibrary& file) {
  const bool kernel = ::access(kKernel, F_OK) == 0;
  if (!kernel) return Status::failure("no driver: " + file.fault);
  return Status::failure("the kernel has the driver, but " + file.unusable() +
                         "; install the driver's user libraries, or start the container with --gpus all");
}

bool has_library = false;

Result<std::unique_ptr<Driver>> load() {
  LoadedLibrary file({file_named_by(kOther, "libcuda.so.1")});
  if (!file.fault.empty()) return not_loaded(file);
  has_library = true;
  Calls calls;
#define PERIAPT_FIND(ours, theirs, arguments) file.find(calls.library.ours, #theirs);
  PERIAPT_CUDA_FUNCTIONS(PERIAPT_FIND)
#undef PERIAPT_FIND
  file.find_if_there(calls.library.range_handle, "cuMemGetHandleForAddressRange");
  file.find_if_there(calls.library.set_pointer_attribute, "cuPointerSetAttribute");
  int& version = calls.driver_version;
  const bool says = calls.library.driver_version != nullptr && calls.library.driver_version(&version) == 0;
  if (says && version < kOldest) {
    return Status::failure(file.path + " is a driver for CUDA " + in_words(version) + ", and " + in_words(kOldest) +
                           " is the oldest that is used; update the driver");
  }
  if (!file.missing.empty()) return Status::failure(file.path + " is no driver for CUDA: it lacks" + file.missing);
  if (int error = calls.library.init(0); error != 0) {
    return Status::failure("cuInit: " + words(calls.library, error) +
                           "; nvidia-smi says more, and containers want --gpus all");
  }
  Result<std::vector<Gpu>> gpus = find_gpus(calls.library);
  if (!gpus) return gpus.status();
  if (gpus->empty()) {
    return Status::failure("there is a driver, and no GPU for this process: does CUDA_VISIBLE_DEVICES hide them?");
  }
  calls.primaries = std::make_unique<Calls::Primary[]>(gpus->size());
  return std::unique_ptr<Driver>(std::make_unique<DriverOver<Calls>>(std::move(calls), std::move(*gpus)));
}

}  // namespace

bool is_installed() { return driver().ok() || has_library || ::access(kKernel, F_OK) == 0; }

const Result<Driver*>& driver() { return loaded_once<load>(); }

}  // namespace periapt::gpu::cuda
