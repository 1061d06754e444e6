#include "machine/tcp/transport.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"

namespace periapt::tcp {

using ucx::Accepted;
using ucx::Completion;
using ucx::Header;
using ucx::Link;
using ucx::Outcome;
using ucx::PeerId;

namespace {

constexpr std::size_t kAttemptsMax = 4096;
constexpr int kWarningsMax = 20;
constexpr std::uint64_t kSecond = 1'000'000'000;

std::string option(const ucx::OpenRequest& request, const char* name) {
  return request.option ? request.option(name) : std::string();
}

Result<std::uint64_t> timeout_ns(const std::string& text) {
  if (text.empty()) return 20 * kSecond;
  double seconds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.1 && seconds <= 86400))
    return Status::failure(
        "+net-timeout " + text +
        " makes no sense: it is the number of seconds, from 0.1 to 86400, after which a host that does "
        "not answer is given up");
  return static_cast<std::uint64_t>(seconds * 1e9);
}

void set(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); }

bool is_loopback(const Address& address) {
  if (address.family == 4) return address.ip[0] == std::byte{127};
  std::array<std::byte, 16> one{};
  one[15] = std::byte{1};
  return address.ip == one;
}

}  // namespace

// ---- coming and going

TcpTransport::TcpTransport(const Choice& choice, const ucx::OpenRequest& request)
    : TransportBase(choice.device, request),
      interface_(choice.interface),
      timeout_ns_(timeout_ns(option(request, "+net-timeout")).value()) {}

TcpTransport::~TcpTransport() {
  // The peers are told, without waiting for them: flush() before the end makes sure that all has arrived.
  while (!open_.empty()) close(*open_.back());
  for (auto& lingering : lingering_) drain(*lingering);
  for (auto& link : links_) link->end_all(Outcome::cancelled);
  links_.clear();
  if (epoll_ >= 0) ::close(epoll_);
}

Status TcpTransport::listen() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  own_.family = interface_.family == AF_INET ? 4 : 6;
  own_.ip = interface_.ip;
  mark_host(&own_);
  std::string where = device_.name + " (" + ip_text(interface_.family, own_.ip) + ")";
  listener_.fd = new_socket();
  timer_.fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (epoll_ < 0 || listener_.fd < 0 || timer_.fd < 0)
    return Status::failure("no socket can be made for " + where + ": " + error_text());
  if (own_.family == 6) set(listener_.fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (!bind_somewhere(listener_.fd, own_) || ::listen(listener_.fd, SOMAXCONN) != 0)
    return Status::failure("cannot listen on " + where + ": " + std::strerror(errno));
  sockaddr_storage socket{};
  socklen_t size = sizeof socket;
  ::getsockname(listener_.fd, reinterpret_cast<sockaddr*>(&socket), &size);
  own_.port = from_socket(socket).port;
  watch(listener_, EPOLL_CTL_ADD, EPOLLIN);

  std::uint64_t tick = std::clamp(timeout_ns_ / 8, kSecond / 50, 2 * kSecond);
  itimerspec every{};
  every.it_interval.tv_sec = every.it_value.tv_sec = static_cast<time_t>(tick / kSecond);
  every.it_interval.tv_nsec = every.it_value.tv_nsec = static_cast<long>(tick % kSecond);
  ::timerfd_settime(timer_.fd, 0, &every, nullptr);
  watch(timer_, EPOLL_CTL_ADD, EPOLLIN);
  return {};
}

std::vector<std::byte> TcpTransport::address() const { return ucx::packed(own_); }

bool TcpTransport::reaches(Bytes bytes) const {
  Address there;
  if (!read_address(bytes, &there) || there.family != own_.family) return false;
  bool same_host = there.boot == own_.boot && there.network == own_.network;
  if ((is_loopback(there) || is_loopback(own_)) && !same_host) return false;
  // A datagram socket asks the routing table without sending anything.
  int fd = ::socket(interface_.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // connect() will say what is missing
  Address here = own_;
  here.port = 0;
  sockaddr_storage socket{};
  socklen_t size = to_socket(here, &socket);
  bool routed = ::bind(fd, reinterpret_cast<sockaddr*>(&socket), size) == 0;
  size = to_socket(there, &socket);
  routed = routed && ::connect(fd, reinterpret_cast<sockaddr*>(&socket), size) == 0;
  ::close(fd);
  return routed;
}

int TcpTransport::new_socket() const {
  return ::socket(interface_.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void TcpTransport::tune(int fd) const {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // An idle connection to a host that has vanished: asked after half of the time, three times until it is over.
  int seconds = static_cast<int>(std::max<std::uint64_t>(1, timeout_ns_ / kSecond));
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 2));
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 6));
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void TcpTransport::watch(Watched& watched, int change, unsigned events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watched;
  if (::epoll_ctl(epoll_, change, watched.fd, &event) != 0)
    log::warn(std::string("tcp: a socket cannot be watched: ") + std::strerror(errno));
}

