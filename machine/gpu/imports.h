// Memory of GPUs that other processes of this host have allocated, mapped here.
//
// Mapping costs far more than copying a message, so mappings are kept: by process and allocation, some of those that
// are not in use, the least recently used going first. An allocation that another one has taken the place of is found
// by its number, and its mapping goes.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// An allocation of a process, as it tells others of it; or a mapping of one, of which there is a file (files.h).
struct Export {
  IpcHandle handle{};         ///< of memory mapped by hand: a fabric's, where there is one
  std::uint64_t boot = 0;     ///< of its host (boot_number())
  std::uint64_t process = 0;  ///< this_process() there
  std::uint64_t buffer = 0;   ///< Memory::buffer there
  std::uint64_t begin = 0;    ///< its addresses there
  std::uint64_t size = 0;
  std::uint64_t by_hand = 0;  ///< how it is mapped, if it was mapped by hand: kByFile, kByFabric

  static constexpr std::uint64_t kByFile = 1;    ///< its process is asked for the file
  static constexpr std::uint64_t kByFabric = 2;  ///< where that does not reach, on other hosts of its NVLink domain too

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};
/// 120 bytes, with a check that finds what was cut or mangled.
std::vector<std::byte> pack(const Export& exported);
std::optional<Export> unpack(std::span<const std::byte> packed);
/// A number of this process that no other one has, nor has had.
std::uint64_t this_process();

/// One a process and driver: a handle may be opened once. Any thread may call it.
class Imports {
 public:
  /// The process's, which all workers share.
  static Imports& of(Driver& driver);
  explicit Imports(Driver& driver, std::size_t idle_most = 64) : driver_(driver), idle_most_(idle_most) {}
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;
  ~Imports();

  /// Where the allocation begins here, until release(). The first call for it maps it, at `gpu`. Of this process's own:
  /// where it is. A failure says why it cannot be mapped: its bytes have to go another way.
  Result<std::byte*> acquire(int gpu, const Export& exported);
  void release(const Export& exported);

  /// The GPU at which the memory that begins here was opened; nothing: it is this process's own.
  std::optional<int> opened_at(std::uintptr_t here) const;

  std::size_t mapped() const;
  std::uint64_t maps() const { return maps_; }  ///< made so far

 private:
  using Name = std::pair<std::uint64_t, std::uint64_t>;  ///< process, buffer
  struct Mapping {
    std::uint64_t begin = 0, size = 0;  ///< over there
    int gpu = 0;
    std::byte* here = nullptr;
    unsigned uses = 0;
    bool stale = false;
    std::list<Name>::iterator idle;
  };
  using Mappings = std::map<Name, Mapping>;

  std::byte* use_known(const Name& name);
  Result<int> ask(const Export& exported, std::unique_lock<std::mutex>& lock);
  Status may_ask(std::uint64_t process);
  void find_stale(const Export& exported);
  void unmap(Mappings::iterator at);

  Driver& driver_;
  const std::size_t idle_most_;
  mutable std::mutex mutex_;
  Mappings mappings_;
  std::list<Name> idle_;  ///< not in use, the least recently used first
  std::uint64_t maps_ = 0;
  std::map<std::uint64_t, std::uint64_t> silent_until_ns_;  ///< processes that have not answered, which costs a second
};

}  // namespace periapt::gpu
