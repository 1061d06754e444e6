// An opened device with what all its links share: the completion queue, the shared receive queue with its slots, and
// the slots that messages leave from. One block of registered memory holds both kinds of slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/platform.h"
#include "machine/verbs/datagrams.h"
#include "machine/verbs/devices.h"
#include "machine/verbs/wire.h"

namespace periapt::verbs {

inline constexpr std::uint32_t kReceives = 256;  ///< messages that may wait for this worker to look
inline constexpr std::uint32_t kSendSlots = 128;
/// Sends that may be under way on all links together: each can end with an entry in the completion queue, which must
/// never run over.
inline constexpr int kSendsMax = 4096;
inline constexpr int kLook = 64;  ///< completions that one look takes

struct Settings {
  // How packets are marked.
  int service_level = 0;
  int traffic_class = 0;
  int patience_seconds = 20;                 ///< for a connection that broke to be there again
  int datagrams_from = kConnectedUsually;    ///< links that are connected at once
  int connect_after = kConnectAfterUsually;  ///< messages of a link in a second, before it gets a queue pair
  int return_after_seconds = 1;              ///< that a link goes around, before its port is tried again; -1: for good
  std::uint64_t return_after_ns() const {
    return static_cast<std::uint64_t>(std::max(return_after_seconds, 0)) * 1'000'000'000;
  }
  std::uint64_t patience_ns() const { return static_cast<std::uint64_t>(patience_seconds) * 1'000'000'000; }
};

class Adapter {
 public:
  Adapter(const Library& library, const Choice& choice, const Settings& settings)
      : verbs(library), port(choice.port), gid(choice.gid), partition(choice.partition), settings(settings) {}
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  Status open();

  /// Completions, at most as many as there is room for.
  PERIAPT_INLINE std::span<ibv_wc> look(std::span<ibv_wc> room) {
    const int count = ibv_poll_cq(completions_, static_cast<int>(room.size()), room.data());
    if (PERIAPT_UNLIKELY(count < 0)) gives_no_completions_ = true;
    return room.first(static_cast<std::size_t>(std::max(count, 0)));
  }
  /// A look has failed.
  bool gives_no_completions() const { return gives_no_completions_; }
  /// The next completion makes events_fd() readable.
  bool ask_for_event() { return ibv_req_notify_cq(completions_, 0) == 0; }
  int events_fd() const { return channel_->fd; }
  int async_fd() const { return context_->async_fd; }
  /// Whether there were events; there are none any more.
  bool take_events();
  /// What the device says of itself. False: nothing.
  bool next_device_event(ibv_async_event* event) { return verbs.get_async_event(context_, event) == 0; }

  /// Memory that may only be read can be read by others: then it is not `writable`.
  Result<ibv_mr*> register_memory(std::byte* address, std::uint64_t size, bool* writable);
  /// Memory of a GPU, by its file or, where the kernel has a module for that, by its addresses.
  Result<ibv_mr*> register_device_memory(std::byte* address, std::uint64_t size, const ucx::DmaBuf* shared);
  /// Asks the port, which may have another LID now.
  bool is_port_active();
  ibv_qp* create_queue_pair(ibv_qp_type type, std::uint32_t depth, std::uint32_t* inline_max);

  /// How packets get to a port.
  ibv_ah_attr route_to(std::uint16_t lid, const std::array<std::uint8_t, 16>& gid) const;
  /// The same for datagrams; nullptr: the device can't.
  ibv_ah* way_to(std::uint16_t lid, const std::array<std::uint8_t, 16>& gid);

  // ---- slots

  std::byte* slot(std::uint32_t number) const { return memory_.get() + std::size_t{number} * kSlotBytes; }
  std::uint32_t key() const { return region_->lkey; }
  /// A receive slot whose message has been handed up; post_receives() posts those.
  void give_receive(std::uint32_t number) { unposted_[unposted_count_++] = number; }
  /// So many of them that it is worth telling the device: a call a message costs more than the rest of it.
  bool has_many_receives() const { return unposted_count_ >= many_; }
  /// False: the device takes none any more.
  bool post_receives();
  /// A slot to send from. False: all are under way.
  bool take_slot(std::uint32_t* number);
  void give_slot(std::uint32_t number) { free_slots_.push_back(number); }

  const Library& verbs;
  const Port port;
  const Gid gid;
  const Partition partition;
  const Settings settings;
  std::uint16_t lid = port.lid;
  int sends_max = kSendsMax;
  int sends = 0;  ///< under way on all links: QueuePair counts

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* at) const;
  };
  Status make_slots(std::uint32_t receives);
  Status refused(const char* what) const;

  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_srq* receives_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{0}};
  std::vector<std::uint32_t> unposted_, free_slots_;
  std::size_t unposted_count_ = 0, many_ = 1;
  bool gives_no_completions_ = false;
  std::vector<ibv_recv_wr> receive_requests_;  // of each receive slot, filled in but for which one follows
  std::vector<ibv_sge> receive_places_;
};

}  // namespace periapt::verbs
