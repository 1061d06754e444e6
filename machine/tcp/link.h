// One link: what goes out, the frames that come in, and how it ended. The transport owns the sockets' readiness (epoll)
// and tells the link when to write and read.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "machine/tcp/handshake.h"
#include "machine/tcp/outbox.h"
#include "machine/ucx-like/transport.h"

namespace periapt::tcp {

class TcpTransport;

/// With so much waiting, it is written at once.
inline constexpr std::size_t kWriteAt = 32 << 10;
/// Small messages that follow upon others wait for company so many times as long as the last write took, and at most so
/// long.
inline constexpr std::uint64_t kHoldWrites = 4;
inline constexpr std::uint64_t kHoldMaxNs = 20'000;
/// So many small messages are handed up in one progress(), or fewer if the receiver has enough; the rest stays where it
/// was read, for the next ones. A read brings thousands, and a receiver that had to put them all aside would pay for
/// each of them. (64 gave the engine 4 in a hundred more, chares, which always have enough room, 5 less.)
inline constexpr int kAtATime = 512;
/// Of a message that is placed, one read takes so much. What arrives while it lasts has to wait, so long
/// reads stop the sender: 64 and 128 KB are as good, 256 KB is a tenth slower, all at once no better than that. While
/// this side writes as well, long reads are better, by a tenth again.
inline constexpr std::size_t kPlacedAtATime = 128 << 10;
/// Where a message is expected that fills the buffer, so much is read first, since what is read of it with its
/// beginning is copied.
inline constexpr std::size_t kLargeBegins = 4 << 10;
/// With so many links that have something left, each of which keeps a buffer, others hand up all that they read.
inline constexpr std::size_t kHoldingMax = 32;

/// What epoll's data points to.
struct Watched {
  enum class Kind : std::uint8_t { listener, timer, attempt, link, lingering };
  Watched(Kind what, int descriptor) : kind(what), fd(descriptor) {}
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  int release() { return std::exchange(fd, -1); }
  Kind kind;
  int fd;
};

/// A connection in its handshake.
struct Attempt : Watched {
  Attempt(int descriptor, Handshake talk) : Watched(Kind::attempt, descriptor), handshake(std::move(talk)) {}
  Handshake handshake;
  class TcpLink* link = nullptr;  // that opened it, or that waits for it
  std::string where;              // the other end
  std::uint64_t deadline_ns = 0;
  bool connected = true;
  bool parked = false;  // proved, and waits for the outcome of the link's own
  bool dead = false;
};

/// After close(): the other side still reads; what it still sends is thrown away. Closing at once would make the kernel
/// throw away what we sent.
struct LingeringSocket : Watched {
  LingeringSocket(int descriptor, std::uint64_t until) : Watched(Kind::lingering, descriptor), deadline_ns(until) {}
  std::uint64_t deadline_ns;
  bool dead = false;
};

class TcpLink : public ucx::Link, public Watched {
 public:
  enum class State : std::uint8_t { connecting, open, lost, closed };

  TcpLink(TcpTransport& transport, ucx::PeerId peer);

  // What the transport looks at.
  State state = State::connecting;
  std::string where;           // "10.0.0.2:40123"
  Attempt* attempt = nullptr;  // our own
  Attempt* parked = nullptr;   // the peer's, while ours is undecided
  bool dirty = false;          // in the transport's list of links with something to write
  bool grown = false;          // since the last progress(): more may follow
  bool blocked = false;        // the kernel has no room: epoll tells
  bool watches_room = false;
  Outbox outbox;

  bool open() const { return state == State::open; }

  /// Writes what waits, until the kernel has no more room.
  void write();
  /// Whether waiting bytes go out now, or are held for more to join them. A peer that has just spoken may be waiting
  /// for them; else they are held for some times as long as a write takes, so that writing is a small part of the time.
  bool due(std::uint64_t now_ns) const {
    return received_ || now_ns - last_write_ns_ >= hold_ns_ || outbox.bytes() >= kWriteAt;
  }
  /// Has it read what it has not handed up?
  bool holds() const { return rest_.size != 0; }
  /// Hands up what was left of the last read; reads if nothing was.
  void receive();
  /// Bytes that came with the end of the handshake.
  void receive_early(Bytes bytes);

  ucx::Accepted flush(ucx::Completion& completion);
  /// Ends everything under way.
  void end_all(ucx::Outcome outcome);

  // Suspicion that the peer's host has gone; see TcpTransport::look_for_dead_hosts().
  std::uint64_t silent_since_ns = 0;

 private:
  struct Placement {
    std::byte* at = nullptr;
    std::uint64_t left = 0;
  };
  struct Flush {
    std::uint64_t number;
    ucx::Completion* completion;
  };
  /// What was read and is still to be handed up, in the transport's buffer of that time.
  struct Rest {
    std::unique_ptr<std::byte[]> buffer;
    std::byte* at = nullptr;
    std::size_t size = 0;
  };
  void allow();
  /// A large message came and something went out since: a peer that is answered with as much may answer so, too. In a
  /// stream, what is copied with one message is one read less for the next.
  bool expects_large() const { return last_was_large_ && !received_; }
  std::size_t take_placed(std::size_t size);
  void take(std::byte* at, std::size_t size);
  void keep_rest(std::byte* at, std::size_t size);
  void drop_rest();
  std::size_t take_other(Prefix prefix, const std::byte* at, std::size_t size);
  std::size_t begin_placement(Prefix prefix, const std::byte* at, std::size_t size);
  void finish_placement();
  void control(Prefix prefix);
  void broken(int error);

  TcpTransport& tcp_;
  std::uint64_t last_write_ns_ = 0;
  std::uint64_t hold_ns_ = 0;
  bool received_ = true;  // since the last write
  int write_error_ = 0;
  Placement placement_;
  bool placing_ = false;
  bool last_was_large_ = false;       // the last message
  std::size_t skip_ = 0;              // padding that belongs to the frame before
  std::vector<std::byte> beginning_;  // of a frame that is not whole yet
  Rest rest_;
  int left_ = kAtATime;  // to be handed up in this progress()
  std::deque<Flush> flushes_;
  std::uint64_t flush_number_ = 0;
};

}  // namespace periapt::tcp
