// Verbs: the RDMA networks of clusters (InfiniBand, RoCE), by libibverbs.
//
// A link is a reliable queue pair for messages, made on first use, and a second one for puts and gets, made at the
// first of these: a key that gives no access breaks the queue pair that it was used on, and messages must not break
// with it. The two workers meet over a link of the TCP transport (wire.h), which stays: it proves that both know the
// job's secret, and tells at once when a process has gone, which a queue pair tells by silence alone.
//
// Sending: small messages are copied into the request, or together into a slot of registered memory while the device is
// behind (batches.cpp), others into a slot of their own. Receiving: into slots that all links share, handed up where
// they lie. Larger messages are the engine's business, by put or get, without a copy. With nothing to do, a completion
// channel is slept on.
//
// Beyond so many links, new ones have no queue pair of their own while they carry little: datagrams.cpp.
//
// A queue pair that breaks because the network did (a cable, a port, a switch) is made anew, and what had not come is
// sent again, each message once: mending.cpp. Where that does not succeed the link goes over another rail of the
// worker's, which is another transport of this kind (rails.cpp), or over TCP: detour.cpp. It comes back when its port
// carries it again: returning.cpp.
//
// Options: devices.h, and kOptions in transport.cpp.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/tcp/meeting.h"
#include "machine/ucx-like/range_key.h"
#include "machine/ucx-like/transport_base.h"
#include "machine/verbs/link.h"

namespace periapt::verbs {

extern const ucx::TransportFactory factory;

class VerbsTransport final : public ucx::TransportBase, private tcp::Meeting::Guest {
 public:
  using Bytes = std::span<const std::byte>;

  VerbsTransport(const Library& library, const Choice& choice, const Settings& settings,
                 const ucx::OpenRequest& request);
  ~VerbsTransport() override;
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
  std::string describe(const ucx::Link& link) const override;
  double measured_bytes_per_ns(const ucx::Link& link) const override;

  Result<ucx::MemoryHandle> register_memory(std::byte* address, std::uint64_t size, ucx::MemoryKind kind) override;
  Result<ucx::MemoryHandle> register_device_memory(std::byte* address, std::uint64_t size, ucx::MemoryKind kind,
                                                   const ucx::DmaBuf* shared) override;
  void deregister_memory(ucx::MemoryHandle& handle) override;
  std::vector<std::byte> pack_key(const ucx::MemoryHandle& handle) const override;
  Result<ucx::RemoteKey> unpack_key(ucx::Link& link, Bytes packed) override;
  void release_key(ucx::RemoteKey& key) override { ucx::release(key); }

  int progress() override;
  int wait_fd() const override { return epoll_; }
  bool arm() override;
  void disarm() override;

