#include "machine/layer/one_sided.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "machine/host/process_copy.h"
#include "machine/layer/net.h"

namespace periapt::machine {
namespace {

// What a request copies at most, and how many of one transfer may be under way: the other process's scheduler must not
// stand still for long, and neither shall the transfer.
constexpr std::uint64_t kRequestBytes = 256 << 10;
constexpr unsigned kRequestsAtOnce = 4;

constexpr char kHostMemoryOnly[] =
    "processes of one host copy host memory only: memory of a device is reached by a device that can use its kind";

std::string name_of(int process) { return "process " + std::to_string(process); }

Status gone(int process) { return Status::failure(name_of(process) + " has gone"); }
Status not_registered(int process) {
  return Status::failure("that memory of " + name_of(process) + " is not registered (any more)");
}

}  // namespace

// In a block of the heap of the PE that asks; it goes there and back.
struct OneSided::RmaRequest {
  Transfer* transfer;
  std::uint64_t key, remote;
  std::byte* place;      // in the arena: where to copy to, or from
  std::uint64_t offset;  // in the transfer
  std::uint64_t size;
  std::int32_t asker;  // number in the whole run
  bool is_put;
  bool own_place;  // a block for this request only
  enum : std::uint8_t { asked, done, refused } state;
};

OneSided::OneSided(const OneSidedConfig& config)
    : config_(config), cookie_(clock::now_ns() * 0x9E37'79B9'7F4A'7C15u | 1), copies_(config.words.size()) {
  const bootstrap::HostLayout& layout = *config.layout;
  const bootstrap::Process& own = layout.processes[static_cast<std::size_t>(*config.process)];
  first_pe_ = config.simulated ? 0 : own.first_pe - config.origin;
  ended_ = std::make_unique<Ended[]>(static_cast<std::size_t>(config.simulated ? layout.pes : own.pes));
  table_ = static_cast<host::KeyTable*>(config.ports.front()->heap().allocate_permanent(sizeof(host::KeyTable)));
  ring_ = host::KeyRing(table_);
  OneSidedWords& words =
      *config
           .words[config.simulated ? 0 : static_cast<std::size_t>(*config.process - layout.this_host().first_process)];
  words.cookie_at.store(reinterpret_cast<std::uintptr_t>(&cookie_), std::memory_order_relaxed);
  words.cookie.store(cookie_, std::memory_order_relaxed);
  words.pid.store(static_cast<std::uint32_t>(::getpid()), std::memory_order_relaxed);
  // release: partner is the acquire in keys_of(); and a process looks only with a key of ours, which came in a message.
  words.keys.store(table_, std::memory_order_release);
  if (config.words.size() > 1 && config.kernel_copies) host::allow_copies_by_siblings();
}

OneSided::~OneSided() = default;

OneSided::Ended& OneSided::of_pe(int pe) const { return ended_[static_cast<std::size_t>(pe - first_pe_)]; }
host::Port& OneSided::port(int pe) const {
  return *config_.ports[config_.simulated ? 0 : static_cast<std::size_t>(pe - first_pe_)];
}

bool OneSided::is_near(int process) const {
  return config_.simulated || config_.layout->processes[static_cast<std::size_t>(process)].host == config_.layout->host;
}

const host::KeyTable* OneSided::keys_of(int process) const {
  if (config_.simulated || process == *config_.process) return table_;
  const int first = config_.layout->this_host().first_process;
  return config_.words[static_cast<std::size_t>(process - first)]->keys.load(std::memory_order_acquire);
}

// ---- memory

Result<MemoryKey> OneSided::register_memory(void* address, std::size_t size, Audience audience, ucx::MemoryKind kind) {
  MemoryKey key{};
  key.kind = static_cast<std::uint16_t>(kind);
  key.address = reinterpret_cast<std::uintptr_t>(address);
  key.size = size;
  key.process = *config_.process;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    key.id = ring_.add(key.address, size, 0);
  }
  if (key.id == 0)
    return Status::failure("this process has registered " + std::to_string(host::KeyTable::kEntries) +
                           " pieces of memory: deregister those that nobody needs any more");
  if (config_.net == nullptr || audience == Audience::host) return key;
  Result<std::vector<std::byte>> packed =
      config_.net->register_memory(key.id, {static_cast<std::byte*>(address), size}, MemoryKey::kNetBytes, kind);
  if (!packed) {
    deregister_memory(key);
    return packed.status();
  }
  key.net_bytes = static_cast<std::uint16_t>(packed->size());
  std::memcpy(key.net, packed->data(), packed->size());
  return key;
}

