// NetWorker: one of the engines of a process's Net, with all that belongs to it: the lock that its driver holds, what
// others have left for the driver, its endpoints, the numbers of messages, and the trays of its PEs.
//
// A process has one or more. PE p of the process sends by worker p mod W, and what is for it arrives there. So the same
// two PEs always use the same two workers, and numbers for each pair of workers keep the order between two PEs.
// Whatever PE looks for work may drive any of them, one PE a worker at a time: the driver's heap gives and takes the
// blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "machine/host/inbox.h"
#include "machine/layer/driving_lock.h"
#include "machine/layer/net_access.h"
#include "machine/layer/net_peers.h"
#include "machine/layer/net_place.h"
#include "machine/ucx-like/worker.h"

namespace periapt::machine {

/// What was done with a message for the PE that drives.
using Deliver = void (*)(void* context, std::uint64_t meta, void* block);

class NetWorker {
 public:
  /// The `index`th of `count` workers of its process. Opens its transports. `sleepers`: PEs for which arm() was called
  /// and that are not awake again, counted before it is.
  static Result<std::unique_ptr<NetWorker>> open(const NetPlace& place, NetPeers& peers, ucx::Context& context,
                                                 int index, int count, const std::atomic<int>& sleepers);

  std::vector<std::byte> address() const { return engine_->address(); }
  ucx::Worker& engine() { return *engine_; }
  const ucx::Worker& engine() const { return *engine_; }

  // ---- from the thread of the PE whose Port is given; nothing of it blocks

  void send(host::Port& from, int to, std::uint64_t meta, void* block);
  void access(host::Port& from, NetAccess access);
  /// Drives, if nobody else does. Returns whether anything moved.
  bool drive(host::Port& driver);
  /// The same for a PE of this worker; what has come for it goes to `deliver`, when the worker is free again.
  bool drive_for(host::Port& driver, Deliver deliver, void* context);

  /// Before a PE sleeps: false when there is something to do. Waits while another PE drives, which is for moments.
  bool arm(host::Port& driver);
  /// Has anything come for that PE?
  bool holds(int pe) const { return tray_of(pe).holds.load(std::memory_order_acquire); }

  // ---- any thread; waits like arm()

  /// A key of at most `key_bytes_max` bytes, for access by this worker.
  Result<std::vector<std::byte>> register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                 std::size_t key_bytes_max);
  void forget_memory(std::uint64_t id);

  // ---- leaving: the lock is held from a begin_farewell() that says true until end_farewell()

  /// Tells those that this worker is connected with. False: a PE drives. Any thread; from now on nothing is delivered.
  bool begin_farewell();
  void go_on_with_farewell();
  void end_farewell();

 private:
  struct Parcel {
    int to;
    std::uint64_t meta;
    void* block;
  };
  struct Arrived {
    std::uint64_t meta;
    void* block;
  };
  /// What has come for a PE.
  struct Tray {
    // From other drivers; emptied by the PE.
    std::mutex mutex;
    std::vector<Arrived> blocks;
    std::atomic<bool> holds{false};  // a hint that spares the lock
    // Of the PE alone: what it takes out itself while it drives, behind what others had put into `blocks` before.
    std::vector<Arrived> own;
  };
  /// To one worker of another process.
  struct Way {
    ucx::Endpoint* endpoint = nullptr;  // null before the first message
    std::uint32_t next = 0;             // the number of the next message
  };
  /// Messages from one worker of another process, in the order of their numbers.
  struct Sequence {
    std::uint32_t expected = 0;
    std::map<std::uint32_t, std::pair<ucx::Tag, void*>> early;  // by number; those behind a gap
  };

  NetWorker(const NetPlace& place, NetPeers& peers, int index, int count, const std::atomic<int>& sleepers);
  Status start(ucx::Context& context);

  // One worker is frequent, and needs no division.
  Tray& tray_of(int pe) const {
    const int rank = pe - first_pe_;
    return *trays_[static_cast<std::size_t>(count_ == 1 ? rank : rank / count_)];
  }
  bool is_ours(int pe) const {
    const int rank = pe - first_pe_;
    return rank >= 0 && rank < pes_ && (count_ == 1 || rank % count_ == index_);
  }

  bool take_wheel(host::Port& driver);
  void leave_wheel(host::Port& driver);
  template <class Leave, class Act>
  void use(host::Port& from, Leave&& leave, Act&& act);

  // With the lock held:
  int workers_of(int process);
  Way& way_to(int process, int worker);
  Way& way_to(int pe);
  void put(const Parcel& parcel);
  void catch_up(host::Port& from);
  void begin(NetAccess access);
  void drain();
  bool turn();
  void say_farewell();
  const char* wrong_with(const ucx::Buffer& message, const ucx::Received& received) const;
  void on_arrived(ucx::Buffer message, const ucx::Received& received);
  void hand_over(ucx::Tag tag, void* block);
  ucx::Buffer in_heap(std::uint64_t size);
  static void release(void* self, void* block);

  static void take_from_others(Tray& tray);

  const NetPlace& place_;
  NetPeers& peers_;
  const int index_;
  const int count_;
  const int first_pe_;  // of the process
  const int pes_;       // of the process
  const std::atomic<int>& sleepers_;
  std::unique_ptr<ucx::Worker> engine_;
  std::vector<std::unique_ptr<Tray>> trays_;  // by own PE

  DrivingLock driving_;                                         // held by the PE that uses the engine
  host::Port* driver_ = nullptr;                                // its port; null: no PE, but a farewell
  bool armed_ = false;                                          // somebody may sleep on the engine
  bool farewell_ = false;                                       // begin_farewell() holds the lock
  bool said_farewell_ = false;                                  // for another process has ended the run
  std::uint32_t sent_ = 0;                                      // by PEs that found the engine free
  std::vector<int> workers_of_;                                 // by process; 0: not known yet
  std::vector<Way> ways_;                                       // by NetPeers::index_of()
  std::vector<Sequence> sequences_;                             // the same
  std::unordered_map<std::uint64_t, ucx::MemoryPtr> memories_;  // by id

  std::mutex outbox_mutex_;
  std::vector<Parcel> outbox_;             // left by PEs that found the engine in use, in order
  std::vector<NetAccess> accesses_;        // the same
  std::atomic<bool> outbox_holds_{false};  // a hint that spares the lock
};

}  // namespace periapt::machine