TcpLink& TcpTransport::new_link(PeerId peer) { return links_.add(std::make_unique<TcpLink>(*this, peer)); }

Result<Link*> TcpTransport::connect(PeerId peer, Bytes bytes) {
  Address there;
  if (!read_address(bytes, &there)) return Status::failure("that is no address of the TCP transport");
  if (peer == 0 || peer == self_) return Status::failure("a worker does not reach itself, or nobody, by TCP");
  if (there.family != own_.family)
    return Status::failure("worker " + std::to_string(peer) + " at " + text(there) +
                           " is not of the address family of " + device_.name +
                           "; choose devices by +net-devices on all hosts");
  if (TcpLink* known = links_.find(peer)) return static_cast<Link*>(known);
  TcpLink& link = new_link(peer);
  link.where = text(there);
  int fd = new_socket();
  if (fd < 0) {
    fail(link, "no socket for it: " + error_text());
    return static_cast<Link*>(&link);
  }
  tune(fd);
  Address here = own_;
  here.port = 0;
  sockaddr_storage socket{};
  socklen_t size = to_socket(here, &socket);
  set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  ::bind(fd, reinterpret_cast<sockaddr*>(&socket), size);
  attempts_.push_back(std::make_unique<Attempt>(fd, Handshake(self_, peer, secret_)));
  Attempt& attempt = *attempts_.back();
  attempt.link = &link;
  attempt.where = link.where;
  attempt.deadline_ns = clock::now_ns() + timeout_ns_;
  attempt.connected = false;
  link.attempt = &attempt;
  size = to_socket(there, &socket);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&socket), size) != 0 && errno != EINPROGRESS) {
    attempt_failed(attempt, std::string("cannot connect to it: ") + std::strerror(errno));
  } else {
    watch(attempt, EPOLL_CTL_ADD, EPOLLOUT);
  }
  return static_cast<Link*>(&link);
}

// ---- handshakes

void TcpTransport::accept_all() {
  for (;;) {
    sockaddr_storage socket{};
    socklen_t size = sizeof socket;
    int fd = ::accept4(listener_.fd, reinterpret_cast<sockaddr*>(&socket), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) {
      if (errno == EAGAIN) return;
      // No more descriptors: a peer that wants to connect waits in the kernel's queue until the next tick.
      if (warnings_++ < kWarningsMax) log::warn("tcp: a connection waits: " + error_text());
      watch(listener_, EPOLL_CTL_MOD, 0);
      listening_paused_ = true;
      return;
    }
    if (attempts_.size() >= kAttemptsMax) {
      // The connection that has been silent for longest makes room: strangers can't keep workers out.
      auto silent = std::find_if(attempts_.begin(), attempts_.end(),
                                 [](const auto& attempt) { return !attempt->dead && attempt->link == nullptr; });
      if (silent != attempts_.end()) forget(**silent);
    }
    tune(fd);
    attempts_.push_back(std::make_unique<Attempt>(fd, Handshake(self_, 0, secret_)));
    attempts_.back()->where = text(from_socket(socket));
    watch(*attempts_.back(), EPOLL_CTL_ADD, EPOLLIN);
  }
}

void TcpTransport::advance(Attempt& attempt, unsigned events) {
  if (!attempt.connected) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(attempt.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      std::string why = std::strerror(error);
      if (error == ECONNREFUSED) why = "nobody listens there any more: its process has ended";
      return attempt_failed(attempt, "cannot connect to it: " + why);
    }
    if ((events & EPOLLOUT) == 0) return;
    attempt.connected = true;
    watch(attempt, EPOLL_CTL_MOD, EPOLLIN);
    if (!send_output(attempt)) return attempt_failed(attempt, "it did not take the first bytes of the handshake");
  }
  talk(attempt);
}

