#include "machine/gpu/imports.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/fnv1a.h"
#include "base/log.h"
#include "base/owned_descriptor.h"
#include "base/secret.h"
#include "base/this_host.h"
#include "machine/gpu/files.h"

namespace periapt::gpu {
namespace {

struct Packed {
  Export exported;
  std::uint64_t check = 0;
};
static_assert(sizeof(Export) == 112 && sizeof(Packed) == 120, "no holes, in which bytes of the stack would travel");

// Against what was cut and mangled; a peer that knows the job's secret is trusted beyond that.
std::uint64_t check_of(const Export& exported) { return fnv1a(&exported, sizeof(exported)); }

constexpr std::uint64_t kSilence_ns = 60'000'000'000;

}  // namespace

std::vector<std::byte> pack(const Export& exported) {
  const Packed packed{exported, check_of(exported)};
  const auto* bytes = reinterpret_cast<const std::byte*>(&packed);
  return {bytes, bytes + sizeof(packed)};
}

std::optional<Export> unpack(std::span<const std::byte> bytes) {
  Packed packed;
  if (bytes.size() != sizeof(packed)) return std::nullopt;
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  if (packed.check != check_of(packed.exported)) return std::nullopt;
  return packed.exported;
}

std::uint64_t this_process() {
  static std::mutex mutex;
  static std::pair<pid_t, std::uint64_t> known;
  std::lock_guard lock(mutex);
  if (known.first != ::getpid()) {  // a child of a fork is another one
    known.first = ::getpid();
    fill_random(&known.second, sizeof(known.second));
  }
  return known.second;
}

// Until the process ends: static destructors run when the driver may be gone.
Imports& Imports::of(Driver& driver) {
  static std::mutex mutex;
  static auto& all = *new std::map<Driver*, std::unique_ptr<Imports>>;
  std::lock_guard lock(mutex);
  std::unique_ptr<Imports>& imports = all[&driver];
  if (imports == nullptr) imports = std::make_unique<Imports>(driver);
  return *imports;
}

Imports::~Imports() {
  for (auto& [name, mapping] : mappings_) static_cast<void>(driver_.forget(mapping.gpu, mapping.here));
}

Result<std::byte*> Imports::acquire(int gpu, const Export& exported) {
  if (exported.process == this_process()) return reinterpret_cast<std::byte*>(exported.begin);
  const bool is_near = exported.boot == boot_number(), by_fabric = (exported.by_hand & Export::kByFabric) != 0;
  if (!is_near && !by_fabric) return Status::failure("that GPU's memory is another host's");
  std::unique_lock lock(mutex_);
  const Name name{exported.process, exported.buffer};
  if (std::byte* const known = use_known(name)) return known;
  std::optional<OwnedDescriptor> file;
  if (is_near && (exported.by_hand & Export::kByFile) != 0) {
    const Result<int> given = ask(exported, lock);
    if (!given && !by_fabric) return given.status();
    if (given) file.emplace(*given);
    if (std::byte* const known = use_known(name)) return known;
  }
  // What is said of it is old, and its mapping goes when it is no longer in use, which a second one's record would
  // hide.
  if (mappings_.count(name) != 0) return Status::failure("other memory has taken the place of that");
  find_stale(exported);
  Result<std::byte*> here = file        ? driver_.import_file(gpu, file->fd(), exported.size)
                            : by_fabric ? driver_.import_from_fabric(gpu, exported.handle, exported.size)
                                        : driver_.import_memory(gpu, exported.handle);
  if (!here && file && by_fabric) here = driver_.import_from_fabric(gpu, exported.handle, exported.size);
  if (!here) return here;
  ++maps_;
  mappings_[name] = {exported.begin, exported.size, gpu, *here, 1, false, {}};
  return here;
}

// Others need not wait for the answer.
Result<int> Imports::ask(const Export& exported, std::unique_lock<std::mutex>& lock) {
  if (Status asks = may_ask(exported.process); !asks) return asks;
  lock.unlock();
  bool has_waited = false;
  Result<int> given = ask_for_file(driver_, {exported.process, exported.buffer, exported.begin}, &has_waited);
  lock.lock();
  if (has_waited) silent_until_ns_[exported.process] = clock::now_ns() + kSilence_ns;
  return given;
}

std::byte* Imports::use_known(const Name& name) {
  const auto known = mappings_.find(name);
  if (known == mappings_.end() || known->second.stale) return nullptr;
  if (known->second.uses++ == 0) idle_.erase(known->second.idle);
  return known->second.here;
}

// One that stands still would cost every message a second: its memory goes another way for a while.
Status Imports::may_ask(std::uint64_t process) {
  const auto silent = silent_until_ns_.find(process);
  if (silent == silent_until_ns_.end()) return {};
  if (clock::now_ns() < silent->second)
    return Status::failure("the process whose memory it is has not answered, and is not asked again for a while");
  silent_until_ns_.erase(silent);
  return {};
}

// What that process had at these addresses before, it has freed.
void Imports::find_stale(const Export& exported) {
  for (auto at = mappings_.lower_bound({exported.process, 0});
       at != mappings_.end() && at->first.first == exported.process;) {
    const auto next = std::next(at);
    Mapping& mapping = at->second;
    const bool overlaps =
        mapping.begin < exported.begin + exported.size && exported.begin < mapping.begin + mapping.size;
    if (overlaps && mapping.uses != 0) {
      mapping.stale = true;
    } else if (overlaps) {
      unmap(at);
    }
    at = next;
  }
}

void Imports::release(const Export& exported) {
  if (exported.process == this_process()) return;
  std::lock_guard lock(mutex_);
  const auto at = mappings_.find({exported.process, exported.buffer});
  if (at == mappings_.end() || at->second.uses == 0 || --at->second.uses != 0) return;
  at->second.idle = idle_.insert(idle_.end(), at->first);
  if (at->second.stale) return unmap(at);
  while (idle_.size() > idle_most_) unmap(mappings_.find(idle_.front()));
}

void Imports::unmap(Mappings::iterator at) {
  const Mapping gone = at->second;
  idle_.erase(gone.idle);
  mappings_.erase(at);
  if (Status forgotten = driver_.forget(gone.gpu, gone.here); !forgotten) log::detail(forgotten.message());
}

std::optional<int> Imports::opened_at(std::uintptr_t here) const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, mapping] : mappings_) {
    if (reinterpret_cast<std::uintptr_t>(mapping.here) == here) return mapping.gpu;
  }
  return std::nullopt;
}

std::size_t Imports::mapped() const {
  std::lock_guard lock(mutex_);
  return mappings_.size();
}

}  // namespace periapt::gpu