void OneSided::deregister_memory(const MemoryKey& key) {
  if (key.process != *config_.process && !config_.simulated) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!ring_.holds(key.id)) return;
    ring_.remove(key.id);
  }
  if (config_.net != nullptr) config_.net->forget_memory(key.id);
}

bool OneSided::is_registered(const MemoryKey& key) const {
  return (key.process == *config_.process || config_.simulated) && ring_.holds(key.id);
}

// What can be known here. The other side of a network looks for itself.
Status OneSided::check(const MemoryKey& key, std::uint64_t remote, std::uint64_t size) const {
  if (!key || key.process < 0 || key.process >= config_.layout->process_count())
    return Status::failure("a key that gives access to no memory");
  if (remote < key.address || size > key.size || remote - key.address > key.size - size)
    return Status::failure(std::to_string(size) + " bytes at offset " +
                           std::to_string(static_cast<std::int64_t>(remote - key.address)) + " are not inside the " +
                           std::to_string(key.size) + " bytes that the key gives access to");
  if (!is_near(key.process)) return key.net_bytes != 0 ? Status() : not_registered(key.process);
  if (key.kind != 0) return Status::failure(kHostMemoryOnly);
  host::CachedKey entry;
  entry.id = key.id;
  return entry.allows(*keys_of(key.process), remote, size) ? Status() : not_registered(key.process);
}

// ---- transfers

TransferStatus OneSided::get(int pe, void* local, std::size_t size, const MemoryKey& key, std::uint64_t remote,
                             Transfer& transfer, ucx::MemoryKind local_kind) {
  transfer.kind_ = local_kind;
  transfer.pe_ = pe;
  transfer.is_put_ = false;
  transfer.local_ = static_cast<std::byte*>(local);
  transfer.size_ = size;
  transfer.remote_ = remote;
  return begin(transfer, key);
}

TransferStatus OneSided::put(int pe, const void* local, std::size_t size, const MemoryKey& key, std::uint64_t remote,
                             Transfer& transfer, ucx::MemoryKind local_kind) {
  transfer.kind_ = local_kind;
  transfer.pe_ = pe;
  transfer.is_put_ = true;
  transfer.local_ = static_cast<std::byte*>(const_cast<void*>(local));
  transfer.size_ = size;
  transfer.remote_ = remote;
  return begin(transfer, key);
}

TransferStatus OneSided::begin(Transfer& transfer, const MemoryKey& key) {
  transfer.owner_ = this;
  transfer.process_ = key.process;
  transfer.key_ = key.id;
  transfer.asked_ = 0;
  transfer.outstanding_ = 0;
  transfer.status_ = Status();
  Status allowed = check(key, transfer.remote_, transfer.size_);
  if (allowed && transfer.kind_ != ucx::MemoryKind::host && is_near(key.process)) {
    allowed = Status::failure(kHostMemoryOnly);
  }
  if (!allowed || transfer.size_ == 0) return end(transfer, std::move(allowed));
  if (key.process == *config_.process) return copy(transfer);
  if (!is_near(key.process)) {
    by_net(transfer, key);
    return TransferStatus::pending;
  }
  if (!config_.simulated) {
    if (in_arena(transfer.remote_, transfer.size_)) return copy(transfer);
    if (kernel_copies(key.process)) return copy_by_kernel(transfer);
  }
  send_requests(transfer);
  return TransferStatus::pending;
}

