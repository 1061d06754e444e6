#include "machine/verbs/transport.h"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error_text.h"
#include "machine/ucx-like/range_key.h"

namespace periapt::verbs {

using ucx::Accepted;
using ucx::Completion;
using ucx::Header;
using ucx::Link;
using ucx::MemoryHandle;
using ucx::Outcome;
using ucx::RemoteKey;

namespace {

/// After so many looks that found nothing, a core that does the work of a software device as well is given up for once.
constexpr unsigned kEmptyLooks = 32;

VerbsLink& of(Link& link) { return static_cast<VerbsLink&>(link); }

}  // namespace

// ---- coming and going

VerbsTransport::VerbsTransport(const Library& library, const Choice& choice, const Settings& settings,
                               const ucx::OpenRequest& request)
    : TransportBase(choice.device, request), adapter_(library, choice, settings), meeting_(*this) {}

VerbsTransport::~VerbsTransport() {
  leave_rails();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].alive()) static_cast<void>(post_batch(links_[i]));
    end_all(links_[i], Outcome::cancelled);
    links_[i].state = VerbsLink::State::closed;
  }
  given_up_.clear();
  links_.clear();
  datagram_pair_.reset();
  for (ibv_ah* way : old_ways_) adapter_.verbs.destroy_ah(way);
  if (timer_ >= 0) ::close(timer_);
  if (epoll_ >= 0) ::close(epoll_);
}

Status VerbsTransport::open(const ucx::OpenRequest& request) {
  if (Status opened = adapter_.open(); !opened) return opened;
  if (Status opened = meeting_.open(request); !opened) return opened;
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  for (int fd : {adapter_.events_fd(), adapter_.async_fd(), meeting_.wait_fd()}) {
    if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
      return Status::failure("what " + device_.name + " tells can't be waited for: " + error_text());
  }
  join_rails();
  return {};
}

// ---- sending

/// Links that say nothing for a while keep what they sent without a completion on the account, so that all of them
/// together may not keep more than a part of it.
PERIAPT_INLINE std::uint32_t VerbsTransport::silent_max() const {
  const auto share =
      static_cast<std::uint32_t>(adapter_.sends_max) / (4 * static_cast<std::uint32_t>(links_.size() + 1));
  return std::clamp(share, 1u, kSilentMax);
}

/// A message that lies in a slot, or, with kNoSlot, goes within the request. `to`: of a datagram.
int VerbsTransport::post_bytes(QueuePair& pair, const std::byte* at, std::uint32_t size, std::uint32_t slot,
                               std::uint32_t silent_max, const DatagramState* to) {
  const bool inside = slot == kNoSlot;
  ibv_sge part{reinterpret_cast<std::uint64_t>(at), size, inside ? 0 : adapter_.key()};
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  request.sg_list = &part;
  request.num_sge = 1;
  if (inside) request.send_flags = IBV_SEND_INLINE;
  if (to != nullptr) request.wr.ud = {to->way, to->number, to->peer.key};
  return pair.post(request, slot, silent_max);
}

void VerbsTransport::write_message(std::byte* at, const Prefix& prefix, Header header, Bytes payload) {
  std::memcpy(at, &prefix, sizeof prefix);
  if (!header.empty()) std::memcpy(at + sizeof prefix, header.data(), header.size());
  if (!payload.empty()) std::memcpy(at + sizeof prefix + header.size(), payload.data(), payload.size());
}

int VerbsTransport::post_message(QueuePair& pair, const Prefix& prefix, Header header, Bytes payload) {
  const auto size = static_cast<std::uint32_t>(sizeof prefix + header.size() + payload.size());
  const bool inside = size <= pair.inline_max();
  std::uint32_t slot = kNoSlot;
  if (!inside && !adapter_.take_slot(&slot)) return ENOMEM;
  std::byte* at = inside ? pair.room_for(size) : adapter_.slot(slot);
  write_message(at, prefix, header, payload);
  const int error = post_bytes(pair, at, size, slot, inside ? silent_max() : 1);
  if (error != 0 && !inside) adapter_.give_slot(slot);
  return error;
}

