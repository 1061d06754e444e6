// One link: where the peer is, what it still has to say to it, and what is under way. The transport moves all of it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "machine/ofi/domain.h"
#include "machine/tcp/meeting.h"
#include "machine/ucx-like/flushes.h"

namespace periapt::ofi {

/// Puts and gets that one link has accepted at a time, posted or not.
inline constexpr std::size_t kOperationsMax = 64;
/// So often a connection breaks under an operation that is alone on it before the operation is at fault.
inline constexpr int kBreaksMax = 2;

/// A put or a get.
struct Operation : Request {
  enum class State : std::uint8_t { waits, posted, ended };
  bool is_get = false;
  bool alone = false;  ///< was posted when no other of its link was
  State state = State::waits;
  bool suspect = false;  ///< its connection broke, once or more
  int breaks = 0;        ///< while it was alone
  std::uint64_t suspect_ns = 0;
  Domain::Piece piece;
  ucx::Completion* completion = nullptr;
};

class OfiLink : public ucx::Link {
 public:
  using Link::Link;
  enum class State : std::uint8_t { alive, lost, closed };

  State state = State::alive;
  bool alive() const { return state == State::alive; }
  bool attended = false;  ///< is in the transport's list of links that have something to do

  // Where the peer is; unspecified until it has said so.
  tcp::Seat seat;
  fi_addr_t messages = FI_ADDR_UNSPEC, memory = FI_ADDR_UNSPEC;
  std::vector<std::vector<std::byte>> names;  ///< of its endpoints, where they have files on this host
  std::uint64_t token = 0;                    ///< in front of what the peer sends
  std::uint64_t peers_token = 0;              ///< in front of what we send
  void remove_files() const {
    for (const std::vector<std::byte>& name : names) Domain::remove_file_of(name);
  }
  bool open() const { return messages != FI_ADDR_UNSPEC; }

  // Messages.
  std::uint32_t next_out = 0, next_in = 0;
  /// Those that came before one in front of them, by number. Copies: were they kept in the slots where they arrived,
  /// all slots could hold them, and none be left for the one that they wait for.
  std::map<std::uint32_t, std::vector<std::byte>> early;
  bool unconfirmed = false;   ///< messages have gone out behind the latest flush
  std::uint32_t answers = 0;  ///< of ours that are under way
  ucx::Flushes flushes;
  bool wants_confirmation = false;

  // Puts and gets, the oldest first.
  std::deque<std::unique_ptr<Operation>> operations;
  std::size_t posted = 0;
  std::size_t suspects = 0;  ///< those that wait to be tried again: one of them broke the connection
  std::uint64_t operations_ended = 0;
};

}  // namespace periapt::ofi
