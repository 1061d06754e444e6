#include "machine/gpu/device_memory.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/this_host.h"
#include "machine/gpu/copies.h"
#include "machine/gpu/files.h"
#include "machine/gpu/imports.h"
#include "machine/gpu/kind_cache.h"
#include "machine/gpu/pinned_pool.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {
namespace {

using ucx::Buffer;
using ucx::Completion;
using ucx::Mapping;
using ucx::MemoryKind;
using ucx::Outcome;
using ucx::Place;

// Pieces of one copy that are under way at a time.
constexpr std::size_t kFlights = 8;

// How the engine calls memory that a vendor's driver knows.
MemoryKind in_engine(std::size_t vendor, MemoryType kind) {
  if (kind == MemoryType::host || kind == MemoryType::pinned) return MemoryKind::host;
  return kind == MemoryType::managed ? vendors()[vendor].managed : vendors()[vendor].on_device;
}

// What travels: an Export, and whose GPU it is.
struct Description {
  Export exported;
  std::uint8_t vendor = 0;
  bool has_handle = false;
  bool is_written = false;  ///< by other devices: not for couriers
  std::array<std::uint8_t, 16> uuid{};
};

std::vector<std::byte> pack(const Description& description) {
  std::vector<std::byte> packed = pack(description.exported);
  packed.push_back(std::byte{description.vendor});
  packed.push_back(static_cast<std::byte>(description.has_handle | description.is_written << 1));
  for (std::uint8_t byte : description.uuid) packed.push_back(std::byte{byte});
  return packed;
}

std::optional<Description> unpack_description(std::span<const std::byte> packed) {
  Description description;
  constexpr std::size_t kTail = 2 + sizeof(description.uuid);
  if (packed.size() < kTail) return std::nullopt;
  const std::span<const std::byte> tail = packed.last(kTail);
  const std::optional<Export> exported = unpack(packed.first(packed.size() - kTail));
  if (!exported.has_value() || std::to_integer<std::size_t>(tail[0]) >= vendors().size()) return std::nullopt;
  description.exported = *exported;
  description.vendor = std::to_integer<std::uint8_t>(tail[0]);
  description.has_handle = (tail[1] & std::byte{1}) != std::byte{0};
  description.is_written = (tail[1] & std::byte{2}) != std::byte{0};
  std::memcpy(description.uuid.data(), tail.data() + 2, sizeof(description.uuid));
  return description;
}

/// What one vendor's driver does for a worker.
struct OfVendor {
  OfVendor(std::size_t number, Driver& driver, CourierUse courier)
      : number(number),
        driver(driver),
        imports(Imports::of(driver)),
        kinds(driver, &imports),
        copies(driver, courier) {}

  /// At the GPU that they are first needed for.
  PinnedPool& pool(std::unique_ptr<PinnedPool>& one, int gpu, const DeviceMemorySettings& settings) {
    if (one == nullptr) one = std::make_unique<PinnedPool>(driver, gpu, settings.piece_bytes, settings.pieces);
    return *one;
  }

  const std::size_t number;
  Driver& driver;
  Imports& imports;
  KindCache kinds;
  std::unique_ptr<PinnedPool> lent, own;
  Copies copies;
  std::map<std::uint64_t, Description> described;  ///< by Memory::buffer
};

/// A place, and what drivers say of it.
struct Seen {
  std::byte* at = nullptr;
  OfVendor* vendor = nullptr;  ///< whose driver knows it; nullptr: pageable memory of the host
  Memory memory;

  bool on_gpu() const { return vendor != nullptr && memory.kind != MemoryType::pinned; }
  int gpu() const { return on_gpu() ? std::max(memory.gpu, 0) : -1; }
  // The courier, which runs already, might not see what an adapter has written.
  Touch touch() const {
    if (!memory.open || vendor->driver.may_be_written(memory.buffer)) return Touch::none;
    if (memory.kind == MemoryType::pinned) return Touch::any;
    return memory.kind == MemoryType::device && !memory.imported ? Touch::peers : Touch::own;
  }
};

class GpuMemory final : public ucx::DeviceMemory {
 public:
  GpuMemory(const DeviceMemorySettings& settings, std::vector<std::unique_ptr<OfVendor>> vendors)
      : settings_(settings), vendors_(std::move(vendors)) {}
  ~GpuMemory() override;