/// `error`: what a queue pair says to a message.
PERIAPT_INLINE Accepted VerbsTransport::posted(VerbsLink& link, int error) {
  return PERIAPT_LIKELY(error == 0) ? (++link.sent, Accepted::done) : not_posted(link, error);
}
PERIAPT_NOINLINE Accepted VerbsTransport::not_posted(VerbsLink& link, int error) {
  if (error == ENOMEM) return refuse();
  fail(link, "a message can't be sent: " + error_text(error));
  return Accepted::lost;
}

// A queue pair that is open has no datagrams nor a detour beside it.
Accepted VerbsTransport::send_inline(Link& to, Header header, Bytes payload) {
  VerbsLink& link = of(to);
  if (PERIAPT_UNLIKELY(!link.alive() || !can_send(link, kReserved) || is_batching(link) ||
                       !link.messages->fits(sizeof(Prefix) + header.size() + payload.size())))
    return send_message(link, Prefix::Kind::message, header, payload);
  Prefix prefix;
  prefix.header_bytes = static_cast<std::uint8_t>(header.size());
  return posted(link, link.messages->post_small(prefix, header, payload, silent_max()));
}

Accepted VerbsTransport::send_message(VerbsLink& link, Prefix::Kind kind, Header header, Bytes payload) {
  if (!link.alive()) return Accepted::lost;
  Prefix prefix;
  prefix.kind = kind;
  prefix.header_bytes = static_cast<std::uint8_t>(header.size());
  if (link.detour == VerbsLink::Detour::on) [[unlikely]]
    return send_around(link, prefix, header, payload) ? Accepted::done : refuse();
  if (link.datagrams != nullptr) return send_datagram(link, prefix, header, payload) ? Accepted::done : refuse();
  if (!link.messages->open || link.mending) return refuse();
  if (kind == Prefix::Kind::message && joins_batch(link, header, payload)) {
    if (is_behind(link) && add_to_batch(link, header, payload)) return Accepted::done;
    if (!link.alive()) return Accepted::lost;
  }
  if (!post_batch(link) || !can_send(link, kReserved)) return link.alive() ? refuse() : Accepted::lost;
  return posted(link, post_message(*link.messages, prefix, header, payload));
}

/// False: there is no room now. A link that fails has nothing more to say.
bool VerbsTransport::post_prefix(VerbsLink& link, Prefix::Kind kind, std::uint32_t number, std::uint32_t reserved) {
  Prefix prefix;
  prefix.kind = kind;
  prefix.number = number;
  if (link.detour == VerbsLink::Detour::on) return send_around(link, prefix, {}, {});
  if (link.datagrams != nullptr) return send_datagram(link, prefix, {}, {});
  if (!post_batch(link) || !can_send(link, reserved)) return false;
  const int error = post_message(*link.messages, prefix, {}, {});
  link.sent += error == 0;
  if (error != 0 && error != ENOMEM) fail(link, "a message can't be sent: " + error_text(error));
  return error == 0;
}

Accepted VerbsTransport::flush(Link& which, Completion& completion) {
  VerbsLink& link = of(which);
  if (!link.alive()) return Accepted::lost;
  if (link.flushes.full()) return refuse();
  if (!post_prefix(link, Prefix::Kind::flush, link.flushes.next_number(), kReserved))
    return link.alive() ? refuse() : Accepted::lost;
  link.flushes.asked(link.operations_ended + link.operations.size(), &completion);
  return Accepted::pending;
}

bool VerbsTransport::handed_over(Link& which) const {
  VerbsLink& link = of(which);
  if (!link.alive()) return true;
  if (link.messages->silent() && !link.wants_mark) {
    link.wants_mark = true;
    static_cast<VerbsTransport&>(which.transport()).attend_to(link);
  }
  if (link.detour == VerbsLink::Detour::on) return has_gone_around(link) && link.operations.empty();
  return link.batch == kNoSlot && link.messages->idle() && link.unended.empty() && link.operations.empty();
}

