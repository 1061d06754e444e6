// What all transports would write alike, so that a transport is its network and little more: call-backs that wait for
// progress(), links from the first connect() until nothing looks at them any more, memory by number, and an answer for
// everything that a transport does not offer. A plug-in is built without the library, so all of it is in this header.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/platform.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// Ends of operations and losses of links, kept until progress() tells them: the contract allows call-backs there only.
class DeferredCalls {
 public:
  /// An accepted operation has ended. Without a completion there is nothing to tell.
  void end(Completion* completion, Outcome outcome) {
    if (completion != nullptr) ended_.push_back({completion, outcome});
  }
  /// Takes the latest end back: its operation answered done after all.
  void drop_latest_end() { ended_.pop_back(); }
  void lose(Link& link, std::string reason) { lost_.push_back({&link, std::move(reason)}); }
  /// The link was closed: its loss is no news any more. Its ends still are.
  void forget_loss(const Link& link) {
    std::erase_if(lost_, [&](const Loss& loss) { return loss.link == &link; });
  }
  PERIAPT_INLINE bool empty() const { return ended_.empty() && lost_.empty(); }

  /// Tells what there is, ends before losses, and returns how much it was. What the call-backs end in turn waits for
  /// the next time unless a loss comes after it, so that a call-back which starts anew each time keeps nothing busy for
  /// ever.
  template <class TellLoss>
  int tell(TellLoss&& tell_loss) {
    int told = tell_ended();
    while (!lost_.empty()) {
      if (!ended_.empty()) {
        told += tell_ended();
        continue;
      }
      const Loss loss = std::move(lost_.front());
      lost_.erase(lost_.begin());
      tell_loss(*loss.link, loss.reason);
      ++told;
    }
    return told;
  }

 private:
  struct Ended {
    Completion* completion;
    Outcome outcome;
  };
  struct Loss {
    Link* link;
    std::string reason;
  };
  int tell_ended() {
    telling_.swap(ended_);
    for (const Ended& one : telling_) one.completion->done(*one.completion, one.outcome);
    const int told = static_cast<int>(telling_.size());
    telling_.clear();
    return told;
  }

  std::vector<Ended> ended_, telling_;
  std::vector<Loss> lost_;
};

/// The links of a transport, by number and by peer. A call-back may close the link that it is called for, so links that
/// were closed stay until reap().
template <class L>
class LinkTable {
 public:
  /// The link of that peer; nullptr: there is none, or it was lost or closed.
  L* find(PeerId peer) const {
    auto known = of_peer_.find(peer);
    return known == of_peer_.end() ? nullptr : known->second;
  }
  /// From now on the link of its peer.
  L& add(std::unique_ptr<L> link) {
    of_peer_[link->peer()] = link.get();
    all_.push_back(std::move(link));
    return *all_.back();
  }
  /// Lost: the next connect() to its peer makes another one.
  void forget(const L& link) {
    if (auto known = of_peer_.find(link.peer()); known != of_peer_.end() && known->second == &link)
      of_peer_.erase(known);
  }
  /// Closed.
  void retire(const L& link) {
    forget(link);
    retired_.push_back(&link);
  }
  bool has_retired() const { return !retired_.empty(); }
  /// Destroys what was closed. For a place in progress() where nothing looks at a link.
  void reap() {
    std::sort(retired_.begin(), retired_.end());
    std::erase_if(
        all_, [this](const auto& link) { return std::binary_search(retired_.begin(), retired_.end(), link.get()); });
    retired_.clear();
  }
  void clear() {
    of_peer_.clear();
    retired_.clear();
    all_.clear();
  }

  PERIAPT_INLINE std::size_t size() const { return all_.size(); }
  PERIAPT_INLINE L& operator[](std::size_t i) const { return *all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::unique_ptr<L>> all_;
  std::map<PeerId, L*> of_peer_;
  std::vector<const L*> retired_;
};

/// The bytes of an address, a key or the like, and back. False: there are not as many as it has.
template <class T>
std::vector<std::byte> packed(const T& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  return {bytes.begin(), bytes.end()};
}
template <class T>
bool unpack(std::span<const std::byte> bytes, T* object) {
  if (bytes.size() != sizeof *object) return false;
  std::memcpy(object, bytes.data(), sizeof *object);
  return true;
}

/// What probe() answers where a transport chooses among its devices: those of its choices, each of which has a
/// `device`.
template <class Choice>
std::vector<Device> devices_of(const std::vector<Choice>& choices) {
  std::vector<Device> devices;
  for (const Choice& choice : choices) devices.push_back(choice.device);
  return devices;
}
/// And what open() does: `make(choice)` makes the transport of the one that was meant, unless it has gone meanwhile.
/// `what` it is: "the provider".
template <class Choice, class Make>
Result<std::unique_ptr<Transport>> open_choice(const std::vector<Choice>& choices, const Device& device,
                                               const OpenRequest& request, const char* what, Make&& make) {
  for (const Choice& choice : choices) {
    if (choice.device.name != device.name || !choice.device.usable) continue;
    auto transport = make(choice);
    if (Status opened = transport->open(request); !opened) return opened;
    return std::unique_ptr<Transport>(std::move(transport));
  }
  return Status::failure(std::string(what) + " " + device.name + " is not usable any more");
}

class TransportBase : public Transport {
 public:
  TransportBase(const Device& device, const OpenRequest& request)
      : device_(device),
        receiver_(*request.receiver),
        self_(request.self),
        secret_(request.secret.begin(), request.secret.end()) {}

