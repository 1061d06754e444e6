// A transport of ours without the engine above it, as a Side of bench/net. Messages have a header of 16 bytes, as the
// engine's tag messages have. Those that were received are copied to where they are wanted, as the engine does it.
#pragma once

#include <array>
#include <map>

#include "bench/net/mailbox.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/header.h"

namespace periapt::bench {

/// Options of a transport, "+shm-cma" "off".
using Options = std::map<std::string, std::string>;
inline std::function<std::string(const std::string&)> option_reader(const Options& options) {
  return [options](const std::string& name) {
    auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  };
}

class TransportSide final : private ucx::Receiver {
 public:
  struct Request {
    std::uint64_t number = 0;  // of a receive
    int operation = -1;        // of a send, put or get that was not done at once
  };

  /// `allocated`: messages lie in memory that the transport offers instead of private memory.
  TransportSide(Place& place, const std::string& name, const Options& options, bool allocated) : place_(place) {
    for (Operation& operation : operations_) operation.done = &Operation::finish;
    ucx::OpenRequest request;
    request.receiver = this;
    request.self = id(place.index());
    request.host = "bench" + std::to_string(place_.host());
    request.option = option_reader(options);
    open(name, request);
    std::vector<std::byte> address = transport_->address();
    std::vector<std::byte> theirs = place_.exchange(address.data(), address.size(), [] {});
    auto link = transport_->connect(id(place.partner()), theirs);
    if (!link) fatal(link.message());
    link_ = *link;
    send(kAnswerSlot, 8);
    Request hello = receive(kAnswerSlot, 8);
    wait(hello);
    if (allocated) slots_ = Slots(offered(Slots::kBytes), offered(Slots::kBytes));
    if (one_sided()) open_window();
    meet();
  }
  ~TransportSide() override { closing_ = true; }