std::string VerbsTransport::describe(const Link& which) const {
  const auto& link = static_cast<const VerbsLink&>(which);
  if (link.detour == VerbsLink::Detour::on)
    return "goes over " + (link.beside == nullptr ? "TCP" : link.beside->adapter_.port.name());
  if (link.detour != VerbsLink::Detour::none) return "is being led another way";
  if (link.datagrams != nullptr) return "by datagrams, until it carries more";
  if (link.mending) return "is being connected";
  if (link.returns == 0) return "";
  return "is used again, came back " + (link.returns == 1 ? "once" : std::to_string(link.returns) + " times");
}

double VerbsTransport::measured_bytes_per_ns(const Link& link) const {
  return static_cast<const VerbsLink&>(link).speed.bytes_per_ns(clock::now_ns());
}

// ---- puts and gets

namespace {
/// Its key is the device's; operate() knows it.
ibv_sge piece_of(std::span<const std::byte> local) {
  return {reinterpret_cast<std::uint64_t>(local.data()), static_cast<std::uint32_t>(local.size()), 0};
}
}  // namespace

Accepted VerbsTransport::put(Link& to, Bytes local, const MemoryHandle* handle, std::uint64_t remote,
                             const RemoteKey& key, Completion& completion) {
  return operate(of(to), {IBV_WR_RDMA_WRITE, piece_of(local), remote, 0, &completion}, handle, key);
}

Accepted VerbsTransport::get(Link& from, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                             const RemoteKey& key, Completion& completion) {
  return operate(of(from), {IBV_WR_RDMA_READ, piece_of(local), remote, 0, &completion}, handle, key);
}

/// What the key alone shows to be wrong never reaches the device, where it would break a queue pair.
Accepted VerbsTransport::operate(VerbsLink& link, Operation operation, const MemoryHandle* handle,
                                 const RemoteKey& key) {
  if (!link.alive()) return Accepted::lost;
  const auto& memory = *static_cast<const ucx::RangeKey*>(key.detail);
  if (!memory.holds(operation.remote, operation.local.length) || handle == nullptr) {
    deferred_.end(operation.completion, handle == nullptr ? Outcome::failed : Outcome::bad_key);
    return Accepted::pending;
  }
  if (link.operations.size() >= kOperationsMax) return refuse();
  if (handle->detail != nullptr) operation.local.lkey = static_cast<const ibv_mr*>(handle->detail)->lkey;
  operation.key = static_cast<std::uint32_t>(memory.key);
  operation.on_gpu = handle->kind != ucx::MemoryKind::host;
  link.operations.push_back(operation);
  if (link.memory == nullptr && link.detour == VerbsLink::Detour::none)
    make_pair(link, Queue::memory, 1);  // if it fails, all ends with the link
  post_operations(link);
  return Accepted::pending;
}

void VerbsTransport::post_operations(VerbsLink& link) {
  if (link.detour == VerbsLink::Detour::on) return post_around(link);
  while (link.alive() && link.memory != nullptr && link.memory->open && link.posted < link.operations.size() &&
         link.memory->has_room(0)) {
    Operation& operation = link.operations[link.posted];
    ibv_send_wr request{};
    request.opcode = operation.code;
    request.sg_list = &operation.local;
    request.num_sge = operation.local.length == 0 ? 0 : 1;
    // The device need not fetch what goes within the request.
    if (operation.goes_inside(link.memory->inline_max())) request.send_flags = IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = operation.remote;
    request.wr.rdma.rkey = operation.key;
    const int error = link.memory->post(request, kNoSlot, 1);
    if (error == ENOMEM) return attend_to(link);
    if (error != 0) return fail(link, "a put or get can't be posted: " + error_text(error));
    if (operation.local.length >= Speed::kLarge) {
      measures_ = true;
      link.speed.begin(operation.local.length, clock::now_ns());
    }
    ++link.posted;
  }
  if (link.alive() && link.posted < link.operations.size()) attend_to(link);
}

// ---- memory

