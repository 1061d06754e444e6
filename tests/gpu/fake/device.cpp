#include "tests/gpu/fake/device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

namespace periapt::fake_gpu {
namespace {

constexpr std::uint64_t kReserved = std::uint64_t{1} << 38;
constexpr std::uint64_t kPage = 4096;

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
std::uint64_t page_of(std::uintptr_t address) { return address / kPage * kPage; }

std::string name_of_file(std::uint64_t id) { return "fake-gpu-" + std::to_string(id); }

void take(Settings& settings, const std::string& word) {
  const std::size_t sign = word.find('=');
  const std::string name = word.substr(0, sign);
  const struct {
    const char* name;
    std::int64_t* value;
  } known[] = {{"gpus", &settings.gpus},         {"delay", &settings.delay},
               {"ipc", &settings.ipc},           {"peers", &settings.peers},
               {"memory", &settings.memory},     {"pinned", &settings.pinned},
               {"kernels", &settings.kernels},   {"launches", &settings.launches},
               {"image", &settings.image_error}, {"compile", &settings.compile_error},
               {"warps", &settings.warps},       {"mps", &settings.mps},
               {"clock", &settings.clock},       {"touches", &settings.touches},
               {"salt", &settings.salt},         {"version", &settings.version},
               {"init", &settings.init_error},   {"copies", &settings.copies_until_loss},
               {"dma-buf", &settings.dma_buf},   {"begin", &settings.begin},
               {"pins", &settings.pins},         {"files", &settings.files},
               {"fabric", &settings.fabric},     {"capturing", &settings.capturing}};
  for (const auto& one : known) {
    if (name == one.name && sign != std::string::npos) *one.value = std::atoll(word.c_str() + sign + 1);
  }
}

}  // namespace

Machine& Machine::of_process() {
  static Machine& machine = *new Machine;
  static struct End {
    ~End() { machine.stop(); }
  } end;
  return machine;
}

// Threads that still run disturb what sanitizers do at the end of the process.
void Machine::stop() {
  std::lock_guard lock(mutex);
  settings.lost = 1;
  for (Stream* stream : streams_) {
    for (const Work& work : stream->work) {
      while (work.kernel != nullptr && work.kernel->has_begun() && !work.kernel->has_ended()) pass_time();
    }
    stream->work.clear();
  }
}

Machine::Machine() {
  if (const char* text = std::getenv("PERIAPT_FAKE_GPU")) {
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) take(settings, word);
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream numbers(visible == nullptr ? "" : visible);
  for (std::string number; std::getline(numbers, number, ',');) visible_.push_back(std::atoi(number.c_str()));
  for (int i = 0; visible == nullptr && i < settings.gpus; ++i) visible_.push_back(i);
  void* range = ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) std::abort();
  reserved_ = reinterpret_cast<std::uintptr_t>(range);
}

// ---- memory

// The lowest gap: what was freed comes back soon, under the address that it had.
std::uintptr_t Machine::place_for(std::uint64_t bytes) const {
  std::uintptr_t place = reserved_;
  if (!reservations_.empty()) place = reservations_.rbegin()->first + reservations_.rbegin()->second.bytes;
  for (auto at = allocations_.lower_bound(place); !reservations_.empty() && at != allocations_.end(); ++at) {
    if (at->first >= reserved_ + kReserved) break;
    place = whole_pages(at->first + at->second.size);  // behind all
  }
  if (!reservations_.empty()) return place;
  for (auto at = allocations_.lower_bound(reserved_); at != allocations_.end() && at->first < reserved_ + kReserved;
       ++at) {
    if (page_of(at->first) - place >= bytes) break;
    place = whole_pages(at->first + at->second.size);
  }
  return place;
}

int Machine::allocate(Kind kind, int gpu, std::uint64_t bytes, void** made, bool foreign) {
  if (settings.lost != 0) return kLost;
  if (bytes == 0) return kInvalidValue;
  std::int64_t& left = kind == Kind::pinned ? settings.pinned : settings.memory;
  if (static_cast<std::int64_t>(bytes) > left) return kOutOfMemory;
  Allocation allocation{kind, gpu, next_id_++, bytes, -1, nullptr, false, foreign};
  const bool touchable = kind == Kind::pinned || kind == Kind::managed;
  const std::uint64_t before = touchable ? 0 : static_cast<std::uint64_t>(settings.begin), all = before + bytes;
  allocation.file = ::memfd_create(name_of_file(allocation.id).c_str(), MFD_CLOEXEC);
  if (allocation.file < 0 || ::ftruncate(allocation.file, static_cast<off_t>(all)) != 0) return kOutOfMemory;
  void* mapped = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, allocation.file, 0);
  if (mapped == MAP_FAILED) return kOutOfMemory;
  left -= static_cast<std::int64_t>(bytes);
  allocation.bytes = static_cast<std::byte*>(mapped) + before;
  const std::uintptr_t begin =
      touchable ? reinterpret_cast<std::uintptr_t>(mapped) : place_for(whole_pages(all)) + before;
  allocations_[begin] = allocation;
  *made = reinterpret_cast<void*>(begin);
  return 0;
}

