// NetWorker: one of the engines of a process's Net, with all that belongs to it: the lock that its driver holds, what
// others have left for the driver, its endpoints, the numbers of messages, and the delivery queues of its PEs. It is
// the far side of their Ports.
//
// A process has one or more. PE p of the process sends by worker p mod W, and what is for it arrives there. So the same
// two PEs always use the same two workers, and numbers for each pair of workers keep the order between two PEs.
// Whatever PE looks for work may drive any of them, one PE a worker at a time: the driver's heap gives and takes the
// blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
#include "machine/layer/net_config.h"
#include "machine/layer/net_peers.h"
#include "machine/ucx-like/worker.h"

namespace periapt::machine {

class NetWorker final : public host::FarSide {
 public:
  /// The `index`th of `count` workers of its process. Opens its transports. `sleepers`: PEs for which arm() was called
  /// and that are not awake again, counted before it is.
  static Result<std::unique_ptr<NetWorker>> open(const NetConfig& config, NetPeers& peers, ucx::Context& context,
                                                 int index, int count, const std::atomic<int>& sleepers);

  std::vector<std::byte> address() const { return engine_->address(); }
  ucx::Worker& engine() { return *engine_; }
  const ucx::Worker& engine() const { return *engine_; }

  /// All workers of the process, this one among them: before the first message.
  void meet(std::span<const std::unique_ptr<NetWorker>> all) { all_ = all; }

  // ---- from the thread of the PE whose Port is given; nothing of it blocks

  void send(host::Port& from, int to, std::uint64_t meta, void* block) override;
  void send_line(host::Port& from, int to, const void* line, std::size_t bytes) override;
  void access(host::Port& from, NetAccess access);
  /// For a PE of this worker. Now and then it drives another worker as well.
  bool progress(host::Port& driver, host::Deliver deliver, void* context) override;
  /// The same for any other PE of the process, for which nothing comes here.
  bool drive(host::Port& driver) { return progress(driver, nullptr, nullptr); }

  /// Before a PE sleeps: false when there is something to do. Waits while another PE drives, which is for moments.
  bool arm(host::Port& driver);
  /// Has anything come for that PE?
  bool holds(int pe) const { return queue_of(pe).holds.load(std::memory_order_acquire); }

  // ---- any thread; waits like arm()

  /// A key of at most `key_bytes_max` bytes, for access by this worker.
  Result<std::vector<std::byte>> register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                 std::size_t key_bytes_max,
                                                 ucx::MemoryKind kind = ucx::MemoryKind::host);
  void forget_memory(std::uint64_t id);

  // ---- leaving: the lock is held from a begin_shutdown() that says true until end_shutdown()

  /// Tells those that this worker is connected with. False: a PE drives. Any thread; from now on nothing is delivered.
  bool begin_shutdown();
  void progress_shutdown();
  void end_shutdown();

 private:
  /// A block that waits for its turn at the engine, with its tag but for the number.
  struct PendingSend {
    int to;
    ucx::Tag tag;
    void* block;
    std::size_t bytes;
  };
  struct alignas(16) Line {
    static constexpr std::uint64_t kBlock = std::uint64_t{1} << 63;  // the body begins with the address of a block
    std::uint64_t meta;                                              // the runtime's 56 bits, and kBlock
    std::byte body[host::Slot::kBodyBytes];

    void* block() const {  // null: it is a line
      void* address = nullptr;
      if ((meta & kBlock) != 0) std::memcpy(&address, body, sizeof address);
      return address;
    }
  };
  /// What has come for a PE while another one drove, or while it was sending itself.
  struct DeliveryQueue {
    std::mutex mutex;
    std::vector<Line> lines;
    std::atomic<bool> holds{false};  // a hint that spares the lock
    std::vector<Line> taken;         // of the PE alone: `lines` while it takes them in
  };
  /// Where the PE that drives takes in what has come for it; without `deliver` it does not at the moment.
  struct Sink {
    host::Deliver deliver = nullptr;
    void* context = nullptr;
  };
  /// A message that has come: a block, or a copy of a line in one.
  struct Early {
    ucx::Tag tag;
    void* block;
    std::size_t bytes;
  };
  /// One worker of another process. Its messages are taken in the order of their numbers.
  struct Peer {
    ucx::Endpoint* endpoint = nullptr;     // null before the first message to it
    std::uint32_t next = 0;                // the number of the next message to it
    std::uint32_t expected = 0;            // the number of the next one from it
    std::map<std::uint32_t, Early> early;  // by number; those behind a gap
  };