/// The few bytes of a handshake always fit an empty socket's buffer; if not, the connection is broken.
bool TcpTransport::send_output(Attempt& attempt) {
  std::vector<std::byte>& output = attempt.handshake.output();
  bool sent = output.empty() || ::send(attempt.fd, output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                                    static_cast<ssize_t>(output.size());
  output.clear();
  return sent;
}

void TcpTransport::talk(Attempt& attempt) {
  std::array<std::byte, 4096> bytes;
  while (!attempt.dead) {
    ssize_t size = ::recv(attempt.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return attempt_failed(attempt, "it hung up in the middle of the handshake");
    Bytes came(bytes.data(), static_cast<std::size_t>(size));
    Bytes early = came.subspan(attempt.parked ? 0 : attempt.handshake.feed(came));
    if (!send_output(attempt)) return attempt_failed(attempt, "it hung up in the middle of the handshake");
    switch (attempt.handshake.state()) {
      case Handshake::State::talking:
        break;
      case Handshake::State::agreed:
        return adopt(*attempt.link, attempt, early);
      case Handshake::State::refused:
        return attempt_failed(attempt, attempt.handshake.reason());
      case Handshake::State::proved:
        if (!early.empty()) return attempt_failed(attempt, "it broke the protocol in the handshake");
        if (!attempt.parked) decide(attempt);
    }
  }
}

/// A peer has connected and proved that it belongs to the job. Two workers that connect to each other at the same time
/// keep the connection of the one with the lower number; both follow the same rule, so both keep the same one.
void TcpTransport::decide(Attempt& attempt) {
  PeerId peer = attempt.handshake.peer();
  TcpLink* known = links_.find(peer);
  if (known == nullptr) return adopt(new_link(peer), attempt, {});
  TcpLink& link = *known;
  if (link.state == TcpLink::State::connecting && peer < self_) return adopt(link, attempt, {});
  // Ours goes first. If it fails, or if an old connection turns out to be gone, this one is still there.
  if (link.parked != nullptr) forget(*link.parked);
  link.parked = &attempt;
  attempt.link = &link;
  attempt.parked = true;
}

void TcpTransport::adopt(TcpLink& link, Attempt& attempt, Bytes early) {
  if (attempt.handshake.state() == Handshake::State::proved) attempt.handshake.welcome();
  if (!send_output(attempt)) log::detail("tcp: a welcome did not go out");  // the connection's end is seen soon
  if (link.attempt == &attempt) link.attempt = nullptr;
  if (link.parked == &attempt) link.parked = nullptr;
  if (link.attempt != nullptr) forget(*std::exchange(link.attempt, nullptr));
  if (link.parked != nullptr) forget(*std::exchange(link.parked, nullptr));
  link.fd = attempt.release();
  link.where = attempt.where;
  attempt.dead = true;
  to_reap_ = true;
  watch_links(true);
  watch(link, EPOLL_CTL_MOD, EPOLLIN);
  link.state = TcpLink::State::open;
  open_.push_back(&link);
  if (!link.outbox.empty()) added(link, false);
  if (!early.empty()) link.receive_early(early);
}

/// Hangs up without a word.
void TcpTransport::forget(Watched& watched) {
  static_cast<Attempt&>(watched).dead = true;
  if (watched.fd >= 0) ::close(watched.release());
  to_reap_ = true;
}

void TcpTransport::attempt_failed(Attempt& attempt, const std::string& reason) {
  TcpLink* link = attempt.link;
  bool own = link != nullptr && link->attempt == &attempt;
  forget(attempt);
  if (own) {
    link->attempt = nullptr;
    if (link->parked != nullptr) return adopt(*link, *link->parked, {});
    return fail(*link, reason);
  }
  if (link != nullptr && link->parked == &attempt) link->parked = nullptr;
  // The other connection of two that were opened at the same time ends like this, too: nothing to tell people.
  if (attempt.handshake.state() != Handshake::State::refused) return;
  warn_refused(attempt, reason);
}

void TcpTransport::warn_refused(const Attempt& attempt, const std::string& reason) {
  if (warnings_++ < kWarningsMax)
    log::warn("tcp: a connection from " + attempt.where + " to " + text(own_) + " was refused: " + reason);
}

// ---- sending

Accepted TcpTransport::admit(TcpLink& link) {
  if (link.state > TcpLink::State::open) return Accepted::lost;
  return link.outbox.copied() >= kCopiedMax ? Accepted::no_resource : Accepted::done;
}

void TcpTransport::added(TcpLink& link, bool was_empty) {
  if (!link.open() || link.blocked) return;  // goes out when that changes
  if (link.outbox.bytes() >= kWriteAt) return link.write();
  if (!in_progress_ && was_empty && link.due(clock::now_ns())) return link.write();
  link.grown = true;
  if (!std::exchange(link.dirty, true)) dirty_.push_back(&link);
}

Accepted TcpTransport::send_inline(Link& to, Header header, Bytes payload) {
  auto& link = static_cast<TcpLink&>(to);
  if (Accepted answer = admit(link); answer != Accepted::done) return answer;
  bool was_empty = link.outbox.empty();
  link.outbox.add_frame(Prefix(FrameKind::message, header.size(), payload.size()), header, payload);
  added(link, was_empty);
  return Accepted::done;
}

Accepted TcpTransport::send_lent(Link& to, Header header, Bytes payload, Completion& completion) {
  if (payload.size() <= kCopyMax) return send_inline(to, header, payload);
  auto& link = static_cast<TcpLink&>(to);
  if (Accepted answer = admit(link); answer != Accepted::done) return answer;
  bool was_empty = link.outbox.empty();
  link.outbox.add_lent(header, payload, completion);
  added(link, was_empty);
  if (!link.open() || !link.outbox.empty()) return Accepted::pending;
  // All has gone out, this last: there is nothing to be told.
  deferred_.drop_latest_end();
  return Accepted::done;
}

Accepted TcpTransport::send_owned(Link& to, Header header, ucx::Buffer& payload) {
  auto& link = static_cast<TcpLink&>(to);
  if (Accepted answer = admit(link); answer != Accepted::done) return answer;
  bool was_empty = link.outbox.empty();
  if (payload.size() <= kCopyMax) {
    link.outbox.add_frame(Prefix(FrameKind::message, header.size(), payload.size()), header, payload.bytes());
    payload.reset();
  } else {
    link.outbox.add_owned(header, std::move(payload));
  }
  added(link, was_empty);
  return Accepted::done;
}

Accepted TcpTransport::flush(Link& to, Completion& completion) {
  auto& link = static_cast<TcpLink&>(to);
  if (Accepted answer = admit(link); answer != Accepted::done) return answer;
  bool was_empty = link.outbox.empty();
  Accepted answer = link.flush(completion);
  added(link, was_empty);
  return answer;
}

// What the kernel has goes out after us; close() shuts down one way only, and reads what comes still.
bool TcpTransport::handed_over(Link& link) const { return static_cast<TcpLink&>(link).outbox.empty(); }

/// Writes what has waited long enough; also where nothing has joined it since the last progress(): the worker is idle.
void TcpTransport::write_due(Which which) {
  std::uint64_t now = clock::now_ns();
  std::size_t kept = 0;
  for (TcpLink* link : dirty_) {
    if (link->open() && !link->blocked && !link->outbox.empty()) {
      bool idle = which == Which::due_or_idle && !std::exchange(link->grown, false);
      if (which != Which::all && !idle && !link->due(now)) {
        dirty_[kept++] = link;
        continue;
      }
      link->write();
    }
    link->dirty = false;
  }
  dirty_.resize(kept);
}

unsigned TcpTransport::events_of(const TcpLink& link) { return EPOLLIN | (link.watches_room ? EPOLLOUT : 0u); }

/// Puts the open links into epoll's set, or takes them out. A socket that is in one, whatever is wanted of it, tells it
/// of each arrival, and its sender pays: a twentieth of the way of a small message. They are out while they are few,
/// no worker sleeps, and all have room.
void TcpTransport::watch_links(bool wanted) {
  if (watches_links_ == wanted) return;
  watches_links_ = wanted;
  for (TcpLink* link : open_) watch(*link, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, events_of(*link));
}

void TcpTransport::update_watch(TcpLink& link) {
  bool wants = link.blocked && link.open();
  if (link.watches_room == wants) return;
  link.watches_room = wants;
  blocked_ += wants ? 1 : -1;
  if (!watches_links_) return watch_links(true);
  if (link.fd >= 0) watch(link, EPOLL_CTL_MOD, events_of(link));
}

void TcpTransport::ended(void* self, Completion& completion, Outcome outcome) {
  static_cast<TcpTransport*>(self)->deferred_.end(&completion, outcome);
}

// ---- lingering

void TcpTransport::fail(TcpLink& link, const std::string& reason) {
  if (link.state > TcpLink::State::open) return;
  bool was_open = link.open();
  link.state = TcpLink::State::lost;
  if (link.attempt != nullptr) forget(*std::exchange(link.attempt, nullptr));
  if (was_open) std::erase(open_, &link);
  links_.forget(link);
  link.end_all(Outcome::peer_lost);
  update_watch(link);
  if (link.fd >= 0) ::close(link.release());
  deferred_.lose(link, "worker " + std::to_string(link.peer()) + " at " + link.where + ": " + reason);
}

void TcpTransport::close(Link& which) {
  auto& link = static_cast<TcpLink&>(which);
  bool was_open = link.open();
  if (was_open) {
    link.outbox.add_frame(Prefix(FrameKind::close, 0, 0), {}, {});
    link.write();
  }
  if (link.attempt != nullptr) forget(*std::exchange(link.attempt, nullptr));
  Attempt* waiting = std::exchange(link.parked, nullptr);
  if (was_open) std::erase(open_, &link);
  links_.retire(link);
  deferred_.forget_loss(link);
  link.state = TcpLink::State::closed;
  link.end_all(Outcome::cancelled);
  update_watch(link);
  if (link.fd >= 0) {
    ::shutdown(link.fd, SHUT_WR);
    lingering_.push_back(std::make_unique<LingeringSocket>(link.release(), clock::now_ns() + timeout_ns_));
    watch(*lingering_.back(), watches_links_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, EPOLLIN);
  }
  to_reap_ = true;
  // The peer has closed it as well, and connected again; or it connected to us while we changed our mind.
  if (waiting != nullptr && !waiting->dead) adopt(new_link(link.peer()), *waiting, {});
}

void TcpTransport::drain(LingeringSocket& lingering) {
  for (;;) {
    ssize_t size = ::recv(lingering.fd, buffer_.get(), kReceiveBytes, MSG_DONTWAIT);
    if (size > 0 || (size < 0 && errno == EINTR)) continue;
    if (size < 0 && errno == EAGAIN) return;
    lingering.dead = true;
    to_reap_ = true;
    return;
  }
}

/// Destroys what has ended, where nothing looks at it.
void TcpTransport::reap() {
  to_reap_ = false;
  std::erase_if(dirty_, [](TcpLink* link) { return link->state == TcpLink::State::closed; });
  std::erase_if(attempts_, [](const auto& attempt) { return attempt->dead; });
  std::erase_if(lingering_, [](const auto& lingering) { return lingering->dead; });
  links_.reap();
}

// ---- hosts that vanish

/// A host that loses its power or its cable says nothing. The kernel asks idle connections (tune()). One with data
/// under way it would give up after a quarter of an hour; with TCP_USER_TIMEOUT sooner, but then it also gives up peers
/// that are well and merely too busy to read for that long, which a program of long entry methods often is. So it is
/// asked here: is something unacknowledged, and has nothing at all come from there for so long?
bool TcpTransport::host_is_silent(TcpLink& link, std::uint64_t now_ns) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(link.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  bool waits = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
  std::uint64_t heard_ns = std::uint64_t{std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)} * 1'000'000;
  if (!waits || (link.silent_since_ns != 0 && heard_ns < now_ns - link.silent_since_ns)) {
    link.silent_since_ns = 0;
  } else if (link.silent_since_ns == 0) {
    link.silent_since_ns = now_ns;
  }
  return link.silent_since_ns != 0 && now_ns - link.silent_since_ns >= timeout_ns_;
}

std::string TcpTransport::silence() const {
  const double seconds = std::ceil(static_cast<double>(timeout_ns_) * 1e-9);
  return "its host has not answered for " + std::to_string(static_cast<int>(seconds)) + " s (+net-timeout)";
}

void TcpTransport::tick() {
  std::uint64_t count = 0;
  if (::read(timer_.fd, &count, sizeof count) < 0) return;
  std::uint64_t now = clock::now_ns();
  if (std::exchange(listening_paused_, false)) watch(listener_, EPOLL_CTL_MOD, EPOLLIN);
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    Attempt& attempt = *attempts_[i];
    // Only the kernel's part has a limit: a worker that is busy answers late, and is well.
    if (!attempt.dead && !attempt.connected && now >= attempt.deadline_ns)
      attempt_failed(attempt, "cannot connect to it: " + silence());
  }
  for (auto& lingering : lingering_)
    if (now >= lingering->deadline_ns) lingering->dead = true, to_reap_ = true;
  for (std::size_t i = open_.size(); i-- > 0;)
    if (host_is_silent(*open_[i], now)) fail(*open_[i], silence());
}

