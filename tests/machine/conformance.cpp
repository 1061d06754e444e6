#include "tests/machine/conformance.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace periapt::conformance {

std::ostream& operator<<(std::ostream& out, const Subject& subject) {
  return out << subject.factory->name << " " << subject.device;
}

static std::uint64_t seed_of(const Label& label) { return label.from * 1'000'003 + label.number; }

// ---- what is counted

thread_local int Worker::inside_call = 0;
thread_local int Worker::inside_progress = 0;

namespace {
int closed_mark;  // Link::user of a closed link: one that is new at the same address has none

struct Inside {
  explicit Inside(int& counter) : counter_(counter) { ++counter_; }
  ~Inside() { --counter_; }
  int& counter_;
};
}  // namespace

Ticket::Ticket() {
  done = [](Completion& self, Outcome outcome) {
    auto& ticket = static_cast<Ticket&>(self);
    EXPECT_EQ(Worker::inside_call, 0) << "a completion was called from inside another call";
    EXPECT_EQ(Worker::inside_progress, 1) << "a completion was not called from progress()";
    EXPECT_EQ(++ticket.calls, 1) << "an operation ended more than once";
    ticket.outcome = outcome;
    if (ticket.then) ticket.then();
  };
}

// ---- Worker

Worker::Worker(const Subject& subject, PeerId self, const std::string& secret) : self_(self), secret_(secret) {
  OpenRequest request;
  request.receiver = this;
  request.self = self;
  request.secret = std::as_bytes(std::span(secret_));
  request.host = host_;
  request.option = [options = subject.options](const std::string& name) {
    auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  };
  for (const Device& device : subject.factory->probe(request)) {
    if (!device.usable || (!subject.device.empty() && subject.device != device.name)) continue;
    auto opened = subject.factory->open(device, request);
    if (!opened) throw std::runtime_error(device.name + " cannot be opened: " + opened.message());
    transport_ = std::move(*opened);
    return;
  }
  throw std::runtime_error("no usable device");
}

Worker::~Worker() { end(); }
void Worker::end() { transport_.reset(); }

Link& Worker::connect(PeerId peer, const Bytes& address) {
  Inside call(inside_call);
  auto link = transport_->connect(peer, address);
  if (!link) throw std::runtime_error("cannot connect: " + link.message());
  EXPECT_EQ((*link)->peer(), peer);
  EXPECT_NE((*link)->user, &closed_mark) << "a closed link was handed out again";
  (*link)->user = this;
  links_[peer] = *link;
  return **link;
}

void Worker::close(Link& link) {
  Inside call(inside_call);
  links_.erase(link.peer());
  incoming_.erase(&link);
  link.user = &closed_mark;
  sent_.erase(link.peer());
  arrived_.erase(link.peer());
  transport_->close(link);
}

int Worker::progress() {
  Inside progress(inside_progress);
  int count = transport_->progress();
  scribble_ended();
  return count;
}

Label Worker::label(Link& link, std::size_t size) const {
  return {.from = self_, .number = sent_to(link.peer()), .size = size};
}

Header header_of(const Label& label) {
  Header whole = std::as_bytes(std::span(&label, 1));
  return label.number % 3 == 1 ? whole.first(offsetof(Label, rest)) : whole;
}

Accepted Worker::send_inline(Link& link, std::size_t size) {
  Label label = this->label(link, size);
  Bytes payload(size);
  fill(payload, seed_of(label));
  Inside call(inside_call);
  Accepted answer = transport_->send_inline(link, header_of(label), payload);
  EXPECT_NE(answer, Accepted::pending) << "send_inline() copies: nothing is pending for the caller";
  if (answer == Accepted::done) ++sent_[link.peer()];
  label = {};
  fill(payload, ~0ull);  // copied, so it does not matter
  return answer;
}

Accepted Worker::send_lent(Link& link, std::size_t size, Ticket& ticket, std::size_t misaligned) {
  Label label = this->label(link, size);
  Bytes memory(size + misaligned);
  auto payload = std::span(memory).subspan(misaligned);
  fill(payload, seed_of(label));
  Inside call(inside_call);
  Accepted answer = transport_->send_lent(link, header_of(label), payload, ticket);
  EXPECT_EQ(ticket.calls, 0);
  if (answer == Accepted::done || answer == Accepted::pending) ++sent_[link.peer()];
  label = {};
  if (answer == Accepted::pending) {
    lent_.push_back({std::move(memory), &ticket});
  } else {
    fill(payload, ~0ull);
  }
  return answer;
}

Accepted Worker::lend(Link& link, const Label& label, View payload, Completion& completion) {
  Inside call(inside_call);
  Accepted answer = transport_->send_lent(link, header_of(label), payload, completion);
  if (answer == Accepted::done || answer == Accepted::pending) ++sent_[link.peer()];
  return answer;
}

