// Small messages that go together. A device takes each request by itself, and its packets are what a flood of small
// messages waits for; so where it is behind with a link's sends, those that follow are written into one slot. That goes
// when it is full, when something else follows, when a further message finds that the device has caught up, or at the
// next progress(). For mending.cpp it is one message.
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error_text.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

using ucx::Accepted;
using ucx::Header;

namespace {
constexpr std::uint32_t kBatchBytes = 4096;  // a packet of the largest MTU
constexpr std::size_t kBatchedMost = 512;    // of a message with its header

// In a batch a message begins where it may in a slot of its own.
constexpr std::size_t room_of(std::size_t header_bytes, std::size_t payload_bytes) {
  return (sizeof(Prefix) + header_bytes + payload_bytes + 7) / 8 * 8;
}
static_assert(sizeof(Prefix) + room_of(0, kBatchedMost) <= kBatchBytes && kBatchBytes <= kSlotBytes);
}  // namespace

bool VerbsTransport::joins_batch(const VerbsLink& link, Header header, Bytes payload) {
  return is_batching(link) && header.size() + payload.size() <= kBatchedMost;
}

/// What has ended since the last look counts, too: before a batch is begun, and now and then while it grows.
bool VerbsTransport::is_behind(VerbsLink& link) {
  if (link.batch == kNoSlot || ++link.batched % kSilentMax == 0) look_at_ends();
  return link.messages->is_behind();
}

/// Takes the ends of messages, which nothing is called back for; what else the device tells waits for progress().
void VerbsTransport::look_at_ends() {
  std::array<ibv_wc, kLook> room;
  for (const ibv_wc& completion : adapter_.look(room)) {
    const auto known = by_serial_.find(static_cast<std::uint32_t>(completion.wr_id >> 32));
    const bool ends = known != by_serial_.end() && known->second->queue == Queue::messages;
    if (ends && completion.status == IBV_WC_SUCCESS)
      take_end(*known->second, completion);
    else
      early_.push_back(completion), has_more_ = true;
  }
  has_more_ |= adapter_.gives_no_completions();
}

/// False: there is no room for it now.
bool VerbsTransport::add_to_batch(VerbsLink& link, Header header, Bytes payload) {
  const auto room = static_cast<std::uint32_t>(room_of(header.size(), payload.size()));
  if (link.batch != kNoSlot && link.batch_bytes + room > kBatchBytes && !post_batch(link)) return false;
  if (link.batch == kNoSlot) {
    if (!adapter_.take_slot(&link.batch)) return false;
    Prefix prefix;
    prefix.kind = Prefix::Kind::batch;
    std::memcpy(adapter_.slot(link.batch), &prefix, sizeof prefix);
    link.batch_bytes = sizeof prefix;
    attend_to(link);
  }
  Prefix prefix;
  prefix.header_bytes = static_cast<std::uint8_t>(header.size());
  prefix.number = static_cast<std::uint32_t>(payload.size());
  write_message(adapter_.slot(link.batch) + link.batch_bytes, prefix, header, payload);
  link.batch_bytes += room;
  return true;
}

/// False: it can't go now; a link that fails has none any more.
bool VerbsTransport::post_batch(VerbsLink& link) {
  if (link.batch == kNoSlot) return true;
  if (!can_send(link, kReserved)) return false;
  const int error = post_bytes(*link.messages, adapter_.slot(link.batch), link.batch_bytes, link.batch, 1);
  if (error == ENOMEM) return false;
  if (error != 0) return fail(link, "a message can't be sent: " + error_text(error)), false;
  link.batch = kNoSlot;
  ++link.sent;
  return true;
}

/// `header`: of the whole, which has none.
void VerbsTransport::take_batch(VerbsLink& link, Bytes header, Bytes messages) {
  if (!header.empty() || messages.empty()) return fail(link, kNotUnderstood);
  while (!messages.empty() && link.alive()) {
    Prefix prefix;
    if (messages.size() < sizeof prefix) return fail(link, kNotUnderstood);
    std::memcpy(&prefix, messages.data(), sizeof prefix);
    const std::size_t room = room_of(prefix.header_bytes, prefix.number);
    if (prefix.kind != Prefix::Kind::message || prefix.header_bytes > kHeaderMax || prefix.number > kBatchBytes ||
        room > messages.size())
      return fail(link, kNotUnderstood);
    ++handed_up_;
    receiver_.arrived(link, messages.subspan(sizeof prefix, prefix.header_bytes),
                      messages.subspan(sizeof prefix + prefix.header_bytes, prefix.number));
    messages = messages.subspan(room);
  }
}

}  // namespace periapt::verbs