TransferStatus OneSided::end(Transfer& transfer, Status status) {
  const TransferStatus moved = status.ok() ? TransferStatus::complete : TransferStatus::pending;
  transfer.status_ = std::move(status);
  Ended& ended = of_pe(transfer.pe_);
  std::lock_guard<std::mutex> lock(ended.mutex);
  ended.transfers.push_back(&transfer);
  ended.holds.store(true, std::memory_order_release);
  return moved;
}

int OneSided::poll(int pe) {
  Ended& ended = of_pe(pe);
  if (!ended.holds.load(std::memory_order_acquire)) return 0;
  std::vector<Transfer*> transfers;
  {
    std::lock_guard<std::mutex> lock(ended.mutex);
    transfers.swap(ended.transfers);
    ended.holds.store(false, std::memory_order_relaxed);
  }
  for (Transfer* transfer : transfers) {
    const Status status = std::move(transfer->status_);  // the transfer may be gone when this returns
    transfer->done(*transfer, status);
  }
  return static_cast<int>(transfers.size());
}

// ---- on this host

TransferStatus OneSided::copy(Transfer& transfer) {
  auto* remote = reinterpret_cast<std::byte*>(transfer.remote_);
  std::memmove(transfer.is_put_ ? remote : transfer.local_, transfer.is_put_ ? transfer.local_ : remote,
               transfer.size_);
  return end(transfer, Status());
}

bool OneSided::in_arena(std::uint64_t address, std::uint64_t size) const {
  return config_.arena->shared() && config_.arena->contains(reinterpret_cast<const void*>(address)) &&
         config_.arena->contains(reinterpret_cast<const void*>(address + size - 1));
}

// Finds out by copying a word that the other process has told of. Several PEs may find out at the same time.
bool OneSided::kernel_copies(int process) {
  if (!config_.kernel_copies) return false;
  const auto which = static_cast<std::size_t>(process - config_.layout->this_host().first_process);
  Copies known = copies_[which].load(std::memory_order_relaxed);
  if (known == Copies::unknown) {
    const OneSidedWords& words = *config_.words[which];
    std::uint64_t found = 0;
    const int error = host::copy_from_process(words.pid.load(std::memory_order_relaxed), &found,
                                              words.cookie_at.load(std::memory_order_relaxed), sizeof found);
    const bool works = error == 0 && found == words.cookie.load(std::memory_order_relaxed);
    known = works ? Copies::work : Copies::forbidden;
    copies_[which].store(known, std::memory_order_relaxed);
  }
  return known == Copies::work;
}

TransferStatus OneSided::copy_by_kernel(Transfer& transfer) {
  const auto which = static_cast<std::size_t>(transfer.process_ - config_.layout->this_host().first_process);
  const std::uint32_t pid = config_.words[which]->pid.load(std::memory_order_relaxed);
  const int error = transfer.is_put_ ? host::copy_to_process(pid, transfer.remote_, transfer.local_, transfer.size_)
                                     : host::copy_from_process(pid, transfer.local_, transfer.remote_, transfer.size_);
  switch (error) {
    case 0:
      return end(transfer, Status());
    case ESRCH:
      return end(transfer, gone(transfer.process_));
    case EFAULT:
      return end(transfer, Status::failure(name_of(transfer.process_) + " has registered memory that it has unmapped"));
    default:  // it was allowed and is no longer
      copies_[which].store(Copies::forbidden, std::memory_order_relaxed);
      send_requests(transfer);
      return TransferStatus::pending;
  }
}

// ---- requests: the other process copies. What it can't reach here is copied once more by us.