int Machine::free(void* memory) {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (at == allocations_.end()) return kInvalidValue;
  if (at->second.lent) return kInvalidValue;
  const Allocation gone = at->second;
  const std::uint64_t before = at->first % kPage;
  allocations_.erase(at);
  ::munmap(gone.bytes - before, gone.size + before);
  ::close(gone.file);
  if (!gone.imported)
    (gone.kind == Kind::pinned ? settings.pinned : settings.memory) += static_cast<std::int64_t>(gone.size);
  return 0;
}

int Machine::pin(int gpu, void* memory, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (settings.lost != 0) return kLost;
  if (settings.pins == 0) return kNotPermitted;
  if (bytes == 0 || begin % kPage != 0 || bytes % kPage != 0) return kInvalidValue;
  const auto next = allocations_.lower_bound(begin);
  if (find(memory) != nullptr || (next != allocations_.end() && next->first < begin + bytes)) return kAlreadyPinned;
  if (static_cast<std::int64_t>(bytes) > settings.pinned) return kOutOfMemory;
  settings.pinned -= static_cast<std::int64_t>(bytes);
  Allocation allocation{Kind::pinned, gpu, next_id_++, bytes, -1, static_cast<std::byte*>(memory), false, false};
  allocation.lent = true;
  allocations_[begin] = allocation;
  return 0;
}

int Machine::unpin(void* memory) {
  const auto at = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (at == allocations_.end() || !at->second.lent) return kNotPinned;
  settings.pinned += static_cast<std::int64_t>(at->second.size);
  allocations_.erase(at);
  return 0;
}

const Allocation* Machine::find(const void* address, std::uintptr_t* begin) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return nullptr;
  --next;
  if (at - next->first >= next->second.size) return nullptr;
  if (begin != nullptr) *begin = next->first;
  return &next->second;
}

std::byte* Machine::translate(const void* address, std::uint64_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::uintptr_t begin = 0;
  if (const Allocation* allocation = find(address, &begin)) {
    // Mappings side by side are so really, too.
    const Allocation* last = allocation;
    for (std::uintptr_t end = begin + allocation->size; bytes > end - at; end += last->size) {
      last = last->handle != 0 ? find(reinterpret_cast<const void*>(end)) : nullptr;
      if (last == nullptr) return nullptr;
    }
    return allocation->bytes + (at - begin);
  }
  const bool is_device = at - reserved_ < kReserved;
  return is_device ? nullptr : reinterpret_cast<std::byte*>(at);
}

// ---- streams

int Machine::copy(Stream* stream, void* to, const void* from, std::uint64_t bytes) {
  if (translate(to, bytes) == nullptr || translate(from, bytes) == nullptr) return kInvalidValue;
  // Memory of a pool, or mapped by hand, is another GPU's only where its owner has said so.
  for (const void* address : {static_cast<const void*>(to), from}) {
    const Allocation* found = find(address);
    if (found != nullptr && found->foreign) return kInvalidValue;
    if (found != nullptr && (found->kind == Kind::pool || found->kind == Kind::vmm) && found->gpu != stream->gpu)
      return kInvalidValue;
  }
  ++settings.copies;
  if (find(to) == nullptr || find(from) == nullptr) ++settings.pageable;
  Work work;
  work.to = static_cast<std::byte*>(to);
  work.from = static_cast<const std::byte*>(from);
  work.bytes = bytes;
  work.left = settings.delay;
  stream->work.push_back(work);
  return 0;
}

// One copy that is many pieces of work, done together.
int Machine::copy_rows(Stream* stream, Pitched to, Pitched from, std::uint64_t bytes, std::uint64_t rows) {
  constexpr std::uint64_t most = 0x7FFF'FFFF;
  if (to.pitch < bytes || from.pitch < bytes || to.pitch > most || from.pitch > most) return kInvalidValue;
  const std::int64_t before = settings.copies;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const int error = copy(stream, static_cast<std::byte*>(to.at) + i * to.pitch,
                           static_cast<const std::byte*>(from.at) + i * from.pitch, bytes);
    if (error != 0) return error;
    if (i != 0) stream->work.back().left = 0;
  }
  settings.copies = before + 1;
  ++settings.row_copies;
  return 0;
}