Accepted Worker::send_owned(Link& link, std::size_t size) {
  Label label = this->label(link, size);
  auto* bytes = new std::byte[size + 1];
  ++owned_alive;
  Buffer::Release release = [](void*, void* given) {
    EXPECT_GT(owned_alive, 0);
    --owned_alive;
    delete[] static_cast<std::byte*>(given);
  };
  Buffer payload(bytes, size, release, nullptr);
  fill(payload.bytes(), seed_of(label));
  Inside call(inside_call);
  Accepted answer = transport_->send_owned(link, header_of(label), payload);
  if (answer == Accepted::done || answer == Accepted::pending) {
    ++sent_[link.peer()];
    EXPECT_FALSE(payload) << "what was accepted is the transport's";
  } else {
    EXPECT_EQ(payload.data(), bytes) << "what was not accepted is unchanged";
    EXPECT_EQ(payload.size(), size);
    EXPECT_EQ(difference(payload.bytes(), seed_of(label)), -1);
  }
  return answer;
}

bool Worker::push(Link& link, std::size_t size, int way, const std::vector<Worker*>& others) {
  while (!tickets_.empty() && tickets_.front().ended()) tickets_.pop_front();
  if (way == 0 && size > can().max_inline) way = 1;
  if (way != 0 && size > can().max_lent) ADD_FAILURE() << "larger than the device takes";
  test::Standstill standstill(
      [&] { return "room to send is waited for\n" + describe() + conformance::describe(others); });
  for (;;) {
    Accepted answer = way == 0   ? send_inline(link, size)
                      : way == 1 ? send_lent(link, size, tickets_.emplace_back(), size % 5)
                                 : send_owned(link, size);
    if (way == 1 && answer != Accepted::pending) tickets_.pop_back();
    if (answer == Accepted::lost) return false;
    if (answer != Accepted::no_resource) return true;
    int moved = progress();
    for (Worker* other : others) moved += other->progress();
    standstill.look(moved > 0);
  }
}

std::string Worker::describe() const {
  std::string text = "worker " + std::to_string(self_) + ":";
  for (const auto& [peer, link] : links_) {
    text += " [peer " + std::to_string(peer) + ": sent " + std::to_string(sent_to(peer)) + ", arrived " +
            std::to_string(arrived_from(peer)) + (incoming_.contains(link) ? ", one is being placed" : "") + "]";
  }
  text += " lent and under way: " + std::to_string(lent_.size());
  for (const Loss& loss : losses) text += "; lost peer " + std::to_string(loss.peer) + ": " + loss.reason;
  return text + "\n";
}

std::string describe(const std::vector<Worker*>& workers) {
  std::string text;
  for (const Worker* worker : workers) text += worker->describe();
  return text;
}

Accepted Worker::put(Link& link, View local, const MemoryHandle* handle, std::uint64_t remote, const RemoteKey& key,
                     Ticket& ticket) {
  Inside call(inside_call);
  return transport_->put(link, local, handle, remote, key, ticket);
}
Accepted Worker::get(Link& link, std::span<std::byte> local, const MemoryHandle* handle, std::uint64_t remote,
                     const RemoteKey& key, Ticket& ticket) {
  Inside call(inside_call);
  return transport_->get(link, local, handle, remote, key, ticket);
}
Accepted Worker::flush(Link& link, Ticket& ticket) {
  Inside call(inside_call);
  return transport_->flush(link, ticket);
}

void Worker::scribble_ended() {
  std::erase_if(lent_, [](Lent& lent) {
    if (lent.ticket->ended()) fill(lent.bytes, ~0ull);
    return lent.ticket->ended();
  });
}

std::uint64_t Worker::arrived_from(PeerId peer) const {
  auto found = arrived_.find(peer);
  return found == arrived_.end() ? 0 : found->second;
}
std::uint64_t Worker::sent_to(PeerId peer) const {
  auto found = sent_.find(peer);
  return found == sent_.end() ? 0 : found->second;
}
Link* Worker::link_to(PeerId peer) const {
  auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second;
}

void Worker::check_call_back(Link& from, const char* what) {
  EXPECT_EQ(inside_call, 0) << what << " was called from inside another call";
  EXPECT_EQ(inside_progress, 1) << what << " was not called from progress()";
  EXPECT_NE(from.user, &closed_mark) << what << " was called for a closed link";
  if (from.user != nullptr) return;
  from.user = this;  // the peer opened it
  links_[from.peer()] = &from;
}

static Label read_label(Header header) {
  Label label;
  EXPECT_LE(header.size(), sizeof label);
  if (header.size() <= sizeof label) std::memcpy(&label, header.data(), header.size());
  EXPECT_EQ(header.size(), header_of(label).size());
  EXPECT_EQ(label.rest[0], Label{}.rest[0]);
  EXPECT_EQ(label.rest[1], Label{}.rest[1]);
  return label;
}

void Worker::take(Link& from, const Label& label, View payload, bool check) {
  EXPECT_EQ(label.from, from.peer());
  EXPECT_EQ(label.number, arrived_[from.peer()]++) << "messages of one link came in another order, twice or not at all";
  EXPECT_EQ(label.size, payload.size());
  if (check) {
    EXPECT_EQ(difference(payload, seed_of(label)), -1) << "of " << payload.size() << " bytes";
  }
  bytes_arrived += payload.size();
  scribble_ended();
  if (on_arrived) on_arrived(from);
}

