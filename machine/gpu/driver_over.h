// What both vendors' drivers do alike, over the calls of one: their functions go by other names and argument types, and
// mean the same. `Calls` makes each call and says its name; here stands what is made of the answers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu/run_time_compiler.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// What a function of a driver's library has answered.
struct DriverAnswer {
  int error = 0;
  const char* function = "";
};

/// Numbers of errors and of questions about an address, which are the same for both.
inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoCurrent = 201, kNoImage = 209, kNotReady = 600,
                     kAlreadyReached = 704, kNotSupported = 801;
inline constexpr unsigned kEventWithTiming = 0, kEventWithoutTiming = 2;  ///< flags of an event
enum class Question : int {
  context = 1,
  memory_type = 2,
  on_gpu = 3,
  buffer = 7,
  is_managed = 8,
  gpu = 9,
  legacy_ipc = 10,
  begin = 11,
  size = 12,
  handle_types = 14,
  pool = 17
};

template <class Calls>
class DriverOver final : public Driver {
 public:
  DriverOver(Calls calls, std::vector<Gpu> gpus) : calls_(std::move(calls)), gpus_(std::move(gpus)) {}

  const char* vendor() const override { return Calls::kVendor; }
  std::string version() const override { return calls_.version(); }
  const std::vector<Gpu>& gpus() const override { return gpus_; }

  Result<std::uint64_t> buffer_of(const void* address) override {
    std::uint64_t id = 0;
    const DriverAnswer answer = calls_.ask(Question::buffer, address, &id);
    if (answer.error == kInvalidValue) return std::uint64_t{0};
    if (answer.error != 0) return failed(answer);
    return id;
  }

  Result<Memory> look(const void* address) override {
    Result<std::uint64_t> buffer = buffer_of(address);
    if (!buffer || *buffer == 0) return buffer ? Result<Memory>(Memory{}) : buffer.status();
    Memory memory;
    memory.buffer = *buffer;
    unsigned type = 0, managed = 0;
    if (DriverAnswer answer = calls_.ask(Question::memory_type, address, &type); answer.error != 0)
      return failed(answer);
    if (DriverAnswer answer = calls_.ask(Question::gpu, address, &memory.gpu); answer.error != 0) return failed(answer);
    memory.made_for = memory.gpu;
    if (DriverAnswer answer = calls_.range(address, &memory.begin, &memory.size); answer.error != 0)
      return failed(answer);
    if (calls_.ask(Question::is_managed, address, &managed).error == 0 && (managed & 0xFF) != 0) {
      memory.kind = MemoryType::managed;
    } else if (!calls_.is_device(type)) {
      memory.kind = MemoryType::pinned;
      memory.gpu = -1;
    } else {
      memory.kind = kind_on_device(address, memory);
    }
    memory.open = is_open(address, memory);
    return memory;
  }

  Result<std::byte*> allocate(int gpu, MemoryType kind, std::uint64_t bytes) override {
    void* made = nullptr;
    const DriverAnswer answer = at(gpu, [&] { return calls_.allocate(kind, &made, bytes); });
    if (answer.error == 0) return static_cast<std::byte*>(made);
    return failed(answer, gpu, " (of " + std::to_string(bytes) + " bytes, " + name_of(kind) + ")");
  }
  Status free(int gpu, MemoryType kind, std::byte* memory) override {
    return done(at(gpu, [&] { return calls_.free(kind, memory); }), gpu);
  }

  Status pin(int gpu, std::byte* memory, std::uint64_t bytes) override {
    const DriverAnswer answer = at(gpu, [&] { return calls_.pin(memory, bytes); });
    if (answer.error == 0) return {};
    return failed(answer, gpu, " (of " + std::to_string(bytes) + " bytes)");
  }
  Status unpin(int gpu, std::byte* memory) override {
    return done(at(gpu, [&] { return calls_.unpin(memory); }), gpu);
  }