int Machine::call(Stream* stream, std::function<void()> function) {
  Work work;
  work.call = std::move(function);
  work.left = settings.delay;
  stream->work.push_back(std::move(work));
  return 0;
}

int Machine::record(Stream* stream, const std::shared_ptr<Event>& event) {
  *event = {true, false, 0, stream, event->timed};
  Work work;
  work.record = event;
  stream->work.push_back(work);
  return 0;
}

int Machine::wait(Stream* stream, const std::shared_ptr<Event>& event) {
  Work work;
  work.wait = event;
  stream->work.push_back(work);
  return 0;
}

int Machine::launch(Stream* stream, const KernelBody& body, const void* arguments) {
  if (settings.lost != 0) return kLost;
  if (settings.launches == 0) return kLaunchRefused;
  if (settings.launches > 0) --settings.launches;
  ++settings.launched;
  Work work;
  work.kernel = std::make_shared<Launch>(body, stream->gpu, arguments);
  stream->work.push_back(work);
  const std::shared_ptr<Launch> kernel = work.kernel;
  run(*stream, false);
  while (kernel->has_begun() && !kernel->has_met()) pass_time();
  return 0;
}

// For what kernels need the mutex for: to touch memory.
void Machine::pass_time() {
  mutex.unlock();
  std::this_thread::yield();
  mutex.lock();
}

// False: it is not done yet.
bool Machine::run(Launch& kernel, bool all) {
  if (!kernel.has_begun() && (settings.kernels != 0 || all)) {
    kernel.clock = settings.clock;
    kernel.begin(static_cast<unsigned>(std::max<std::int64_t>(settings.warps, 1)));
  }
  while (all && !kernel.has_ended()) pass_time();
  return kernel.has_ended();
}

bool Machine::may_touch(int gpu, const Allocation* found) const {
  if (found == nullptr || found->foreign) return false;
  if (found->kind == Kind::pinned || found->gpu == gpu) return true;
  if (found->imported) return false;
  return found->kind == Kind::device && reached[gpu][found->gpu];
}

bool Machine::is_lost() {
  std::lock_guard lock(mutex);
  return settings.lost != 0;
}

bool Machine::touch(int gpu, void* to, const void* from, void* unit, std::uint64_t bytes) {
  std::lock_guard lock(mutex);
  const void* const there = to != nullptr ? to : from;
  std::byte* const place = may_touch(gpu, find(there)) ? translate(there, bytes) : nullptr;
  if (place == nullptr || settings.touches == 0) settings.lost = 1;
  if (settings.touches > 0) --settings.touches;
  if (settings.lost != 0) return false;
  std::memcpy(to != nullptr ? place : static_cast<std::byte*>(unit), to != nullptr ? unit : place, bytes);
  return true;
}

int Machine::execute(Stream& stream, const Work& work) {
  if (work.record != nullptr) {
    work.record->reached = true;
    work.record->error = stream.error;
    work.record->ms = stream.ms;
    return 0;
  }
  if (work.call) {
    if (settings.lost != 0) return kLost;
    work.call();
    return 0;
  }
  if (work.kernel != nullptr) return settings.lost != 0 ? kLost : 0;
  if (work.bytes == 0) return 0;
  if (settings.copies_until_loss == 0) settings.lost = 1;
  if (settings.lost != 0) return kLost;
  if (settings.copies_until_loss > 0) --settings.copies_until_loss;
  std::byte* to = translate(work.to, work.bytes);
  const std::byte* from = translate(work.from, work.bytes);
  if (to == nullptr || from == nullptr) return kLost;  // freed meanwhile
  std::memmove(to, from, work.bytes);
  stream.ms += 1e-6 * static_cast<double>(work.bytes);
  return 0;
}

// Streams that wait for each other's events come back here for a stream that is being run: so its front is looked at
// anew.
void Machine::run(Stream& stream, bool all) {
  while (!stream.work.empty()) {
    Work& front = stream.work.front();
    if (!all && front.left > 0) {
      --front.left;
      return;
    }
    if (front.wait != nullptr && !front.wait->reached) {
      const std::shared_ptr<Event> event = front.wait;
      if (event->stream != &stream) run(*event->stream, all);
      if (!event->reached) return;
      continue;
    }
    if (front.kernel != nullptr) {
      const std::shared_ptr<Launch> kernel = front.kernel;
      if (!run(*kernel, all)) return;
    }
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    if (const int error = execute(stream, work); error != 0) stream.error = error;
  }
}

