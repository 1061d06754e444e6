// Futures of one PE: values that user-level threads wait for. Also what [sync] calls and CkCallbackResumeThread use.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class Futures {
 public:
  explicit Futures(Pe& pe) : pe_(pe) {}
  static void register_entries();

  std::uint64_t create();
  bool ready(std::uint64_t id) const;
  // The value; the current thread waits for it. It belongs to the program then (give false: to the future, as before).
  // take: the future is gone. What waits must be a thread, except for the answer to a [sync] call.
  void* wait(std::uint64_t id, bool give = true, bool of_sync_call = false);
  void* take(std::uint64_t id, bool of_sync_call = false);
  // The current thread waits until one of them has a value.
  void wait_for_one(const CkFuture* futures, std::size_t count);
  void set(std::uint64_t id, void* message);
  void release(std::uint64_t id);
  // Sets a future of any PE.
  static void send(Pe& pe, CkFuture future, void* message);
  // A semaphore is set like a future, by its number, and keeps each message for a thread that takes it.
  std::uint64_t create_semaphore();
  void wait_for_signals(std::uint64_t id, int count, void** messages);
  void destroy_semaphore(std::uint64_t id);
  // For checkpoints: those that no thread waits for and whose value no thread has taken, with their values; and how
  // many these are. A thread, and what only it would take, does not come back.
  void pup(PUP::er& p);
  std::size_t kept() const;
  // Threads waiting, for the watchdog.
  std::size_t waiting() const { return waiting_; }

 private:
  // A thread that waits, perhaps for the first of several. It lies on that thread's stack.
  struct Waiter {
    Thread* thread;
    bool awake = false;
  };
  struct Value {
    void* message = nullptr;
    bool set = false;
    bool given = false;  // a waiter has the message: it is the program's
    std::vector<Waiter*> waiters;
    bool is_kept() const { return waiters.empty() && !given; }
  };
  struct Semaphore {
    std::deque<void*> messages;
    std::vector<Thread*> waiters;
  };
  static constexpr std::uint64_t semaphore_bit = std::uint64_t{1} << 63;
  Semaphore& semaphore(std::uint64_t id);
  Thread* waiting_thread();
  static void on_set_small(Pe&, Delivery&);
  static void on_set_whole(Pe&, Delivery&);
  static void on_set(Pe&, Delivery&);
  Value& get(std::uint64_t id);
  void suspend_for(const CkFuture* futures, std::size_t count);
  void wait_above();

  Pe& pe_;
  std::uint32_t serial_ = 0;
  std::size_t waiting_ = 0;
  FlatMap<Value> values_;
  std::unordered_map<std::uint64_t, Semaphore> semaphores_;
};

}  // namespace periapt