namespace {
/// In the upper half of a key: which port it is of, since other rails' keys mean other memory to this one.
std::uint64_t mark_of(const std::array<std::uint8_t, 16>& gid) {
  std::uint32_t sum = 0x811c'9dc5;
  for (const std::uint8_t byte : gid) sum = (sum ^ byte) * 0x0100'0193;
  return std::uint64_t{sum} << 32;
}
}  // namespace

Result<MemoryHandle> VerbsTransport::register_memory(std::byte* address, std::uint64_t size, ucx::MemoryKind kind) {
  if (kind != ucx::MemoryKind::host) return Status::failure("the verbs transport reads and writes host memory only");
  if (!broken_.empty()) {  // what is left goes over TCP
    do --last_key_;
    while (regions_.count(last_key_) != 0);
    regions_[last_key_] = {address, size, true};
    return MemoryHandle{address, size, kind, last_key_, nullptr};
  }
  bool writable = true;
  Result<ibv_mr*> region = adapter_.register_memory(address, size, &writable);
  if (!region) return region.status();
  regions_[(*region)->rkey] = {address, size, writable};
  return MemoryHandle{address, size, kind, (*region)->rkey, *region};
}

Result<MemoryHandle> VerbsTransport::register_device_memory(std::byte* address, std::uint64_t size,
                                                            ucx::MemoryKind kind, const ucx::DmaBuf* shared) {
  if (!broken_.empty()) return Status::failure(broken_);
  Result<ibv_mr*> region = adapter_.register_device_memory(address, size, shared);
  if (!region) {
    const bool nvidia = kind == ucx::MemoryKind::cuda;
    return Status::failure(region.message() + (nvidia ? " (modprobe nvidia_peermem)" : ""));
  }
  regions_[(*region)->rkey] = {address, size, true, true};
  return MemoryHandle{address, size, kind, (*region)->rkey, *region};
}

void VerbsTransport::deregister_memory(MemoryHandle& handle) {
  regions_.erase(static_cast<std::uint32_t>(handle.id));
  if (handle.detail != nullptr) adapter_.verbs.dereg_mr(static_cast<ibv_mr*>(handle.detail));
}

std::vector<std::byte> VerbsTransport::pack_key(const MemoryHandle& handle) const {
  const std::uint64_t key = static_cast<std::uint32_t>(handle.id) | mark_of(adapter_.gid.bytes);
  return ucx::pack({reinterpret_cast<std::uint64_t>(handle.address), handle.size, key});
}

Result<RemoteKey> VerbsTransport::unpack_key(Link& link, Bytes packed) {
  Result<RemoteKey> key = ucx::unpack_range_key(device_.transport, packed);
  if (!key || !of(link).peer_gid.has_value()) return key;
  if (key->id >> 32 << 32 == mark_of(*of(link).peer_gid)) return key;
  ucx::release(*key);
  return Status::failure("that is a memory key of another port of the peer's");
}

// ---- what waits for room

void VerbsTransport::attend_to(VerbsLink& link) {
  if (std::exchange(link.attended, true)) return;
  attended_.push_back(&link);
  has_more_ = true;
}

void VerbsTransport::attend() {
  std::vector<VerbsLink*> links = std::exchange(attended_, {});
  for (VerbsLink* link : links) {
    link->attended = false;
    if (link->alive() && !attend_once(*link) && link->alive()) attend_to(*link);
  }
}

/// False: something is left.
bool VerbsTransport::attend_once(VerbsLink& link) {
  if (!meeting_.say_all(link.seat) || !say_beside(link)) return false;
  if (link.mending && link.messages->open && !send_again(link)) return false;
  if (link.posted < link.operations.size()) post_operations(link);  // none of what follows holds them up
  if (!link.alive()) return true;
  if (!post_batch(link)) return false;
  if (!link.owed.empty()) answer_around(link);
  if (link.flushes.owes_answer) {
    if (!post_prefix(link, Prefix::Kind::flushed, link.flushes.answer, 0)) return false;
    link.flushes.owes_answer = false;
  }
  if (link.wants_mark && link.messages->silent() && !post_prefix(link, Prefix::Kind::mark, 0, 0)) return false;
  link.wants_mark = link.wants_mark && link.alive() && link.messages->silent();
  return !link.wants_mark;
}

