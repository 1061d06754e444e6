#include "machine/ucx-like/loopback.h"

#include <cstdlib>
#include <cstring>
#include <deque>

#include "machine/ucx-like/header.h"
#include "machine/ucx-like/transport_base.h"

namespace periapt::ucx {
namespace {

class Loopback final : public TransportBase {
 public:
  using TransportBase::TransportBase;

  std::vector<std::byte> address() const override { return packed(self_); }
  bool reaches(std::span<const std::byte> address) const override {
    PeerId there = 0;
    return unpack(address, &there) && there == self_;
  }
  Result<Link*> connect(PeerId, std::span<const std::byte>) override {
    if (link_ == nullptr) link_ = std::make_unique<Link>(*this, self_);
    return link_.get();
  }
  void close(Link&) override { closing_ = true; }

  Accepted send_inline(Link&, Header header, std::span<const std::byte> payload) override {
    if (closing_) return Accepted::lost;
    auto* bytes = static_cast<std::byte*>(std::malloc(payload.empty() ? 1 : payload.size()));
    if (bytes == nullptr) return Accepted::no_resource;
    if (!payload.empty()) std::memcpy(bytes, payload.data(), payload.size());
    push(header,
         Buffer(
             bytes, payload.size(), [](void*, void* given) { std::free(given); }, nullptr),
         {}, nullptr);
    return Accepted::done;
  }
  Accepted send_lent(Link&, Header header, std::span<const std::byte> payload, Completion& completion) override {
    if (closing_) return Accepted::lost;
    push(header, {}, payload, &completion);
    return Accepted::pending;
  }
  Accepted send_owned(Link&, Header header, Buffer& payload) override {
    if (closing_) return Accepted::lost;
    push(header, std::move(payload), {}, nullptr);
    return Accepted::done;
  }
  Accepted put(Link&, std::span<const std::byte> local, const MemoryHandle*, std::uint64_t remote, const RemoteKey&,
               Completion&) override {
    if (!local.empty()) std::memmove(reinterpret_cast<void*>(remote), local.data(), local.size());
    return Accepted::done;
  }
  Accepted get(Link&, std::span<std::byte> local, const MemoryHandle*, std::uint64_t remote, const RemoteKey&,
               Completion&) override {
    if (!local.empty()) std::memmove(local.data(), reinterpret_cast<const void*>(remote), local.size());
    return Accepted::done;
  }
  Accepted flush(Link&, Completion&) override { return Accepted::done; }

  Result<RemoteKey> unpack_key(Link&, std::span<const std::byte>) override { return RemoteKey{}; }

  int progress() override {
    // Only what was there at the start: a receiver that answers itself is not kept here for ever.
    int moved = 0;
    for (std::size_t left = queue_.size(); left > 0; --left, ++moved) {
      Waiting message = std::move(queue_.front());
      queue_.pop_front();
      if (closing_) {
        if (message.completion != nullptr) message.completion->done(*message.completion, Outcome::cancelled);
      } else if (message.completion == nullptr) {
        receiver_.arrived_owned(*link_, message.header(), std::move(message.owned));
      } else {
        receiver_.arrived(*link_, message.header(), message.lent);
        message.completion->done(*message.completion, Outcome::ok);
      }
    }
    if (closing_ && queue_.empty()) {
      link_.reset();
      closing_ = false;
    }
    return moved;
  }
  bool arm() override { return queue_.empty(); }

 private:
  struct Waiting {
    std::byte header_bytes[kHeaderBytes];
    std::size_t header_size;
    Buffer owned;
    std::span<const std::byte> lent;
    Completion* completion;
    Header header() const { return {header_bytes, header_size}; }
  };
  void push(Header header, Buffer owned, std::span<const std::byte> lent, Completion* completion) {
    queue_.push_back({{}, header.size(), std::move(owned), lent, completion});
    std::memcpy(queue_.back().header_bytes, header.data(), header.size());
  }

  std::unique_ptr<Link> link_;
  bool closing_ = false;
  std::deque<Waiting> queue_;
};

std::vector<Device> probe(const OpenRequest&) {
  Device device;
  device.transport = "self";
  device.name = "memory";
  device.usable = true;
  device.detail = "a worker's messages to itself";
  device.can.reach = Reach::same_process;
  device.can.max_header = kHeaderBytes;
  device.can.max_inline = ~std::size_t{0};
  device.can.max_lent = ~std::size_t{0};
  device.can.max_put = device.can.max_get = ~std::size_t{0};
  device.can.passes_ownership = device.can.put_ordered = true;
  device.costs = {50, 0, 10, 0, 10};
  return {device};
}

Result<std::unique_ptr<Transport>> open(const Device& device, const OpenRequest& request) {
  return std::unique_ptr<Transport>(std::make_unique<Loopback>(device, request));
}

}  // namespace

const TransportFactory kLoopback = {"self", probe, open};

}  // namespace periapt::ucx
