// One link: its two queue pairs, what it still has to say to the peer, and what is under way. The transport moves all
// of it; what is here are the parts that concern one link alone.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "machine/tcp/meeting.h"
#include "machine/ucx-like/flushes.h"
#include "machine/verbs/backoff.h"
#include "machine/verbs/datagrams.h"
#include "machine/verbs/queue_pair.h"
#include "machine/verbs/speed.h"

namespace periapt::verbs {

/// Puts and gets that one link has accepted at a time, posted or not.
inline constexpr std::size_t kOperationsMax = 64;
/// So often a queue pair breaks without a message or an operation having ended before the link goes over TCP: each time
/// takes the device some two seconds. (How long the other side may take is Settings::patience_seconds.)
inline constexpr int kBreaksMax = 8;

/// Why a link fails whose peer says what makes no sense.
inline constexpr char kNotUnderstood[] = "it sent what this version does not understand";

struct Operation {
  ibv_wr_opcode code = IBV_WR_RDMA_WRITE;
  ibv_sge local{};
  std::uint64_t remote = 0;
  std::uint32_t key = 0;
  ucx::Completion* completion = nullptr;
  std::uint32_t around = 0;  ///< bytes of it that have gone, or come, over TCP
  bool on_gpu = false;       ///< only the device can touch `local`

  bool goes_inside(std::uint32_t inline_max) const {
    return code == IBV_WR_RDMA_WRITE && !on_gpu && local.length > 0 && local.length <= inline_max;
  }
};

class VerbsTransport;

class VerbsLink : public ucx::Link {
 public:
  using Link::Link;
  enum class State : std::uint8_t { alive, lost, closed };

  State state = State::alive;
  tcp::Seat seat;
  std::unique_ptr<QueuePair> messages;       ///< none in the device while there are `datagrams`
  std::unique_ptr<QueuePair> memory;         ///< made at the first put or get of either side
  std::unique_ptr<DatagramState> datagrams;  ///< messages go that way; nullptr: not, or no more
  bool attended = false;                     ///< is in the transport's list of links that have something to do
  bool wants_mark = false;

  // Messages, and what is needed to send those again that have not come when a queue pair broke (mending.cpp).
  std::uint32_t sent = 0, received = 0;  ///< in all, modulo 2^32
  std::deque<Unended> unended;           ///< to be sent again before anything else
  // Small messages that will go together (batches.cpp).
  std::uint32_t batch = kNoSlot, batch_bytes = 0, batched = 0;
  int message_breaks = 0;
  bool mending = false;  ///< is in the transport's list of links whose queue pair of messages broke
  std::uint64_t mending_since_ns = 0;
  int sent_again = 0;
  std::string broke_because;  ///< empty: it had no queue pair before
  // The way that is left when it stays broken (detour.cpp): over another rail, or over TCP.
  enum class Detour : std::uint8_t { none, begun, called, on };
  Detour detour = Detour::none;
  std::optional<std::uint16_t> peer_received;            ///< as its call said
  bool peer_heard = false;                               ///< this side's call
  bool rail_expected = false;                            ///< one side has another rail, if not connected yet
  std::optional<std::array<std::uint8_t, 16>> peer_gid;  ///< of the port at the other end
  VerbsTransport* beside = nullptr;                      ///< what carries it; nullptr: TCP
  std::deque<tcp::Seat::Call> calls_beside;              ///< that wait for room there
  bool carries_others = false;                           ///< links of other rails have gone over it
  ucx::Outcome put_ends = ucx::Outcome::ok;              ///< the put of which pieces have come
  struct Owed {
    std::uint64_t remote, bytes;  ///< of a get, that are still to go
    ucx::Outcome outcome;
    std::uint32_t key = 0;
  };
  std::deque<Owed> owed;  ///< answers to the peer's puts and gets, the oldest first; kOperationsMax at most
  // The way back from there (returning.cpp).
  enum class Return : std::uint8_t {
    none,
    asked,     ///< the peer has not answered yet
    probing,   ///< nor has its probe come
    answered,  ///< the peer, whose probe has not come yet
    proven,    ///< by the peer's probe
    said,      ///< the last thing around: what this side is given waits for the return
  };
  Return back = Return::none;
  std::unique_ptr<QueuePair> next;                         ///< the queue pair of messages from the return on
  std::string next_broke;                                  ///< why; empty: it did not
  std::uint32_t next_generation = 0, peer_generation = 0;  ///< of that; the peer's 0: it leaves the link around
  Backoff backoff;                                         ///< until the return is tried
  int returns = 0;

  std::optional<Call> called;  ///< where the peer's next one is, of which it has told before this side knew

  bool alive() const { return state == State::alive; }
  /// The device has none of the operations any more, and they are begun again.
  void take_back_operations() { posted = 0, speed.drop(); }
  std::unique_ptr<QueuePair>& pair_of(Queue queue) { return queue == Queue::memory ? memory : messages; }

  // Puts and gets, the oldest first; the first `posted` are with the device.
  std::deque<Operation> operations;
  std::size_t posted = 0;
  std::uint64_t operations_ended = 0;
  Speed speed;
  int breaks = 0;

  ucx::Flushes flushes;
};

}  // namespace periapt::verbs