bool Worker::arrived(Link& from, Header header, View payload) {
  check_call_back(from, "arrived()");
  EXPECT_FALSE(incoming_.contains(&from)) << "a message came before the placement of the one before it had ended";
  take(from, read_label(header), payload, true);
  return wants_more;
}

void Worker::arrived_owned(Link& from, Header header, Buffer payload) {
  check_call_back(from, "arrived_owned()");
  EXPECT_FALSE(incoming_.contains(&from));
  take(from, read_label(header), payload.bytes(), true);
}

std::byte* Worker::place(Link& from, Header header, std::uint64_t size) {
  check_call_back(from, "place()");
  EXPECT_FALSE(incoming_.contains(&from)) << "two placements at a time on one link";
  if (refuse_placement) return nullptr;
  Incoming& incoming = incoming_[&from];
  incoming.label = read_label(header);
  incoming.size = size;
  EXPECT_EQ(incoming.label.size, size);
  if (placer) return incoming.at = placer(size);
  incoming.bytes.resize(size + 3);
  return incoming.at = incoming.bytes.data() + 3;  // unaligned
}

void Worker::placed(Link& from) {
  check_call_back(from, "placed()");
  ASSERT_TRUE(incoming_.contains(&from)) << "placed() without place()";
  Incoming incoming = std::move(incoming_[&from]);
  incoming_.erase(&from);
  take(from, incoming.label, {incoming.at, incoming.size}, !placer);
}

void Worker::link_lost(Link& link, const std::string& reason) {
  check_call_back(link, "link_lost()");
  EXPECT_FALSE(reason.empty());
  incoming_.erase(&link);
  for (const Loss& loss : losses) EXPECT_NE(loss.peer, link.peer()) << "a link was lost twice: " << reason;
  losses.push_back({link.peer(), reason});
  if (on_lost) on_lost(link);
}

// ---- helpers

void settle(const std::vector<Worker*>& workers, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Worker* worker : workers) worker->progress();
}

Pair::Pair(const Subject& subject) : a(subject, 1), b(subject, 2) {
  ab = &a.connect(b);
  a.push(*ab, 8, 0, {&b});
  pump(both(), [&] { return b.arrived_from(1) == 1; });
  ba = b.link_to(1);
  b.push(*ba, 8, 0, {&a});
  pump(both(), [&] { return a.arrived_from(2) == 1; });
}

Shared::Shared(Worker& whose, std::size_t size) : owner(whose), bytes(size) {
  auto registered = owner.transport().register_memory(bytes.data(), bytes.size(), MemoryKind::host);
  if (!registered) throw std::runtime_error("memory cannot be registered: " + registered.message());
  handle = *registered;
}
Shared::~Shared() {
  if (handle.address != nullptr) owner.transport().deregister_memory(handle);
}
RemoteKey Shared::key_for(Worker& other, Link& link) {
  Bytes packed = owner.transport().pack_key(handle);
  EXPECT_LE(packed.size(), 128u);
  auto key = other.transport().unpack_key(link, packed);
  if (!key) throw std::runtime_error("a good key was refused: " + key.message());
  return *key;
}

// ---- Process

Process::Process(const Subject& subject, PeerId self, Body body) {
  int there[2], here[2];
  if (::pipe(there) != 0 || ::pipe(here) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no fork");
  in_ = pid_ == 0 ? there[0] : here[0];
  out_ = pid_ == 0 ? here[1] : there[1];
  ::close(pid_ == 0 ? there[1] : there[0]);
  ::close(pid_ == 0 ? here[0] : here[1]);
  if (pid_ == 0) {
    {
      Worker worker(subject, self);
      address = worker.address();
      tell(address.size());
      if (::write(out_, address.data(), address.size()) < 0) ::_exit(3);
      body(worker, *this);
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  address.resize(hear());
  for (std::size_t got = 0; got < address.size();) {
    ssize_t more = ::read(in_, address.data() + got, address.size() - got);
    if (more <= 0) throw std::runtime_error("the other process did not start");
    got += static_cast<std::size_t>(more);
  }
}

Process::~Process() {
  ::close(out_);
  ::close(in_);
  if (pid_ <= 0) return;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the other process ended with wait status " << status;
}

void Process::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Process::tell(std::uint64_t word) {
  if (::write(out_, &word, sizeof word) != sizeof word) ADD_FAILURE() << "the other process does not listen";
}
std::uint64_t Process::hear() {
  std::uint64_t word = 0;
  return ::read(in_, &word, sizeof word) == sizeof word ? word : ~0ull;
}
bool Process::heard(std::uint64_t* word) {
  pollfd one{in_, POLLIN, 0};
  if (::poll(&one, 1, 0) != 1) return false;
  *word = hear();
  return true;
}

}  // namespace periapt::conformance
