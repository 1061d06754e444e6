#include "machine/ucx-like/loopback.h"

#include <cstdlib>
#include <cstring>
#include <deque>

#include "machine/ucx-like/header.h"

namespace periapt::ucx {
namespace {

class Loopback final : public Transport {
 public:
  Loopback(const Device& device, const OpenRequest& request)
      : device_(device), receiver_(*request.receiver), self_(request.self) {}

  const Device& device() const override { return device_; }
  std::vector<std::byte> address() const override {
    std::vector<std::byte> bytes(sizeof(self_));
    std::memcpy(bytes.data(), &self_, sizeof(self_));
    return bytes;
  }
  bool reaches(std::span<const std::byte> address) const override {
    return address.size() == sizeof(self_) && std::memcmp(address.data(), &self_, sizeof(self_)) == 0;
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
  Accepted fetch_op(Link&, AtomicOp, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t, const RemoteKey&, void*,
                    Completion&) override {
    return Accepted::no_resource;  // says that it has none: the engine's own are used
  }
  Accepted flush(Link&, Completion&) override { return Accepted::done; }

  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    return MemoryHandle{address, size, kind, 0, nullptr};
  }
  void deregister_memory(MemoryHandle&) override {}
  std::vector<std::byte> pack_key(const MemoryHandle&) const override { return {}; }
  Result<RemoteKey> unpack_key(Link&, std::span<const std::byte>) override { return RemoteKey{}; }
  void release_key(RemoteKey&) override {}

  int progress() override {
    // Only what was there at the start: whoever answers himself is not kept here for ever.
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
  int wait_fd() const override { return -1; }
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

  Device device_;
  Receiver& receiver_;
  PeerId self_;
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
