// A queue pair, mostly a reliable connected one: its way from made to connected, and the sends that are under way on
// it.
//
// Sends are numbered. Only some ask for a completion (selective signalling); one that comes tells the end of all before
// it too. A queue pair that broke is not mended: another one with the next generation takes its place, and what the
// device still tells of the old one is known by its serial number. Messages are kept until their send has ended, so
// that the next one can send them again (mending.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/platform.h"
#include "machine/verbs/adapter.h"

namespace periapt::verbs {

inline constexpr std::uint32_t kDepth = 128;   ///< sends under way on one queue pair
inline constexpr std::uint32_t kReserved = 8;  ///< of those, for answers
/// At most so many sends without a completion of their own, one behind the other.
inline constexpr std::uint32_t kSilentMax = 16;

/// With so many sends under way, as far as was looked, the end of one that tells its own is missing.
inline constexpr std::uint32_t kBehind = kSilentMax + 1;

inline constexpr std::uint32_t kNoSlot = ~0u;

class VerbsLink;

/// A message whose send has not ended: in its slot, or, if it went within the request, copied.
struct Unended {
  std::uint32_t slot = kNoSlot;
  std::uint32_t size = 0;
  std::vector<std::byte> bytes;
};

class QueuePair {
 public:
  QueuePair(Adapter& adapter, VerbsLink* link, Queue queue, std::uint32_t generation, std::uint32_t serial);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  Status make();
  /// The unreliable one of all links that send datagrams, ready to be used; peers must know the key.
  Status make_datagrams(std::uint32_t key);
  /// What the peer has to know of it.
  Call here() const;
  /// Connects it to the peer's.
  Status connect(const Call& there);
  /// From now on it takes nothing, and is silent when what has come is taken (drained).
  void halt();
  /// The same, and what is still told of it is of no link.
  void stop() { halt(), link = nullptr; }

  VerbsLink* link;  ///< nullptr: it has been given up
  const Queue queue;
  const std::uint32_t generation, serial;
  bool connected = false;
  bool open = false;  ///< the peer's is ready
  bool halted = false;
  bool drained = false;  ///< since halt()

  std::uint32_t number() const { return pair_ == nullptr ? 0 : pair_->qp_num; }
  std::uint32_t inline_max() const { return inline_max_; }

  // ---- sends

  bool has_room(std::uint32_t reserved) const {
    return under_way() + reserved < kDepth && adapter_.sends < adapter_.sends_max;
  }
  /// Most messages: their parts go within the request, and are kept in one piece where sends are (`fits`).
  bool fits(std::size_t size) const { return size <= small_max_; }
  int post_small(const Prefix& prefix, ucx::Header header, std::span<const std::byte> payload,
                 std::uint32_t silent_max);
  /// Where the bytes of the next message are kept that goes within its request; its one part is there.
  std::byte* room_for(std::uint32_t size);
  /// Posts a request of one part, or none; `silent_max` as above. A slot is the queue pair's until the send has ended,
  /// if it was taken. 0, or what errno says: ENOMEM means that there is no room.
  int post(ibv_send_wr& request, std::uint32_t slot, std::uint32_t silent_max);
  /// Takes out what has not ended, the oldest first, with the slots. Of a queue pair of messages that is drained.
  std::deque<Unended> take_unended();
  /// The device tells the end of that send. Returns how many have ended by it; the slots are free again.
  std::uint32_t ended(std::uint32_t number);
  bool idle() const { return under_way() == 0; }
  bool is_behind() const { return under_way() >= kBehind; }
  /// Are the last ones on their way without a completion of their own?
  bool silent() const { return silent_ > 0; }

 private:
  static constexpr std::uint32_t kSmall = 56;  // bytes of a message that is kept with its send
  struct Send {
    std::uint32_t slot;
    std::uint32_t size;  // of a message
    std::byte bytes[kSmall];
  };

  std::uint32_t under_way() const { return next_ - oldest_; }
  static bool is_small(const Send& send) { return send.slot == kNoSlot && send.size <= kSmall; }
  PERIAPT_INLINE void note(std::uint32_t slot, std::uint32_t size, bool tells) {
    Send& send = at(next_++);
    ++adapter_.sends;
    send.slot = slot;
    send.size = size;
    bulky_ += is_small(send) ? 0 : 1;
    silent_ = tells ? 0 : silent_ + 1;
  }
  Send& at(std::uint32_t number) { return sends_[number % kDepth]; }
  int modify(ibv_qp_attr& attributes, int which);
  void release_first();

  Adapter& adapter_;
  ibv_qp* pair_ = nullptr;
  std::uint32_t first_packet_ = 0;
  std::uint32_t inline_max_ = 0, small_max_ = 0;
  ibv_sge small_part_{};  // of the request that post_small() uses again and again
  ibv_send_wr small_{};
  std::uint32_t next_ = 0, oldest_ = 0;      // numbers of the next send, and of the oldest that is under way
  std::uint32_t bulky_ = 0;                  // of those, how many have a slot or are in kept_
  std::unique_ptr<Send[]> sends_;            // those, each at its number modulo kDepth
  std::vector<std::byte> kept_;              // messages among them that are larger and have no slot, behind each other,
  std::size_t kept_from_ = 0, kept_to_ = 0;  // from here to there
  std::uint32_t silent_ = 0;
};

}  // namespace periapt::verbs
