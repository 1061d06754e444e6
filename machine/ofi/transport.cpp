#include "machine/ofi/transport.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error_text.h"

namespace periapt::ofi {

using ucx::Accepted;
using ucx::Completion;
using ucx::Header;
using ucx::Link;
using ucx::Outcome;

namespace {
OfiLink& of(Link& link) { return static_cast<OfiLink&>(link); }
}  // namespace

// ---- coming and going

OfiTransport::OfiTransport(const Library& library, const Choice& choice, const ucx::OpenRequest& request)
    : TransportBase(choice.device, request),
      meeting_(*this),
      domain_(library, choice),
      own_(address_of(choice.provider)) {}

OfiTransport::~OfiTransport() {
  if (epoll_ >= 0) ::close(epoll_);
}

Status OfiTransport::open(const ucx::OpenRequest& request) {
  if (Status opened = domain_.open(); !opened) return opened;
  if (Status opened = meeting_.open(request); !opened) return opened;
  if (domain_.events_fd() < 0) return {};
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  for (int fd : {domain_.events_fd(), meeting_.wait_fd()}) {
    if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
      return Status::failure("what " + device_.name + " tells can't be waited for: " + error_text());
  }
  return {};
}

// ---- sending

/// 0, or what errno says; EAGAIN: there is no room.
int OfiTransport::post_message(OfiLink& link, Prefix::Kind kind, Header header, Bytes payload) {
  Prefix prefix;
  prefix.token = link.peers_token;
  prefix.number = link.next_out;
  prefix.kind = kind;
  prefix.header_bytes = static_cast<std::uint8_t>(header.size());
  const std::size_t size = sizeof prefix + header.size() + payload.size();
  const auto write_to = [&](std::byte* at) {
    std::memcpy(at, &prefix, sizeof prefix);
    if (!header.empty()) std::memcpy(at + sizeof prefix, header.data(), header.size());
    if (!payload.empty()) std::memcpy(at + sizeof prefix + header.size(), payload.data(), payload.size());
  };
  const bool is_answer = kind == Prefix::Kind::flushed;  // its end must be known, for a worker that leaves
  int error = 0;
  if (size <= domain_.inject_max() && !is_answer) {
    std::array<std::byte, kInjectMost> bytes;
    write_to(bytes.data());
    error = domain_.inject(link.messages, bytes.data(), size);
  } else {
    std::uint32_t slot = 0;
    if (!domain_.take_slot(kind == Prefix::Kind::message ? kReserved : 0, &slot)) return EAGAIN;
    write_to(domain_.slot(slot));
    error = domain_.send(link.messages, slot, size, link, is_answer ? Request::Kind::answer : Request::Kind::send);
    if (error != 0) domain_.give_slot(slot);
    if (error == 0 && is_answer) ++link.answers;
  }
  if (error == 0) ++link.next_out;
  return error;
}

Accepted OfiTransport::send_inline(Link& to, Header header, Bytes payload) {
  OfiLink& link = of(to);
  if (!link.alive()) return Accepted::lost;
  if (!link.open()) return refuse();
  const int error = post_message(link, Prefix::Kind::message, header, payload);
  if (error == 0) return link.unconfirmed = true, Accepted::done;
  if (error == EAGAIN) return refuse();
  fail(link, "a message can't be sent: " + domain_.text_of(error));
  return Accepted::lost;
}

/// False: there is no room now. A link that fails has nothing more to say.
bool OfiTransport::post_number(OfiLink& link, Prefix::Kind kind, std::uint32_t number) {
  if (!link.open()) return false;
  const int error = post_message(link, kind, {}, std::as_bytes(std::span(&number, 1)));
  if (error != 0 && error != EAGAIN) fail(link, "a message can't be sent: " + domain_.text_of(error));
  return error == 0;
}

Accepted OfiTransport::flush(Link& which, Completion& completion) {
  OfiLink& link = of(which);
  if (!link.alive()) return Accepted::lost;
  if (link.flushes.full()) return refuse();
  if (!post_number(link, Prefix::Kind::flush, link.flushes.next_number()))
    return link.alive() ? refuse() : Accepted::lost;
  link.flushes.asked(link.operations_ended + link.operations.size(), &completion);
  link.unconfirmed = false;
  return Accepted::pending;
}

/// A provider may keep what it has taken, and lose it with this process: the peer has to confirm it.
bool OfiTransport::handed_over(Link& which) const {
  OfiLink& link = of(which);
  if (!link.alive()) return true;
  if (link.unconfirmed && !link.wants_confirmation) {
    link.wants_confirmation = true;
    static_cast<OfiTransport&>(which.transport()).attend_to(link);
  }
  return !link.unconfirmed && link.flushes.all_answered() && link.operations.empty() && link.answers == 0 &&
         !link.flushes.owes_answer;
}

// ---- what waits for room

void OfiTransport::attend_to(OfiLink& link) {
  if (std::exchange(link.attended, true)) return;
  attended_.push_back(&link);
}

void OfiTransport::attend() {
  std::vector<OfiLink*> links = std::exchange(attended_, {});
  for (OfiLink* link : links) {
    link->attended = false;
    if (link->alive() && !attend_once(*link) && link->alive()) attend_to(*link);
  }
}

/// False: something is left.
bool OfiTransport::attend_once(OfiLink& link) {
  if (!meeting_.say_all(link.seat)) return false;
  if (!link.open()) return true;  // it is attended to when the peer has said where it is
  if (link.flushes.owes_answer) {
    if (!post_number(link, Prefix::Kind::flushed, link.flushes.answer)) return false;
    link.flushes.owes_answer = false;
  }
  if (link.wants_confirmation && link.unconfirmed) {
    if (link.flushes.full() || !post_number(link, Prefix::Kind::flush, link.flushes.next_number())) return false;
    link.flushes.asked(0, nullptr);
    link.unconfirmed = false;
  }
  link.wants_confirmation = false;
  post_operations(link);
  return true;
}

// ---- progress

int OfiTransport::progress() {
  handed_up_ = 0;
  refused_ = false;
  if (links_.has_retired()) links_.reap();
  meeting_.look(armed_ || connecting_ > 0);
  look_at_completions(!lost_.empty() || !leaving_.empty());
  for (; !lost_.empty();) {
    const Lost lost = std::move(lost_.front());
    lost_.erase(lost_.begin());
    fail(*lost.link, lost.reason);
  }
  if (!domain_.broken().empty()) [[unlikely]]
    lose_all();
  if (!leaving_.empty()) see_off();
  if (!attended_.empty()) attend();
  domain_.post_receives();
  if (!deferred_.empty()) handed_up_ += tell_deferred();
  return handed_up_;
}

/// The provider has broken. What its descriptor tells is of no use any more, and may be the same for good.
void OfiTransport::lose_all() {
  for (std::size_t i = 0; i < links_.size(); ++i) fail(links_[i], domain_.broken());
  if (std::exchange(all_lost_, true) || epoll_ < 0) return;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, domain_.events_fd(), nullptr);
}