int Machine::query(Event& event) {
  if (!event.reached) run(*event.stream, false);
  if (!event.reached) return kNotReady;
  return event.error;
}

int Machine::elapsed(const Event& begin, const Event& end, float* ms) const {
  if (!begin.timed || !end.timed || !begin.recorded || !end.recorded) return kInvalidHandle;
  if (!begin.reached || !end.reached) return kNotReady;
  *ms = static_cast<float>(end.ms - begin.ms);
  return 0;
}

int Machine::query(Stream& stream) {
  run(stream, false);
  return !stream.work.empty() ? kNotReady : stream.error;
}

int Machine::finish(Stream* stream) {
  ++settings.waits;
  run(*stream, true);
  return stream->error;
}

int Machine::finish_all(int gpu) {
  ++settings.waits;
  int error = 0;
  for (Stream* stream : streams_) {
    if (stream->gpu != gpu) continue;
    run(*stream, true);
    if (stream->error != 0) error = stream->error;
  }
  return error;
}

void Machine::destroy(Stream* stream) {
  run(*stream, true);
  streams_.erase(stream);
  delete stream;
}

// ---- other processes

int Machine::export_memory(const void* memory, Handle* handle) {
  if (settings.ipc == 0) return kNotPermitted;
  std::uintptr_t begin = 0;
  const Allocation* allocation = find(memory, &begin);
  if (allocation == nullptr || allocation->kind != Kind::device || allocation->imported) return kInvalidValue;
  if (begin % kPage != 0) return kNotPermitted;
  *handle = {::getpid(), allocation->file, allocation->id, allocation->size, physical(allocation->gpu), {}};
  return 0;
}

int Machine::import_memory(int gpu, const Handle& handle, void** made) {
  if (settings.ipc == 0) return kMapFailed;
  if (handle.process == ::getpid()) return kInvalidContext;
  const auto owner = std::find(visible_.begin(), visible_.end(), handle.physical);
  if (owner == visible_.end()) return kInvalidDevice;
  if (imported_.count(handle.id) != 0) return kAlreadyMapped;
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  char link[128] = {};
  if (::readlink(path.c_str(), link, sizeof(link) - 1) < 0 ||
      std::string(link).find("memfd:" + name_of_file(handle.id) + " ") == std::string::npos) {
    return kInvalidValue;  // it was freed
  }
  Allocation allocation{Kind::device, gpu,  next_id_++, handle.size, ::open(path.c_str(), O_RDWR | O_CLOEXEC),
                        nullptr,      true, false};
  if (allocation.file < 0) return kMapFailed;
  allocation.owner = static_cast<int>(owner - visible_.begin());
  void* mapped = ::mmap(nullptr, handle.size, PROT_READ | PROT_WRITE, MAP_SHARED, allocation.file, 0);
  if (mapped == MAP_FAILED) return kMapFailed;
  allocation.bytes = static_cast<std::byte*>(mapped);
  const std::uintptr_t begin = place_for(whole_pages(handle.size));
  allocations_[begin] = allocation;
  imported_[handle.id] = begin;
  ++settings.imports;
  *made = reinterpret_cast<void*>(begin);
  return 0;
}

int Machine::share(const void* pages, std::uint64_t bytes, int* file) {
  if (settings.dma_buf != 1) return kNotSupported;
  const auto begin = reinterpret_cast<std::uintptr_t>(pages);
  const auto at = allocations_.lower_bound(begin);
  if (at == allocations_.end() || page_of(at->first) != begin) return kInvalidValue;
  const Allocation& found = at->second;
  if (whole_pages(at->first - begin + found.size) != bytes || found.imported) return kInvalidValue;
  if (found.kind != Kind::device && found.kind != Kind::vmm) return kNotSupported;
  *file = ::fcntl(found.file, F_DUPFD_CLOEXEC, 0);
  ++settings.shared;
  return *file < 0 ? kOutOfMemory : 0;
}

int Machine::forget(void* memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (auto at = imported_.begin(); at != imported_.end(); ++at) {
    if (at->second != begin) continue;
    imported_.erase(at);
    --settings.imports;
    return free(memory);
  }
  return kInvalidValue;
}

}  // namespace periapt::fake_gpu
