#include "machine/verbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error_text.h"
#include "base/secret.h"
#include "machine/ucx-like/bytes.h"

namespace periapt::verbs {
namespace {

// An unanswered packet is sent again after 4.096 us * 2^16 = 0.27 s, seven times: a peer's device that says nothing for
// some two seconds is gone. A receiver without room is asked again for ever (7), every 0.64 ms. (Soft RoCE does not
// stop that clock when an answer comes, and goes on to ask for ever: a shorter time has it send what is on its way
// again.)
constexpr std::uint8_t kTimeout = 16, kRetries = 7, kRetriesForEver = 7, kWaitForRoom = 12;
constexpr std::uint32_t kPacketBits = 0xff'ffff;
// Of what has ended, before what is kept is moved to the front.
constexpr std::size_t kKeptMost = 8 << 10;

}  // namespace

QueuePair::QueuePair(Adapter& adapter, VerbsLink* owner, Queue which, std::uint32_t number, std::uint32_t name)
    : link(owner), queue(which), generation(number), serial(name), adapter_(adapter) {
  fill_random(&first_packet_, sizeof first_packet_);
  first_packet_ &= kPacketBits;
}

QueuePair::~QueuePair() {
  if (pair_ != nullptr) adapter_.verbs.destroy_qp(pair_);
  while (under_way() > 0) release_first();  // the device looks at none of them any more
}

int QueuePair::modify(ibv_qp_attr& attributes, int which) {
  return adapter_.verbs.modify_qp(pair_, &attributes, which | IBV_QP_STATE);
}

Status QueuePair::make() {
  sends_ = std::make_unique<Send[]>(kDepth);
  pair_ = adapter_.create_queue_pair(IBV_QPT_RC, kDepth, &inline_max_);
  if (pair_ == nullptr)
    return Status::failure(adapter_.port.name() + " gives no queue pair for it: " + error_text() +
                           "; a device has room for so many connections, and fewer processes or +workers need fewer");
  small_max_ = std::min(inline_max_, kSmall);
  small_.opcode = IBV_WR_SEND;
  small_.sg_list = &small_part_;
  small_.num_sge = 1;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = static_cast<std::uint8_t>(adapter_.port.number);
  attributes.pkey_index = static_cast<std::uint16_t>(adapter_.partition.index);
  attributes.qp_access_flags = queue == Queue::memory ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE : 0;
  const int error = modify(attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  return error == 0 ? Status() : Status::failure("a queue pair can't be set up: " + error_text(error));
}

Status QueuePair::make_datagrams(std::uint32_t key) {
  sends_ = std::make_unique<Send[]>(kDepth);
  pair_ = adapter_.create_queue_pair(IBV_QPT_UD, kDepth, &inline_max_);
  if (pair_ == nullptr) return Status::failure(error_text());
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = static_cast<std::uint8_t>(adapter_.port.number);
  attributes.pkey_index = static_cast<std::uint16_t>(adapter_.partition.index);
  attributes.qkey = key;
  int error = modify(attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attributes.qp_state = IBV_QPS_RTR;
  if (error == 0) error = modify(attributes, 0);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = first_packet_;
  if (error == 0) error = modify(attributes, IBV_QP_SQ_PSN);
  return error == 0 ? Status() : Status::failure("it can't be set up: " + error_text(error));
}

Call QueuePair::here() const {
  Call call;
  call.queue = queue;
  call.mtu = static_cast<std::uint8_t>(adapter_.port.mtu);
  call.reads_at_once = static_cast<std::uint8_t>(adapter_.port.reads_at_once);
  call.generation = generation;
  call.number = number();
  call.first_packet = first_packet_;
  call.lid = adapter_.lid;
  call.gid = adapter_.gid.bytes;
  return call;
}

Status QueuePair::connect(const Call& there) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = static_cast<ibv_mtu>(std::clamp<int>(there.mtu, IBV_MTU_256, adapter_.port.mtu));
  to.dest_qp_num = there.number;
  to.rq_psn = there.first_packet & kPacketBits;
  to.max_dest_rd_atomic = static_cast<std::uint8_t>(adapter_.port.reads_at_once);
  to.min_rnr_timer = kWaitForRoom;
  to.ah_attr = adapter_.route_to(there.lid, there.gid);
  int error = modify(to, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                             IBV_QP_MIN_RNR_TIMER);
  if (error == 0) {
    ibv_qp_attr from{};
    from.qp_state = IBV_QPS_RTS;
    from.sq_psn = first_packet_;
    from.timeout = kTimeout;
    from.retry_cnt = kRetries;
    from.rnr_retry = kRetriesForEver;
    from.max_rd_atomic =
        static_cast<std::uint8_t>(std::clamp<int>(there.reads_at_once, 1, adapter_.port.reads_at_once));
    error =
        modify(from, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  connected = error == 0;
  return connected ? Status() : Status::failure("its queue pair can't be reached: " + error_text(error));
}

void QueuePair::halt() {
  open = false;
  if (std::exchange(halted, true)) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  if (pair_ != nullptr) modify(attributes, 0);  // one that is broken already answers that it is
}

int QueuePair::post(ibv_send_wr& request, std::uint32_t slot, std::uint32_t silent_max) {
  request.wr_id = std::uint64_t{serial} << 32 | next_;
  const bool tells = slot != kNoSlot || silent_ + 1 >= silent_max;
  if (tells) request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  if (const int error = ibv_post_send(pair_, &request, &refused); error != 0) return error;
  const std::uint32_t size = queue == Queue::messages ? request.sg_list[0].length : 0;
  if (slot == kNoSlot && size > kSmall) kept_to_ += size;
  note(slot, size, tells);
  return 0;
}

int QueuePair::post_small(const Prefix& prefix, ucx::Header header, std::span<const std::byte> payload,
                          std::uint32_t silent_max) {
  std::byte* const to = at(next_).bytes;
  std::memcpy(to, &prefix, sizeof prefix);
  ucx::copy_bytes(to + sizeof prefix, header.data(), header.size());
  ucx::copy_bytes(to + sizeof prefix + header.size(), payload.data(), payload.size());
  const auto size = static_cast<std::uint32_t>(sizeof prefix + header.size() + payload.size());
  const bool tells = silent_ + 1 >= silent_max;
  small_part_ = {reinterpret_cast<std::uint64_t>(to), size, 0};
  small_.wr_id = std::uint64_t{serial} << 32 | next_;
  small_.send_flags = IBV_SEND_INLINE | (tells ? IBV_SEND_SIGNALED : 0);
  ibv_send_wr* refused = nullptr;
  if (const int error = ibv_post_send(pair_, &small_, &refused); error != 0) return error;
  note(kNoSlot, size, tells);
  return 0;
}

std::byte* QueuePair::room_for(std::uint32_t size) {
  if (size <= kSmall) return at(next_).bytes;
  kept_.resize(kept_to_ + size);
  return kept_.data() + kept_to_;
}

void QueuePair::release_first() {
  const Send& first = at(oldest_++);
  --adapter_.sends;
  if (is_small(first)) return;
  --bulky_;
  if (first.slot != kNoSlot) return adapter_.give_slot(first.slot);
  kept_from_ += first.size;
  if (kept_from_ < kept_to_ && kept_from_ < kKeptMost) return;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(kept_from_));
  kept_to_ -= std::exchange(kept_from_, 0);
}

std::deque<Unended> QueuePair::take_unended() {
  std::deque<Unended> taken;
  for (std::size_t from = kept_from_; under_way() > 0; --adapter_.sends) {
    const Send& first = at(oldest_++);
    Unended& message = taken.emplace_back(Unended{first.slot, first.size, {}});
    if (first.slot != kNoSlot) continue;
    const std::byte* bytes = first.size <= kSmall ? first.bytes : kept_.data() + from;
    message.bytes.assign(bytes, bytes + first.size);
    if (first.size > kSmall) from += first.size;
  }
  kept_ = {};
  kept_from_ = kept_to_ = 0;
  silent_ = bulky_ = 0;
  return taken;
}

std::uint32_t QueuePair::ended(std::uint32_t number) {
  const std::uint32_t count = number - oldest_ + 1;
  if (count > under_way()) return 0;  // told before, with one that came after it
  if (bulky_ == 0) {
    oldest_ += count;
    adapter_.sends -= static_cast<int>(count);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) release_first();
  }
  silent_ = std::min(silent_, under_way());
  return count;
}

}  // namespace periapt::verbs