  /// A PE of another host, and its worker.
  struct Receiver {
    int pe = std::numeric_limits<int>::min();  // none: in a partition those of earlier ones have negative numbers
    Peer* peer = nullptr;
  };

  NetWorker(const NetConfig& config, NetPeers& peers, int index, int count, const std::atomic<int>& sleepers);
  Status start(ucx::Context& context);

  // One worker is frequent, and needs no division.
  DeliveryQueue& queue_of(int pe) const {
    const int rank = pe - first_pe_;
    return *queues_[static_cast<std::size_t>(count_ == 1 ? rank : rank / count_)];
  }
  bool is_ours(int pe) const {
    const int rank = pe - first_pe_;
    return rank >= 0 && rank < pes_ && (count_ == 1 || rank % count_ == index_);
  }

  bool try_lock(host::Port& driver);
  void unlock(host::Port& driver);
  template <class Leave>
  void leave(host::Port& from, Leave&& leave);
  void leave(host::Port& from, const PendingSend& pending);

  // With the lock held:
  int workers_of(int process);
  ucx::Tag to_pe(int pe) const { return static_cast<ucx::Tag>(pe + origin_); }
  int pe_of(ucx::Tag tag) const;
  Peer& peer_at(int index);
  Peer& peer_of(int pe);
  Peer& find_peer(int pe);
  void connect(Peer& peer, int process, int worker);
  void put(Peer& peer, const PendingSend& pending);
  void look_after(const Peer& peer);
  static void* copy_of(host::Port& from, std::span<const std::byte> line);
  static Line line_of(std::span<const std::byte> wire);
  void begin(NetAccess access);
  void drain();
  void end_with(int process);
  NetWorker* another();
  void close_endpoints();
  [[noreturn]] void refuse(std::span<const std::byte> wire, ucx::PeerId from, ucx::Tag tag, const char* wrong) const;
  void check(std::span<const std::byte> wire, ucx::PeerId from, ucx::Tag tag) const;
  const char* wrong_with(std::span<const std::byte> wire, ucx::PeerId from, ucx::Tag tag) const;
  const char* wrong_with_line(std::span<const std::byte> wire) const;
  const char* wrong_with_block(std::span<const std::byte> wire, ucx::Tag tag) const;
  void on_block(ucx::Buffer message, const ucx::Received& received);
  void on_line(ucx::PeerId from, ucx::Tag tag, std::span<const std::byte> wire);
  void deliver(int pe, const Line& line);
  void deliver(const Early& message);
  void keep_early(Peer& peer, ucx::PeerId from, const Early& message);
  void deliver_early(Peer& peer);
  ucx::Buffer in_heap(std::uint64_t size);
  static void release(void* self, void* block);

  bool take_queued(int pe, Sink sink);

  const NetConfig& config_;
  NetPeers& peers_;
  const int index_;
  const int count_;
  const int origin_;    // tags have the numbers of PEs in the run; all else here counts from it
  const int first_pe_;  // of the process
  const int pes_;       // of the process
  const std::atomic<int>& sleepers_;
  std::unique_ptr<ucx::Worker> engine_;
  std::vector<std::unique_ptr<DeliveryQueue>> queues_;  // by own PE

  DrivingLock driving_;                                         // held by the PE that uses the engine
  host::Port* driver_ = nullptr;                                // its port; null: no PE, but a shutdown
  Sink sink_;                                                   // its, in progress()
  bool armed_ = false;                                          // a PE may sleep on the engine
  bool shutting_down_ = false;                                  // begin_shutdown() holds the lock
  bool endpoints_closed_ = false;                               // for another process has ended the run
  std::uint32_t sent_ = 0;                                      // by PEs that found the engine free
  unsigned turns_ = 0;                                          // of PEs of this worker
  std::size_t other_ = 0;                                       // the worker that one of them drove last beside it
  std::span<const std::unique_ptr<NetWorker>> all_;             // workers of the process
  std::vector<int> workers_of_;                                 // by process; 0: not known yet
  std::vector<std::unique_ptr<Peer>> peers_by_index_;           // by NetPeers::index_of(); made on first use
  std::array<Receiver, 16> receivers_;                          // of the latest messages, by PE
  std::unordered_map<std::uint64_t, ucx::MemoryPtr> memories_;  // by id

  std::mutex outbox_mutex_;
  std::vector<PendingSend> outbox_;        // left by PEs that found the engine in use, in order
  std::vector<NetAccess> accesses_;        // the same
  std::atomic<bool> outbox_holds_{false};  // a hint that spares the lock
};

}  // namespace periapt::machine