// ---- progress

/// What progress() has to look at besides completions and the meeting.
bool VerbsTransport::has_more() const {
  return armed_ || connecting_ > 0 || detours_ > 0 || links_.has_retired() || !given_up_.empty() ||
         !old_ways_.empty() || !lost_.empty() || !early_.empty() || !talking_.empty() || !mending_.empty() ||
         !attended_.empty() || (adapter_.gives_no_completions() && broken_.empty());
}

// Most of the time a message has come and there is nothing else, so that has_more_ stands for all of that.
int VerbsTransport::progress() {
  handed_up_ = 0;
  assert(has_more_ || !has_more());
  if (PERIAPT_UNLIKELY(has_more_)) before_completions();
  if (meeting_.look(has_more_ && (armed_ || connecting_ > 0 || detours_ > 0))) take_device_events();
  if (PERIAPT_UNLIKELY(has_more_ && !lost_.empty())) take_what_rails_have();
  // A rail that is not needed yet has no links, and nothing comes over it.
  const bool is_used =
      links_.size() != 0 || (has_more_ && (!given_up_.empty() || !early_.empty() || !old_ways_.empty()));
  if (PERIAPT_LIKELY(is_used))
    look_at_completions(has_more_ && (!lost_.empty() || !given_up_.empty() || !mending_.empty()));
  if (PERIAPT_UNLIKELY(has_more_)) after_completions();
  if (adapter_.has_many_receives()) adapter_.post_receives();
  if (!deferred_.empty()) handed_up_ += tell_deferred();
  // A caller that was refused tries again.
  if (std::exchange(freed_, false) && std::exchange(refused_, false)) ++handed_up_;
  if (adapter_.port.software) give_core_up(is_used);
  return handed_up_;
}

PERIAPT_NOINLINE void VerbsTransport::before_completions() {
  if (!given_up_.empty() || !old_ways_.empty()) bury();
  if (links_.has_retired()) links_.reap();
  if (armed_ && adapter_.take_events()) adapter_.ask_for_event();
}

PERIAPT_NOINLINE void VerbsTransport::after_completions() {
  if (adapter_.gives_no_completions() && broken_.empty()) a_queue_broke();
  if (!lost_.empty()) fail_lost();
  if (!talking_.empty()) talk_all(false);
  if (!mending_.empty()) mend_all();
  if (detours_ > 0) look_for_returns();
  if (!attended_.empty()) attend();
  has_more_ = has_more();
}

void VerbsTransport::give_core_up(bool is_used) {
  empty_looks_ = handed_up_ > 0 || !is_used ? 0 : empty_looks_ + 1;
  if (empty_looks_ >= kEmptyLooks) empty_looks_ = 0, ::sched_yield();
}

void VerbsTransport::fail_lost() {
  while (!lost_.empty()) {
    const Lost lost = lost_.front();
    fail(*lost.link, lost.reason);
  }
}

void VerbsTransport::note_look() {
  if (measures_) look_ = {watched_ns_, clock::now_ns()};
}

// ---- what arrives

PERIAPT_INLINE void VerbsTransport::take_arrival(const ibv_wc& completion) {
  const auto slot = static_cast<std::uint32_t>(completion.wr_id);
  if (datagram_pair_ != nullptr && completion.qp_num == datagram_pair_->number()) {
    if (completion.status == IBV_WC_SUCCESS) take_datagram({adapter_.slot(slot), completion.byte_len});
    return adapter_.give_receive(slot);
  }
  if (completion.qp_num != latest_number_) {
    const auto known = by_number_.find(completion.qp_num);
    latest_number_ = completion.qp_num;
    latest_ = known == by_number_.end() ? nullptr : known->second;
  }
  VerbsLink* link = latest_ == nullptr ? nullptr : latest_->link;
  // What comes when all had come that the peer was told of will be sent again.
  if (completion.status == IBV_WC_SUCCESS && link != nullptr && !latest_->drained) {
    ++link->received;
    link->message_breaks = 0;
    take_message(*link, {adapter_.slot(slot), completion.byte_len});
  }
  adapter_.give_receive(slot);
}

