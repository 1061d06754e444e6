// OneSided: get and put between memory of this process and memory that a process of the run has registered. One a
// process.
//
// How the bytes go depends on where the other memory is:
//   in this process                  copied at once
//   in another process of this host  copied at once where it lies in the arena, which both have mapped;
//                                    else copied by the kernel, where a try has shown that it does that;
//                                    else by the other process, which is asked to copy into or out of the arena
//                                    (a request, sent as a block to one of its PEs)
//   on another host                  by Net, with what its transport has
//   on a simulated node              by requests, which take virtual time
// Where one of the two is memory of a GPU (device_copies.h):
//   in this process                  copied by the GPU
//   in another process of this host  copied by the GPU where it can be mapped by what describes it;
//                                    else by requests, and each process copies its own into or out of the stage of
//                                    the PE that asks, which is pinned
//   on another host                  by Net
//
// The end of a transfer is an event of the PE that asked: Transfer::done is called from poll(), never from inside
// another call. What can go wrong is a Status: memory that was deregistered, a range outside of it, a process that has
// gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/layout.h"
#include "machine/host/arena.h"
#include "machine/host/inbox.h"
#include "machine/host/keys.h"
#include "machine/layer/device_copies.h"
#include "machine/layer/memory_key.h"
#include "machine/ucx-like/transport.h"

namespace periapt::machine {

class Net;
class OneSided;

/// Which processes may use a key.
enum class Audience : std::uint8_t {
  host,  ///< processes of this host only: costs next to nothing
  run,   ///< all processes of the run
};

/// Are the bytes of a transfer there when the call that began it returns? Its event comes later in any case, but for
/// when_reached().
enum class TransferStatus : std::uint8_t { complete, pending };

/// A get or put under way. Lives in the caller's own object, which outlives it.
class Transfer {
 public:
  void (*done)(Transfer& self, const Status& status) = nullptr;
  /// What describe() said of the other memory where it is: it can be mapped by that. Empty: then its bytes are brought.
  std::span<const std::byte> described;

 private:
  friend class OneSided;
  OneSided* owner_ = nullptr;
  Status status_;
  int pe_ = -1;
  bool is_put_ = false;
  ucx::MemoryKind kind_ = ucx::MemoryKind::host;  // of the local memory
  ucx::MemoryKind remote_kind_ = ucx::MemoryKind::host;
  std::shared_ptr<std::byte> mapping_;  // of the other memory
  std::byte* local_ = nullptr;
  std::uint64_t remote_ = 0, size_ = 0, key_ = 0;
  int process_ = -1;
  std::uint64_t asked_ = 0;   // bytes that requests were sent for
  unsigned outstanding_ = 0;  // requests that have not been answered
};

/// What a process tells the others of its host; at the start of its first PE's slice. Zero at first.
struct OneSidedWords {
  std::atomic<host::KeyTable*> keys;
  std::atomic<std::uint64_t> cookie_at;  ///< in its private memory
  std::atomic<std::uint64_t> cookie;
  std::atomic<std::uint32_t> pid;
};

/// What it needs to know of the run; filled by MachineLayer.
struct OneSidedConfig {
  const bootstrap::HostLayout* layout = nullptr;
  const int* process = nullptr;  ///< this one; on a simulated machine: of the PE that runs
  int origin = 0;                ///< the number in the run of the PE that is number 0 in what is asked
  const host::Arena* arena = nullptr;
  std::vector<OneSidedWords*> words;  ///< by process of this host, the first one first
  std::vector<host::Port*> ports;     ///< by own PE
  Net* net = nullptr;
  ucx::MakeDeviceMemory device_memory;
  bool simulated = false;
  bool kernel_copies = true;  ///< false: don't even try
};

class OneSided {
 public:
  explicit OneSided(const OneSidedConfig& config);
  ~OneSided();

  // ---- memory; any thread of a PE

  /// Lets others reach those bytes until deregister_memory(). Fails when there are too many pieces.
  Result<MemoryKey> register_memory(void* address, std::size_t size, Audience audience = Audience::run,
                                    ucx::MemoryKind kind = ucx::MemoryKind::host);
  /// From now on the key gives no access. One that does so already, or another process's, is left alone.
  void deregister_memory(const MemoryKey& key);
  bool is_registered(const MemoryKey& key) const;
  /// What lies at an address, as the drivers of this process's GPUs say. On that PE's thread.
  ucx::MemoryKind kind_of(int pe, const void* address);
  /// What others of the host map memory of a GPU by, at most 200 bytes: Transfer::described. On that PE's thread.
  /// Empty: there is nothing to say.
  std::vector<std::byte> describe(int pe, ucx::Place memory);

  /// Where memory of another process of this host, of which it has said what describe() says there, can be read here by
  /// what works on `local`. A failure: it cannot be mapped, or the machine is simulated; then get() brings it.
  Result<ucx::Mapping> map(int pe, std::span<const std::byte> described, std::uint64_t address, std::uint64_t bytes,
                           ucx::Place local);