  Status copy(Place to, Place from, std::uint64_t bytes, Completion& completion) override;
  Result<bool> when_reached(void* stream, Place memory, Completion& reached) override {
    return await(stream, {}, memory, 0, reached);
  }
  Status copy_when_reached(void* stream, Place to, Place from, std::uint64_t bytes, Completion& completion) override;
  MemoryKind kind_of(const void* address) override;
  std::vector<std::byte> describe(Place memory) override;
  Result<Mapping> map(std::span<const std::byte> described, std::uint64_t address, std::uint64_t bytes,
                      Place local) override;
  Result<ucx::Allocation> allocation_of(Place memory, std::uint64_t bytes) override;
  std::string folder_of(Place memory) override;
  Result<ucx::DmaBuf> share(const ucx::Allocation& allocation) override;
  void written_by_devices(const ucx::Allocation& allocation) override;
  void pin(std::span<std::byte> pages, Place near) override;
  Result<Buffer> piece() override;
  std::uint64_t piece_bytes() const override { return settings_.piece_bytes; }
  int progress() override;
  bool is_busy() const override;
  void finish() override;
  const std::string& failure() const override;

 private:
  /// A copy from or to pageable memory, or between GPUs that do not reach each other's.
  struct Staged {
    Seen to, from;
    std::uint64_t bytes = 0, begun = 0, ended = 0;
    std::size_t flights = 0;
    bool failed = false;
    Completion* told = nullptr;
    bool has_ended() const { return flights == 0 && (failed || ended == bytes); }
  };
  struct Flight : Completion {
    GpuMemory* owner = nullptr;
    Staged* whole = nullptr;
    Buffer piece;
    std::uint64_t offset = 0, bytes = 0;
    bool on_pinned = false;  ///< its second copy, from there to a GPU, is under way
    std::list<Flight>::iterator at;

    Copy from_pinned() const {
      const Seen& to = whole->to;
      return {to.at + offset, piece.data(), bytes, to.gpu(), -1, nullptr, to.touch(), Touch::any};
    }
  };
  struct Reached {
    OfVendor* vendor;
    void* stream;
    Event event;
    Completion* told;
    Place to, from;  ///< of so many bytes that are copied then
    std::uint64_t bytes = 0;
  };

  Result<Seen> look(Place place, std::uint64_t bytes = 0);
  Result<Seen> seen_or_look(Place place, std::uint64_t bytes = 0);
  Result<Seen> with_room(const Seen& seen, std::uint64_t bytes);
  void use(const Seen& seen);
  static Status export_by_handle(const Seen& seen, Export& exported);
  static Status export_by_hand(const Seen& seen, Export& exported);
  OfVendor* vendor_of(MemoryKind kind) {
    const auto found = std::find_if(vendors_.begin(), vendors_.end(), [&](const auto& vendor) {
      return gpu::vendors()[vendor->number].on_device == kind;
    });
    return found != vendors_.end() ? found->get() : nullptr;
  }
  Status failed(Status status) {
    failure_ = status.message();
    return status;
  }
  Result<bool> await(void* stream, Place to, Place from, std::uint64_t bytes, Completion& completion);
  bool carry_few(Place to, Place from, std::uint64_t bytes, Completion& completion);
  Status copy_as_seen(Place to, Place from, std::uint64_t bytes, Completion& completion);
  int begin_given_back(OfVendor& vendor);
  Status copy_staged(const Seen& to, const Seen& from, std::uint64_t bytes, Completion& completion);
  static bool reach_each_other(const Seen& one, const Seen& other);
  bool advance(Staged& staged);
  Status fly(Staged& staged, Buffer piece);
  static void landed(Completion& self, Outcome outcome);
  int tell_staged();
  int tell_reached();

