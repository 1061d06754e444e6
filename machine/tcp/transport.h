// TCP: the network that every host has. Non-blocking sockets, one connection for a pair of workers, made on
// first use and guarded by a handshake that proves knowledge of the job's secret (wire.h).
//
// Sending: small messages are copied one behind the other and leave in one write; large ones are written from where
// they lie. A small message leaves at once when the link was quiet or has just received something; one that follows
// closely upon another waits a few microseconds for company (see kHoldNs). Receiving: small messages are handed up from
// the buffer they were read into; large ones are read straight to where the receiver wants them. A lost peer is an
// event with its reason. Lost connections are not made again.
//
// Waiting: one or two links are read directly at each look, and are not in epoll's set while no worker sleeps, since
// each arrival would tell it (watch_links()).
//
// There is no put, get or atomic here: a socket has none, and as messages they would cost exactly what the engine's own
// cost (the same crossings, the target's progress() in both), so they would be a second thing to keep right and nothing
// more. There is flush(): an answer to it says that all before it was handed up.
//
// Options: +net-devices (devices.h), +net-timeout SECONDS: after how long a silent host counts as gone (default 20).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "machine/tcp/devices.h"
#include "machine/tcp/link.h"
#include "machine/ucx-like/transport_base.h"

namespace periapt::tcp {

extern const ucx::TransportFactory factory;

/// Messages up to this are copied on their way out; larger ones are written from where they lie.
inline constexpr std::size_t kCopyMax = 4 << 10;
/// Messages up to this are handed up from the receive buffer; larger ones are placed.
inline constexpr std::size_t kWholeMax = 8 << 10;
/// With so much copied and waiting, no_resource is the answer.
inline constexpr std::size_t kCopiedMax = 256 << 10;
inline constexpr std::size_t kReceiveBytes = 64 << 10;
inline constexpr std::size_t kFlushesMax = 256;
/// Up to so many links are read directly; with more, epoll says which to read.
inline constexpr std::size_t kReadDirectly = 2;
/// While links are read directly, epoll is asked about the rest every so many calls of progress().
inline constexpr unsigned kPollEvery = 64;

class TcpTransport final : public ucx::TransportBase {
 public:
  TcpTransport(const Choice& choice, const ucx::OpenRequest& request);
  ~TcpTransport() override;
  Status listen();

  std::vector<std::byte> address() const override;
  bool reaches(Bytes address) const override;
  Result<ucx::Link*> connect(ucx::PeerId peer, Bytes address) override;
  void close(ucx::Link& link) override;

  ucx::Accepted send_inline(ucx::Link& link, ucx::Header header, Bytes payload) override;
  ucx::Accepted send_lent(ucx::Link& link, ucx::Header header, Bytes payload, ucx::Completion& completion) override;
  ucx::Accepted send_owned(ucx::Link& link, ucx::Header header, ucx::Buffer& payload) override;
  ucx::Accepted flush(ucx::Link& link, ucx::Completion& completion) override;
  bool handed_over(ucx::Link& link) const override;

  int progress() override;
  int wait_fd() const override { return epoll_; }
  bool arm() override;
  void disarm() override { armed_ = false; }

 private:
  friend class TcpLink;

  // connections
  int new_socket() const;
  void tune(int fd) const;
  void watch(Watched& watched, int change, unsigned events);
  void forget(Watched& watched);
  void accept_all();
  void advance(Attempt& attempt, unsigned events);
  void talk(Attempt& attempt);
  bool send_output(Attempt& attempt);
  void decide(Attempt& attempt);
  void adopt(TcpLink& link, Attempt& attempt, Bytes early);
  void attempt_failed(Attempt& attempt, const std::string& reason);
  void warn_refused(const Attempt& attempt, const std::string& reason);
  TcpLink& new_link(ucx::PeerId peer);

  // links
  ucx::Accepted admit(TcpLink& link);
  void added(TcpLink& link, bool was_empty);
  enum class Which { due, due_or_idle, all };
  void write_due(Which which);
  bool reads_directly() const { return !open_.empty() && open_.size() <= kReadDirectly; }
  static unsigned events_of(const TcpLink& link);
  void watch_links(bool wanted);
  void update_watch(TcpLink& link);
  void fail(TcpLink& link, const std::string& reason);
  static void ended(void* self, ucx::Completion& completion, ucx::Outcome outcome);

  // progress
  static std::unique_ptr<std::byte[]> new_buffer() {
    return std::unique_ptr<std::byte[]>(new std::byte[kWholeMax + 256 + kReceiveBytes]);
  }
  std::unique_ptr<std::byte[]> swap_buffer();
  void poll_sockets();
  void tick();
  std::string silence() const;  // why a peer whose host says nothing is given up
  bool host_is_silent(TcpLink& link, std::uint64_t now_ns);
  void drain(LingeringSocket& lingering);
  void tell_loss(ucx::Link& link, const std::string& reason) override;
  void reap();

  Interface interface_;
  std::uint64_t timeout_ns_;
  Address own_;
  int epoll_ = -1;
  Watched listener_{Watched::Kind::listener, -1};
  Watched timer_{Watched::Kind::timer, -1};
  bool listening_paused_ = false;
  int warnings_ = 0;

  ChunkPool chunks_;
  ucx::LinkTable<TcpLink> links_;  // by peer: connecting and open
  std::vector<TcpLink*> open_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<std::unique_ptr<LingeringSocket>> lingering_;
  std::vector<TcpLink*> dirty_;
  std::unique_ptr<std::byte[]> buffer_ = new_buffer();  // beginning of a frame, then what is read
  std::vector<std::unique_ptr<std::byte[]>> spare_;     // others, that links gave back
  std::vector<TcpLink*> holding_, going_on_;            // links with a rest of what was read
  bool watches_links_ = true;                           // the open links are in epoll's set: watch_links()
  bool armed_ = false;                                  // a worker may sleep on epoll
  bool in_progress_ = false;
  bool to_reap_ = false;
  int blocked_ = 0;
  unsigned calls_ = 0;
  int handed_up_ = 0;
};

}  // namespace periapt::tcp
