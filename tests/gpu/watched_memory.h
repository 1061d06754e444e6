// DeviceMemory of a worker, of which a test may take some away, and the kinds of memory that messages go between.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "machine/gpu/vendors.h"
#include "machine/ucx-like/device_memory.h"

namespace periapt::gpu {

// What is sent in every combination of memory: how much, and how far behind the beginning of an allocation.
inline constexpr MemoryType kAll[] = {MemoryType::host,    MemoryType::pinned, MemoryType::device,
                                      MemoryType::managed, MemoryType::pool,   MemoryType::vmm};
inline constexpr std::uint64_t kLargest = 700'001, kOffset = 3;

struct Watched final : ucx::DeviceMemory {
  explicit Watched(std::unique_ptr<ucx::DeviceMemory> real, const bool& maps, const bool& shares = kYes)
      : real(std::move(real)), maps(maps), shares(shares) {}
  Status copy(ucx::Place to, ucx::Place from, std::uint64_t bytes, ucx::Completion& completion) override {
    return real->copy(to, from, bytes, completion);
  }
  Result<bool> when_reached(void* stream, ucx::Place memory, ucx::Completion& reached) override {
    return real->when_reached(stream, memory, reached);
  }
  Status copy_when_reached(void* stream, ucx::Place to, ucx::Place from, std::uint64_t bytes,
                           ucx::Completion& completion) override {
    return real->copy_when_reached(stream, to, from, bytes, completion);
  }
  ucx::MemoryKind kind_of(const void* address) override { return real->kind_of(address); }
  std::vector<std::byte> describe(ucx::Place memory) override { return real->describe(memory); }
  Result<ucx::Mapping> map(std::span<const std::byte> described, std::uint64_t address, std::uint64_t bytes,
                           ucx::Place local) override {
    if (!maps) return Status::failure("another process's, for this test");
    return real->map(described, address, bytes, local);
  }
  Result<ucx::Allocation> allocation_of(ucx::Place memory, std::uint64_t bytes) override {
    if (!shares) return Status::failure("no memory for other devices, for this test");
    return real->allocation_of(memory, bytes);
  }
  std::string folder_of(ucx::Place memory) override { return real->folder_of(memory); }
  Result<ucx::DmaBuf> share(const ucx::Allocation& allocation) override { return real->share(allocation); }
  void written_by_devices(const ucx::Allocation& allocation) override { real->written_by_devices(allocation); }
  void pin(std::span<std::byte> pages, ucx::Place near) override { real->pin(pages, near); }
  Result<ucx::Buffer> piece() override { return real->piece(); }
  std::uint64_t piece_bytes() const override { return real->piece_bytes(); }
  int progress() override { return real->progress(); }
  bool is_busy() const override { return real->is_busy(); }
  void finish() override { real->finish(); }
  const std::string& failure() const override { return real->failure(); }

  static constexpr bool kYes = true;
  std::unique_ptr<ucx::DeviceMemory> real;
  const bool& maps;    ///< false: as if it were another host's
  const bool& shares;  ///< false: other devices are given none
};

}  // namespace periapt::gpu
