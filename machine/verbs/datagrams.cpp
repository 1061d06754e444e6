// Messages as datagrams, for links with little traffic: one unreliable queue pair carries those of all of them, so
// that a peer costs a few KB here and no queue pair in the device.
//
// Both sides say over the TCP link where their queue pair is, and a token of 64 random bits for this link: a datagram
// without it is not of this link, and is dropped. Messages are numbered as on a queue pair (VerbsLink::sent
// and received) and kept until they are acknowledged, in VerbsLink::unended. Each datagram says how many messages its
// sender has taken; one that has nothing else to say goes after a short time. The oldest goes again when it was not
// acknowledged in time. What comes before its turn is kept, what comes twice is dropped.
//
// A link with much traffic, with a message that is larger than a packet, or whose peer is silent, gets queue pairs.
// That is mending (mending.cpp) of a connection that never was: from here on no datagram of the link is taken, the
// first call about the new queue pair says how many were, and the others are sent again over it, before anything else.
#include "machine/verbs/datagrams.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/secret.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

using ucx::Accepted;

namespace {

constexpr std::uint64_t kAcknowledgeNs = 200'000;  // an acknowledgement waits so long for a message to go with
constexpr std::uint64_t kTimeoutLeastNs = 5'000'000, kTimeoutMostNs = 1'000'000'000;
constexpr std::uint32_t kAgainAtOnce = 4;  // of the oldest, when one was not acknowledged in time
// So often in vain, and the link gets a queue pair: its device tells a network that is broken from a peer that is busy.
constexpr int kInVainMost = 8;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint32_t kKeyBits = 0x7fff'ffff;  // the highest bit has a meaning of its own

}  // namespace

void RoundTrip::learn(std::uint64_t took_ns) {
  const auto took = static_cast<double>(took_ns);
  if (mean_ns_ == 0) {
    mean_ns_ = took, deviation_ns_ = took / 2;
  } else {
    deviation_ns_ += (std::abs(took - mean_ns_) - deviation_ns_) / 4;
    mean_ns_ += (took - mean_ns_) / 8;
  }
  timeout_ns_ = std::clamp(static_cast<std::uint64_t>(mean_ns_ + 4 * deviation_ns_), kTimeoutLeastNs, kTimeoutMostNs);
}

std::uint64_t RoundTrip::timeout_ns() const {
  return std::min(timeout_ns_ << std::min(doubled_, kInVainMost), kTimeoutMostNs);
}

// ---- beginning and end

/// What all of them share is made for the first link that asks. A device that gives no such queue pair, or one that
/// broke, leaves every link with its own.
bool VerbsTransport::has_datagrams() {
  if (std::exchange(datagrams_asked_for_, true)) return datagram_pair_ != nullptr && !datagram_pair_->halted;
  const auto none = [this](const std::string& why) {
    log::detail("verbs: " + adapter_.port.name() + " gives no queue pair for datagrams: " + why);
    return false;
  };
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  if (timer_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) != 0)
    return none("a timer can't be waited for: " + error_text());
  fill_random(&datagram_key_, sizeof datagram_key_);
  datagram_key_ &= kKeyBits;
  auto pair = std::make_unique<QueuePair>(adapter_, nullptr, Queue::datagrams, 1, ++last_serial_);
  if (Status made = pair->make_datagrams(datagram_key_); !made) return none(made.message());
  by_serial_[pair->serial] = pair.get();
  datagram_pair_ = std::move(pair);
  return true;
}

/// The queue pair of all of them broke: each link gets its own, and so do new ones.
void VerbsTransport::end_datagrams(const std::string& reason) {
  if (datagram_pair_->halted) return;
  datagram_pair_->halt();
  log::warn("verbs: " + adapter_.port.name() + " sends no datagrams any more (" + reason +
            "): each link gets a queue pair of its own");
  const auto links = by_datagram_link_;
  for (const auto& [number, link] : links) {
    if (link->seat.link != nullptr) connect_now(*link);  // of a peer that has gone what came is still to be handed up
  }
}