  const DeviceMemorySettings settings_;
  std::vector<std::unique_ptr<OfVendor>> vendors_;
  std::list<Staged> staged_;
  std::list<Flight> flights_;
  std::vector<Reached> reached_;
  std::vector<std::pair<OfVendor*, void*>> busy_streams_;  // that a look has found so
  struct Pinned {
    OfVendor* vendor = nullptr;  ///< nullptr: its driver has refused
    int gpu = 0;
  };
  std::map<std::byte*, Pinned> pinned_;  ///< pages, by their begins
  std::vector<Completion*> done_;        ///< within the call that began it
  OfVendor* last_ = nullptr;             ///< whose memory came last
  int last_gpu_ = 0;
  Seen seen_;  ///< by kind_of() or map(), for the next call, which is about the same
  std::string failure_;
};

// A user who says that memory is a GPU's is not believed: it may have been freed.
Result<Seen> GpuMemory::look(Place place, std::uint64_t bytes) {
  for (const auto& vendor : vendors_) {
    Result<Memory> found = vendor->kinds.look(place.at);
    if (!found) return found.status();
    if (found->kind == MemoryType::host) continue;
    const Seen seen{place.at, vendor.get(), *found};
    return with_room(seen, bytes);
  }
  if (place.kind == MemoryKind::host) return Seen{place.at, nullptr, {}};
  return unknown_memory(place.at);
}

Result<Seen> GpuMemory::with_room(const Seen& seen, std::uint64_t bytes) {
  use(seen);
  const std::uint64_t room = seen.memory.begin + seen.memory.size - reinterpret_cast<std::uintptr_t>(seen.at);
  if (bytes <= room) return seen;
  return Status::failure(std::to_string(bytes) + " bytes of an allocation that ends " + std::to_string(room) +
                         " bytes after the address");
}

// What was asked about just now is not asked about again.
Result<Seen> GpuMemory::seen_or_look(Place place, std::uint64_t bytes) {
  if (seen_.vendor == nullptr || seen_.at != place.at) return look(place, bytes);
  return with_room(std::exchange(seen_, {}), bytes);
}

// A few bytes between memory of a GPU and of the host, by a courier, to which it is all the same what that of the host
// is. False: none takes them.
bool GpuMemory::carry_few(Place to, Place from, std::uint64_t bytes, Completion& completion) {
  const bool to_host = to.kind == MemoryKind::host;
  if (bytes > Courier::kFew || to_host == (from.kind == MemoryKind::host)) return false;
  const Result<Seen> seen = seen_or_look(to_host ? from : to, bytes);
  if (!seen || !seen->on_gpu()) return false;
  const Copy copy = to_host ? Copy{to.at, from.at, bytes, -1, seen->gpu(), nullptr, Touch::any, seen->touch()}
                            : Copy{to.at, from.at, bytes, seen->gpu(), -1, nullptr, seen->touch(), Touch::any};
  if (seen->vendor->copies.carry(copy, completion)) return true;
  seen_ = *seen;
  return false;
}

Status GpuMemory::copy(Place to, Place from, std::uint64_t bytes, Completion& completion) {
  if (bytes == 0) {
    done_.push_back(&completion);
    return {};
  }
  if (carry_few(to, from, bytes, completion)) return {};
  return copy_as_seen(to, from, bytes, completion);
}

// A few bytes that a courier has taken and not copied.
int GpuMemory::begin_given_back(OfVendor& vendor) {
  int told = 0;
  for (const Copies::GivenBack& one : vendor.copies.take_given_back()) {
    const MemoryKind on_device = vendors()[vendor.number].on_device;
    const Place to{static_cast<std::byte*>(one.copy.to), one.copy.to_gpu < 0 ? MemoryKind::host : on_device};
    const Place from{static_cast<std::byte*>(const_cast<void*>(one.copy.from)),
                     one.copy.from_gpu < 0 ? MemoryKind::host : on_device};
    if (copy_as_seen(to, from, one.copy.bytes, *one.completion)) continue;
    ++told;
    one.completion->done(*one.completion, Outcome::failed);
  }
  return told;
}

// As the drivers know both sides: pageable memory goes through pinned pieces.
Status GpuMemory::copy_as_seen(Place to, Place from, std::uint64_t bytes, Completion& completion) {
  Result<Seen> target = seen_or_look(to, bytes), source = seen_or_look(from, bytes);
  seen_ = {};
  if (!target || !source) return failed(target ? source.status() : target.status());
  if (!target->on_gpu() && !source->on_gpu()) {
    std::memcpy(to.at, from.at, bytes);
    done_.push_back(&completion);
    return {};
  }
  OfVendor& vendor = target->on_gpu() ? *target->vendor : *source->vendor;
  if (target->vendor == &vendor && source->vendor == &vendor && reach_each_other(*target, *source)) {
    const bool within = target->gpu() == source->gpu() && !target->memory.imported && !source->memory.imported;
    Status begun = vendor.copies.begin(
        {to.at, from.at, bytes, target->gpu(), source->gpu(), nullptr, target->touch(), source->touch(), within},
        completion);
    return begun ? begun : failed(begun);
  }
  if (target->on_gpu() && source->on_gpu() && target->vendor != source->vendor) {
    return failed(Status::failure("a copy between GPUs of two vendors: their drivers know only their own"));
  }
  return copy_staged(*target, *source, bytes, completion);
}

// Memory of a pool, or mapped by hand, is open to another GPU only where the program has said so.
bool GpuMemory::reach_each_other(const Seen& one, const Seen& other) {
  const auto is_closed = [](const Seen& seen) {
    return seen.memory.kind == MemoryType::pool || seen.memory.kind == MemoryType::vmm;
  };
  return !one.on_gpu() || !other.on_gpu() || one.gpu() == other.gpu() || (!is_closed(one) && !is_closed(other));
}

// ---- through pinned pieces

Status GpuMemory::copy_staged(const Seen& to, const Seen& from, std::uint64_t bytes, Completion& completion) {
  Staged& staged = staged_.emplace_back();
  staged.to = to;
  staged.from = from;
  staged.bytes = bytes;
  staged.told = &completion;
  if (staged_.size() == 1) advance(staged);  // else those before it come first
  if (!staged.failed || staged.flights != 0) return {};
  staged_.pop_back();
  return Status::failure(failure_);
}

// False: there is no piece for it now.
bool GpuMemory::advance(Staged& staged) {
  OfVendor& vendor = *(staged.to.on_gpu() ? staged.to : staged.from).vendor;
  PinnedPool& pool = vendor.pool(vendor.own, std::max(staged.to.gpu(), staged.from.gpu()), settings_);
  while (!staged.failed && staged.begun < staged.bytes && staged.flights < kFlights) {
    Result<Buffer> piece = pool.take();
    if (piece && !*piece) return false;
    Status flies = piece ? fly(staged, std::move(*piece)) : piece.status();
    if (!flies) {
      staged.failed = true;
      failure_ = flies.message();
    }
  }
  return true;
}

Status GpuMemory::fly(Staged& staged, Buffer piece) {
  OfVendor& vendor = *(staged.to.on_gpu() ? staged.to : staged.from).vendor;
  Flight& flight = flights_.emplace_front();
  flight.done = landed;
  flight.owner = this;
  flight.whole = &staged;
  flight.at = flights_.begin();
  flight.offset = staged.begun;
  flight.bytes = std::min(settings_.piece_bytes, staged.bytes - staged.begun);
  flight.piece = std::move(piece);
  std::byte* const pinned = flight.piece.data();
  Copy copy{pinned,
            staged.from.at + flight.offset,
            flight.bytes,
            -1,
            staged.from.gpu(),
            nullptr,
            Touch::any,
            staged.from.touch()};
  if (!staged.from.on_gpu()) {
    std::memcpy(pinned, copy.from, flight.bytes);
    flight.on_pinned = true;
    copy = flight.from_pinned();
  }
  Status begun = vendor.copies.begin(copy, flight);
  if (!begun) {
    flights_.pop_front();
    return begun;
  }
  staged.begun += flight.bytes;
  ++staged.flights;
  return {};
}

void GpuMemory::landed(Completion& self, Outcome outcome) {
  auto& flight = static_cast<Flight&>(self);
  Staged& staged = *flight.whole;
  GpuMemory& owner = *flight.owner;
  OfVendor& vendor = *(staged.to.on_gpu() ? staged.to : staged.from).vendor;
  if (outcome == Outcome::ok && staged.to.on_gpu() && !flight.on_pinned) {
    flight.on_pinned = true;
    const Status begun = vendor.copies.begin(flight.from_pinned(), flight);
    if (begun) return;
    owner.failure_ = begun.message();
    outcome = Outcome::failed;
  }
  --staged.flights;
  if (outcome != Outcome::ok) {
    staged.failed = true;
  } else {
    if (!staged.to.on_gpu()) std::memcpy(staged.to.at + flight.offset, flight.piece.data(), flight.bytes);
    staged.ended += flight.bytes;
  }
  owner.flights_.erase(flight.at);
}

int GpuMemory::tell_staged() {
  int told = 0;
  bool has_pieces = true;
  for (auto at = staged_.begin(); at != staged_.end();) {
    if (has_pieces) has_pieces = advance(*at);
    if (!at->has_ended()) {
      ++at;
      continue;
    }
    const Staged ended = *at;
    at = staged_.erase(at);
    ++told;
    ended.told->done(*ended.told, ended.failed ? Outcome::failed : Outcome::ok);
  }
  return told;
}

// ---- streams of the program's

Status GpuMemory::copy_when_reached(void* stream, Place to, Place from, std::uint64_t bytes, Completion& completion) {
  const Result<bool> there = await(stream, to, from, bytes, completion);
  if (!there) return there.status();
  return *there ? copy(to, from, bytes, completion) : Status();
}

// true: the stream has done what it was given. Else so many bytes are copied when it has, before the completion.
Result<bool> GpuMemory::await(void* stream, Place to, Place from, std::uint64_t bytes, Completion& reached) {
  Result<Seen> seen = from.at == nullptr ? Seen{nullptr, vendor_of(from.kind), {}} : seen_or_look(from);
  seen_ = {};
  if (!seen) return failed(seen.status());
  OfVendor* vendor = seen->vendor;
  if (vendor == nullptr) return true;
  // Most streams have nothing to do, and that is known soonest without an event.
  const int near = std::max(seen->memory.gpu, 0);
  const bool is_first = std::none_of(reached_.begin(), reached_.end(), [&](const Reached& one) {
    return one.vendor == vendor && one.stream == stream;
  });  // those that wait for a stream are told in their order
  if (Result<bool> idle = is_first ? vendor->driver.is_idle({stream, near}) : Result<bool>(false); idle && *idle) {
    if (from.at != nullptr) seen_ = *seen;  // the next call is about the same
    return true;
  }
  const Result<int> streams = vendor->driver.gpu_of_stream(stream);
  if (!streams) return failed(streams.status());
  const int gpu = *streams >= 0 ? *streams : near;
  Result<Event> event = vendor->copies.take_event(gpu);
  if (!event) return failed(event.status());
  if (Status recorded = vendor->driver.record(*event, {stream, gpu}); !recorded) {
    vendor->copies.give_event(*event);
    return failed(recorded);
  }
  reached_.push_back({vendor, stream, *event, &reached, to, from, bytes});
  return false;
}

// Of one stream in their order: a later one may be there by the time it is asked for, and the one before was not yet.
int GpuMemory::tell_reached() {
  int told = 0;
  busy_streams_.clear();
  for (std::size_t i = 0; i < reached_.size();) {
    const Reached one = reached_[i];
    const std::pair<OfVendor*, void*> stream{one.vendor, one.stream};
    const bool is_behind = std::find(busy_streams_.begin(), busy_streams_.end(), stream) != busy_streams_.end();
    const Result<bool> there = is_behind ? Result<bool>(false) : one.vendor->driver.reached(one.event);
    if (there && !*there) {
      if (!is_behind) busy_streams_.push_back(stream);
      ++i;
      continue;
    }
    if (!there) failure_ = there.message();
    one.vendor->copies.give_event(one.event);
    reached_.erase(reached_.begin() + static_cast<std::ptrdiff_t>(i));
    if (there && one.bytes != 0 && copy(one.to, one.from, one.bytes, *one.told)) continue;
    const bool is_well = there && one.bytes == 0;
    ++told;
    one.told->done(*one.told, is_well ? Outcome::ok : Outcome::failed);
  }
  return told;
}

// ---- other processes

MemoryKind GpuMemory::kind_of(const void* address) {
  seen_ = {};
  for (const auto& vendor : vendors_) {
    Result<Memory> found = vendor->kinds.look(address);
    if (!found) continue;
    if (found->kind == MemoryType::host) continue;
    seen_ = {static_cast<std::byte*>(const_cast<void*>(address)), vendor.get(), *found};
    return in_engine(vendor->number, found->kind);
  }
  return MemoryKind::host;
}

void GpuMemory::use(const Seen& seen) {
  if (!seen.on_gpu()) return;
  last_ = seen.vendor;
  last_gpu_ = seen.gpu();
}

std::vector<std::byte> GpuMemory::describe(Place place) {
  Result<Seen> seen = seen_or_look(place);
  seen_ = {};
  if (!seen || !seen->on_gpu()) return {};
  const Memory& memory = seen->memory;
  OfVendor& vendor = *seen->vendor;
  const bool is_written = vendor.driver.may_be_written(memory.buffer);
  if (auto known = vendor.described.find(memory.buffer); known != vendor.described.end()) {
    known->second.is_written = is_written;
    return pack(known->second);
  }
  Description description;
  description.is_written = is_written;
  description.exported = {{}, boot_number(), this_process(), memory.buffer, memory.begin, memory.size, 0};
  description.vendor = static_cast<std::uint8_t>(vendor.number);
  description.uuid = vendor.driver.gpus()[static_cast<std::size_t>(seen->gpu())].uuid;
  if (!memory.exportable && memory.kind != MemoryType::vmm) return pack(description);
  const Status may = memory.kind == MemoryType::vmm ? export_by_hand(*seen, description.exported)
                                                    : export_by_handle(*seen, description.exported);
  if (!may) log::detail(may.message());
  description.has_handle = may.ok();
  if (vendor.described.size() >= 4096) vendor.described.clear();
  vendor.described[memory.buffer] = description;
  return pack(description);
}

Status GpuMemory::export_by_handle(const Seen& seen, Export& exported) {
  Result<IpcHandle> handle = seen.vendor->driver.export_memory(seen.memory);
  if (handle) exported.handle = *handle;
  return handle ? Status() : handle.status();
}

// By its file, by the fabric, or by both. A message that several mappings hold goes through pinned pieces: each would
// be a file.
Status GpuMemory::export_by_hand(const Seen& seen, Export& exported) {
  Driver& driver = seen.vendor->driver;
  if (!seen.memory.exportable && !seen.memory.on_fabric) {
    const Status may = driver.may_give_files(seen.gpu());
    return Status::failure("memory of GPU " + std::to_string(seen.gpu()) +
                           " that was mapped by hand goes through pinned memory to other processes: " +
                           (may ? "it was not made with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR" : may.message()));
  }
  const Result<Driver::Mapped> mapped = driver.mapping_of(seen.memory, seen.at);
  if (!mapped) return mapped.status();
  exported.begin = mapped->begin;
  exported.size = mapped->size;
  Status why_not;
  if (seen.memory.exportable) {
    why_not = give_files(driver);
    if (why_not) exported.by_hand |= Export::kByFile;
  }
  if (seen.memory.on_fabric) {
    const Result<IpcHandle> handle = driver.export_to_fabric(reinterpret_cast<const void*>(mapped->begin));
    if (handle) {
      exported.handle = *handle;
      exported.by_hand |= Export::kByFabric;
    } else {
      why_not = handle.status();
    }
  }
  return exported.by_hand != 0 ? Status() : why_not;
}

// A mapping is made for the GPU that is to copy: through another one's it would not be reached directly.
Result<Mapping> GpuMemory::map(std::span<const std::byte> described, std::uint64_t address, std::uint64_t bytes,
                               Place local) {
  const std::optional<Description> description = unpack_description(described);
  if (!description.has_value() || !description->exported.holds(address, bytes)) {
    return Status::failure("what describes a GPU's memory is damaged, or does not hold all of it");
  }
  const auto found = std::find_if(vendors_.begin(), vendors_.end(),
                                  [&](const auto& vendor) { return vendor->number == description->vendor; });
  const Vendor& named = vendors()[description->vendor];
  if (found == vendors_.end()) return Status::failure(std::string(named.title) + " is not in use in this process");
  const Export& exported = description->exported;
  if (exported.process == this_process()) {
    return Mapping{std::shared_ptr<std::byte>(std::shared_ptr<void>(), reinterpret_cast<std::byte*>(address)),
                   named.on_device};
  }
  if (!description->has_handle) return Status::failure("memory that has no handle for other processes");
  OfVendor& vendor = **found;
  const std::vector<Gpu>& gpus = vendor.driver.gpus();
  const auto owner =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.uuid == description->uuid; });
  const int owners = owner == gpus.end() ? last_gpu_ : static_cast<int>(owner - gpus.begin());
  const Result<Seen> copies = look(local);
  const int gpu = copies && copies->vendor == &vendor && copies->on_gpu() ? copies->gpu() : owners;
  Result<std::byte*> here = vendor.imports.acquire(gpu, exported);
  if (!here) {
    log::detail(here.message());
    return here.status();
  }
  if (description->is_written) written_by_devices({*here, 0, 0});
  if (copies && copies->vendor != nullptr) seen_ = *copies;
  const auto forget = [exported, &imports = vendor.imports](std::byte*) { imports.release(exported); };
  return Mapping{std::shared_ptr<std::byte>(*here + (address - exported.begin), forget), named.on_device};
}

