// Ofi: any network that libfabric has a provider for (Slingshot, Omni-Path, EFA ...), by endpoints of reliable
// datagrams (FI_EP_RDM).
//
// The two workers of a link meet over a link of the TCP transport (machine/tcp/meeting.h), which stays: it proves that
// both know the job's secret, and tells at once when a process has gone; a datagram endpoint knows neither. What is
// sent carries a token that the receiver gave out there.
//
// Sending: what fits is injected, other messages are copied into a slot. Receiving: into slots that all links share,
// handed up where they lie. Larger messages are the engine's business, by put or get, without a copy. Where the
// provider gives a descriptor to sleep on, an idle process sleeps.
//
// Options: providers.h.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/ofi/link.h"
#include "machine/ucx-like/range_key.h"
#include "machine/ucx-like/transport_base.h"

namespace periapt::ofi {

extern const ucx::TransportFactory factory;

/// How an error of a provider ends a put or get.
ucx::Outcome outcome_of(int error);
/// Does it say no more than that the connection broke: during the operation, which may be the cause or a victim, or
/// before it?
enum class Breakage : std::uint8_t { none, before, during };
Breakage breakage_of(int error);

class OfiTransport final : public ucx::TransportBase, private tcp::Meeting::Guest {
 public:
  using Bytes = std::span<const std::byte>;

  OfiTransport(const Library& library, const Choice& choice, const ucx::OpenRequest& request);
  ~OfiTransport() override;
  Status open(const ucx::OpenRequest& request);

  std::vector<std::byte> address() const override;
  bool reaches(Bytes address) const override;
  Result<ucx::Link*> connect(ucx::PeerId peer, Bytes address) override;
  void close(ucx::Link& link) override;

  ucx::Accepted send_inline(ucx::Link& link, ucx::Header header, Bytes payload) override;
  ucx::Accepted put(ucx::Link& link, Bytes local, const ucx::MemoryHandle* handle, std::uint64_t remote,
                    const ucx::RemoteKey& key, ucx::Completion& completion) override;
  ucx::Accepted get(ucx::Link& link, std::span<std::byte> local, const ucx::MemoryHandle* handle, std::uint64_t remote,
                    const ucx::RemoteKey& key, ucx::Completion& completion) override;
  ucx::Accepted flush(ucx::Link& link, ucx::Completion& completion) override;
  bool handed_over(ucx::Link& link) const override;

  Result<ucx::MemoryHandle> register_memory(std::byte* address, std::uint64_t size, ucx::MemoryKind kind) override;
  void deregister_memory(ucx::MemoryHandle& handle) override;
  std::vector<std::byte> pack_key(const ucx::MemoryHandle& handle) const override;
  Result<ucx::RemoteKey> unpack_key(ucx::Link&, Bytes packed) override {
    return ucx::unpack_range_key(device_.transport, packed);
  }
  void release_key(ucx::RemoteKey& key) override { ucx::release(key); }

  int progress() override;
  int wait_fd() const override { return epoll_; }
  bool arm() override;
  void disarm() override { armed_ = false, meeting_.disarm(); }

 private:
  // connections (connections.cpp)
  static Address address_of(const Provider& provider);
  OfiLink& new_link(ucx::PeerId peer, ucx::Link& met);
  void take_call(ucx::Link& from, ucx::Header head, Bytes rest) override;
  void left(void* user, const std::string& reason) override;
  Status take_here(OfiLink& link, const Here& here, Bytes rest);
  void leave(OfiLink& link, ucx::Outcome outcome, std::string reason);
  void fail(OfiLink& link, const std::string& reason);
  void see_off();
  void part(OfiLink& link, ucx::Outcome outcome, const std::string& reason);
  void retire(OfiLink& link);

  // puts and gets (operations.cpp)
  ucx::Accepted operate(OfiLink& link, bool is_get, std::span<std::byte> local, const ucx::MemoryHandle* handle,
                        std::uint64_t remote, const ucx::RemoteKey& key, ucx::Completion& completion);
  void post_operations(OfiLink& link);
  void take_operation(Operation& operation, int error);
  void end_operation(Operation& operation, ucx::Outcome outcome);

  // messages
  ucx::Accepted refuse() { return refused_ = true, ucx::Accepted::no_resource; }
  int post_message(OfiLink& link, Prefix::Kind kind, ucx::Header header, Bytes payload);
  bool post_number(OfiLink& link, Prefix::Kind kind, std::uint32_t number);
  void attend_to(OfiLink& link);
  void attend();
  bool attend_once(OfiLink& link);

  // progress
  void lose_all();
  void look_at_completions(bool all);
  void take_end(Request& request, std::size_t bytes);
  void take_fault(Request* request, int error, const std::string& text);
  void take_arrival(std::uint32_t slot, std::size_t bytes);
  void take_in_turn(OfiLink& link, Bytes message);
  void take_message(OfiLink& link, const Prefix& prefix, Bytes rest);
  void end_flushes(OfiLink& link);

  ucx::LinkTable<OfiLink> links_;
  std::unordered_map<std::uint64_t, OfiLink*> by_token_;
  std::vector<OfiLink*> attended_;
  struct Lost {
    OfiLink* link;
    std::string reason;
  };
  std::vector<Lost> lost_;  // told at the meeting; what has come before is handed up first
  // Links that are lost or closed, until the provider has ended what it does with memory of others.
  struct Leaving {
    OfiLink* link;
    ucx::Outcome outcome;
    std::string reason;
    std::uint64_t since_ns;
  };
  std::vector<Leaving> leaving_;
  std::vector<std::unique_ptr<Operation>> left_behind_;  // of links that have gone; the provider never ended them
  std::size_t operations_ = 0;                           // with the provider, on all links
  int connecting_ = 0;                                   // links whose peer has not said yet where it is
  bool armed_ = false;
  bool all_lost_ = false;  // the provider has broken, and its links have been told: TCP alone is waited for
  bool refused_ = false;   // no_resource was answered since the latest progress()
  int handed_up_ = 0;

  int epoll_ = -1;
  tcp::Meeting meeting_;
  Domain domain_;  // closed before anything that it may still look at
  const Address own_;
};

}  // namespace periapt::ofi
