// Rails: the links to a peer, one for each pair of devices; and the lanes that lead over them to its memory.
//
// Rails lie in the order of the worker's ports. The first that can be connected carries what is ordered; large messages
// and one-sided operations are split over all that are worth it, each part to the rail that will have done it first: as
// their devices say, but for those that turn out to be slower than that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/ucx-like/buffer.h"
#include "machine/ucx-like/device_port.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/keys.h"
#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

class EndpointImpl;
class Operation;
struct Unexpected;

/// Where bytes that are on their way go.
struct Placement {
  MessageHeader header;
  Buffer bytes;  ///< ours, when they don't go to their place directly
  std::uint64_t size = 0;
  Operation* operation = nullptr;  ///< whose memory it is
  Unexpected* unexpected = nullptr;
  const PersistentReceive* persistent = nullptr;
};

struct Rail {
  EndpointImpl* endpoint = nullptr;
  DevicePort* port = nullptr;
  Link* link = nullptr;
  std::vector<std::byte> address;  ///< theirs; empty: they came to us
  int their_port = -1;             ///< number of their device; -1: not known
  double load_ns = 0;  ///< given to it so far, in time that it takes: the next part goes where this is least
  Placement placement;
  bool one_sided = false;  ///< it has had one-sided operations
  bool unusable = false;   ///< could not be connected, or was lost

  Transport& transport() const { return *port->transport; }
  const Capabilities& can() const { return port->can(); }
  const std::string& name() const { return port->device.transport; }
  /// Does the device itself carry it?
  bool is_whole() const { return link != nullptr && !link->degraded; }
  void add_load(std::uint64_t bytes);
};

/// How a peer's memory is reached over a rail.
struct RmaLane {
  Rail* rail;
  RemoteKey key;
};

/// A peer's memory, with the lanes that lead there; none: by messages.
class Rkey {
 public:
  Rkey() = default;
  Rkey(const Rkey&) = delete;
  ~Rkey();
  EndpointImpl* endpoint = nullptr;
  std::uint64_t memory = 0;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::vector<RmaLane> lanes;
  std::vector<std::byte> device_memory;  ///< how the peer has described it (DeviceMemory); empty: it hasn't
  /// The lane for a part of a transfer: the one that is free first, of those whose devices can use memory of that kind
  /// here, and know it (`here`) where it is not the host's; nullptr: none.
  RmaLane* lane_for(bool is_put, bool split, MemoryKind kind, const LocalMemory& here);
  bool covers(std::uint64_t address, std::uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

class Rails {
 public:
  Rails(EndpointImpl& endpoint, PeerId peer) : endpoint_(endpoint), peer_(peer) {}

  /// The rail that ordered messages go over; nullptr: not connected.
  Rail* first() const { return first_; }
  bool empty() const { return rails_.empty(); }
  bool has_link() const;
  std::size_t size() const { return rails_.size(); }
  auto begin() const { return rails_.begin(); }
  auto end() const { return rails_.end(); }

  // ---- connections

  /// A device of the peer's that one of ours reaches.
  void know(DevicePort& port, unsigned their_port, std::vector<std::byte> address);
  /// The rail of that port; made if there is none.
  Rail& at(DevicePort& port);
  /// A link that was made for it, by us or by the peer.
  void enter(Rail& rail, Link& link);
  /// Its device carries it again.
  void restore(Rail& rail) { begin_load(rail); }
  /// Connects the first rail that can be. False: none, and why_not() says why.
  bool open();
  /// For large messages: every rail that there is.
  void connect_all();
  const std::string& why_not() const { return why_not_; }
  /// Closes all links; pending placements are dropped.
  void close();
  /// After close(): they may be connected anew.
  void revive();

  // ---- transfers

  /// The first one whose device carries it itself; the first where there is none.
  Rail* first_whole() const;
  /// Where a part of that many bytes will be over first.
  Rail& next(std::uint64_t bytes, const Plan& plan);
  /// What a rail carries beside the others: what its device says, less what was measured to be missing.
  double speed_of(const Rail& rail) const;
  /// Which rails lead to which of the peer's keys, among those whose devices `can` use them.
  RkeyPtr lanes_to(const std::vector<DeviceKey>& keys, bool (*can)(const Capabilities&));
  /// Keys for the peer to memory of ours, one for each rail that can be used so; `all`: not only the first.
  std::vector<DeviceKey> expose(LocalMemory& memory, std::span<std::byte> bytes, MemoryKind kind, bool for_get,
                                bool all);

  // ---- flush

  /// Have devices had one-sided operations that no flush() has ended since?
  bool is_unflushed() const { return unflushed_; }
  void set_unflushed(bool now) { unflushed_ = now; }
  /// Flushes those that have had one-sided operations and whose bit is not set in `flushed`; each that is `pending`
  /// adds one to `outstanding`. The answer of the first that doesn't take it; done: all have.
  Accepted flush(std::uint32_t& flushed, Completion& completion, unsigned& outstanding);
  /// Has all that was accepted left this process?
  bool handed_over() const;

 private:
  bool connect(Rail& rail);
  void begin_load(Rail& rail);

  EndpointImpl& endpoint_;
  const PeerId peer_;
  Rail* first_ = nullptr;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::string why_not_;  ///< some could not be connected
  bool unflushed_ = false;
};

}  // namespace periapt::ucx