// ---- progress

void TcpTransport::poll_sockets() {
  std::array<epoll_event, 64> events;
  int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    auto& watched = *static_cast<Watched*>(event.data.ptr);
    if (watched.fd < 0) continue;  // ended meanwhile
    switch (watched.kind) {
      case Watched::Kind::listener:
        accept_all();
        break;
      case Watched::Kind::timer:
        tick();
        break;
      case Watched::Kind::attempt:
        advance(static_cast<Attempt&>(watched), event.events);
        break;
      case Watched::Kind::lingering:
        drain(static_cast<LingeringSocket&>(watched));
        break;
      case Watched::Kind::link: {
        auto& link = static_cast<TcpLink&>(watched);
        if ((event.events & EPOLLOUT) != 0) link.write();
        if ((event.events & ~static_cast<unsigned>(EPOLLOUT)) != 0 && !link.holds()) link.receive();
      }
    }
  }
}

/// The peer may have closed the old link and opened a new one, which waits for this.
void TcpTransport::tell_loss(Link& lost, const std::string& reason) {
  Attempt* waiting = std::exchange(static_cast<TcpLink&>(lost).parked, nullptr);
  const PeerId peer = lost.peer();
  receiver_.link_lost(lost, reason);
  if (waiting == nullptr || waiting->dead) return;
  if (links_.find(peer) != nullptr) {
    decide(*waiting);
  } else {
    adopt(new_link(peer), *waiting, {});
  }
}