/// `all`: until there is nothing more, for the sake of a link that ends.
void OfiTransport::look_at_completions(bool all) {
  const auto take = [this](Request& request, std::size_t bytes) { take_end(request, bytes); };
  const auto fault = [this](Request* request, int error, const std::string& text) { take_fault(request, error, text); };
  constexpr std::size_t kMost = 2 + (kReceives + kSendSlots + kOperationsOfAll) / kLook;
  for (std::size_t looks = all ? kMost : 1; looks > 0 && domain_.look(take, fault) > 0; --looks)
    domain_.post_receives();
}

void OfiTransport::take_end(Request& request, std::size_t bytes) {
  if (request.kind == Request::Kind::receive) return take_arrival(request.slot, bytes);
  if (request.kind == Request::Kind::operation) return take_operation(static_cast<Operation&>(request), 0);
  domain_.give_slot(request.slot);
  if (request.kind == Request::Kind::answer && request.link != nullptr) --request.link->answers;
}

void OfiTransport::take_fault(Request* request, int error, const std::string& text) {
  const std::string reason = "a message to it failed: " + text;
  if (request == nullptr) {
    // Injected to one of those: which of them, the provider does not say.
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].unconfirmed || !links_[i].flushes.all_answered()) fail(links_[i], reason);
    }
  } else if (request->kind == Request::Kind::receive) {
    domain_.give_receive(request->slot);  // of a peer that broke off, or longer than any of ours
  } else if (request->kind == Request::Kind::operation) {
    take_operation(static_cast<Operation&>(*request), error);
  } else {
    OfiLink* link = request->link;
    take_end(*request, 0);
    if (link != nullptr) fail(*link, reason);
  }
}