// ---- other devices

Result<ucx::Allocation> GpuMemory::allocation_of(Place place, std::uint64_t bytes) {
  if (!settings_.for_devices) return Status::failure("kernels read it while they run");
  Result<Seen> seen = look(place, bytes);
  if (!seen) return seen.status();
  const Memory& memory = seen->memory;
  // What a pool gives out anew keeps its number: nothing would say that the memory was freed. Each mapping by hand has
  // one of its own (seen on H200), but has not been tried.
  if (seen->vendor == nullptr || memory.imported || memory.kind != MemoryType::device) {
    return Status::failure(
        (memory.imported ? "memory of another process" : std::string("memory of kind ") + name_of(memory.kind)) +
        " is not given to other devices");
  }
  return ucx::Allocation{reinterpret_cast<std::byte*>(memory.begin), memory.size, memory.buffer};
}

std::string GpuMemory::folder_of(Place place) {
  const Result<Seen> seen = look(place);
  if (!seen || !seen->on_gpu()) return {};
  return gpu::folder_of(seen->vendor->driver.gpus()[static_cast<std::size_t>(seen->gpu())], settings_.pci_folder);
}

Result<ucx::DmaBuf> GpuMemory::share(const ucx::Allocation& allocation) {
  Result<Seen> seen = look({allocation.begin, MemoryKind::cuda});
  return seen ? seen->vendor->driver.share(seen->memory) : Result<ucx::DmaBuf>(seen.status());
}

