// Making a worker, its progress and waiting, and how operations end.
#include "machine/ucx-like/worker.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fatal.h"
#include "base/log.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/engine.h"
#include "machine/ucx-like/loopback.h"

namespace periapt::ucx {
namespace {

constexpr std::uint8_t kAddressVersion = 1;

// What decides which way ordered messages take, when nobody gave an order.
double small_message_ns(const Device& device) { return device.costs.overhead_ns + device.costs.latency_ns; }

}  // namespace

Buffer allocate_plain(std::uint64_t size) {
  auto* bytes = static_cast<std::byte*>(std::malloc(size == 0 ? 1 : size));
  return {bytes, size, [](void*, void* given) { std::free(given); }, nullptr};
}

Result<std::unique_ptr<Worker>> Worker::create(Context& context, PeerId self) {
  auto worker = std::make_unique<WorkerImpl>(context, self != 0 ? self : context.request().self);
  Status opened = worker->open_ports();
  if (!opened.ok()) return opened;
  return std::unique_ptr<Worker>(std::move(worker));
}

WorkerImpl::WorkerImpl(Context& context, PeerId self)
    : context_(context), self_(self), devices_(context.devices()), operations_(*this) {
  const Limits& limits = context.request().limits;
  credit_.bound = static_cast<std::int64_t>(limits.unexpected_bytes);
  credit_.window_max = static_cast<std::int64_t>(limits.credit_bytes);
}

WorkerImpl::~WorkerImpl() {
  if (const Status kept = keep_costs(); !kept) log::warn(kept.message());
  // Transports first: nothing arrives any more, and nobody reads lent memory.
  for (auto& port : ports_) {
    port->registrations.reset();
    port->transport.reset();
  }
  for (auto& endpoint : endpoints_) {
    while (Unexpected* message = endpoint->unexpected_.pop_front()) unexpecteds_.give(message);
    while (Operation* operation = endpoint->active_.pop_front()) {
      operation->Hook<InQueue>::unlink();
      recycle(*operation);
    }
  }
  if (epoll_ >= 0) ::close(epoll_);
}

Status WorkerImpl::open_ports() {
  const ContextRequest& asked = context_.request();
  OpenRequest request;
  request.receiver = this;
  request.self = self_;
  request.secret = asked.secret;
  request.host = asked.host;
  request.one_host = asked.one_host;
  request.option = asked.option;
  auto open = [&](const TransportFactory& factory, Device& device) {
    Result<std::unique_ptr<Transport>> opened = factory.open(device, request);
    if (!opened.ok()) {
      device.usable = false;
      device.detail = "could not be opened: " + opened.message();
      return;
    }
    auto port = std::make_unique<Port>();
    port->transport = std::move(*opened);
    port->device = port->transport->device();
    port->loopback = &factory == &kLoopback;
    port->registrations = std::make_unique<Registrations>(
        *port->transport, asked.limits.keep_registrations ? asked.limits.registrations : 0);
    ports_.push_back(std::move(port));
  };
  for (Device& device : devices_) {
    for (const TransportFactory* factory : asked.factories) {
      if (device.usable && device.transport == factory->name) open(*factory, device);
    }
  }
  if (ports_.empty()) return Status::failure("no transport could be opened:" + unused_devices());
  if (asked.transports.empty()) {
    std::stable_sort(ports_.begin(), ports_.end(), [](const auto& a, const auto& b) {
      if (a->can().reach != b->can().reach) return a->can().reach < b->can().reach;
      return small_message_ns(a->device) < small_message_ns(b->device);
    });
  }
  Device loopback = kLoopback.probe(request).front();
  open(kLoopback, loopback);
  std::rotate(ports_.begin(), ports_.end() - 1, ports_.end());
  for (std::size_t i = 0; i < ports_.size(); ++i) ports_[i]->number = static_cast<unsigned>(i);
  for (auto& port : ports_) {
    if (!port->loopback) polled_.push_back(port->transport.get());
  }
  read_costs();
  Result<unsigned> ways =
      ways_by_hand(context_.request().option ? context_.request().option("+rendezvous") : std::string());
  if (ways) forced_ways_ = *ways;
  return ways.status();
}

std::vector<std::byte> WorkerImpl::address() const {
  Writer writer;
  writer.number(kAddressVersion);
  writer.number(kWireVersion);
  writer.number(self_);
  writer.number(static_cast<std::uint8_t>(ports_.size()));
  for (const auto& port : ports_) {
    writer.text(port->device.transport);
    writer.text(port->transport->address());
  }
  return writer.take();
}

Result<Endpoint*> WorkerImpl::connect(std::span<const std::byte> address) {
  Reader reader(address);
  auto version = reader.number<std::uint8_t>();
  auto wire = reader.number<std::uint8_t>();
  auto peer = reader.number<PeerId>();
  auto count = reader.number<std::uint8_t>();
  if (!reader.good() || version != kAddressVersion || peer == 0) {
    return Status::failure("these " + std::to_string(address.size()) + " bytes are not the address of a worker");
  }
  if (wire != kWireVersion) {
    return Status::failure("worker " + std::to_string(peer) + " speaks version " + std::to_string(wire) +
                           " of the protocol, this one version " + std::to_string(kWireVersion) +
                           ": start all processes from the same build");
  }
  struct Entry {
    std::string transport;
    std::vector<std::byte> address;
    unsigned number;
  };
  std::vector<Entry> theirs;
  for (unsigned i = 0; i < count; ++i) {
    std::string transport = reader.text();
    theirs.push_back({transport, reader.bytes(), i});
  }
  if (!reader.good() || !reader.at_end()) {
    return Status::failure("the address of worker " + std::to_string(peer) + " is damaged");
  }

  EndpointImpl& endpoint = endpoint_of(peer);
  if (!endpoint.failure_.empty()) {
    if (!endpoint.parted_) return Status::failure("worker " + std::to_string(peer) + " is lost: " + endpoint.failure_);
    endpoint.revive();
  }
  // The k-th device of a transport takes the k-th of theirs that it reaches: rails of a pair end at different devices.
  std::vector<std::pair<std::string, std::size_t>> used;
  for (auto& port : ports_) {
    if (port->loopback && peer != self_) continue;
    std::vector<const Entry*> reached;
    for (const Entry& entry : theirs) {
      if (entry.transport == port->device.transport && port->transport->reaches(entry.address))
        reached.push_back(&entry);
    }
    if (reached.empty()) continue;
    auto turn = std::find_if(used.begin(), used.end(), [&](auto& u) { return u.first == port->device.transport; });
    if (turn == used.end()) turn = used.insert(used.end(), {port->device.transport, 0});
    const Entry& entry = *reached[turn->second++ % reached.size()];
    endpoint.know(*port, entry.number, entry.address);
  }
  if (endpoint.rails_.empty()) {
    std::string ours, others;
    for (auto& port : ports_) ours += (ours.empty() ? "" : ", ") + port->device.transport + "/" + port->device.name;
    for (Entry& entry : theirs) others += (others.empty() ? "" : ", ") + entry.transport;
    return Status::failure("no transport reaches worker " + std::to_string(peer) + ": here are " + ours +
                           ", there are " + others + unused_devices());
  }
  return static_cast<Endpoint*>(&endpoint);
}

std::string WorkerImpl::unused_devices() const {
  std::string unused;
  for (const Device& device : devices_) {
    if (!device.usable) unused += "\n  not used: " + describe(device);
  }
  return unused;
}

EndpointImpl& WorkerImpl::endpoint_of(PeerId peer) {
  if (EndpointImpl** known = by_peer_.find(peer)) return **known;
  endpoints_.push_back(std::make_unique<EndpointImpl>(*this, peer));
  by_peer_[peer] = endpoints_.back().get();
  return *endpoints_.back();
}

Endpoint* WorkerImpl::endpoint(PeerId peer) {
  EndpointImpl** known = by_peer_.find(peer);
  return known == nullptr ? nullptr : *known;
}

Port* WorkerImpl::port_of(Transport& transport) {
  for (auto& port : ports_) {
    if (port->transport.get() == &transport) return port.get();
  }
  return nullptr;
}

// ---- progress

int WorkerImpl::progress() {
  int moved = 0;
  // By number: a call-back may connect, and there is one more.
  for (std::size_t i = 0; i < polled_.size(); ++i) moved += polled_[i]->progress();
  if (serve_again_) moved += serve_unexpected();
  if (!busy_.empty()) {
    // Those that still have something to send, but no room, put themselves on the list again.
    draining_.swap(busy_);
    for (EndpointImpl* endpoint : draining_) {
      endpoint->is_busy_ = false;
      if (endpoint->drain()) endpoint->busy();
    }
    draining_.clear();
  }
  for (std::size_t i = 0; i < ended_.size(); ++i, ++moved) tell(*ended_[i]);
  ended_.clear();
  if (PERIAPT_UNLIKELY(!lost_.empty() || !parted_.empty())) moved += tell_of_peers();
  return moved;
}

void WorkerImpl::poll(Transport& transport) {
  if (std::find(polled_.begin(), polled_.end(), &transport) == polled_.end()) polled_.push_back(&transport);
}

int WorkerImpl::tell_of_peers() {
  auto lost = std::move(lost_), parted = std::move(parted_);
  lost_.clear();
  parted_.clear();
  for (auto& [peer, reason] : lost) {
    if (on_lost_) on_lost_(peer, reason);
  }
  for (auto& [peer, reason] : parted) {
    if (on_parted_) on_parted_(peer, reason);
  }
  return static_cast<int>(lost.size() + parted.size());
}

// One descriptor is waited for itself: an epoll around it would be told of each arrival, by whoever sends.
int WorkerImpl::wait_fd() const {
  if (std::exchange(waits_looked_up_, true)) return wait_fd_;
  std::vector<int> all;
  for (const auto& port : ports_) {
    if (port->loopback) continue;  // only this thread puts something there
    all.push_back(port->transport->wait_fd());
    if (all.back() < 0) return -1;
  }
  if (all.size() == 1) return wait_fd_ = all.front();
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  for (int fd : all) {
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return -1;
  }
  return wait_fd_ = epoll_;
}

bool WorkerImpl::arm() {
  if (!busy_.empty() || !ended_.empty() || !lost_.empty() || !parted_.empty() || serve_again_) return false;
  for (auto& port : ports_) {
    if (!port->transport->arm()) return false;
  }
  return true;
}

void WorkerImpl::disarm() {
  for (auto& port : ports_) port->transport->disarm();
}

// ---- how operations end

PERIAPT_NOINLINE void WorkerImpl::end_course(Operation& operation) {
  leave(*operation.course_);
  courses_.give(operation.course_);
  operation.course_ = nullptr;
}

Course& Operation::make_course() {
  course_ = worker.courses_.take();
  return *course_;
}

// Gives back what it holds of others. What it says is still there.
void WorkerImpl::leave(Course& course) {
  course.buffer.reset();
  course.rkey.reset();
  for (auto& [port, registration] : course.registered) port->registrations->release(registration);
  course.registered.clear();
}

void WorkerImpl::mark_ended(Operation& operation, Outcome outcome) {
  operation.set_ended(outcome);
  if (operation.id != 0) ids_.remove(operation.id);
  operation.id = 0;
  operation.Hook<OfEndpoint>::unlink();
  operation.Hook<InQueue>::unlink();
  if (operation.course_ != nullptr) leave(*operation.course_);
  EndpointImpl* endpoint = operation.endpoint;
  if (endpoint == nullptr) return;
  if (operation.counted) --endpoint->open_one_sided_;
  operation.counted = false;
  // Flushes, fences and partings wait for the ends of others.
  if (endpoint->close_ != nullptr || !endpoint->one_sided_.empty()) endpoint->busy();
}

void WorkerImpl::end_now(Operation& operation, Outcome outcome) {
  if (operation.is_internal()) return deliver(operation, outcome);
  mark_ended(operation, outcome);
  tell(operation);
}

void WorkerImpl::end_later(Operation& operation, Outcome outcome) {
  if (operation.is_internal()) return deliver(operation, outcome);
  mark_ended(operation, outcome);
  if (operation.within_call) return;
  if (operation.send_done == nullptr && operation.receive_done == nullptr) {
    tell(operation);
  } else {
    ended_.push_back(&operation);
  }
}

bool Request::cancel() { return static_cast<Operation*>(this)->take_back(); }

void Operation::drop() {
  dropped = true;
  if (told) worker.recycle(*this);
}

void Releaser::operator()(Request* request) const { static_cast<Operation*>(request)->drop(); }

bool Operation::take_back() {
  if (has_ended_) return false;
  if (doing == Doing::receive && posted) {
    posted = false;
    received_ = {};
    worker.posted_.remove(this, mask);
  } else if (Hook<InQueue>::linked() && !announced && (course_ == nullptr || course_->moved == 0) && outstanding == 0) {
    endpoint->unqueue(*this);
  } else {
    return false;
  }
  worker.end_later(*this, Outcome::cancelled);
  return true;
}

void Operation::completed(Completion& self, Outcome outcome) {
  auto& operation = static_cast<Operation&>(self);
  --operation.outstanding;
  operation.worker.part_completed(operation, outcome);
}

// One of the parts that transports have of this operation is done, or the peer has answered.
void WorkerImpl::part_completed(Operation& operation, Outcome outcome) {
  if (outcome != Outcome::ok && operation.result == Outcome::ok) operation.result = outcome;
  if (operation.has_ended() || operation.outstanding != 0) {
    if (!operation.has_ended() && operation.Hook<InQueue>::linked()) operation.endpoint->busy();
    return;
  }
  if (operation.endpoint == nullptr) return end_now(operation, operation.result);  // a flush of all peers
  if (operation.result == Outcome::ok) {
    if (!operation.all_parts_given) return operation.endpoint->busy();
    if (operation.wants_answer && !operation.answered) return;
  } else if (operation.endpoint->another_way(operation)) {
    return;
  }
  const Course* course = operation.known_course();
  bool fetched =
      operation.into != nullptr && course != nullptr && course->way == LargeWay::get && course->their_id != 0;
  if (fetched && operation.result == Outcome::ok) {
    note_time(operation);
    operation.endpoint->say(Kind::fetched, course->their_id);
  }
  end_now(operation, operation.result);
}

}  // namespace periapt::ucx
