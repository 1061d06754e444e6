// Copies between memory of GPUs and of the host that nothing waits for: begun on streams of our own, and told from
// progress() when an event says that they are done.
//
// Each GPU has a stream for what comes in, one for what goes out, one for what comes from other GPUs and one for what
// stays on it, so that the four go on at the same time. Copies of one stream end in the order in which they were begun.
// Small ones go by a courier (courier.h) where there is one that is awake and may touch both sides; that is seen by a
// load, and these may end before what was begun earlier.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu/couriers.h"
#include "machine/gpu/vendor.h"
#include "machine/ucx-like/transport.h"

namespace periapt::gpu {

/// Which GPUs' kernels of ours may touch memory.
enum class Touch : std::uint8_t {
  none,
  own,    ///< its own GPU's
  peers,  ///< and those of others that have been let to that one
  any
};

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
  int to_gpu = -1, from_gpu = -1;  ///< where they lie (Memory::gpu); -1: on the host, pinned. One of them is a GPU's
  /// A stream of the program's, by the driver's own name: the copy begins when that has done what it has been given so
  /// far. nullptr: at once.
  void* after = nullptr;
  Touch to_touch = Touch::none, from_touch = Touch::none;
  bool within = false;  ///< one GPU: it goes on beside what comes from others
};

/// Used by one thread at a time.
class Copies {
 public:
  explicit Copies(Driver& driver, CourierUse use = CourierUse::off) : Copies(driver, Couriers::of(driver), use) {}
  Copies(Driver& driver, Couriers& couriers, CourierUse use)
      : driver_(driver), couriers_(couriers), use_(use), lanes_(driver.gpus().size()), reached_(driver.gpus().size()) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  /// As finish().
  ~Copies();
  /// Waits for what is under way; the completions are not told.
  void finish();

  /// The bytes are lent until the completion, which comes from progress(), once. A failure: nothing was begun.
  Status begin(const Copy& copy, ucx::Completion& completion);
  /// The same of a few bytes (Courier::kFew) from or to memory of the host, pageable too, if there is a courier awake
  /// that takes them. False: there is none, and nothing was begun. The driver would wait for a copy from or to pageable
  /// memory, so what a courier gives back is not begun by an engine: take_given_back() has it.
  bool carry(const Copy& copy, ucx::Completion& completion);
  struct GivenBack {
    Copy copy;
    ucx::Completion* completion;
  };
  /// Those of progress(), which are not under way any more: they have to go another way. They are given once.
  std::vector<GivenBack> take_given_back() { return std::exchange(given_back_, {}); }
  /// Tells what has ended, with Outcome::ok or failed, and how many that were.
  int progress();
  std::size_t under_way() const { return under_way_; }
  /// How many couriers have done.
  std::uint64_t carried() const { return carried_; }
  /// What the driver has said when a copy has failed; "": none has.
  const std::string& failure() const { return failure_; }

  /// An event that is not used, until it is given back.
  Result<Event> take_event(int gpu);
  void give_event(Event event);

 private:
  struct Pending {
    Event done, after;
    ucx::Completion* completion;
  };
  struct Lane {
    Stream stream;
    std::deque<Pending> pending;
  };
  struct WithCourier {
    Courier* courier;
    std::uint64_t number;
    Copy copy;
    ucx::Completion* completion;
    bool may_be_pageable;
  };
  enum Direction : std::size_t { in, out, across, within, kDirections };
  enum class Reach : std::uint8_t { untried, granted, refused };

  Result<Lane*> lane_for(const Copy& copy);
  Status order_after(const Copy& copy, Lane& lane, Event* event);
  Status begin_by_engine(const Copy& copy, ucx::Completion& completion);
  struct OnGpu {
    Courier* courier = nullptr;
    int gpu = -1;
  };
  OnGpu courier_for(const Copy& copy);
  bool hand_over(const OnGpu& to, const Copy& copy, ucx::Completion& completion, bool may_be_pageable);
  bool may_touch(int gpu, int lies_on, Touch touch);
  int progress(Lane& lane);
  int look_for_couriers();
  bool reach(int gpu, int other);

  Driver& driver_;
  Couriers& couriers_;
  const CourierUse use_;
  std::vector<std::array<std::unique_ptr<Lane>, kDirections>>
      lanes_;                                ///< by GPU and direction, made at their first use
  std::vector<std::vector<Reach>> reached_;  ///< which other GPUs a GPU has been let to
  std::vector<WithCourier> with_couriers_;
  std::vector<GivenBack> given_back_;
  std::uint64_t carried_ = 0;
  std::vector<Event> events_;  ///< that are not used
  std::size_t under_way_ = 0;
  std::string failure_;
};

}  // namespace periapt::gpu
