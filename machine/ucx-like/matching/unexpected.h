// Unexpected messages: those that no receive was there for, in the order in which they arrived.
//
// A receive with the full mask finds its message by hash; one with a wildcard walks them in order of arrival. A message
// that a probe or a receive has taken out of the matching still belongs to its peer, until it is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/ucx-like/buffer.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/list.h"
#include "machine/ucx-like/matching/match_table.h"
#include "machine/ucx-like/pool.h"

namespace periapt::ucx {

class EndpointImpl;
class Operation;

struct OfEndpoint;
struct InOrder;

struct Unexpected final : MatchNode, Hook<InOrder>, Hook<OfEndpoint> {
  EndpointImpl* from = nullptr;
  MessageHeader header;
  Buffer bytes;                  ///< of an eager message; of an announcement: keys
  bool handed_over = false;      ///< `bytes` came from the sender for good, and are no memory of the engine's
  bool arriving = false;         ///< its bytes are still on their way
  bool probed = false;           ///< taken out of the matching
  Operation* receive = nullptr;  ///< found it while it was arriving
  static constexpr std::size_t kFew = 64;
  std::byte few[kFew];  ///< where `bytes` lie when they are few
  std::uint64_t size() const { return header.size; }
};

class UnexpectedMessages {
 public:
  bool empty() const { return in_order_.empty(); }
  /// The oldest, and the one behind; nullptr: there is none.
  Unexpected* front() { return in_order_.front(); }
  Unexpected* after(Unexpected* message) { return in_order_.after(message); }

  /// The youngest, without its bytes.
  Unexpected& add(EndpointImpl* from, const MessageHeader& header);
  /// The oldest that a receive of that tag and mask may have; nullptr: none.
  Unexpected* find(std::uint64_t tag, std::uint64_t mask);
  /// Out of the matching; it still belongs to its peer.
  void take_out(Unexpected& message);
  /// Those that were taken out go back to where they were.
  void put_back(List<Unexpected, InOrder>& taken);
  /// It is gone.
  void forget(Unexpected& message);

 private:
  Pool<Unexpected> pool_;
  MatchTable by_tag_;
  List<Unexpected, InOrder> in_order_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace periapt::ucx
