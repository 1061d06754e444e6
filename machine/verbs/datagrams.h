// What a link has while its messages go as datagrams: over the one unreliable queue pair that all such links of a port
// share, so that a peer costs no queue pair of its own. datagrams.cpp says how they come whole, in order and once.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <vector>

namespace periapt::verbs {

/// Messages under way on one link: sent and not acknowledged, or there before their turn.
inline constexpr std::uint32_t kDatagramsMost = 32;
/// Links that are connected at once; those made beyond them begin with datagrams (+verbs-datagrams-from).
inline constexpr int kConnectedUsually = 64;
/// Messages to a peer within a second that are worth a queue pair (+verbs-connect-after).
inline constexpr int kConnectAfterUsually = 100;
inline constexpr std::uint32_t kGrhBytes = 40;  ///< that a device puts before a datagram

/// In front of a datagram's Prefix.
struct Datagram {
  static constexpr std::uint32_t kMagic = 0x3164'7069;  // "ipd1"
  std::uint32_t magic = kMagic;
  std::uint32_t link = 0;      ///< the receiver's number of it
  std::uint64_t token = 0;     ///< that the receiver has told for it
  std::uint32_t number = 0;    ///< of the message behind it among those of the link, from 1; there may be none
  std::uint32_t received = 0;  ///< messages that the sender has taken
};
static_assert(sizeof(Datagram) == 24);

/// Behind Call::Kind::datagrams: what must be in those that are sent to the sender of it.
struct DatagramSeat {
  std::uint32_t link = 0;
  std::uint32_t key = 0;  ///< the queue pair's
  std::uint64_t token = 0;
};

/// How long an acknowledgement may take, as RFC 6298 has it: learnt from those that came, doubled at each that did not,
/// until one comes.
class RoundTrip {
 public:
  void learn(std::uint64_t took_ns);
  void unanswered() { ++doubled_; }
  void answered() { doubled_ = 0; }
  std::uint64_t timeout_ns() const;

 private:
  double mean_ns_ = 0, deviation_ns_ = 0;
  std::uint64_t timeout_ns_ = 20'000'000;
  int doubled_ = 0;
};

struct DatagramState {
  std::uint32_t own_link = 0;  ///< what the peer's datagrams begin with
  std::uint64_t own_token = 0;
  bool known = false;  ///< the peer has said where its queue pair is
  ibv_ah* way = nullptr;
  std::uint32_t number = 0, key = 0;  ///< of the peer's queue pair
  std::uint32_t bytes_max = 0;        ///< of a datagram
  DatagramSeat peer;

  std::uint32_t posted = 0;  ///< of VerbsLink::unended, that have gone out at least once
  std::uint64_t due_ns = 0;  ///< when the oldest goes again
  int resent = 0;            ///< one behind the other, without an acknowledgement
  std::uint32_t timed = 0;   ///< the message whose round trip is measured; 0: none
  std::uint64_t timed_since_ns = 0;
  RoundTrip round_trip;

  std::map<std::uint32_t, std::vector<std::byte>> early;  ///< before their turn, by number
  bool talks = false;  ///< is in the transport's list of links that have something to do
  bool owes = false;   ///< an acknowledgement
  std::uint64_t owes_since_ns = 0;
  std::uint32_t owed = 0;  ///< messages that it is for

  int traffic = 0;  ///< messages in the second that began then
  std::uint64_t traffic_since_ns = 0;
};

}  // namespace periapt::verbs
