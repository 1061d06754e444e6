// What travels between two verbs transports, and what an address is. All numbers are little-endian.
//
// Beside its queue pairs a link has a link of the TCP transport, over which the two workers prove that they know the
// job's secret, say where their queue pairs are, and learn at once when the other has gone. Over it go Calls; over the
// queue pair of messages, Prefix, header and payload; over that of datagrams the same behind a Datagram (datagrams.h);
// over that of memory, reads and writes, nothing of ours.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "machine/ucx-like/transport.h"

namespace periapt::verbs {

static_assert(std::endian::native == std::endian::little, "wire.h writes structures as they lie in memory");

inline constexpr std::uint32_t kMagic = 0x3776'7069;  // "ipv7": changes with all that is in this file

/// In front of what an address of the TCP transport holds.
struct Address {
  std::uint32_t magic = kMagic;
  std::uint8_t link_layer = 0;  ///< InfiniBand or Ethernet
  std::uint8_t zero = 0;
  std::uint16_t partition = 0;  ///< its key
  std::uint64_t subnet = 0;     ///< of InfiniBand; 0 on Ethernet, where routers lead on
};
static_assert(sizeof(Address) == 16);

enum class Queue : std::uint8_t { messages, memory, datagrams };

/// Over the TCP link, as its header.
struct Call {
  enum class Kind : std::uint8_t {
    here,   ///< where the sender's queue pair is: the receiver connects its own to it
    ready,  ///< the sender's queue pair takes what is sent to it
    // The way around broken queue pairs (detour.cpp).
    around,  ///< the sender has taken `received` messages, and takes no more over its queue pair; `number`: 1 when it
             ///< has another rail to the peer; `first_packet`: the next generation that it takes when the link comes
             ///< back, 0: it leaves it around for good
    heard,   ///< the peer's `around`: what comes next may come as calls
    // Those go by TCP or over another rail, and have bytes behind them.
    carried,     ///< a message
    put_begins,  ///< a piece of a put
    put,         ///< its last piece
    get,
    data,   ///< the bytes of a get, a piece
    ended,  ///< the oldest put or get
    last,   ///< of what the sender says that way: the link comes back
    // The way back from there (returning.cpp).
    back,      ///< as `here`, of the queue pair that is to take the link's messages
    stays,     ///< that comes to nothing
    returned,  ///< the sender has had the other side's `last`
    // At the beginning, in place of `here` (datagrams.cpp).
    datagrams,  ///< where the sender's queue pair of datagrams is; a DatagramSeat is behind it
  };
  static constexpr Kind kLastCarried = Kind::last, kLastKind = Kind::datagrams;
  std::uint32_t magic = kMagic;
  Kind kind = Kind::here;
  Queue queue = Queue::messages;
  std::uint8_t mtu = 0;            ///< ibv_mtu
  std::uint8_t reads_at_once = 0;  ///< that the sender's queue pair answers
  std::uint32_t generation = 0;    ///< of that queue pair: one that broke is replaced by the next
  std::uint32_t number = 0;        ///< of the queue pair
  std::uint32_t first_packet = 0;  ///< its first packet's number
  std::uint16_t lid = 0;
  std::uint16_t received = 0;          ///< messages that the sender has taken on this link, modulo 2^16
  std::array<std::uint8_t, 16> gid{};  ///< of the sender's port; over another rail, of the port whose link it is
};
static_assert(sizeof(Call) == ucx::kHeaderBytes);

struct Prefix {
  enum class Kind : std::uint8_t {
    message = 1,
    mark,     ///< nothing: its completion says that what was sent before it is there
    flush,    ///< `number` is to be answered when all before it has been handed up
    flushed,  ///< the answer, for all flushes up to `number`
    beside,   ///< a call of another rail's link, as header, that goes around
    probe,    ///< nothing: that it comes over the queue pair of generation `number` is what counts
    batch,    ///< several messages, each behind a Prefix whose `number` is the bytes of its payload, and filled up to 8
              ///< bytes
  };
  Kind kind = Kind::message;
  std::uint8_t header_bytes = 0;
  std::uint16_t zero = 0;
  std::uint32_t number = 0;
};
static_assert(sizeof(Prefix) == 8);

inline constexpr std::size_t kHeaderMax = 64;
inline constexpr std::size_t kPayloadMax = 8 << 10;
inline constexpr std::size_t kSlotBytes = sizeof(Prefix) + kHeaderMax + kPayloadMax + 56;  ///< whole cache lines
static_assert(kSlotBytes % 64 == 0);
static_assert(2 * sizeof(Prefix) + sizeof(Call) + kHeaderMax + kPayloadMax <= kSlotBytes,
              "a message of another rail, as a call, fits a slot");

}  // namespace periapt::verbs