PERIAPT_INLINE void VerbsTransport::take_completion(const ibv_wc& completion) {
  const auto serial = static_cast<std::uint32_t>(completion.wr_id >> 32);
  if (serial == 0) return take_arrival(completion);
  const auto known = by_serial_.find(serial);
  if (known != by_serial_.end()) take_end(*known->second, completion);
}

PERIAPT_NOINLINE void VerbsTransport::take_early_completions() {
  note_look();
  const std::vector<ibv_wc> early = std::exchange(early_, {});
  for (const ibv_wc& completion : early) take_completion(completion);
}

/// `all`: until there is nothing more, for the sake of a link that ends.
void VerbsTransport::look_at_completions(bool all) {
  if (PERIAPT_UNLIKELY(has_more_ && !early_.empty())) take_early_completions();
  std::array<ibv_wc, kLook> room;
  for (int looks = all ? 2 + (kSendsMax + static_cast<int>(kReceives)) / kLook : 1; looks > 0; --looks) {
    note_look();
    const std::span<ibv_wc> found = adapter_.look(room);
    for (const ibv_wc& completion : found) take_completion(completion);
    if (found.size() < room.size()) watched_ns_ = look_.at_ns;
    if (found.empty()) {
      has_more_ |= adapter_.gives_no_completions();
      break;
    }
  }
  if (PERIAPT_LIKELY(!has_more_)) return;
  for (auto& pair : given_up_) pair->drained = all;
  for (VerbsLink* link : mending_)
    if (link->messages->halted) link->messages->drained = all;
}

void VerbsTransport::take_message(VerbsLink& link, Bytes bytes) {
  Prefix prefix;
  if (bytes.size() < sizeof prefix) return fail(link, kNotUnderstood);
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  const Bytes rest = bytes.subspan(sizeof prefix);
  if (prefix.header_bytes > std::min(rest.size(), kHeaderMax)) return fail(link, kNotUnderstood);
  const Bytes header = rest.first(prefix.header_bytes), payload = rest.subspan(prefix.header_bytes);
  if (PERIAPT_UNLIKELY(prefix.kind != Prefix::Kind::message)) return take_word(link, prefix, header, payload);
  ++handed_up_;
  receiver_.arrived(link, header, payload);
}

/// What is between the transports.
void VerbsTransport::take_word(VerbsLink& link, const Prefix& prefix, Bytes header, Bytes payload) {
  switch (prefix.kind) {
    case Prefix::Kind::flush:
      link.flushes.take_question(prefix.number);
      return attend_to(link);
    case Prefix::Kind::flushed:
      link.flushes.answered(prefix.number);
      return end_flushes(link);
    case Prefix::Kind::beside:
      ++handed_up_;
      return take_beside(link, header, payload);
    case Prefix::Kind::probe:
      return take_probe(link, prefix.number);
    case Prefix::Kind::mark:
      return;
    case Prefix::Kind::batch:
      return take_batch(link, header, payload);
    default:
      fail(link, kNotUnderstood);
  }
}

void VerbsTransport::end_flushes(VerbsLink& link) {
  freed_ = link.flushes.end_some(link.operations_ended, deferred_) || freed_;
}

// ---- what has ended

void VerbsTransport::take_end(QueuePair& pair, const ibv_wc& completion) {
  freed_ = true;
  VerbsLink* link = pair.link;
  const bool good = completion.status == IBV_WC_SUCCESS;
  // A message that has not gone out stays: it may be sent again.
  if (link != nullptr && pair.queue == Queue::messages && !good) return message_failed(pair, completion);
  if (pair.queue == Queue::datagrams && !good) end_datagrams(fault_of(completion));
  const std::uint32_t count = pair.ended(static_cast<std::uint32_t>(completion.wr_id));
  if (link == nullptr || count == 0) return;  // given up: what was under way has been seen to
  if (pair.queue == Queue::memory) return end_operation(*link, completion);
  link->message_breaks = 0;
  if (link->wants_mark || link->flushes.owes_answer) attend_to(*link);
}

