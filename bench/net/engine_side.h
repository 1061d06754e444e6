// The engine (machine/ucx-like) over one of our transports, as a Side of bench/net: tagged messages, active messages,
// put and get.
#pragma once

#include "bench/net/transport_side.h"
#include "machine/ucx-like/worker.h"

namespace periapt::bench {

class EngineSide {
 public:
  using Request = ucx::RequestPtr;

  /// `allocated`: messages lie in memory that the engine offers instead of private memory. `private_window`: peers put
  /// into and get from private memory, instead of what the engine offers.
  EngineSide(Place& place, const std::string& transport, const Options& options, bool allocated, bool private_window)
      : place_(place) {
    ucx::ContextRequest request;
    request.factories = machine::transports();
    request.transports = transport;
    request.self = static_cast<ucx::PeerId>(place.index()) + 1;
    request.host = "bench" + std::to_string(place_.host());
    request.secret.assign(16, std::byte{1});
    request.option = option_reader(options);
    context_ = made(ucx::Context::create(std::move(request)));
    worker_ = made(ucx::Worker::create(*context_));
    std::vector<std::byte> address = worker_->address();
    endpoint_ = made(worker_->connect(place_.exchange(address.data(), address.size(), [] {})));
    Request out = send(kAnswerSlot, 8), in = receive(kAnswerSlot, 8);
    wait(in);
    wait(out);
    ucx::ActiveHandler handler;
    handler.context = this;
    handler.handler = [](void* self, ucx::Endpoint&, std::span<const std::byte>, ucx::Buffer payload) {
      static_cast<EngineSide*>(self)->show(payload.data());
    };
    handler.look = [](void* self, ucx::Endpoint&, std::span<const std::byte>, std::span<const std::byte> payload) {
      static_cast<EngineSide*>(self)->show(payload.data());
      return true;
    };
    worker_->on_active(kActive, handler);
    worker_->on_peer_lost([this](ucx::PeerId, const std::string& reason) { lost_ = reason; });
    if (allocated) slots_ = Slots(offered(Slots::kBytes), offered(Slots::kBytes));
    open_window(private_window);
    meet();
  }

  static std::string about() { return "the engine"; }
  std::string explain() const { return worker_->explain(endpoint_); }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([this] { work(); });
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [this] { work(); });
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) { return endpoint_->tag_send({outgoing(slot, size), size}, kTag); }
  Request receive(int slot, std::size_t size) {
    return worker_->tag_receive({slots_.incoming(slot, size), size}, kTag);
  }
  void wait(Request& request) {
    while (request && !request->ended()) {
      // A receive waits on: it could come from another peer.
      if (!lost_.empty()) fatal("the other side is lost: " + lost_);
      look();
    }
    if (request && request->outcome() != ucx::Outcome::ok)
      fatal(std::string("an operation ended with: ") + ucx::describe(request->outcome()));
    request.reset();
  }

  bool in_place() const { return true; }
  void on_active(Look look) {
    shown_ = std::move(look);
    actives_shown_ = actives_taken_ = 0;
  }
  Request send_active(std::size_t size) { return endpoint_->active_send(kActive, {}, {outgoing(0, size), size}); }
  void take_active(std::size_t) {
    for (++actives_taken_; actives_shown_ < actives_taken_;) look();
  }

  bool one_sided() const { return true; }
  volatile std::byte* window() { return window_; }
  Request put(int slot, std::size_t size) {
    return endpoint_->put({outgoing(slot, size), size}, there(slot, size), key_);
  }
  Request get(int slot, std::size_t size) {
    return endpoint_->get({slots_.incoming(slot, size), size}, there(slot, size), key_);
  }
  void flush() {
    Request request = endpoint_->flush();
    wait(request);
  }
  void look() {
    if (work() == 0) place_.relax();
  }

 private:
  std::string lost_;
  static constexpr ucx::Tag kTag = 7;
  static constexpr std::uint16_t kActive = 1;

  template <class T>
  static T made(Result<T> result) {
    if (!result) fatal(result.message());
    return std::move(*result);
  }
  int work() { return worker_->progress(); }
  void show(const std::byte* bytes) {
    if (shown_) shown_(bytes);
    ++actives_shown_;
  }
  /// Kept until the end of the process.
  std::byte* offered(std::size_t bytes) {
    ucx::Buffer buffer = worker_->allocate(bytes);
    if (!buffer) fatal("the engine has no memory to offer");
    return buffer.detach();
  }
  void open_window(bool private_window) {
    window_ = private_window ? pages(kMostBytes, MAP_PRIVATE) : offered(kMostBytes);
    memory_ = made(worker_->register_memory({window_, kMostBytes}));
    std::vector<std::byte> told(8);
    std::memcpy(told.data(), &window_, 8);
    for (std::byte byte : worker_->pack_key(memory_)) told.push_back(byte);
    std::vector<std::byte> theirs = place_.exchange(told.data(), told.size(), [this] { work(); });
    std::memcpy(&there_, theirs.data(), 8);
    key_ = made(endpoint_->unpack(std::span(theirs).subspan(8)));
  }
  std::uint64_t there(int slot, std::size_t size) const { return there_ + static_cast<std::uint64_t>(slot) * size; }

  Place& place_;
  Slots slots_;
  std::unique_ptr<ucx::Context> context_;
  std::unique_ptr<ucx::Worker> worker_;
  ucx::Endpoint* endpoint_ = nullptr;
  Look shown_;
  std::uint64_t actives_shown_ = 0, actives_taken_ = 0;
  std::byte* window_ = nullptr;
  ucx::MemoryPtr memory_;
  std::uint64_t there_ = 0;
  ucx::RkeyPtr key_;
};

}  // namespace periapt::bench