void OneSided::send_requests(Transfer& transfer) {
  host::Port& port = this->port(transfer.pe_);
  const bootstrap::Process& other = config_.layout->processes[static_cast<std::size_t>(transfer.process_)];
  const int to = other.first_pe - config_.origin + transfer.pe_ % other.pes;
  const bool reachable =
      config_.simulated || in_arena(reinterpret_cast<std::uintptr_t>(transfer.local_), transfer.size_);
  while (transfer.asked_ < transfer.size_ && transfer.outstanding_ < kRequestsAtOnce && transfer.status_.ok()) {
    auto* request = new (port.heap().allocate(sizeof(RmaRequest))) RmaRequest{};
    request->transfer = &transfer;
    request->key = transfer.key_;
    request->offset = transfer.asked_;
    request->remote = transfer.remote_ + transfer.asked_;
    request->size = transfer.size_ - transfer.asked_;
    if (!config_.simulated) request->size = std::min(request->size, kRequestBytes);
    request->asker = transfer.pe_ + config_.origin;
    request->is_put = transfer.is_put_;
    request->own_place = !reachable;
    request->place = transfer.local_ + transfer.asked_;
    if (request->own_place) {
      request->place = static_cast<std::byte*>(port.heap().allocate(request->size));
      if (request->is_put) std::memcpy(request->place, transfer.local_ + request->offset, request->size);
    }
    transfer.asked_ += request->size;
    ++transfer.outstanding_;
    port.send(to, kRmaRequestMeta, request);
  }
}

std::uint64_t OneSided::request_bytes(const void* block) {
  const auto* request = static_cast<const RmaRequest*>(block);
  const bool bears_bytes =
      request->state == RmaRequest::asked ? request->is_put : request->state == RmaRequest::done && !request->is_put;
  return sizeof(RmaRequest) + (bears_bytes ? request->size : 0);
}

void OneSided::take_request(int pe, void* block) {
  auto& request = *static_cast<RmaRequest*>(block);
  if (request.state != RmaRequest::asked) {
    answered(request);
    port(pe).heap().release(block);
    return;
  }
  serve(request);
  port(pe).send(request.asker - config_.origin, kRmaRequestMeta, block);
}

void OneSided::serve(RmaRequest& request) {
  host::CachedKey entry;
  entry.id = request.key;
  if (!entry.allows(*table_, request.remote, request.size)) {
    request.state = RmaRequest::refused;
    return;
  }
  auto* own = reinterpret_cast<std::byte*>(request.remote);
  std::memcpy(request.is_put ? own : request.place, request.is_put ? request.place : own, request.size);
  request.state = RmaRequest::done;
}

void OneSided::answered(RmaRequest& request) {
  Transfer& transfer = *request.transfer;
  if (request.state == RmaRequest::refused) transfer.status_ = not_registered(transfer.process_);
  if (request.own_place) {
    if (!request.is_put && request.state == RmaRequest::done)
      std::memcpy(transfer.local_ + request.offset, request.place, request.size);
    port(transfer.pe_).heap().release(request.place);
  }
  --transfer.outstanding_;
  send_requests(transfer);
  if (transfer.outstanding_ == 0) static_cast<void>(end(transfer, std::move(transfer.status_)));
}

// ---- other hosts

void OneSided::by_net(Transfer& transfer, const MemoryKey& key) {
  Net::Access access;
  access.process = key.process;
  access.is_put = transfer.is_put_;
  access.local = {transfer.local_, transfer.size_};
  access.kind = transfer.kind_;
  access.remote = transfer.remote_;
  access.key.assign(key.net, key.net + std::min<std::size_t>(key.net_bytes, MemoryKey::kNetBytes));
  access.context = &transfer;
  access.ended = [](void* context, Status status, int driver) {
    auto& transfer = *static_cast<Transfer*>(context);
    OneSided& self = *transfer.owner_;
    const int pe = transfer.pe_;
    static_cast<void>(self.end(transfer, std::move(status)));
    if (pe != driver) self.port(pe).wake(pe);
  };
  config_.net->access(transfer.pe_, std::move(access));
}

}  // namespace periapt::machine
