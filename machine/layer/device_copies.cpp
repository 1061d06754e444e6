#include "machine/layer/device_copies.h"

#include <utility>

namespace periapt::machine {
namespace {

Status no_driver() { return Status::failure("no driver of a GPU is in use in this process (periapt-doctor says why)"); }

Result<bool> as_begun(const Status& status) { return status ? Result<bool>(false) : Result<bool>(status); }

}  // namespace

struct DeviceCopies::UnderWay : ucx::Completion {
  OfPe& pe;
  Ended told;
  UnderWay(OfPe& of, Ended then) : pe(of), told(std::move(then)) {
    done = [](ucx::Completion& self, ucx::Outcome outcome) {
      const std::unique_ptr<UnderWay> ended(static_cast<UnderWay*>(&self));
      --ended->pe.under_way;
      ended->pe.ended.emplace_back(std::move(ended->told), outcome == ucx::Outcome::ok
                                                               ? Status()
                                                               : Status::failure(ended->pe.memory->failure()));
    };
  }
};

DeviceCopies::DeviceCopies(std::size_t pes, ucx::MakeDeviceMemory make, bool simulated)
    : make_(std::move(make)), simulated_(simulated), pes_(pes) {}

DeviceCopies::~DeviceCopies() = default;

ucx::DeviceMemory* DeviceCopies::memory(OfPe& pe) {
  if (!pe.asked && make_) pe.memory = make_();
  pe.asked = true;
  return pe.memory.get();
}

// True: there is nothing to be done, and nothing is told.
template <class Begin>
bool DeviceCopies::begin(std::size_t number, Ended ended, const Begin& begin_it) {
  OfPe& pe = pes_[number];
  ucx::DeviceMemory* const devices = memory(pe);
  if (devices == nullptr) {
    pe.ended.emplace_back(std::move(ended), no_driver());
    return false;
  }
  auto under_way = std::make_unique<UnderWay>(pe, std::move(ended));
  Result<bool> there = begin_it(*devices, *under_way);
  if (!there) {
    pe.ended.emplace_back(std::move(under_way->told), there.status());
    return false;
  }
  if (*there) return true;
  ++pe.under_way;
  static_cast<void>(under_way.release());
  return false;
}

void DeviceCopies::copy(std::size_t pe, ucx::Place to, ucx::Place from, std::uint64_t bytes, Ended ended) {
  begin(pe, std::move(ended), [&](ucx::DeviceMemory& devices, ucx::Completion& completion) {
    return as_begun(devices.copy(to, from, bytes, completion));
  });
}

bool DeviceCopies::when_reached(std::size_t pe, void* stream, ucx::Place place, Ended ended) {
  if (place.kind == ucx::MemoryKind::host && memory(pes_[pe]) == nullptr) return true;  // nothing can be working on it
  return begin(pe, std::move(ended), [&](ucx::DeviceMemory& devices, ucx::Completion& completion) {
    return devices.when_reached(stream, place, completion);
  });
}

void DeviceCopies::copy_when_reached(std::size_t pe, void* stream, ucx::Place to, ucx::Place from, std::uint64_t bytes,
                                     Ended ended) {
  begin(pe, std::move(ended), [&](ucx::DeviceMemory& devices, ucx::Completion& completion) {
    return as_begun(devices.copy_when_reached(stream, to, from, bytes, completion));
  });
}

ucx::MemoryKind DeviceCopies::kind_of(std::size_t pe, const void* address) {
  ucx::DeviceMemory* const devices = memory(pes_[pe]);
  return devices != nullptr ? devices->kind_of(address) : ucx::MemoryKind::host;
}

std::vector<std::byte> DeviceCopies::describe(std::size_t pe, ucx::Place place) {
  ucx::DeviceMemory* const devices = memory(pes_[pe]);
  return devices != nullptr ? devices->describe(place) : std::vector<std::byte>();
}

Result<ucx::Mapping> DeviceCopies::map(std::size_t pe, std::span<const std::byte> described, std::uint64_t address,
                                       std::uint64_t bytes, ucx::Place local) {
  ucx::DeviceMemory* const devices = memory(pes_[pe]);
  return devices != nullptr ? devices->map(described, address, bytes, local) : no_driver();
}

void DeviceCopies::pin(std::size_t pe, std::span<std::byte> pages, ucx::Place near) {
  if (ucx::DeviceMemory* const devices = memory(pes_[pe])) devices->pin(pages, near);
}

void DeviceCopies::poll(std::size_t number) {
  OfPe& pe = pes_[number];
  do {
    if (pe.under_way != 0) pe.memory->progress();
    for (const auto& [told, status] : std::exchange(pe.ended, {})) told(status);
  } while (simulated_ && is_busy(number));
}

bool DeviceCopies::is_busy(std::size_t pe) const { return pes_[pe].under_way != 0 || !pes_[pe].ended.empty(); }

}  // namespace periapt::machine