void VerbsTransport::begin_datagrams(VerbsLink& link) {
  link.messages = std::make_unique<QueuePair>(adapter_, &link, Queue::messages, 0, ++last_serial_);  // none yet
  link.messages->halt();
  link.messages->drained = true;
  link.datagrams = std::make_unique<DatagramState>();
  link.datagrams->own_link = ++last_datagram_link_;
  fill_random(&link.datagrams->own_token, sizeof link.datagrams->own_token);
  by_datagram_link_[link.datagrams->own_link] = &link;
  ++connecting_;
  has_more_ = true;
  Call call;
  call.kind = Call::Kind::datagrams;
  call.queue = Queue::datagrams;
  call.mtu = static_cast<std::uint8_t>(adapter_.port.mtu);
  call.generation = 1;
  call.number = datagram_pair_->number();
  call.lid = adapter_.lid;
  call.gid = adapter_.gid.bytes;
  link.seat.calls.push_back({ucx::packed(call), ucx::packed(DatagramSeat{link.datagrams->own_link, datagram_key_,
                                                                         link.datagrams->own_token})});
  attend_to(link);
}

void VerbsTransport::take_datagram_call(VerbsLink& link, const Call& call, Bytes rest) {
  DatagramSeat seat;
  if (!ucx::unpack(rest, &seat)) return fail(link, kNotUnderstood);
  link.peer_gid = call.gid;
  if (link.datagrams == nullptr || link.datagrams->known) return;  // this side has chosen a queue pair
  DatagramState& state = *link.datagrams;
  state.way = adapter_.way_to(call.lid, call.gid);
  if (state.way == nullptr) return connect_now(link);
  state.known = true;
  state.peer = seat;
  state.number = call.number;
  state.bytes_max = 128u << std::clamp<int>(call.mtu, IBV_MTU_256, adapter_.port.mtu);
  --connecting_;
  freed_ = true;
  attend_to(link);
}

void VerbsTransport::leave_datagrams(VerbsLink& link) {
  if (link.datagrams == nullptr) return;
  if (!link.datagrams->known) --connecting_;
  if (link.datagrams->way != nullptr) old_ways_.push_back(link.datagrams->way);
  has_more_ = true;
  by_datagram_link_.erase(link.datagrams->own_link);
  if (link.datagrams->talks) std::erase(talking_, &link);
  link.datagrams.reset();
}

/// The link gets its queue pair; what was not acknowledged goes over that, unless the peer has it.
void VerbsTransport::connect_now(VerbsLink& link) {
  if (link.datagrams == nullptr || !link.alive()) return;
  leave_datagrams(link);
  link.mending = true;
  link.broke_because.clear();
  mending_.push_back(&link);
  has_more_ = true;
}

// ---- sending

void VerbsTransport::talk(VerbsLink& link) {
  if (!std::exchange(link.datagrams->talks, true)) talking_.push_back(&link);
  has_more_ = true;
}

/// False: it has not gone. There is no room now, or, where it can never go, the link has got a queue pair.
bool VerbsTransport::post_datagram(VerbsLink& link, std::uint32_t number, Bytes message) {
  DatagramState& state = *link.datagrams;
  if (!datagram_pair_->has_room(0)) return false;
  const Datagram head{Datagram::kMagic, state.peer.link, state.peer.token, number, link.received};
  const auto size = static_cast<std::uint32_t>(sizeof head + message.size());
  std::array<std::byte, 256> small;
  const bool inside = size <= std::min<std::uint32_t>(datagram_pair_->inline_max(), small.size());
  std::uint32_t slot = kNoSlot;
  if (!inside && !adapter_.take_slot(&slot)) return false;
  std::byte* at = inside ? small.data() : adapter_.slot(slot);
  std::memcpy(at, &head, sizeof head);
  if (!message.empty()) std::memcpy(at + sizeof head, message.data(), message.size());
  const int error = post_bytes(*datagram_pair_, at, size, slot, 1, &state);
  if (error != 0) {
    if (!inside) adapter_.give_slot(slot);
    if (error != ENOMEM) connect_now(link);
    return false;
  }
  state.owes = false;
  state.owed = 0;
  return true;
}