  std::string about() const { return "the transport " + transport_->device().transport + " alone"; }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([this] { work_in_meeting(); });
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [this] { work_in_meeting(); });
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    std::span<const std::byte> bytes(outgoing(slot, size), size);
    return begin([&](ucx::Completion& done) {
      return size <= can().max_inline ? transport_->send_inline(*link_, header_, bytes)
                                      : transport_->send_lent(*link_, header_, bytes, done);
    });
  }
  Request receive(int slot, std::size_t size) { return {mailbox_.want(slots_.incoming(slot, size)), -1}; }
  void wait(Request& request) {
    while (!mailbox_.ended(request.number) || !ended(request)) look();
    request = {};
  }

  bool in_place() const { return true; }
  void on_active(Look look) {
    look_ = std::move(look);
    actives_shown_ = actives_taken_ = 0;
  }
  Request send_active(std::size_t size) { return send(0, size); }
  void take_active(std::size_t) {
    for (++actives_taken_; actives_shown_ < actives_taken_;) look();
  }

  bool one_sided() const { return can().max_put != 0 && can().max_get != 0; }
  volatile std::byte* window() { return window_; }
  Request put(int slot, std::size_t size) {
    std::span<const std::byte> bytes(outgoing(slot, size), size);
    return begin(
        [&](ucx::Completion& done) { return transport_->put(*link_, bytes, nullptr, there(slot, size), key_, done); });
  }
  Request get(int slot, std::size_t size) {
    std::span<std::byte> bytes(slots_.incoming(slot, size), size);
    return begin(
        [&](ucx::Completion& done) { return transport_->get(*link_, bytes, nullptr, there(slot, size), key_, done); });
  }
  void flush() {
    Request request = begin([&](ucx::Completion& done) { return transport_->flush(*link_, done); });
    wait(request);
  }
  void look() {
    if (work() == 0) place_.relax();
  }

 private:
  struct Operation : ucx::Completion {
    bool ended = true;
    static void finish(ucx::Completion& self, ucx::Outcome outcome) {
      if (outcome != ucx::Outcome::ok) fatal(std::string("an operation ended with: ") + ucx::describe(outcome));
      static_cast<Operation&>(self).ended = true;
    }
  };

  static ucx::PeerId id(int side) { return static_cast<ucx::PeerId>(side) + 1; }
  const ucx::Capabilities& can() const { return transport_->device().can; }
  int work() { return transport_->progress(); }

  void open(const std::string& name, const ucx::OpenRequest& request) {
    for (const ucx::TransportFactory* factory : machine::transports()) {
      if (name != factory->name) continue;
      for (const ucx::Device& device : factory->probe(request)) {
        if (!device.usable || transport_) continue;
        auto opened = factory->open(device, request);
        if (!opened) fatal(opened.message());
        transport_ = std::move(*opened);
      }
    }
    if (!transport_) fatal("there is no transport " + name + " that can be used here");
  }
  void open_window() {
    window_ = offered(kMostBytes);
    auto handle = transport_->register_memory(window_, kMostBytes, ucx::MemoryKind::host);
    if (!handle) fatal(handle.message());
    std::vector<std::byte> told(8);
    std::memcpy(told.data(), &window_, 8);
    for (std::byte byte : transport_->pack_key(*handle)) told.push_back(byte);
    std::vector<std::byte> theirs = place_.exchange(told.data(), told.size(), [this] { work(); });
    std::memcpy(&there_, theirs.data(), 8);
    auto key = transport_->unpack_key(*link_, std::span(theirs).subspan(8));
    if (!key) fatal(key.message());
    key_ = *key;
  }
  std::uint64_t there(int slot, std::size_t size) const { return there_ + static_cast<std::uint64_t>(slot) * size; }
  /// Memory that the transport moves best; it is kept until the end of the process.
  std::byte* offered(std::size_t bytes) {
    ucx::Buffer buffer = transport_->allocate(bytes);
    return buffer ? buffer.detach() : pages(bytes, MAP_PRIVATE);
  }

  // A partner that was here may leave before we have seen that it was: lost is a link only if the meeting goes on.
  void work_in_meeting() {
    if (!lost_.empty()) fatal("the link was lost: " + lost_);
    meeting_ = true;
    work();
    meeting_ = false;
  }

  template <class Start>
  Request begin(Start&& start) {
    Operation& operation = operations_[next_];
    while (!operation.ended) work();
    ucx::Accepted answer;
    while ((answer = start(operation)) == ucx::Accepted::no_resource) look();
    if (answer == ucx::Accepted::lost) fatal("the link was lost");
    if (answer == ucx::Accepted::done) return {};
    operation.ended = false;
    const int number = static_cast<int>(next_);
    next_ = (next_ + 1) % operations_.size();
    return {0, number};
  }
  bool ended(const Request& request) const {
    return request.operation < 0 || operations_[static_cast<std::size_t>(request.operation)].ended;
  }

  bool arrived(ucx::Link&, ucx::Header, std::span<const std::byte> payload) override {
    if (!look_) {
      mailbox_.take(payload);
    } else {
      look_(payload.data());
      ++actives_shown_;
    }
    return true;
  }
  void arrived_owned(ucx::Link& link, ucx::Header header, ucx::Buffer payload) override {
    arrived(link, header, payload.bytes());
  }
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t size) override { return mailbox_.place(size); }
  void placed(ucx::Link&) override { mailbox_.placed(); }
  void link_lost(ucx::Link&, const std::string& reason) override {
    if (closing_) return;
    if (!meeting_) fatal("the link was lost: " + reason);
    lost_ = reason;
  }

  Place& place_;
  Slots slots_;
  std::unique_ptr<ucx::Transport> transport_;
  ucx::Link* link_ = nullptr;
  std::array<std::byte, ucx::kShortHeaderBytes> header_bytes_{};
  ucx::Header header_{header_bytes_};
  std::array<Operation, 2 * kWindow> operations_;
  std::size_t next_ = 0;
  Mailbox mailbox_;
  Look look_;
  std::uint64_t actives_shown_ = 0, actives_taken_ = 0;
  std::byte* window_ = nullptr;
  std::uint64_t there_ = 0;
  ucx::RemoteKey key_;
  bool closing_ = false, meeting_ = false;
  std::string lost_;  // in a meeting
};

}  // namespace periapt::bench