void VerbsTransport::message_failed(QueuePair& pair, const ibv_wc& completion) {
  VerbsLink& link = *pair.link;
  if (&pair == link.next.get()) return next_broke(link, fault_of(completion));
  switch (completion.status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_LOC_QP_OP_ERR:  // soft RoCE, when its network interface is down: there is no route any more
    case IBV_WC_WR_FLUSH_ERR:   // the first one says why; those behind it only this
      return mend(link, fault_of(completion));
    default:
      fail(link, fault_of(completion));
  }
}

void VerbsTransport::end_first_operation(VerbsLink& link, Outcome outcome) {
  const Operation& first = link.operations.front();
  if (link.detour == VerbsLink::Detour::none && outcome == Outcome::ok) link.speed.end(first.local.length, look_);
  deferred_.end(first.completion, outcome);
  link.operations.pop_front();
  --link.posted;
  ++link.operations_ended;
  link.breaks = 0;
  end_flushes(link);
}

/// All of these ask for a completion, so each that comes is the oldest one's.
void VerbsTransport::end_operation(VerbsLink& link, const ibv_wc& completion) {
  const auto end_first = [&](Outcome outcome) { end_first_operation(link, outcome); };
  if (completion.status == IBV_WC_SUCCESS) {
    end_first(Outcome::ok);
    if (link.posted < link.operations.size()) post_operations(link);
    return;
  }
  switch (completion.status) {
    case IBV_WC_REM_ACCESS_ERR:
      end_first(Outcome::bad_key);
      break;
    case IBV_WC_WR_FLUSH_ERR:  // the peer's end broke: it asked for what it may not have
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_LOC_QP_OP_ERR:  // as of a message
      // The peer may have made another one in the meantime, and be too busy to have said so.
      if (++link.breaks > kBreaksMax) return go_around(link, fault_of(completion));
      break;
    default:
      end_first(Outcome::failed);
  }
  replace_memory_pair(link);
}

std::string VerbsTransport::fault_of(const ibv_wc& completion) const {
  switch (completion.status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "its device does not answer any more: its process or host has gone, or the network between is broken";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "its device takes no more messages";
    case IBV_WC_WR_FLUSH_ERR:
      return "its queue pair broke";
    default:
      return std::string("a message to it failed: ") + adapter_.verbs.wc_status_str(completion.status);
  }
}

// ---- sleeping

bool VerbsTransport::arm() {
  if (!attended_.empty()) attend();
  adapter_.post_receives();
  if (!sleep_over_datagrams()) return false;
  if (!deferred_.empty() || !lost_.empty() || !given_up_.empty() || is_mending() || meeting_.has_moved() ||
      !early_.empty() || (freed_ && refused_))
    return false;
  adapter_.take_events();
  if (!adapter_.ask_for_event()) return false;
  // What came before that makes no event.
  std::array<ibv_wc, kLook> room;
  const std::span<ibv_wc> found = adapter_.look(room);
  early_.assign(found.begin(), found.end());
  has_more_ = true;
  if (adapter_.gives_no_completions() && broken_.empty()) return false;
  armed_ = true;
  return early_.empty() && meeting_.arm();
}

void VerbsTransport::disarm() {
  if (armed_ && measures_) watched_ns_ = clock::now_ns();  // what has ended meanwhile has woken the worker
  armed_ = false;
  meeting_.disarm();
}

// ---- the factory

