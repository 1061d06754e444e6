// Threads of entry methods that have begun on this PE and not ended, by the object whose entry they run: it must not go
// away under them.
//
// An element that is to migrate while it has some stays until the last of them has ended, and goes then. An element or
// chare that is destroyed while one of them waits ends the run with a sentence: the thread would go on in freed memory.
// What a thread may do is to destroy its own object, as the last thing it does.
//
// Those of objects that stay, as members of groups do, are known too: a checkpoint leaves threads out, and says so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "runtime/api/objects.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// An object that may go away. None: one that stays, as members of groups do.
struct ThreadOwner {
  std::uint64_t key = 0;
  static ThreadOwner of(const ArrayElement* element) { return {reinterpret_cast<std::uint64_t>(element)}; }
  static ThreadOwner of_chare(std::uint64_t serial) { return {serial | std::uint64_t{1} << 63}; }
  // Null: it is no element.
  ArrayElement* element() const { return key >> 63 ? nullptr : reinterpret_cast<ArrayElement*>(key); }
  bool operator==(ThreadOwner o) const { return key == o.key; }
};

class RunningThreads {
 public:
  explicit RunningThreads(Pe& pe) : pe_(pe) {}

  // The run of one thread: lies on its stack.
  class Run : scheduler::ThreadEnd {
   public:
    Run(RunningThreads& all, ThreadOwner owner, int ep);
    ~Run() { leave(); }
    Run(const Run&) = delete;

   private:
    friend class RunningThreads;
    void leave();
    RunningThreads& all_;
    ThreadOwner owner_;
    const int ep_;
    Thread* const thread_;
    Run* next_ = nullptr;
    Run** link_ = nullptr;  // what points here; null: it has ended, or its owner has
  };

  // Of objects that may go away.
  bool empty() const { return count_ == 0; }
  // Of all; and the entry of one of them.
  std::size_t count() const { return count_ + count_of_staying_; }
  int an_entry() const;
  bool any(ThreadOwner owner) const { return !empty() && find(owner) != nullptr; }
  // An element is to migrate. True: threads of it run, and it goes when they have ended.
  bool keep(ThreadOwner owner, CkArrayID array, std::uint64_t id, int to);
  // The object is being destroyed. describe(): its name.
  template <class Describe>
  void owner_dies(ThreadOwner owner, const Describe& describe) {
    if (!empty()) [[unlikely]]
      detach(owner, describe);
  }

 private:
  struct PendingMigration {
    CkArrayID array;
    std::uint64_t id;
    int to;
  };
  static constexpr std::size_t buckets = 256;
  static std::size_t bucket(ThreadOwner owner) { return owner.key * 0x9E37'79B9'7F4A'7C15u >> 56; }
  static_assert(buckets == 256, "eight bits of the hash");

  Run* find(ThreadOwner owner) const;
  void detach(ThreadOwner owner, const std::function<std::string()>& describe);
  void order_pending_migration(ThreadOwner owner);

  Pe& pe_;
  std::size_t count_ = 0, count_of_staying_ = 0;
  std::size_t& counter(ThreadOwner owner) { return owner == ThreadOwner{} ? count_of_staying_ : count_; }
  Run* runs_[buckets] = {};
  std::unordered_map<std::uint64_t, PendingMigration> pending_;  // by owner
};

}  // namespace periapt
