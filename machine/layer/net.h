// Net: messages to PEs on other hosts. One a process; it drives the engine (machine/ucx-like/worker.h).
//
// There is no network thread: any PE that sends, or looks for work, drives it if no other PE of the process is doing so
// at that moment. A PE that finds it taken leaves its messages in a queue, and whoever has it sends them.
//
// A message travels as a tagged message whose tag says for which PE it is, and its number among those from that process
// to this one. Here the engine has one standing receive, which takes each message into a block of its size from the
// heap of the PE that drives. Then it waits in the tray of its PE, in the order of the numbers: the runtime counts on
// the order of messages between two PEs, but a large one may come after those that were sent behind it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/job_layout.h"
#include "machine/bootstrap/world.h"
#include "machine/layer/net_options.h"
#include "machine/shm/inbox.h"
#include "machine/ucx-like/worker.h"

namespace periapt::machine {

/// What the command line says about the network, as far as it concerns Net.
struct NetWishes {
  std::vector<const ucx::TransportFactory*> transports;
  std::string wanted;                                          ///< +transports
  std::function<std::string(const std::string& name)> option;  ///< the transports' own options
  ucx::Limits limits;
};

/// What the options say, with the transports that they load. Fails when it makes no sense (Net::check()).
Result<NetWishes> wishes_of(const NetOptions& options);

struct NetPlace {
  bootstrap::World* world = nullptr;
  const bootstrap::JobLayout* job = nullptr;
  NetWishes wishes;
  /// The bytes of a block that are sent, counted from where it begins.
  std::size_t (*block_bytes)(const void* block) = nullptr;
  /// A process of another host has gone, without being expected to. Called with the engine in use: only tell.
  std::function<void(int process, const std::string& reason)> lost;
  /// One has ended the run and said why. The same.
  std::function<void(int process)> ended;
};

class Net : public shm::FarSide {
 public:
  /// What was done with a message for the PE that drives.
  using Deliver = void (*)(void* context, std::uint64_t meta, void* block);

  /// Whether the wishes make sense: known transports, values of options that are understood. Opens nothing.
  static Status check(const NetWishes& wishes);

  /// Opens the transports and tells the others where this process is reached; they may be sent to after the next fence.
  static Result<std::unique_ptr<Net>> open(const NetPlace& place);
  ~Net() override;

  /// Before the first message: the Port of each own PE.
  void set_ports(std::vector<shm::Port*> ports) { ports_ = std::move(ports); }

  /// From the thread of the PE `from`. Never blocks.
  void send(int from, int to, std::uint64_t meta, void* bytes) override;

  // ---- one-sided access to memory of this process and of others on other hosts

  /// Lets those who have the answer, a key of at most `key_bytes_max` bytes, reach those bytes until forget_memory(id).
  Result<std::vector<std::byte>> register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                 std::size_t key_bytes_max);
  void forget_memory(std::uint64_t id);

  /// A get, or a put that ends when the bytes are there.
  struct Access {
    int process = 0;
    bool is_put = false;
    std::span<std::byte> local;
    std::uint64_t remote = 0;
    std::vector<std::byte> key;
    void* context = nullptr;
    /// Called once while the PE `driver` uses the engine: only tell.
    void (*ended)(void* context, Status status, int driver) = nullptr;
  };
  /// From the thread of the PE `from`. Never blocks.
  void access(int from, Access access);

  /// Drives, if nobody else does, and gives what is in the tray of the PE `pe` to `deliver`, when the engine is free
  /// again. Returns whether there was anything. On the thread of that PE.
  bool progress(int pe, Deliver deliver, void* context);

  /// Before the PE `pe` sleeps: false when there is something to do. After true, wait_fd() gets readable when there is.
  bool arm(int pe);
  int wait_fd() const { return worker_->wait_fd(); }

  /// This process ends the run and has said why: those that it is connected with are told, so that they end without a
  /// word. Any thread; takes some milliseconds. Nothing happens while another thread keeps the engine.
  void part();

  std::string explain() const { return worker_->explain(); }
  const std::vector<ucx::Device>& devices() const { return context_->devices(); }

 private:
  struct Parcel {
    int to;
    std::uint64_t meta;
    void* bytes;
  };
  struct Arrived {
    std::uint64_t meta;
    void* block;
  };
  // What has come for a PE. Filled by whoever drives, emptied by the PE.
  struct Tray {
    std::mutex mutex;
    std::vector<Arrived> blocks;
    std::atomic<bool> holds{false};  // a hint that spares the lock
  };
  // Messages from one process, in the order of their numbers.
  struct Sequence {
    std::uint32_t expected = 0;
    std::map<std::uint32_t, std::pair<ucx::Tag, void*>> early;  // by number; those behind a gap
  };

  // An Access that the engine has begun.
  struct Running {
    Net* net;
    Access access;
    ucx::Endpoint* endpoint = nullptr;
    ucx::RkeyPtr key;
    void end(Status status);
  };

  explicit Net(const NetPlace& place) : place_(place) {}
  Status start();
  shm::Port& port_of(int pe) const;
  ucx::Endpoint& endpoint_to(int process);
  void put(const Parcel& parcel);
  void begin(Access access);
  static void moved(void* running, ucx::Outcome outcome);
  static void complete(void* running, ucx::Outcome outcome);
  void drain();
  template <class Leave, class Do>
  void use_engine(int from, Leave&& leave, Do&& act);
  void say_farewell();
  void on_arrived(ucx::Buffer message, const ucx::Received& received);
  void hand_over(ucx::Tag tag, void* block);
  bool empty_tray(int pe, Deliver deliver, void* context);
  ucx::Buffer in_heap(std::uint64_t size);

  NetPlace place_;
  std::unique_ptr<ucx::Context> context_;
  std::unique_ptr<ucx::Worker> worker_;
  std::vector<ucx::Endpoint*> endpoints_;  // by process; null before the first message
  std::vector<shm::Port*> ports_;          // of own PEs
  int first_pe_ = 0;

  std::mutex driving_;                                          // held by the PE that uses the engine
  std::unordered_map<std::uint64_t, ucx::MemoryPtr> memories_;  // by id
  shm::Port* driver_ = nullptr;                                 // its port
  std::vector<std::uint32_t> numbers_;                          // by process: of the next message to it
  std::vector<Sequence> sequences_;                             // by process: of those from it
  int ended_by_ = -1;                                           // the process that has ended the run
  std::vector<std::unique_ptr<Tray>> trays_;                    // by own PE
  std::mutex outbox_mutex_;
  std::vector<Parcel> outbox_;             // left by PEs that found the engine in use, in order
  std::vector<Access> accesses_;           // the same
  std::atomic<bool> outbox_holds_{false};  // a hint that spares the lock
};

}  // namespace periapt::machine