/// The buffer with what was read last, for a link that has not handed up all of it.
std::unique_ptr<std::byte[]> TcpTransport::swap_buffer() {
  std::unique_ptr<std::byte[]> other = spare_.empty() ? new_buffer() : std::move(spare_.back());
  if (!spare_.empty()) spare_.pop_back();
  return std::exchange(buffer_, std::move(other));
}

int TcpTransport::progress() {
  handed_up_ = 0;
  in_progress_ = true;
  if (to_reap_) reap();
  if (!dirty_.empty()) write_due(Which::due_or_idle);
  const bool direct = reads_directly();
  // A few links are all asked; of many, those that have something left. By number, and from a copy: links may end.
  if (direct) {
    for (std::size_t i = 0; i < open_.size(); ++i) open_[i]->receive();
  } else if (!holding_.empty()) {
    going_on_ = holding_;
    for (TcpLink* link : going_on_) {
      if (link->open()) link->receive();
    }
  }
  const bool in_turn = direct && ++calls_ % kPollEvery == 0;
  if (in_turn || !direct || blocked_ > 0 || !attempts_.empty()) poll_sockets();
  if (in_turn && reads_directly() && blocked_ == 0 && !armed_) watch_links(false);
  if (!deferred_.empty()) handed_up_ += tell_deferred();
  if (!dirty_.empty()) write_due(Which::due);
  in_progress_ = false;
  return handed_up_;
}