void GpuMemory::written_by_devices(const ucx::Allocation& allocation) {
  if (Result<Seen> seen = look({allocation.begin, MemoryKind::cuda}))
    seen->vendor->driver.written_by_devices(seen->memory);
}

// ---- all of it

GpuMemory::~GpuMemory() {
  finish();
  for (const auto& [pages, by] : pinned_)
    if (by.vendor != nullptr) static_cast<void>(by.vendor->driver.unpin(by.gpu, pages));
}

void GpuMemory::pin(std::span<std::byte> pages, Place near) {
  const auto [at, is_new] = pinned_.try_emplace(pages.data());
  if (!is_new) return;
  const Result<Seen> seen = look(near);
  if (!seen || !seen->on_gpu()) return static_cast<void>(pinned_.erase(at));  // of a call that will say what is wrong
  const int gpu = seen->gpu();
  if (const Status pinned = seen->vendor->driver.pin(gpu, pages.data(), pages.size()); !pinned) {
    log::detail(pinned.message() + "; bytes of GPUs are copied once more on their way to other processes");
    return;
  }
  at->second = {seen->vendor, gpu};
}

Result<Buffer> GpuMemory::piece() {
  OfVendor& vendor = last_ != nullptr ? *last_ : *vendors_.front();
  return vendor.pool(vendor.lent, last_gpu_, settings_).take();
}

