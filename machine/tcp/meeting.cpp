#include "machine/tcp/meeting.h"

#include <utility>

#include "machine/tcp/transport.h"
#include "machine/ucx-like/context.h"

namespace periapt::tcp {

Meeting::~Meeting() = default;

Status Meeting::open(const ucx::OpenRequest& request) {
  ucx::OpenRequest asked = request;
  asked.receiver = this;
  std::string why;
  for (const ucx::Device& device : factory.probe(asked)) {
    if (!device.usable) {
      why += "; " + ucx::describe(device);
      continue;
    }
    auto opened = factory.open(device, asked);
    if (!opened) return opened.status();
    tcp_ = std::move(*opened);
    return {};
  }
  return Status::failure("its workers meet over TCP, and no network interface can be used" + why);
}

void Meeting::turn_away(ucx::Link& link) {
  coming_.erase(&link);
  tcp_->close(link);
}

void Meeting::leave(Seat& seat) {
  seat.calls.clear();
  if (seat.link == nullptr) return;
  coming_.erase(seat.link);
  seat.link->user = nullptr;
  tcp_->close(*std::exchange(seat.link, nullptr));
  moved_ = true;
}

bool Meeting::say_all(Seat& seat) {
  while (!seat.calls.empty() && seat.link != nullptr) {
    const Seat::Call& call = seat.calls.front();
    if (tcp_->send_inline(*seat.link, call.head, call.rest) != ucx::Accepted::done) return false;
    seat.calls.pop_front();
    moved_ = true;
  }
  return true;
}

void Meeting::look_now() {
  moved_ = false;
  tcp_->progress();
}

std::byte* Meeting::place(ucx::Link& from, ucx::Header header, std::uint64_t size) {
  if (size > kCallMost) return nullptr;
  Seat::Call& call = coming_[&from];
  call.head.assign(header.begin(), header.end());
  call.rest.resize(size);
  return call.rest.data();
}

void Meeting::placed(ucx::Link& from) {
  const auto call = coming_.extract(&from);
  if (!call.empty()) guest_.take_call(from, call.mapped().head, call.mapped().rest);
}

void Meeting::link_lost(ucx::Link& link, const std::string& reason) {
  void* user = std::exchange(link.user, nullptr);
  coming_.erase(&link);
  tcp_->close(link);
  guest_.left(user, reason);
}

}  // namespace periapt::tcp
