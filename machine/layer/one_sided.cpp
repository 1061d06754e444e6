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

std::string name_of(int process) { return "process " + std::to_string(process); }

Status gone(int process) { return Status::failure(name_of(process) + " has gone"); }
// How many call this.
int pes_of(const OneSidedConfig& config) {
  const bootstrap::HostLayout& layout = *config.layout;
  return config.simulated ? layout.pes : layout.processes[static_cast<std::size_t>(*config.process)].pes;
}

}  // namespace

OneSided::OneSided(const OneSidedConfig& config)
    : config_(config),
      devices_(static_cast<std::size_t>(pes_of(config)), config.device_memory, config.simulated),
      cookie_(clock::now_ns() * 0x9E37'79B9'7F4A'7C15u | 1),
      copies_(config.words.size()) {
  const bootstrap::HostLayout& layout = *config.layout;
  const bootstrap::Process& own = layout.processes[static_cast<std::size_t>(*config.process)];
  first_pe_ = config.simulated ? 0 : own.first_pe - config.origin;
  ended_ = std::make_unique<Ended[]>(static_cast<std::size_t>(pes_of(config)));
  stages_ = std::make_unique<Stage[]>(static_cast<std::size_t>(pes_of(config)));
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

Status OneSided::not_registered(int process) {
  return Status::failure("that memory of " + name_of(process) + " is not registered (any more)");
}

OneSided::Ended& OneSided::of_pe(int pe) const { return ended_[of_process(pe)]; }
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

ucx::MemoryKind OneSided::kind_of(int pe, const void* address) { return devices_.kind_of(of_process(pe), address); }

std::vector<std::byte> OneSided::describe(int pe, ucx::Place memory) {
  return devices_.describe(of_process(pe), memory);
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
  transfer.remote_kind_ = static_cast<ucx::MemoryKind>(key.kind);
  transfer.asked_ = 0;
  transfer.outstanding_ = 0;
  transfer.status_ = Status();
  Status allowed = check(key, transfer.remote_, transfer.size_);
  if (!allowed || transfer.size_ == 0) return end(transfer, std::move(allowed));
  if (!is_near(key.process)) {
    by_net(transfer, key);
    return TransferStatus::pending;
  }
  if (transfer.kind_ != ucx::MemoryKind::host || transfer.remote_kind_ != ucx::MemoryKind::host)
    return begin_on_device(transfer);
  if (key.process == *config_.process) return copy(transfer);
  if (!config_.simulated) {
    if (in_arena(transfer.remote_, transfer.size_)) return copy(transfer);
    if (kernel_copies(key.process)) return copy_by_kernel(transfer);
  }
  send_requests(transfer);
  return TransferStatus::pending;
}

TransferStatus OneSided::begin_on_device(Transfer& transfer) {
  if (transfer.process_ == *config_.process) {
    copy_on_device(transfer, {reinterpret_cast<std::byte*>(transfer.remote_), transfer.remote_kind_});
  } else if (!copy_mapped(transfer)) {
    send_requests(transfer);
  }
  settle(transfer.pe_);
  return TransferStatus::pending;
}

void OneSided::copy_on_device(Transfer& transfer, ucx::Place remote) {
  const ucx::Place local{transfer.local_, transfer.kind_};
  devices_.copy(of_process(transfer.pe_), transfer.is_put_ ? remote : local, transfer.is_put_ ? local : remote,
                transfer.size_, ending(transfer));
}

TransferStatus OneSided::end(Transfer& transfer, Status status) {
  const TransferStatus moved = status.ok() ? TransferStatus::complete : TransferStatus::pending;
  transfer.mapping_.reset();
  transfer.status_ = std::move(status);
  Ended& ended = of_pe(transfer.pe_);
  std::lock_guard<std::mutex> lock(ended.mutex);
  ended.transfers.push_back(&transfer);
  ended.holds.store(true, std::memory_order_release);
  return moved;
}

bool OneSided::has_events(int pe) const {
  return of_pe(pe).holds.load(std::memory_order_acquire) || devices_.is_busy(of_process(pe));
}

int OneSided::poll(int pe) {
  Ended& ended = of_pe(pe);
  if (devices_.is_busy(of_process(pe))) devices_.poll(of_process(pe));
  const int served = std::exchange(ended.served, 0);
  if (!ended.holds.load(std::memory_order_acquire)) return served;
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
  return served + static_cast<int>(transfers.size());
}

DeviceCopies::Ended OneSided::ending(Transfer& transfer) {
  return [this, &transfer](Status status) { static_cast<void>(end(transfer, std::move(status))); };
}

// On a simulated machine no time passes while a GPU works.
void OneSided::settle(int pe) {
  if (config_.simulated) devices_.poll(of_process(pe));
}

// A transfer that names no key.
Transfer& OneSided::of_own_process(int pe, Transfer& transfer) {
  transfer.owner_ = this;
  transfer.pe_ = pe;
  return transfer;
}

void OneSided::copy(int pe, ucx::Place to, ucx::Place from, std::size_t size, Transfer& transfer) {
  devices_.copy(of_process(pe), to, from, size, ending(of_own_process(pe, transfer)));
  settle(pe);
}

TransferStatus OneSided::when_reached(int pe, void* stream, ucx::Place memory, Transfer& transfer) {
  const bool there = devices_.when_reached(of_process(pe), stream, memory, ending(of_own_process(pe, transfer)));
  settle(pe);
  return there ? TransferStatus::complete : TransferStatus::pending;
}

void OneSided::copy_when_reached(int pe, void* stream, ucx::Place to, ucx::Place from, std::size_t size,
                                 Transfer& transfer) {
  devices_.copy_when_reached(of_process(pe), stream, to, from, size, ending(of_own_process(pe, transfer)));
  settle(pe);
}

// ---- on this host

Result<ucx::Mapping> OneSided::map(int pe, std::span<const std::byte> described, std::uint64_t address,
                                   std::uint64_t bytes, ucx::Place local) {
  if (described.empty() || config_.simulated) return Status::failure("it is not described, or takes virtual time");
  return devices_.map(of_process(pe), described, address, bytes, local);
}
// False: it cannot be mapped here, or nothing says how.
bool OneSided::copy_mapped(Transfer& transfer) {
  Result<ucx::Mapping> mapped =
      map(transfer.pe_, transfer.described, transfer.remote_, transfer.size_, {transfer.local_, transfer.kind_});
  if (!mapped) return false;
  transfer.mapping_ = std::move(mapped->at);
  copy_on_device(transfer, {transfer.mapping_.get(), mapped->kind});
  return true;
}

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

// ---- other hosts

void OneSided::by_net(Transfer& transfer, const MemoryKey& key) {
  Net::Access access;
  access.process = key.process;
  access.is_put = transfer.is_put_;
  access.local = {transfer.local_, transfer.size_};
  access.kind = transfer.kind_;
  access.remote = transfer.remote_;
  const auto* const net = reinterpret_cast<const std::byte*>(key.net);
  access.key.assign(net, net + std::min<std::size_t>(key.net_bytes, MemoryKey::kNetBytes));
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