 private:
  // connections (connections.cpp)
  VerbsLink& new_link(ucx::PeerId peer, ucx::Link& met);
  void make_pair(VerbsLink& link, Queue queue, std::uint32_t generation);
  void enter_pair(QueuePair& pair);
  void give_up_pair(std::unique_ptr<QueuePair>& pair);
  void replace_memory_pair(VerbsLink& link);
  void tell(VerbsLink& link, const Call& call);
  void take_call(ucx::Link& from, ucx::Header header, Bytes rest) override;
  void left(void* user, const std::string& reason) override;
  void take_here(VerbsLink& link, const Call& call);
  // messages as datagrams (datagrams.cpp)
  bool has_datagrams();
  void end_datagrams(const std::string& reason);
  void begin_datagrams(VerbsLink& link);
  void take_datagram_call(VerbsLink& link, const Call& call, Bytes rest);
  void leave_datagrams(VerbsLink& link);
  void connect_now(VerbsLink& link);
  void talk(VerbsLink& link);
  bool post_datagram(VerbsLink& link, std::uint32_t number, Bytes message);
  bool send_datagram(VerbsLink& link, const Prefix& prefix, ucx::Header header, Bytes payload);
  void post_datagrams(VerbsLink& link, std::uint64_t now);
  bool post_again(VerbsLink& link, std::uint64_t now);
  void talk_all(bool sleeps);
  bool sleep_over_datagrams();
  void refuse_datagram(const char* why);
  void take_datagram(Bytes bytes);
  void take_early(VerbsLink& link);
  bool take_acknowledgement(VerbsLink& link, std::uint32_t received);
  // messages of a queue pair that broke (mending.cpp)
  void mend(VerbsLink& link, const std::string& reason);
  void mend_all();
  bool is_mending() const;
  void halt_messages(VerbsLink& link);
  void take_unended(VerbsLink& link);
  void end_mending(VerbsLink& link);
  void give_slot_of(const Unended& message);
  void begin_again(VerbsLink& link);
  void forget_mending(VerbsLink& link);
  bool drop_received(VerbsLink& link, std::uint16_t received);
  bool send_again(VerbsLink& link);
  // the other transports of the worker (rails.cpp)
  void join_rails();
  void leave_rails();
  VerbsTransport* rail_to(ucx::PeerId peer) const;
  ucx::Accepted carry(ucx::PeerId peer, Bytes head, Bytes rest);
  bool say_beside(VerbsLink& link);
  bool has_handed_over(ucx::PeerId peer) const;
  void leave_carrier(VerbsLink& link);
  void take_beside(VerbsLink& carrier, Bytes head, Bytes rest);
  void take_what_rails_have();
  // over another rail or TCP, when a link stays broken (detour.cpp)
  void go_around(VerbsLink& link, const std::string& reason);
  void go_on_around(VerbsLink& link);
  void take_around(VerbsLink& link, const Call& call);
  void call_around(VerbsLink& link, Call::Kind kind, std::vector<std::byte> rest);
  bool say_around(VerbsLink& link);
  bool has_gone_around(const VerbsLink& link) const;
  bool has_room_around(VerbsLink& link);
  bool send_around(VerbsLink& link, const Prefix& prefix, ucx::Header header, Bytes payload);
  void post_around(VerbsLink& link);
  ucx::Outcome why_unregistered(std::uint32_t key) const;
  const std::byte* registered(std::uint32_t key, std::uint64_t at, std::uint64_t size, bool write) const;
  void take_carried(VerbsLink& link, Call::Kind kind, Bytes rest);
  void answer_around(VerbsLink& link);
  void take_answer(VerbsLink& link, Call::Kind kind, ucx::Outcome outcome, Bytes bytes);
  // and back from there (returning.cpp)
  bool comes_back() const { return broken_.empty() && adapter_.settings.return_after_seconds >= 0; }
  bool may_come_back(const VerbsLink& link) const;
  bool leads_back(const VerbsLink& link) const { return self_ < link.peer(); }
  bool is_port_up();
  void look_for_returns();
  bool make_next(VerbsLink& link, std::uint32_t generation);
  bool send_probe(VerbsLink& link);
  void tell_back(VerbsLink& link);
  void tell_stays(VerbsLink& link, std::uint32_t generation);
  void take_back(VerbsLink& link, const Call& call);
  void answer_back(VerbsLink& link, const Call& call);
  void take_stays(VerbsLink& link, const Call& call);
  void take_probe(VerbsLink& link, std::uint32_t generation);
  void say_last(VerbsLink& link);
  void take_last(VerbsLink& link);
  void take_returned(VerbsLink& link);
  void next_broke(VerbsLink& link, const std::string& reason);
  void drop_next(VerbsLink& link);
  void stay_around(VerbsLink& link);
  void come_back(VerbsLink& link);
  bool can_send(const VerbsLink& link, std::uint32_t reserved) const {
    return link.messages->open && !link.mending && link.messages->has_room(reserved);
  }
  void take_ready(VerbsLink& link, const Call& call);
  void end_all(VerbsLink& link, ucx::Outcome outcome);
  void fail(VerbsLink& link, const std::string& reason);
  void all_go_around(const std::string& reason);
  void a_queue_broke();
  void take_device_events();
  void take_device_event(const ibv_async_event& event);
  void take_port_error();
  void bury();

  // small messages that go together (batches.cpp)
  static bool is_batching(const VerbsLink& link) { return link.batch != kNoSlot || link.messages->is_behind(); }
  static bool joins_batch(const VerbsLink& link, ucx::Header header, Bytes payload);
  bool is_behind(VerbsLink& link);
  void look_at_ends();
  bool add_to_batch(VerbsLink& link, ucx::Header header, Bytes payload);
  bool post_batch(VerbsLink& link);
  void take_batch(VerbsLink& link, Bytes header, Bytes messages);