  const Device& device() const override { return device_; }

  // Where everything is copied, one way of sending is enough.
  Accepted send_lent(Link& link, Header header, std::span<const std::byte> payload, Completion&) override {
    return send_inline(link, header, payload);
  }
  Accepted send_owned(Link& link, Header header, Buffer& payload) override {
    const Accepted answer = send_inline(link, header, payload.bytes());
    if (answer == Accepted::done) payload.reset();
    return answer;
  }

  // Not offered.
  Accepted put(Link&, std::span<const std::byte>, const MemoryHandle*, std::uint64_t, const RemoteKey&,
               Completion& completion) override {
    return unsupported(completion);
  }
  Accepted get(Link&, std::span<std::byte>, const MemoryHandle*, std::uint64_t, const RemoteKey&,
               Completion& completion) override {
    return unsupported(completion);
  }
  Accepted fetch_op(Link&, AtomicOp, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t, const RemoteKey&, void*,
                    Completion& completion) override {
    return unsupported(completion);
  }

  // Without put and get there is nothing to be registered: any memory is, and no key opens any.
  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    return MemoryHandle{address, size, kind, 0, nullptr};
  }
  void deregister_memory(MemoryHandle&) override {}
  std::vector<std::byte> pack_key(const MemoryHandle&) const override { return {}; }
  Result<RemoteKey> unpack_key(Link&, std::span<const std::byte>) override {
    return Status::failure("the " + device_.transport + " transport has no memory keys: it offers no put and no get");
  }
  void release_key(RemoteKey&) override {}

  int wait_fd() const override { return -1; }
  bool arm() override { return deferred_.empty(); }

 protected:
  Accepted unsupported(Completion& completion) {
    deferred_.end(&completion, Outcome::unsupported);
    return Accepted::pending;
  }
  /// From progress(), where no link is being looked at.
  int tell_deferred() {
    return deferred_.tell([this](Link& link, const std::string& reason) { tell_loss(link, reason); });
  }
  virtual void tell_loss(Link& link, const std::string& reason) { receiver_.link_lost(link, reason); }

  Device device_;
  Receiver& receiver_;
  PeerId self_;
  std::vector<std::byte> secret_;
  DeferredCalls deferred_;
};

/// For a transport that does the puts and gets of its peers itself, in host memory: memory is registered by number.
class RegisteringTransport : public TransportBase {
 public:
  using TransportBase::TransportBase;

  Result<MemoryHandle> register_memory(std::byte* address, std::uint64_t size, MemoryKind kind) override {
    if (kind != MemoryKind::host)
      return Status::failure("the " + device_.transport + " transport reads and writes host memory only");
    regions_[++last_key_] = {address, size};
    return MemoryHandle{address, size, kind, last_key_, nullptr};
  }
  void deregister_memory(MemoryHandle& handle) override { regions_.erase(handle.id); }
  std::vector<std::byte> pack_key(const MemoryHandle& handle) const override {
    return packed(PackedKey{check_of_key(handle.id), handle.id});
  }
  Result<RemoteKey> unpack_key(Link&, std::span<const std::byte> bytes) override {
    PackedKey key;
    const std::string of = "a memory key of the " + device_.transport + " transport";
    if (!unpack(bytes, &key)) return Status::failure(of + " has another length");
    if (key.check != check_of_key(key.key))
      return Status::failure("that is not " + of + ", or it was damaged on its way");
    return RemoteKey{key.key, nullptr};
  }

 protected:
  /// [address, address + size) of the memory with that key; nullptr: it is not registered, or does not hold all of
  /// that.
  std::byte* translate(std::uint64_t key, std::uint64_t address, std::uint64_t size) const {
    auto found = regions_.find(key);
    if (found == regions_.end()) return nullptr;
    const std::span<std::byte> region = found->second;
    const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(region.data());
    if (offset > region.size() || size > region.size() - offset) return nullptr;
    return region.data() + offset;
  }

 private:
  struct PackedKey {
    std::uint64_t check = 0;  ///< over what follows: catches what was cut or mangled on its way
    std::uint64_t key = 0;
  };
  std::uint64_t check_of_key(std::uint64_t key) const {
    return (key ^ std::hash<std::string>{}(device_.transport)) * 0x9e37'79b9'7f4a'7c15u;
  }

  std::map<std::uint64_t, std::span<std::byte>> regions_;
  std::uint64_t last_key_ = 0;
};

}  // namespace periapt::ucx