namespace {

Status check_number(const char* name, const std::string& text, int most) {
  return read_number(name, text, most, 0).status();
}

constexpr int kServiceLevelMost = 15, kTrafficClassMost = 255, kPatienceMost = 86400, kManyMost = 1 << 20;

Result<int> read_return_after(const std::string& text) {
  if (text == "off") return -1;
  const Result<int> seconds = read_number("+verbs-return-after", text, kPatienceMost, Settings().return_after_seconds);
  return seconds ? seconds : Status::failure(seconds.message() + ", or off");
}
Status check_return_after(const std::string& text) { return read_return_after(text).status(); }

constexpr ucx::TransportOption kOptions[] = {
    {"verbs-devices", "LIST", "the RDMA devices and ports to be used"},
    {"verbs-rails", "N", "how many RDMA adapters a worker uses at most, the nearest ones; 2",
     [](const std::string& text) { return read_number("+verbs-rails", text, kRailsMost, kRailsUsually, 1).status(); }},
    {"verbs-gid", "INDEX", "which of the port's addresses is used; or the name of an interface: the best one of that",
     check_gid},
    {"verbs-partition-key", "KEY",
     "the partition of the network, as 0x8001; the first that the port is a full member of",
     [](const std::string& text) { return read_partition_key(text).status(); }},
    {"verbs-mtu", "BYTES", "the largest packet: 256, 512, 1024, 2048 or 4096, and not more than both ports take",
     [](const std::string& text) { return read_mtu(text).status(); }},
    {"verbs-service-level", "N", "the service level of what is sent, 0 to 15",
     [](const std::string& text) { return check_number("+verbs-service-level", text, kServiceLevelMost); }},
    {"verbs-traffic-class", "N", "the traffic class of what is sent, 0 to 255",
     [](const std::string& text) { return check_number("+verbs-traffic-class", text, kTrafficClassMost); }},
    {"verbs-patience", "SECONDS", "how long a connection that broke may take to be there again; 20",
     [](const std::string& text) { return check_number("+verbs-patience", text, kPatienceMost); }},
    {"verbs-return-after", "SECONDS",
     "how long a link goes another way before its port is tried, each time twice as long up to 60; 1, or off",
     check_return_after},
    {"verbs-datagrams-from", "N", "peers that are connected at once; those beyond begin with datagrams; 64",
     [](const std::string& text) { return check_number("+verbs-datagrams-from", text, kManyMost); }},
    {"verbs-connect-after", "N", "messages to a peer within a second that connect it; 100",
     [](const std::string& text) { return check_number("+verbs-connect-after", text, kManyMost); }},
};

Result<std::unique_ptr<ucx::Transport>> open_transport(const ucx::Device& device, const ucx::OpenRequest& request) {
  const auto number = [&](const char* name, int most, int otherwise) {
    return read_number(name, request.option ? request.option(name) : std::string(), most, otherwise);
  };
  const Settings usual;
  const Result<int> level = number("+verbs-service-level", kServiceLevelMost, usual.service_level);
  const Result<int> traffic = number("+verbs-traffic-class", kTrafficClassMost, usual.traffic_class);
  const Result<int> patience = number("+verbs-patience", kPatienceMost, usual.patience_seconds);
  const Result<int> from = number("+verbs-datagrams-from", kManyMost, usual.datagrams_from);
  const Result<int> after = number("+verbs-connect-after", kManyMost, usual.connect_after);
  const Result<int> mtu = read_mtu(request.option ? request.option("+verbs-mtu") : std::string());
  if (!level) return level.status();
  if (!traffic) return traffic.status();
  if (!patience) return patience.status();
  if (!from) return from.status();
  if (!after) return after.status();
  if (!mtu) return mtu.status();
  const Result<int> returns = read_return_after(request.option ? request.option("+verbs-return-after") : std::string());
  if (!returns) return returns.status();
  const Settings settings{*level, *traffic, *patience, *from, *after, *returns};
  return ucx::open_choice(choices_for(request), device, request, "the RDMA port", [&](Choice choice) {
    choice.port.mtu = std::min(choice.port.mtu, *mtu);
    return std::make_unique<VerbsTransport>(library().value(), choice, settings, request);
  });
}

}  // namespace

const ucx::TransportFactory factory = {
    .name = "verbs",
    .probe = [](const ucx::OpenRequest& request) { return ucx::devices_of(choices_for(request)); },
    .open = open_transport,
    .options = kOptions,
};

}  // namespace periapt::verbs