  // messages and operations
  ucx::Accepted send_message(VerbsLink& link, Prefix::Kind kind, ucx::Header header, Bytes payload);
  ucx::Accepted posted(VerbsLink& link, int error);
  ucx::Accepted not_posted(VerbsLink& link, int error);
  ucx::Accepted refuse() { return refused_ = true, ucx::Accepted::no_resource; }
  std::uint32_t silent_max() const;
  bool post_prefix(VerbsLink& link, Prefix::Kind kind, std::uint32_t number, std::uint32_t reserved);
  int post_bytes(QueuePair& pair, const std::byte* at, std::uint32_t size, std::uint32_t slot, std::uint32_t silent_max,
                 const DatagramState* to = nullptr);
  static void write_message(std::byte* at, const Prefix& prefix, ucx::Header header, Bytes payload);
  int post_message(QueuePair& pair, const Prefix& prefix, ucx::Header header, Bytes payload);
  ucx::Accepted operate(VerbsLink& link, Operation operation, const ucx::MemoryHandle* handle,
                        const ucx::RemoteKey& key);
  void post_operations(VerbsLink& link);
  void attend_to(VerbsLink& link);
  void attend();
  bool attend_once(VerbsLink& link);

  // progress
  bool has_more() const;
  void before_completions();
  void after_completions();
  void give_core_up(bool is_used);
  void fail_lost();
  void note_look();
  void take_early_completions();
  void look_at_completions(bool all);
  void take_completion(const ibv_wc& completion);
  void take_arrival(const ibv_wc& completion);
  void take_message(VerbsLink& link, Bytes bytes);
  void take_word(VerbsLink& link, const Prefix& prefix, Bytes header, Bytes payload);
  void take_end(QueuePair& pair, const ibv_wc& completion);
  void message_failed(QueuePair& pair, const ibv_wc& completion);
  void end_operation(VerbsLink& link, const ibv_wc& completion);
  void end_first_operation(VerbsLink& link, ucx::Outcome outcome);
  void end_flushes(VerbsLink& link);
  std::string fault_of(const ibv_wc& completion) const;

  std::vector<VerbsTransport*> rails_;  // the others of this worker
  Adapter adapter_;
  tcp::Meeting meeting_;
  int epoll_ = -1;
  std::string broken_;      // the device has gone: why
  bool port_down_ = false;  // as the device has told

  std::unique_ptr<QueuePair> datagram_pair_;  // nullptr: not asked for yet, or the device gives none
  bool datagrams_asked_for_ = false;
  std::uint32_t datagram_key_ = 0, last_datagram_link_ = 0;
  std::unordered_map<std::uint32_t, VerbsLink*> by_datagram_link_;
  std::vector<VerbsLink*> talking_;  // links with datagrams that are not acknowledged, here or there
  std::vector<ibv_ah*> old_ways_;    // of links that send none any more, until those under way have gone
  bool told_of_strange_ = false;
  bool timer_set_ = false;
  int timer_ = -1;  // for the next datagram that is to be sent again, while the worker sleeps

  ucx::LinkTable<VerbsLink> links_;
  std::unordered_map<std::uint32_t, QueuePair*> by_number_, by_serial_;
  std::uint32_t latest_number_ = 0;  // of the queue pair over which the latest message came; 0: to be looked up again
  QueuePair* latest_ = nullptr;
  std::uint32_t last_serial_ = 0;
  std::vector<std::unique_ptr<QueuePair>> given_up_;  // until the device tells no more of them
  std::vector<VerbsLink*> attended_, mending_;
  struct Lost {
    VerbsLink* link;
    std::string reason;
  };
  std::vector<Lost> lost_;     // told by the TCP transport; what has come before is handed up first
  std::vector<ibv_wc> early_;  // completions that arm() has found
  int connecting_ = 0;         // queue pairs that are not open yet
  int detours_ = 0;            // links that go around
  std::uint64_t returns_looked_ns_ = 0;
  std::size_t returns_next_ = 0;  // the link that is looked at next
  bool measures_ = false;         // there was a put or get that is large enough
  Look look_;                     // the latest one at completions, while it measures
  std::uint64_t watched_ns_ = 0;  // so long nothing that had ended was left unseen
  struct Region {
    const std::byte* address;
    std::uint64_t size;
    bool writable;
    bool on_gpu = false;  // only the device can touch it
  };
  std::unordered_map<std::uint32_t, Region> regions_;  // by key: what peers may reach over TCP
  std::uint32_t last_key_ = 0;                         // of memory that no device knows
  bool armed_ = false;
  bool has_more_ = true;  // false: has_more() is; true: it may be
  bool refused_ = false;  // no_resource was answered, and nothing has been freed since
  bool freed_ = false;    // since the end of the latest progress()
  unsigned empty_looks_ = 0;
  int handed_up_ = 0;
};

}  // namespace periapt::verbs
