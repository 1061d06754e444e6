// How two workers come together and part: where each is goes over the TCP link; a link that ends stays until the
// provider has ended what it does with memory of others.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/secret.h"
#include "base/this_host.h"
#include "machine/ofi/transport.h"

namespace periapt::ofi {

using ucx::Outcome;

namespace {

constexpr const char* kNotUnderstood = "it sent what this version does not understand";
/// A link that ends waits so long for the end of its puts and gets. Most providers tell it within
/// milliseconds of a peer's end; some never do.
constexpr std::uint64_t kPatienceNs = 1'000'000'000;

}  // namespace

// ---- meeting

Address OfiTransport::address_of(const Provider& provider) {
  Address own;
  own.format = provider.format;
  own.provider = std::hash<std::string>{}(provider.provider + (provider.memory ? "" : ", messages only"));
  if (provider.reaches_this_host_only()) own.host = boot_number();
  return own;
}

std::vector<std::byte> OfiTransport::address() const {
  std::vector<std::byte> bytes = ucx::packed(own_);
  const std::vector<std::byte> meeting = meeting_.address();
  bytes.insert(bytes.end(), meeting.begin(), meeting.end());
  return bytes;
}

bool OfiTransport::reaches(Bytes bytes) const {
  return bytes.size() >= sizeof own_ && std::memcmp(bytes.data(), &own_, sizeof own_) == 0 &&
         meeting_.reaches(bytes.subspan(sizeof(Address)));
}

Result<ucx::Link*> OfiTransport::connect(ucx::PeerId peer, Bytes bytes) {
  Address there;
  if (bytes.size() < sizeof there || !ucx::unpack(bytes.first(sizeof there), &there) || there.magic != kMagic)
    return Status::failure("that is no address of the ofi transport");
  if (OfiLink* known = links_.find(peer)) return static_cast<ucx::Link*>(known);
  if (!domain_.broken().empty()) return Status::failure(domain_.broken());
  Result<ucx::Link*> met = meeting_.connect(peer, bytes.subspan(sizeof there));
  if (!met) return met.status();
  return static_cast<ucx::Link*>(&new_link(peer, **met));
}

OfiLink& OfiTransport::new_link(ucx::PeerId peer, ucx::Link& met) {
  OfiLink& link = links_.add(std::make_unique<OfiLink>(*this, peer));
  fill_random(&link.token, sizeof link.token);
  by_token_[link.token] = &link;
  tcp::Meeting::take_seat(link.seat, met, &link);
  Here here;
  here.messages_bytes = static_cast<std::uint16_t>(domain_.messages_name().size());
  here.memory_bytes = static_cast<std::uint16_t>(domain_.memory_name().size());
  here.token = link.token;
  std::vector<std::byte> names = domain_.messages_name();
  names.insert(names.end(), domain_.memory_name().begin(), domain_.memory_name().end());
  link.seat.calls.push_back({ucx::packed(here), std::move(names)});
  ++connecting_;
  attend_to(link);
  return link;
}

void OfiTransport::take_call(ucx::Link& from, ucx::Header head, Bytes rest) {
  auto* link = static_cast<OfiLink*>(from.user);
  Here here;
  if (!ucx::unpack(head, &here) || here.magic != kMagic)
    return link == nullptr ? meeting_.turn_away(from) : fail(*link, kNotUnderstood);
  if (link == nullptr) link = &new_link(from.peer(), from);
  if (!link->alive()) return;
  if (Status taken = take_here(*link, here, rest); !taken) fail(*link, taken.message());
}

Status OfiTransport::take_here(OfiLink& link, const Here& here, Bytes rest) {
  const std::size_t first = here.messages_bytes;
  const bool has_memory = here.memory_bytes != 0;
  if (link.open() || first == 0 || rest.size() != first + here.memory_bytes || has_memory != domain_.provider.memory)
    return Status::failure(kNotUnderstood);
  const Result<fi_addr_t> messages = domain_.address_of(rest.first(first));
  if (!messages) return messages.status();
  if (has_memory) {
    const Result<fi_addr_t> memory = domain_.address_of(rest.subspan(first));
    if (!memory) return memory.status();
    link.memory = *memory;
  }
  link.messages = *messages;
  if (domain_.provider.reaches_this_host_only()) {
    link.names.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(first));
    link.names.emplace_back(rest.begin() + static_cast<std::ptrdiff_t>(first), rest.end());
  }
  link.peers_token = here.token;
  --connecting_;
  attend_to(link);
  return {};
}

void OfiTransport::left(void* user, const std::string& reason) {
  auto* link = static_cast<OfiLink*>(user);
  if (link == nullptr) return;
  link->seat.link = nullptr;
  link->remove_files();
  if (link->alive()) lost_.push_back({link, reason});
}

// ---- the end of a link

/// From now on nothing is sent or handed up; the rest when part() comes.
void OfiTransport::leave(OfiLink& link, Outcome outcome, std::string reason) {
  if (!link.open()) --connecting_;
  by_token_.erase(link.token);
  link.early.clear();
  meeting_.leave(link.seat);
  links_.forget(link);
  std::erase_if(lost_, [&](const Lost& lost) { return lost.link == &link; });
  leaving_.push_back({&link, outcome, std::move(reason), clock::now_ns()});
}

void OfiTransport::fail(OfiLink& link, const std::string& reason) {
  if (!link.alive()) return;
  link.state = OfiLink::State::lost;
  link.remove_files();
  // What the TCP transport says names the worker already.
  const std::string name = "worker " + std::to_string(link.peer());
  leave(link, Outcome::peer_lost, reason.starts_with(name) ? reason : name + ": " + reason);
}

void OfiTransport::close(ucx::Link& which) {
  auto& link = static_cast<OfiLink&>(which);
  deferred_.forget_loss(link);
  const bool was_alive = link.alive();
  link.state = OfiLink::State::closed;
  const auto is_link = [&](const Leaving& leaving) { return leaving.link == &link; };
  if (was_alive) return leave(link, Outcome::cancelled, {});
  // Lost, and perhaps told: then nothing keeps it.
  if (std::none_of(leaving_.begin(), leaving_.end(), is_link)) retire(link);
}

void OfiTransport::see_off() {
  const std::uint64_t now_ns = clock::now_ns();
  const std::vector<Leaving> leaving = std::exchange(leaving_, {});
  for (const Leaving& one : leaving) {
    if (one.link->posted == 0 || now_ns - one.since_ns > kPatienceNs)
      part(*one.link, one.outcome, one.reason);
    else
      leaving_.push_back(one);
  }
}

void OfiTransport::part(OfiLink& link, Outcome outcome, const std::string& reason) {
  for (std::unique_ptr<Operation>& operation : link.operations) {
    if (operation->state == Operation::State::ended) continue;
    deferred_.end(operation->completion, outcome);
    if (operation->state != Operation::State::posted) continue;
    operation->link = nullptr;
    left_behind_.push_back(std::move(operation));
  }
  link.operations.clear();
  link.posted = 0;
  link.flushes.end_all(outcome, deferred_);
  if (link.state == OfiLink::State::closed)
    retire(link);
  else
    deferred_.lose(link, reason);
}

void OfiTransport::retire(OfiLink& link) {
  domain_.forget(link);
  std::erase(attended_, &link);
  links_.retire(link);
}

}  // namespace periapt::ofi