  Result<Stream> make_stream(int gpu) override {
    Stream stream{nullptr, gpu};
    const DriverAnswer answer = at(gpu, [&] { return calls_.make_stream(&stream.native); });
    return answer.error == 0 ? Result<Stream>(stream) : failed(answer, gpu);
  }
  void destroy(Stream stream) override {
    at(stream.gpu, [&] { return calls_.destroy_stream(stream.native); });
  }
  Result<int> gpu_of_stream(void* native) override {
    int gpu = -1;
    const DriverAnswer answer = calls_.gpu_of_stream(native, &gpu);
    return answer.error == 0 ? Result<int>(gpu) : failed(answer);
  }
  Status copy(Stream stream, void* to, const void* from, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    return done(at(stream.gpu, [&] { return calls_.copy(to, from, bytes, stream.native); }), stream.gpu);
  }
  Status copy_rows(Stream stream, const CopiedRows& rows) override {
    return done(at(stream.gpu, [&] { return calls_.copy_rows(rows, stream.native); }), stream.gpu);
  }
  Status wait_for(Stream stream, Event event) override {
    return done(at(stream.gpu, [&] { return calls_.wait_for(stream.native, event.native); }), stream.gpu);
  }
  Result<bool> is_idle(Stream stream) override {
    const DriverAnswer answer = anywhere(stream.gpu, [&] { return calls_.query_stream(stream.native); });
    if (answer.error == kNotReady) return false;
    return answer.error == 0 ? Result<bool>(true) : failed(answer, stream.gpu);
  }
  Result<bool> is_captured(Stream stream) override {
    int status = 0;
    const DriverAnswer answer = at(stream.gpu, [&] { return calls_.capture_status(stream.native, &status); });
    return answer.error == 0 ? Result<bool>(status != 0) : failed(answer, stream.gpu);
  }
  Status finish(Stream stream) override {
    return done(at(stream.gpu, [&] { return calls_.finish(stream.native); }), stream.gpu);
  }

  Status finish_all(int gpu) override {
    return done(at(gpu, [&] { return calls_.finish_all(); }), gpu);
  }

  Result<Kernel> load_kernel(int gpu, const KernelCode& code, const char* name) override {
    Kernel kernel{nullptr, gpu};
    DriverAnswer loaded{kNoImage, Calls::kLoadModule};
    if (!code.image.empty())
      loaded = at(gpu, [&] { return calls_.load_kernel(code.image.data(), name, &kernel.native); });
    if (loaded.error == 0) return kernel;
    if (!code.image.empty() && loaded.error != kNoImage) return failed(loaded, gpu);
    Result<std::string> compiled = compile(code, calls_.compiler(gpu));
    if (!compiled) return compiled.status();
    loaded = at(gpu, [&] { return calls_.load_kernel(compiled->data(), name, &kernel.native); });
    return loaded.error == 0 ? Result<Kernel>(kernel) : failed(loaded, gpu);
  }
  Status launch(Stream stream, Kernel kernel, unsigned blocks, unsigned threads, void** arguments) override {
    return done(at(stream.gpu, [&] { return calls_.launch(kernel.native, blocks, threads, stream.native, arguments); }),
                stream.gpu);
  }
  Result<Stream> make_urgent_stream(int gpu) override {
    Stream stream{nullptr, gpu};
    const DriverAnswer answer = at(gpu, [&] { return calls_.make_urgent_stream(&stream.native); });
    return answer.error == 0 ? Result<Stream>(stream) : failed(answer, gpu);
  }
  bool runs_processes_together(int gpu) override { return calls_.runs_processes_together(gpu); }

