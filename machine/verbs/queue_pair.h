// A reliable connected queue pair: its way from made to connected, and the sends that are under way on it.
//
// Sends are numbered. Only some ask for a completion (selective signalling); one that comes tells the end of all before
// it too. A queue pair that broke is not mended: another one with the next generation takes its place, and what the
// device still tells of the old one is known by its serial number.
#pragma once

#include <deque>

#include "machine/verbs/adapter.h"

namespace periapt::verbs {

inline constexpr std::uint32_t kDepth = 128;   ///< sends under way on one queue pair
inline constexpr std::uint32_t kReserved = 8;  ///< of those, for answers
/// At most so many sends without a completion of their own, one behind the other.
inline constexpr std::uint32_t kSilentMax = 16;

class VerbsLink;

class QueuePair {
 public:
  static constexpr std::uint32_t kNoSlot = ~0u;

  QueuePair(Adapter& adapter, VerbsLink& link, Queue queue, std::uint32_t generation, std::uint32_t serial);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  Status make();
  /// What the peer has to know of it.
  Call here() const;
  /// Connects it to the peer's.
  Status connect(const Call& there);
  /// From now on it ends what is under way, and takes nothing.
  void stop();

  VerbsLink* link;  ///< nullptr: it has been given up
  const Queue queue;
  const std::uint32_t generation, serial;
  bool connected = false;
  bool open = false;     ///< the peer's is ready
  bool drained = false;  ///< since stop()

  std::uint32_t number() const { return pair_->qp_num; }
  std::uint32_t inline_max() const { return inline_max_; }

  // ---- sends

  bool has_room(std::uint32_t reserved) const {
    return under_way_.size() + reserved < kDepth && adapter_.sends < adapter_.sends_max;
  }
  /// Posts a request of one or more parts; `silent_max` as above. A slot is the queue pair's until the send has ended,
  /// if it was taken. 0, or what errno says: ENOMEM means that there is no room.
  int post(ibv_send_wr& request, std::uint32_t slot, std::uint32_t silent_max);
  /// The device tells the end of that send. Returns how many have ended by it; the slots are free again.
  std::uint32_t ended(std::uint32_t number);
  bool idle() const { return under_way_.empty(); }
  /// Are the last ones on their way without a completion of their own?
  bool silent() const { return silent_ > 0; }

 private:
  int modify(ibv_qp_attr& attributes, int which);
  void release_first();

  Adapter& adapter_;
  ibv_qp* pair_ = nullptr;
  std::uint32_t first_packet_ = 0;
  std::uint32_t inline_max_ = 0;
  std::uint32_t next_ = 0;               // number of the next send
  std::deque<std::uint32_t> under_way_;  // the slots of those before, the oldest first
  std::uint32_t silent_ = 0;
};

}  // namespace periapt::verbs