bool TcpTransport::arm() {
  if (!dirty_.empty()) write_due(Which::all);
  if (!deferred_.empty() || !holding_.empty()) return false;
  armed_ = true;
  watch_links(true);
  return true;
}

// ---- the factory

constexpr ucx::TransportOption kOptions[] = {
    {"net-devices", "LIST", "the network interfaces and addresses to be used"},
    {"net-timeout", "SECONDS", "after how long a silent host counts as gone",
     [](const std::string& text) { return timeout_ns(text).status(); }},
};

Result<std::vector<Choice>> choices_for(const ucx::OpenRequest& request) {
  const auto interfaces = list_interfaces();
  if (!interfaces) return interfaces.status();
  return choose(*interfaces, option(request, "+net-devices"), request.one_host);
}

const ucx::TransportFactory factory = {
    .name = "tcp",
    .probe =
        [](const ucx::OpenRequest& request) {
          const auto choices = choices_for(request);
          if (!choices) return std::vector{unlisted(choices.status())};
          std::vector<ucx::Device> devices;
          for (const Choice& choice : *choices) devices.push_back(choice.device);
          return devices;
        },
    .open = [](const ucx::Device& device, const ucx::OpenRequest& request) -> Result<std::unique_ptr<ucx::Transport>> {
      if (auto timeout = timeout_ns(option(request, "+net-timeout")); !timeout) return timeout.status();
      const auto choices = choices_for(request);
      if (!choices) return choices.status();
      for (const Choice& choice : *choices) {
        if (choice.device.name != device.name || !choice.device.usable) continue;
        auto transport = std::make_unique<TcpTransport>(choice, request);
        if (Status status = transport->listen(); !status) return status;
        return std::unique_ptr<ucx::Transport>(std::move(transport));
      }
      return Status::failure("network interface " + device.name + " is not usable any more");
    },
    .options = kOptions,
};

}  // namespace periapt::tcp