  Result<Event> make_event(int gpu) override { return event_with(gpu, kEventWithoutTiming); }
  Result<Event> make_timed_event(int gpu) override { return event_with(gpu, kEventWithTiming); }
  void destroy(Event event) override {
    at(event.gpu, [&] { return calls_.destroy_event(event.native); });
  }
  Status record(Event event, Stream stream) override {
    return done(at(stream.gpu, [&] { return calls_.record(event.native, stream.native); }), stream.gpu);
  }
  Result<bool> reached(Event event) override {
    const DriverAnswer answer = anywhere(event.gpu, [&] { return calls_.query(event.native); });
    if (answer.error == kNotReady) return false;
    return answer.error == 0 ? Result<bool>(true) : failed(answer, event.gpu);
  }
  Result<double> seconds_between(Event begin, Event end) override {
    float ms = 0;
    const DriverAnswer answer = at(end.gpu, [&] { return calls_.elapsed(&ms, begin.native, end.native); });
    return answer.error == 0 ? Result<double>(1e-3 * static_cast<double>(ms)) : failed(answer, end.gpu);
  }

  Status reach(int gpu, int other) override {
    int can = 0;
    if (Status asked = done(calls_.can_reach(&can, gpu, other), gpu); !asked) return asked;
    const std::string whom = "GPU " + std::to_string(gpu) + " cannot read the memory of GPU " + std::to_string(other);
    if (can == 0) return Status::failure(whom + " directly: the bus or a virtual machine does not allow it");
    const DriverAnswer answer = at(gpu, [&] { return calls_.reach(other); });
    return answer.error == kAlreadyReached ? Status() : done(answer, gpu);
  }
  std::string link_between(int gpu, int other) override { return calls_.link_between(gpu, other); }
  Result<IpcHandle> export_memory(const Memory& memory) override {
    if (!memory.exportable || memory.kind == MemoryType::vmm) {
      return Status::failure(std::string("memory of kind ") + name_of(memory.kind) +
                             " has no handle for other processes");
    }
    IpcHandle handle{};
    const DriverAnswer answer =
        at(memory.gpu, [&] { return calls_.export_memory(handle.data(), reinterpret_cast<void*>(memory.begin)); });
    return answer.error == 0 ? Result<IpcHandle>(handle) : failed(answer, memory.gpu);
  }
  Result<std::byte*> import_memory(int gpu, const IpcHandle& handle) override {
    void* found = nullptr;
    const DriverAnswer answer = at(gpu, [&] { return calls_.import_memory(&found, handle.data()); });
    return answer.error == 0 ? Result<std::byte*>(static_cast<std::byte*>(found)) : failed(answer, gpu);
  }
  Status forget(int gpu, std::byte* imported) override {
    std::uint64_t by_file = 0;
    {
      const std::lock_guard lock(by_file_mutex_);
      if (const auto found = by_file_.find(imported); found != by_file_.end()) {
        by_file = found->second;
        by_file_.erase(found);
      }
    }
    return done(at(gpu, [&] { return by_file != 0 ? calls_.forget_file(imported, by_file) : calls_.forget(imported); }),
                gpu);
  }

  // Numbers tell mappings apart, and nothing tells where one begins.
  Result<Mapped> mapping_of(const Memory& memory, const void* address) override {
    constexpr std::uint64_t kUnit = 64 << 10;  // no driver maps less at a time
    const std::uint64_t units = memory.size / kUnit;
    const std::uint64_t here = (reinterpret_cast<std::uintptr_t>(address) - memory.begin) / kUnit;
    const auto is_its = [&](std::uint64_t unit) {
      const Result<std::uint64_t> buffer = buffer_of(reinterpret_cast<const void*>(memory.begin + unit * kUnit));
      return buffer && *buffer == memory.buffer;
    };
    if (memory.buffer == 0 || !is_its(here)) return Status::failure("memory that is not mapped any more");
    std::uint64_t first = here, before = 0, last = here, behind = units;  // in [before, first] it begins
    while (before < first) {
      const std::uint64_t middle = before + (first - before) / 2;
      if (is_its(middle)) {
        first = middle;
      } else {
        before = middle + 1;
      }
    }
    while (last + 1 < behind) {
      const std::uint64_t middle = last + (behind - last) / 2;
      (is_its(middle) ? last : behind) = middle;
    }
    return Mapped{memory.begin + first * kUnit, (last + 1 - first) * kUnit};
  }
  Status may_give_files(int gpu) override {
    const std::string why_not = calls_.why_no_files(gpu);
    return why_not.empty() ? Status() : Status::failure("GPU " + std::to_string(gpu) + ": " + why_not);
  }
  Result<int> open_file(const void* mapping) override {
    int file = -1, gpu = 0;
    if (const DriverAnswer answer = calls_.ask(Question::gpu, mapping, &gpu); answer.error != 0) return failed(answer);
    const DriverAnswer answer = at(gpu, [&] { return calls_.open_file(mapping, &file); });
    return answer.error == 0 ? Result<int>(file) : failed(answer, gpu);
  }
  Result<std::byte*> import_file(int gpu, int file, std::uint64_t size) override {
    void* found = nullptr;
    const DriverAnswer answer = at(gpu, [&] { return calls_.import_file(gpu, file, size, &found); });
    return mapped_by_hand(answer, gpu, found, size);
  }