// ---- what arrives

void OfiTransport::take_arrival(std::uint32_t slot, std::size_t bytes) {
  const Bytes message(domain_.slot(slot), std::min(bytes, kSlotBytes));
  Prefix prefix;
  OfiLink* link = nullptr;
  if (message.size() >= sizeof prefix && ucx::unpack(message.first(sizeof prefix), &prefix)) {
    const auto known = by_token_.find(prefix.token);
    if (known != by_token_.end()) link = known->second;
  }
  if (link == nullptr) {
    // of a link that has gone, or a stranger's
  } else if (prefix.number == link->next_in) {
    take_in_turn(*link, message);
  } else if (static_cast<std::int32_t>(prefix.number - link->next_in) < 0 ||
             !link->early.try_emplace(prefix.number, message.begin(), message.end()).second) {
    fail(*link, "it sent what this version does not understand");  // one that has come already
  }
  domain_.give_receive(slot);
}

/// The next one, and those behind it that came too early.
void OfiTransport::take_in_turn(OfiLink& link, Bytes message) {
  std::vector<std::byte> early;
  for (;;) {
    Prefix prefix;
    ucx::unpack(message.first(sizeof prefix), &prefix);
    ++link.next_in;
    take_message(link, prefix, message.subspan(sizeof prefix));
    auto next = link.early.extract(link.next_in);
    if (!link.alive() || next.empty()) return;
    early = std::move(next.mapped());
    message = early;
  }
}

void OfiTransport::take_message(OfiLink& link, const Prefix& prefix, Bytes rest) {
  std::uint32_t number = 0;
  if (prefix.kind == Prefix::Kind::message && prefix.header_bytes <= std::min(rest.size(), kHeaderMax)) {
    ++handed_up_;
    receiver_.arrived(link, rest.first(prefix.header_bytes), rest.subspan(prefix.header_bytes));
  } else if (prefix.kind == Prefix::Kind::flush && ucx::unpack(rest, &number)) {
    link.flushes.take_question(number);
    attend_to(link);
  } else if (prefix.kind == Prefix::Kind::flushed && ucx::unpack(rest, &number)) {
    link.flushes.answered(number);
    end_flushes(link);
  } else {
    fail(link, "it sent what this version does not understand");
  }
}

void OfiTransport::end_flushes(OfiLink& link) { link.flushes.end_some(link.operations_ended, deferred_); }

// ---- sleeping

bool OfiTransport::arm() {
  if (epoll_ < 0) return false;
  if (!attended_.empty()) attend();
  const bool posted = all_lost_ || domain_.post_receives();
  if (!posted || refused_ || meeting_.has_moved() || connecting_ > 0) return false;
  if (!attended_.empty() || !deferred_.empty() || !lost_.empty() || !leaving_.empty()) return false;
  if (!all_lost_ && (!domain_.broken().empty() || !domain_.may_sleep())) return false;
  armed_ = true;
  return meeting_.arm();
}

// ---- the factory

namespace {

constexpr ucx::TransportOption kOptions[] = {
    {"ofi-provider", "NAME[/DOMAIN]", "the provider of libfabric to be used, and its adapter or interface"},
};

Result<std::unique_ptr<ucx::Transport>> open_transport(const ucx::Device& device, const ucx::OpenRequest& request) {
  return ucx::open_choice(choices_for(request), device, request, "the provider", [&](const Choice& choice) {
    return std::make_unique<OfiTransport>(library().value(), choice, request);
  });
}

}  // namespace

const ucx::TransportFactory factory = {
    .name = "ofi",
    .probe = [](const ucx::OpenRequest& request) { return ucx::devices_of(choices_for(request)); },
    .open = open_transport,
    .options = kOptions,
};

}  // namespace periapt::ofi