// Asked by completions, too, while their copies tell their end.
const std::string& GpuMemory::failure() const {
  for (const auto& vendor : vendors_)
    if (!vendor->copies.failure().empty()) return vendor->copies.failure();
  return failure_;
}

int GpuMemory::progress() {
  int told = 0;
  seen_ = {};  // the program may have freed it since
  for (const auto& vendor : vendors_) told += vendor->copies.progress() + begin_given_back(*vendor);
  if (!staged_.empty()) told += tell_staged();
  if (!reached_.empty()) told += tell_reached();
  for (Completion* completion : std::exchange(done_, {})) {
    ++told;
    completion->done(*completion, Outcome::ok);
  }
  return told;
}

bool GpuMemory::is_busy() const {
  return !staged_.empty() || !reached_.empty() || !done_.empty() ||
         std::any_of(vendors_.begin(), vendors_.end(),
                     [](const auto& vendor) { return vendor->copies.under_way() != 0; });
}

void GpuMemory::finish() {
  for (const auto& vendor : vendors_) vendor->copies.finish();
  for (const Reached& one : reached_) one.vendor->copies.give_event(one.event);
  reached_.clear();
  staged_.clear();
  flights_.clear();
  done_.clear();
}

}  // namespace

std::unique_ptr<ucx::DeviceMemory> make_device_memory(const DeviceMemorySettings& settings) {
  std::vector<std::unique_ptr<OfVendor>> in_use;
  const std::vector<Driver*> found = drivers();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != nullptr) in_use.push_back(std::make_unique<OfVendor>(i, *found[i], settings.courier));
  }
  if (in_use.empty()) return nullptr;
  return std::make_unique<GpuMemory>(settings, std::move(in_use));
}

ucx::MemoryKind kind_of(const void* address) {
  const std::vector<Driver*> found = drivers();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == nullptr) continue;
    const Result<Memory> memory = found[i]->look(address);
    if (!memory) continue;
    if (const MemoryKind kind = in_engine(i, memory->kind); kind != MemoryKind::host) return kind;
  }
  return ucx::MemoryKind::host;
}

}  // namespace periapt::gpu