  Status may_use_fabric(int gpu) override {
    const std::string why_not = calls_.why_no_fabric(gpu);
    return why_not.empty() ? Status() : Status::failure("GPU " + std::to_string(gpu) + ": " + why_not);
  }
  Result<IpcHandle> export_to_fabric(const void* mapping) override {
    IpcHandle handle{};
    int gpu = 0;
    if (const DriverAnswer answer = calls_.ask(Question::gpu, mapping, &gpu); answer.error != 0) return failed(answer);
    const DriverAnswer answer = at(gpu, [&] { return calls_.export_to_fabric(mapping, handle.data()); });
    return answer.error == 0 ? Result<IpcHandle>(handle) : failed(answer, gpu);
  }
  Result<std::byte*> import_from_fabric(int gpu, const IpcHandle& handle, std::uint64_t size) override {
    void* found = nullptr;
    const DriverAnswer answer = at(gpu, [&] { return calls_.import_from_fabric(gpu, handle.data(), size, &found); });
    return mapped_by_hand(answer, gpu, found, size);
  }

  Status may_share(int gpu) override {
    const std::string why_not = calls_.why_not_shared(gpu);
    return why_not.empty() ? Status() : Status::failure("GPU " + std::to_string(gpu) + ": " + why_not);
  }
  Result<ucx::DmaBuf> share(const Memory& memory) override {
    if (Status may = may_share(memory.gpu); !may) return may;
    int fd = -1;
    std::uint64_t offset = 0;
    const DriverAnswer answer =
        at(memory.gpu, [&] { return calls_.share(reinterpret_cast<void*>(memory.begin), memory.size, &fd, &offset); });
    if (answer.error != 0) return failed(answer, memory.gpu);
    return ucx::DmaBuf(fd, offset);
  }
  void written_by_devices(const Memory& memory) override {
    if (may_be_written(memory.buffer)) return;
    at(memory.gpu, [&] { return calls_.end_copies_in_time(reinterpret_cast<void*>(memory.begin)); });
    const std::lock_guard lock(written_mutex_);
    if (written_.size() >= written_most_) {
      std::erase_if(written_, [this](const auto& one) {
        const Result<std::uint64_t> now = buffer_of(reinterpret_cast<const void*>(one.second));
        return !now || *now != one.first;
      });
      written_most_ = std::max(kWrittenLeast, 2 * written_.size());
    }
    written_.emplace(memory.buffer, memory.begin);
    any_written_.store(true, std::memory_order_release);
  }
  bool may_be_written(std::uint64_t buffer) override {
    if (!any_written_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(written_mutex_);
    return written_.count(buffer) != 0;
  }

 private:
  Result<std::byte*> mapped_by_hand(const DriverAnswer& answer, int gpu, void* found, std::uint64_t size) {
    if (answer.error != 0) return failed(answer, gpu);
    const std::lock_guard lock(by_file_mutex_);
    by_file_[static_cast<std::byte*>(found)] = size;
    return static_cast<std::byte*>(found);
  }
  Result<Event> event_with(int gpu, unsigned flags) {
    Event event{nullptr, gpu};
    const DriverAnswer answer = at(gpu, [&] { return calls_.make_event(&event.native, flags); });
    return answer.error == 0 ? Result<Event>(event) : failed(answer, gpu);
  }

  // Asked in the order in which one answer rules out the next: what has an old handle is neither of a pool nor mapped.
  MemoryType kind_on_device(const void* address, Memory& memory) {
    unsigned legacy = 0;
    void* pool = nullptr;
    const bool knows = calls_.ask(Question::legacy_ipc, address, &legacy).error == 0;
    memory.exportable = knows && (legacy & 0xFF) != 0;
    if (memory.exportable) return MemoryType::device;
    if (calls_.ask(Question::pool, address, &pool).error == 0 && pool != nullptr) return MemoryType::pool;
    if (calls_.is_mapped_by_hand(address)) {
      memory.exportable = calls_.gives_files(address);
      memory.on_fabric = calls_.is_on_fabric(address) && calls_.why_no_fabric(memory.gpu).empty();
      return MemoryType::vmm;
    }
    memory.exportable = !knows;  // a library that cannot say so is asked by trying
    return MemoryType::device;
  }

  // What a context of the program's own has made, kernels of ours cannot see; what is managed would be moved.
  bool is_open(const void* address, const Memory& memory) {
    if (memory.kind == MemoryType::pool) return true;
    if (memory.kind == MemoryType::device) return calls_.is_of_ours(address, memory.gpu);
    void* there = nullptr;
    return memory.kind == MemoryType::pinned && calls_.ask(Question::on_gpu, address, &there).error == 0 &&
           there == address;
  }

  template <class Call>
  DriverAnswer at(int gpu, Call call) {
    if (gpu < 0 || static_cast<std::size_t>(gpu) >= gpus_.size()) return {kInvalidValue, "the number of a GPU"};
    void* before = nullptr;
    if (const DriverAnswer entered = calls_.enter(gpu, &before); entered.error != 0) return entered;
    const DriverAnswer answer = call();
    calls_.leave(before);
    return answer;
  }
  /// For what says by itself which GPU it is about: needs one to be current for the thread, whichever.
  template <class Call>
  DriverAnswer anywhere(int gpu, Call call) {
    const DriverAnswer answer = call();
    return answer.error == kNoCurrent ? at(gpu, call) : answer;
  }
  Status failed(DriverAnswer answer, int gpu = -1, const std::string& what = {}) const {
    return Status::failure(answer.function + what + (gpu < 0 ? std::string() : " on GPU " + std::to_string(gpu)) +
                           ": " + calls_.words(answer.error));
  }
  Status done(DriverAnswer answer, int gpu) const { return answer.error == 0 ? Status() : failed(answer, gpu); }

  Calls calls_;
  std::vector<Gpu> gpus_;
  std::mutex by_file_mutex_;
  std::map<std::byte*, std::uint64_t> by_file_;  ///< bytes of what import_file() and import_from_fabric() have mapped
  static constexpr std::size_t kWrittenLeast = 1024;
  std::mutex written_mutex_;
  std::map<std::uint64_t, std::uintptr_t>
      written_;                               ///< numbers of allocations that devices may write, and their begins
  std::size_t written_most_ = kWrittenLeast;  ///< then those that were freed are looked for
  std::atomic<bool> any_written_{false};
};

/// What `load` answers the first time, for all times.
template <Result<std::unique_ptr<Driver>> (*load)()>
const Result<Driver*>& loaded_once() {
  static const Result<std::unique_ptr<Driver>> owner = load();
  static const Result<Driver*> loaded = owner ? Result<Driver*>(owner.value().get()) : owner.status();
  return loaded;
}

}  // namespace periapt::gpu