  // ---- transfers; from the thread of `pe`, one of this process, to which the event comes. The local memory is lent
  // until then; so is the remote one, though nothing stops it from being freed.

  TransferStatus get(int pe, void* local, std::size_t size, const MemoryKey& key, std::uint64_t remote,
                     Transfer& transfer, ucx::MemoryKind local_kind = ucx::MemoryKind::host);
  /// Its event says that the bytes are there.
  TransferStatus put(int pe, const void* local, std::size_t size, const MemoryKey& key, std::uint64_t remote,
                     Transfer& transfer, ucx::MemoryKind local_kind = ucx::MemoryKind::host);
  /// Within this process; one of the places at least is memory of a GPU.
  void copy(int pe, ucx::Place to, ucx::Place from, std::size_t size, Transfer& transfer);
  /// Its event says that a stream of the program's, which works on that memory, has done what it has been given so far.
  /// complete: it has already, and no event comes.
  TransferStatus when_reached(int pe, void* stream, ucx::Place memory, Transfer& transfer);
  /// copy() then, of one byte or more: `from` is the memory, of a GPU.
  void copy_when_reached(int pe, void* stream, ucx::Place to, ucx::Place from, std::size_t size, Transfer& transfer);
  /// Makes the call-backs that are due on that PE; returns how many transfers and requests (take_request()) have ended.
  int poll(int pe);
  /// Is there something for poll() to do, now or without being told of it?
  bool has_events(int pe) const;

  /// A block that a Port has delivered with this meta is a request, and to be given to take_request() on that PE. True:
  /// its end comes from poll().
  static constexpr std::uint64_t kRmaRequestMeta = 2;
  bool take_request(int pe, void* block);
  /// For a simulated network: what a request and the bytes that come with it are long.
  static std::uint64_t request_bytes(const void* block);

 private:
  struct RmaRequest;
  // Transfers that have ended, for a PE.
  struct Ended {
    std::mutex mutex;
    std::vector<Transfer*> transfers;
    std::atomic<bool> holds{false};  // a hint that spares the lock
    int served = 0;                  // requests that have ended later; the PE's alone
  };
  // What bytes of GPUs go through between a PE and another process of the host that cannot map its memory: pieces of
  // the arena, made when they are first needed, and the transfers that wait for one. The PE's alone.
  struct Places {
    std::vector<std::byte*> free;
    std::deque<Transfer*> waiting;
  };
  struct Stage {
    std::byte* begin = nullptr;
    Places large, small;
  };
  enum class Copies : std::uint8_t { unknown, work, forbidden };

  Ended& of_pe(int pe) const;
  host::Port& port(int pe) const;
  Status check(const MemoryKey& key, std::uint64_t remote, std::uint64_t size) const;
  const host::KeyTable* keys_of(int process) const;
  bool is_near(int process) const;
  TransferStatus begin(Transfer& transfer, const MemoryKey& key);
  TransferStatus copy(Transfer& transfer);
  TransferStatus begin_on_device(Transfer& transfer);
  bool copy_mapped(Transfer& transfer);
  void copy_on_device(Transfer& transfer, ucx::Place remote);
  DeviceCopies::Ended ending(Transfer& transfer);
  void settle(int pe);
  Transfer& of_own_process(int pe, Transfer& transfer);
  static Status not_registered(int process);
  std::size_t of_process(int pe) const { return static_cast<std::size_t>(pe - first_pe_); }
  bool in_arena(std::uint64_t address, std::uint64_t size) const;
  bool kernel_copies(int process);
  TransferStatus copy_by_kernel(Transfer& transfer);
  void by_net(Transfer& transfer, const MemoryKey& key);
  void send_requests(Transfer& transfer);
  RmaRequest& next_request(Transfer& transfer, std::uint64_t most);
  Stage& stage_of(int pe);
  void use_stage(int pe);
  void use_places(int pe, Places& places);
  bool is_stage(const std::byte* staged, const std::byte* place, std::uint64_t size) const;
  void fill_and_send(RmaRequest& request);
  void send_request(RmaRequest& request);
  void answered(RmaRequest& request);
  void request_ended(RmaRequest& request, Status status);
  TransferStatus end(Transfer& transfer, Status status);

  OneSidedConfig config_;
  int first_pe_ = 0;
  std::unique_ptr<Ended[]> ended_;
  std::unique_ptr<Stage[]> stages_;  // by own PE
  DeviceCopies devices_;
  std::uint64_t cookie_;
  std::vector<std::atomic<Copies>> copies_;  // by process of this host

  std::mutex mutex_;  // of the keys
  host::KeyTable* table_ = nullptr;
  host::KeyRing ring_;
};

}  // namespace periapt::machine