bool VerbsTransport::send_datagram(VerbsLink& link, const Prefix& prefix, ucx::Header header, Bytes payload) {
  DatagramState& state = *link.datagrams;
  if (!state.known) return false;
  const std::size_t size = sizeof prefix + header.size() + payload.size();
  const std::uint64_t now = clock::now_ns();
  if (now - state.traffic_since_ns > kSecondNs) state.traffic_since_ns = now, state.traffic = 0;
  const bool large = sizeof(Datagram) + size > state.bytes_max;
  if (link.unended.size() >= kDatagramsMost) {
    if (large) connect_now(link);
    return false;
  }
  const bool connects = large || ++state.traffic > adapter_.settings.connect_after;
  Unended& message = link.unended.emplace_back();
  message.size = static_cast<std::uint32_t>(size);
  message.bytes.resize(size);
  write_message(message.bytes.data(), prefix, header, payload);
  ++link.sent;
  if (connects) return connect_now(link), true;  // it goes over the queue pair, behind the others
  talk(link);
  post_datagrams(link, now);
  return true;
}

/// Those that have not gone out yet. The link may have got a queue pair behind it.
void VerbsTransport::post_datagrams(VerbsLink& link, std::uint64_t now) {
  DatagramState& state = *link.datagrams;
  while (state.posted < link.unended.size()) {
    const auto behind = static_cast<std::uint32_t>(link.unended.size()) - state.posted;
    const std::uint32_t number = link.sent - behind + 1;
    if (!post_datagram(link, number, link.unended[state.posted].bytes)) return;
    if (state.posted++ == 0) state.due_ns = now + state.round_trip.timeout_ns();
    if (state.timed == 0) state.timed = number, state.timed_since_ns = now;
  }
}

/// The oldest was not acknowledged in time. False: the link has got a queue pair.
bool VerbsTransport::post_again(VerbsLink& link, std::uint64_t now) {
  DatagramState& state = *link.datagrams;
  if (++state.resent > kInVainMost) return connect_now(link), false;
  state.round_trip.unanswered();
  state.timed = 0;  // an answer would not say to which of them
  const auto oldest = link.sent - static_cast<std::uint32_t>(link.unended.size()) + 1;
  for (std::uint32_t i = 0; i < std::min(state.posted, kAgainAtOnce); ++i)
    if (!post_datagram(link, oldest + i, link.unended[i].bytes)) break;
  if (link.datagrams == nullptr) return false;
  state.due_ns = now + state.round_trip.timeout_ns();
  return true;
}

/// What has a time of its own. `sleeps`: nothing waits, since the worker looks again late.
void VerbsTransport::talk_all(bool sleeps) {
  const std::uint64_t now = clock::now_ns();
  // A link that gets a queue pair takes itself from the list.
  for (std::size_t i = 0; i < talking_.size();) {
    VerbsLink& link = *talking_[i];
    post_datagrams(link, now);
    if (link.datagrams == nullptr) continue;
    DatagramState& state = *link.datagrams;
    if (state.posted > 0 && now >= state.due_ns && !post_again(link, now)) continue;
    const bool at_once = sleeps || state.owed >= kDatagramsMost / 4 || now - state.owes_since_ns > kAcknowledgeNs;
    if (state.owes && at_once && !post_datagram(link, 0, {}) && link.datagrams == nullptr) continue;
    if (state.owes || !link.unended.empty()) {
      ++i;
    } else {
      state.talks = false;
      talking_[i] = talking_.back();
      talking_.pop_back();
    }
  }
}

