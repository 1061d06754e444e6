// Where the workers of another transport meet: a TCP transport beside it, for networks that don't tell a peer's name
// nor its end. Over a link of it two workers prove that they know the job's secret, say where they are by calls, and
// learn at once when the other's process has ended. verbs and ofi have one each.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/transport.h"

namespace periapt::tcp {

/// What one link of the other transport has of it. The link itself is TcpLink::user.
struct Seat {
  struct Call {
    std::vector<std::byte> head;  ///< at most ucx::kHeaderBytes
    std::vector<std::byte> rest;
  };
  ucx::Link* link = nullptr;  ///< of the TCP transport; nullptr: it has gone
  std::deque<Call> calls;     ///< that could not go out yet
};

class Meeting final : private ucx::Receiver {
 public:
  /// The transport that meets here. Both are called from look() only.
  class Guest {
   public:
    virtual ~Guest() = default;
    /// `from.user` is nullptr for a peer that began, until take_seat().
    virtual void take_call(ucx::Link& from, ucx::Header head, std::span<const std::byte> rest) = 0;
    /// The peer has gone, of the link `user`; nullptr: of none yet.
    virtual void left(void* user, const std::string& reason) = 0;
  };

  explicit Meeting(Guest& guest) : guest_(guest) {}
  ~Meeting() override;
  /// Opens the first network interface that can be used. Waits as Transport::open() may.
  Status open(const ucx::OpenRequest& request);

  std::vector<std::byte> address() const { return tcp_->address(); }
  bool reaches(std::span<const std::byte> address) const { return tcp_->reaches(address); }
  Result<ucx::Link*> connect(ucx::PeerId peer, std::span<const std::byte> address) {
    return tcp_->connect(peer, address);
  }
  static void take_seat(Seat& seat, ucx::Link& link, void* user) { (seat.link = &link)->user = user; }
  void leave(Seat& seat);
  void turn_away(ucx::Link& link);
  /// Sends what the seat has to say. False: something is left.
  bool say_all(Seat& seat);

  /// Takes in calls and losses: at each call if it is `busy` or something has moved, else now and then. False: it did
  /// not look.
  PERIAPT_INLINE bool look(bool busy) {
    return PERIAPT_UNLIKELY(busy || moved_ || ++looks_ % kLookEvery == 0) && (look_now(), true);
  }
  bool has_moved() const { return moved_; }
  int wait_fd() const { return tcp_->wait_fd(); }
  bool arm() { return tcp_->arm(); }
  void disarm() { tcp_->disarm(); }

 private:
  bool arrived(ucx::Link& from, ucx::Header header, std::span<const std::byte> payload) override {
    guest_.take_call(from, header, payload);
    return true;
  }
  // As a call of some KB comes.
  void arrived_owned(ucx::Link& from, ucx::Header header, ucx::Buffer payload) override {
    guest_.take_call(from, header, payload.bytes());
  }
  std::byte* place(ucx::Link& from, ucx::Header header, std::uint64_t size) override;
  void placed(ucx::Link& from) override;
  void link_lost(ucx::Link& link, const std::string& reason) override;

  void look_now();

  static constexpr std::uint64_t kCallMost = 64 << 10;
  static constexpr unsigned kLookEvery = 64;  ///< while all is quiet, so many calls of look()

  Guest& guest_;
  std::map<ucx::Link*, Seat::Call> coming_;  ///< calls whose bytes are still to come
  std::unique_ptr<ucx::Transport> tcp_;
  bool moved_ = false;  // something was sent or closed since the latest look
  unsigned looks_ = 0;
};

}  // namespace periapt::tcp
