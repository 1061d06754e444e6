// See host_memory.h.
#include "machine/layer/host_memory.h"

#include <atomic>

#include "base/bits.h"
#include "machine/layer/machine_layer.h"

namespace periapt::machine {

// How a PE's slice begins; its tables and then its heap follow.
struct HostMemory::Slice {
  host::Inbox inbox;
  host::ReturnStack returns;
  OneSidedWords one_sided;  // of the process, at its first PE
  alignas(platform::kCacheLine) std::byte pe_page[MachineLayer::kPePageBytes];
};

namespace {
// Of an inbox for so many PEs.
struct Tables {
  std::atomic<host::Ring*>* rings;
  std::atomic<std::uint64_t>* may_hold;
  std::byte* end;
};

Tables tables_at(std::byte* at, int pes) {
  Tables tables;
  tables.rings = reinterpret_cast<std::atomic<host::Ring*>*>(at);
  at += round_up(static_cast<std::size_t>(pes) * sizeof(std::atomic<host::Ring*>), platform::kCacheLine);
  tables.may_hold = reinterpret_cast<std::atomic<std::uint64_t>*>(at);
  at += round_up((static_cast<std::size_t>(pes) + 63) / 64 * sizeof(std::uint64_t), platform::kCacheLine);
  tables.end = at;
  return tables;
}
}  // namespace

HostMemory::HostMemory(const bootstrap::HostLayout& layout, host::Arena arena)
    : layout_(layout), arena_(std::move(arena)), control_(HostControlBlock::of(arena_)) {
  const bootstrap::Host& host = layout.this_host();
  for (int i = 0; i < host.pes; ++i)
    find_parts(i, host.pes, layout.carrier_of[static_cast<std::size_t>(host.first_pe + i)]);
}

HostMemory::HostMemory(const bootstrap::HostLayout& layout, host::Arena arena, host::FarSide& far)
    : layout_(layout), arena_(std::move(arena)), control_(HostControlBlock::of(arena_)) {
  // The Port stands for a PE behind the last one, which does not exist: so all others are far.
  const int behind_all = layout.pes;
  find_parts(0, 1, 0);
  make_heap(0, 1);
  pe_pages_ = static_cast<std::byte*>(
      heaps_.front()->allocate_permanent(MachineLayer::kPePageBytes * static_cast<std::size_t>(layout.pes)));
  host::PortConfig config;
  config.pe = behind_all;
  config.pes = behind_all + 1;
  config.host_first = behind_all;
  config.host_pes = 1;
  config.far = &far;
  make_port(config);
}

// Slice `i` of `pes`, of a PE that runs on this carrier. Called for one after the other.
void HostMemory::find_parts(int i, int pes, int carrier) {
  const Tables tables = tables_at(arena_.slice(i) + sizeof(Slice), pes);
  slice(i)->inbox.rings = tables.rings;
  slice(i)->inbox.may_hold = tables.may_hold;
  return_stacks_.push_back(&slice(i)->returns);
  inboxes_.push_back(&slice(i)->inbox);
  sleep_.push_back(control_->sleep(carrier));
}

void HostMemory::open(int process, int origin, const std::vector<host::FarSide*>& far) {
  const bootstrap::Process& own = layout_.processes[static_cast<std::size_t>(process)];
  const bootstrap::Host& host = layout_.this_host();
  origin_ = origin;
  first_pe_ = own.first_pe - origin;
  for (int pe = first_pe_; pe < first_pe_ + own.pes; ++pe) {
    make_heap(pe + origin - host.first_pe, host.pes);
    host::PortConfig config;
    config.pe = pe;
    config.pes = layout_.pes;
    config.host_first = host.first_pe - origin;
    config.host_pes = host.pes;
    if (!far.empty()) config.far = far[rank_of(pe)];
    make_port(config);
  }
  join_siblings(own);
}

// Ports of PEs that one carrier runs know each other.
void HostMemory::join_siblings(const bootstrap::Process& own) {
  for (int c = own.first_carrier; c < own.first_carrier + own.carriers; ++c) {
    std::vector<host::Port*> siblings;
    for (int pe : layout_.carriers[static_cast<std::size_t>(c)].pes) siblings.push_back(&port(pe - origin_));
    for (host::Port* port : siblings) port->set_siblings(siblings);
  }
}

void HostMemory::make_heap(int i, int pes) {
  host::HeapConfig config;
  config.pe = i;
  config.pes = pes;
  config.begin = tables_at(arena_.slice(i) + sizeof(Slice), pes).end;
  config.end = arena_.slice(i) + arena_.slice_bytes();
  config.shared = arena_.shared();
  config.return_stacks = return_stacks_.data();
  heaps_.push_back(std::make_unique<host::Heap>(config));
}

// Of the PE whose heap was made last.
void HostMemory::make_port(host::PortConfig config) {
  config.inboxes = inboxes_.data();
  config.sleep = sleep_.data();
  config.heap = heaps_.back().get();
  config.across_processes = arena_.shared();
  ports_.push_back(std::make_unique<host::Port>(config));
}

std::vector<host::Port*> HostMemory::ports() const {
  std::vector<host::Port*> all;
  for (const auto& port : ports_) all.push_back(port.get());
  return all;
}

std::byte* HostMemory::pe_page(int pe) const {
  if (pe_pages_) return pe_pages_ + MachineLayer::kPePageBytes * static_cast<std::size_t>(pe);
  return slice(pe + origin_ - layout_.this_host().first_pe)->pe_page;
}

std::vector<OneSidedWords*> HostMemory::one_sided_words() const {
  if (pe_pages_) return {&slice(0)->one_sided};
  const bootstrap::Host& host = layout_.this_host();
  std::vector<OneSidedWords*> words;
  for (int i = host.first_process; i < host.first_process + host.processes; ++i) {
    const int first = layout_.processes[static_cast<std::size_t>(i)].first_pe - host.first_pe;
    words.push_back(&slice(first)->one_sided);
  }
  return words;
}

}  // namespace periapt::machine
