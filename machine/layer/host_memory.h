// HostMemory: the message memory of a host's processes and what lies where in it, and this process's Heaps and Ports on
// it.
//
//   | HostControlBlock | slice of PE 0: inbox, pe_page, tables of the inbox, heap | slice of PE 1 | ...
//
// On a simulated machine all PEs have one heap and one Port, which leads to all PEs by its FarSide.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "machine/bootstrap/layout.h"
#include "machine/host/arena.h"
#include "machine/host/heap.h"
#include "machine/host/inbox.h"
#include "machine/layer/host_control_block.h"
#include "machine/layer/one_sided.h"

namespace periapt::machine {

class HostMemory {
 public:
  /// The layout outlives this.
  HostMemory(const bootstrap::HostLayout& layout, host::Arena arena);
  /// Of a simulated machine, whole: there is nothing to open().
  HostMemory(const bootstrap::HostLayout& layout, host::Arena arena, host::FarSide& far);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// In the process that runs, once: makes the Heaps and Ports of its PEs. `origin`: the PE that is number 0 to this
  /// process, and in all that is asked from here on. `far`: by own PE; empty when all PEs are of this host.
  void open(int process, int origin, const std::vector<host::FarSide*>& far);

  HostControlBlock& control() const { return *control_; }
  const host::Arena& arena() const { return arena_; }
  /// Of a PE of this process.
  host::Port& port(int pe) const { return *ports_[rank_of(pe)]; }
  host::Heap& heap(int pe) const { return *heaps_[rank_of(pe)]; }
  std::vector<host::Port*> ports() const;  ///< by own PE
  /// Of a PE of this host, or of the simulated machine.
  std::byte* pe_page(int pe) const;
  /// By process of this host, the first one first.
  std::vector<OneSidedWords*> one_sided_words() const;

  /// To all carriers of the host.
  void announce_exit(int code) { control_->announce_exit(code, layout_.carrier_count(), arena_.shared()); }

 private:
  struct Slice;
  Slice* slice(int i) const { return reinterpret_cast<Slice*>(arena_.slice(i)); }
  std::size_t rank_of(int pe) const { return pe_pages_ ? 0 : static_cast<std::size_t>(pe - first_pe_); }
  void find_parts(int i, int pes, int carrier);
  void make_heap(int i, int pes);
  void make_port(host::PortConfig config);
  void join_siblings(const bootstrap::Process& own);

  const bootstrap::HostLayout& layout_;
  host::Arena arena_;
  HostControlBlock* const control_;
  std::vector<host::Inbox*> inboxes_;              // by PE of this host
  std::vector<host::ReturnStack*> return_stacks_;  // by PE of this host
  std::vector<host::SleepWord*> sleep_;            // by PE of this host
  std::vector<std::unique_ptr<host::Heap>> heaps_;
  std::vector<std::unique_ptr<host::Port>> ports_;
  int origin_ = 0;                 // of the numbers that this process has for PEs
  int first_pe_ = 0;               // of this process, from there
  std::byte* pe_pages_ = nullptr;  // of a simulated machine
};

}  // namespace periapt::machine