/// Before sleeping: false when something can't wait for the timer, which is set for the rest.
bool VerbsTransport::sleep_over_datagrams() {
  itimerspec after{};
  if (std::exchange(timer_set_, false)) ::timerfd_settime(timer_, 0, &after, nullptr);  // it may have gone off
  if (talking_.empty()) return true;
  talk_all(true);
  std::uint64_t first = ~0ull;
  for (const VerbsLink* link : talking_) {
    const DatagramState& state = *link->datagrams;
    if (state.owes || state.posted < link->unended.size()) return false;
    first = std::min(first, state.due_ns);
  }
  if (is_mending()) return false;
  const std::uint64_t now = clock::now_ns();
  if (talking_.empty()) return true;
  if (first <= now) return false;
  after.it_value.tv_sec = static_cast<time_t>((first - now) / kSecondNs);
  after.it_value.tv_nsec = static_cast<long>((first - now) % kSecondNs);
  timer_set_ = ::timerfd_settime(timer_, 0, &after, nullptr) == 0;
  return timer_set_;
}

// ---- what arrives

void VerbsTransport::refuse_datagram(const char* why) {
  if (!std::exchange(told_of_strange_, true))
    log::warn("verbs: " + adapter_.port.name() + " dropped a datagram: " + why +
              "; it may be of another job or program. This is said once");
}

void VerbsTransport::take_datagram(Bytes bytes) {
  Datagram head;
  if (bytes.size() < kGrhBytes + sizeof head || !ucx::unpack(bytes.subspan(kGrhBytes, sizeof head), &head) ||
      head.magic != Datagram::kMagic)
    return refuse_datagram("it is none of this runtime's");
  const auto known = by_datagram_link_.find(head.link);
  if (known == by_datagram_link_.end()) return;  // of a link that has got a queue pair, or has gone
  VerbsLink& link = *known->second;
  if (!equal_secrets(&head.token, &link.datagrams->own_token, sizeof head.token))
    return refuse_datagram("it has not the token of its link");
  if (!link.datagrams->known) return;  // its call comes; it will be sent again
  if (!take_acknowledgement(link, head.received)) return refuse_datagram("it acknowledges what was not sent");
  const Bytes message = bytes.subspan(kGrhBytes + sizeof head);
  if (message.empty()) return;
  DatagramState& state = *link.datagrams;
  if (!std::exchange(state.owes, true)) state.owes_since_ns = clock::now_ns();
  ++state.owed;
  talk(link);
  const std::uint32_t ahead = head.number - link.received - 1;
  if (ahead >= kDatagramsMost) {  // it was there, and its acknowledgement was lost
    state.owed = kDatagramsMost;
    return;
  }
  if (ahead > 0) {
    state.early.try_emplace(head.number, message.begin(), message.end());
    return;
  }
  ++link.received;
  take_message(link, message);
  take_early(link);
}

/// Those whose turn it is now. What is handed up may end the link, or give it a queue pair.
void VerbsTransport::take_early(VerbsLink& link) {
  while (link.alive() && link.datagrams != nullptr) {
    const auto next = link.datagrams->early.extract(link.received + 1);
    if (next.empty()) return;
    ++link.received;
    take_message(link, next.mapped());
  }
}

/// False: so many were not sent.
bool VerbsTransport::take_acknowledgement(VerbsLink& link, std::uint32_t received) {
  DatagramState& state = *link.datagrams;
  const auto waiting = static_cast<std::uint32_t>(link.unended.size());
  const std::uint32_t ended = received - (link.sent - waiting);
  if (static_cast<std::int32_t>(ended) <= 0) return static_cast<std::int32_t>(ended) > -(1 << 30);  // an older one
  if (ended > state.posted) return false;
  for (std::uint32_t i = 0; i < ended; ++i) link.unended.pop_front();
  state.posted -= ended;
  state.resent = 0;
  state.round_trip.answered();
  const std::uint64_t now = clock::now_ns();
  if (state.timed != 0 && static_cast<std::int32_t>(received - state.timed) >= 0) {
    state.round_trip.learn(now - state.timed_since_ns);
    state.timed = 0;
  }
  state.due_ns = now + state.round_trip.timeout_ns();
  freed_ = true;
  if (link.flushes.owes_answer) attend_to(link);
  return true;
}

}  // namespace periapt::verbs
