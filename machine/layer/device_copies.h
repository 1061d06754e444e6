// DeviceCopies: what the PEs of a process copy from and to memory of GPUs, and wait for on streams. One a process; each
// PE has a DeviceMemory of its own (machine/ucx-like/device_memory.h), made when it first copies.
//
// All of it is called by the thread of the PE that is named, by its number in the process. What was begun ends in
// poll(), never inside another call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/device_memory.h"

namespace periapt::machine {

class DeviceCopies {
 public:
  using Ended = std::function<void(Status)>;

  DeviceCopies(std::size_t pes, ucx::MakeDeviceMemory make, bool simulated);
  ~DeviceCopies();

  /// One of the places at least is not the host's.
  void copy(std::size_t pe, ucx::Place to, ucx::Place from, std::uint64_t bytes, Ended ended);
  /// When a stream of the program's has done what it has been given so far. See DeviceMemory. true: it has already,
  /// and that is not told.
  bool when_reached(std::size_t pe, void* stream, ucx::Place memory, Ended ended);
  /// copy() then. `from`: not the host's; `bytes` is not 0.
  void copy_when_reached(std::size_t pe, void* stream, ucx::Place to, ucx::Place from, std::uint64_t bytes,
                         Ended ended);
  ucx::MemoryKind kind_of(std::size_t pe, const void* address);
  std::vector<std::byte> describe(std::size_t pe, ucx::Place memory);
  Result<ucx::Mapping> map(std::size_t pe, std::span<const std::byte> described, std::uint64_t address,
                           std::uint64_t bytes, ucx::Place local);
  /// See DeviceMemory.
  void pin(std::size_t pe, std::span<std::byte> pages, ucx::Place near);

  /// Tells what has ended. On a simulated machine, for which no time passes meanwhile, all ends now.
  void poll(std::size_t pe);
  /// Nothing tells of the end of what is under way: it has to be looked for.
  bool is_busy(std::size_t pe) const;

 private:
  struct UnderWay;
  struct OfPe {
    bool asked = false;  // for the memory
    std::unique_ptr<ucx::DeviceMemory> memory;
    std::size_t under_way = 0;
    std::vector<std::pair<Ended, Status>> ended;  // to be told
  };

  ucx::DeviceMemory* memory(OfPe& pe);
  template <class Begin>
  bool begin(std::size_t pe, Ended ended, const Begin& begin_it);

  const ucx::MakeDeviceMemory make_;
  const bool simulated_;
  std::vector<OfPe> pes_;
};

}  // namespace periapt::machine
