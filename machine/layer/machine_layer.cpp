#include "machine/layer/machine_layer.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <vector>

#include "base/bits.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/topology.h"
#include "machine/bootstrap/launch.h"

namespace periapt::machine {
namespace {

// The words of the run, at the start of the arena. Zero is their first state, and the arena's memory is zero.
struct HostWords {
  // 0: the run goes on; else the code announced, with kAnnounced.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> exit;
  alignas(platform::kCacheLine) std::atomic<std::uint32_t> arrived;        // at the barrier
  std::atomic<std::uint32_t> generation;                                   // barriers passed; a futex
  std::atomic<std::uint32_t> ended;                                        // the program has come to its end
  alignas(platform::kCacheLine) shm::SleepWord sleep[bootstrap::kMaxPes];  // by carrier
};
constexpr std::uint64_t kAnnounced = std::uint64_t{1} << 32;
static_assert(sizeof(HostWords) <= shm::Arena::kHostBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// The start of a PE's slice; its tables and then its heap follow.
struct PeWords {
  shm::Inbox inbox;
  shm::ReturnStack returns;
  alignas(platform::kCacheLine) std::byte board[MachineLayer::kBoardBytes];
};

struct PeTables {
  std::atomic<shm::Ring*>* rings;
  std::atomic<std::uint64_t>* may_hold;
  std::byte* end;
};

PeTables tables_of(std::byte* slice, int pes) {
  std::byte* at = slice + sizeof(PeWords);
  PeTables tables;
  tables.rings = reinterpret_cast<std::atomic<shm::Ring*>*>(at);
  at += round_up(static_cast<std::size_t>(pes) * sizeof(std::atomic<shm::Ring*>), platform::kCacheLine);
  tables.may_hold = reinterpret_cast<std::atomic<std::uint64_t>*>(at);
  at += round_up((static_cast<std::size_t>(pes) + 63) / 64 * sizeof(std::uint64_t), platform::kCacheLine);
  tables.end = at;
  return tables;
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
  ::syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

std::atomic<MachineLayer*> current_layer{nullptr};

void leave_together(int code) {
  if (MachineLayer* layer = MachineLayer::current()) layer->announce_exit(code);
}

}  // namespace

struct MachineLayer::State {
  State(bootstrap::HostLayout the_layout, shm::Arena the_arena)
      : layout(std::move(the_layout)), arena(std::move(the_arena)) {
    words = reinterpret_cast<HostWords*>(arena.host_page());
    for (int pe = 0; pe < layout.pes; ++pe) {
      PeWords* pe_words = reinterpret_cast<PeWords*>(arena.slice(pe));
      PeTables tables = tables_of(arena.slice(pe), layout.pes);
      pe_words->inbox.rings = tables.rings;
      pe_words->inbox.may_hold = tables.may_hold;
      inboxes.push_back(&pe_words->inbox);
      return_stacks.push_back(&pe_words->returns);
      sleep.push_back(&words->sleep[layout.carrier_of[static_cast<std::size_t>(pe)]]);
    }
  }

  // In the process that runs: its own PEs' private parts.
  void open_pes(int rank) {
    process = rank;
    const bootstrap::Process& own = layout.processes[static_cast<std::size_t>(rank)];
    for (int pe = own.first_pe; pe < own.first_pe + own.pes; ++pe) {
      shm::HeapPlace heap_place;
      heap_place.pe = pe;
      heap_place.pes = layout.pes;
      heap_place.begin = tables_of(arena.slice(pe), layout.pes).end;
      heap_place.end = arena.slice(pe) + arena.slice_bytes();
      heap_place.shared = arena.shared();
      heap_place.return_stacks = return_stacks.data();
      heaps.push_back(std::make_unique<shm::Heap>(heap_place));

      shm::PortPlace port_place;
      port_place.pe = pe;
      port_place.pes = layout.pes;
      port_place.inboxes = inboxes.data();
      port_place.sleep = sleep.data();
      port_place.heap = heaps.back().get();
      port_place.across_processes = arena.shared();
      ports.push_back(std::make_unique<shm::Port>(port_place));
    }
    for (int c = own.first_carrier; c < own.first_carrier + own.carriers; ++c) {
      std::vector<shm::Port*> siblings;
      for (int pe : layout.carriers[static_cast<std::size_t>(c)].pes) siblings.push_back(port_of(pe));
      for (shm::Port* port : siblings) port->set_siblings(siblings);
    }
  }

  std::size_t rank_of(int pe) const {
    return static_cast<std::size_t>(pe - layout.processes[static_cast<std::size_t>(process)].first_pe);
  }
  shm::Port* port_of(int pe) { return ports[rank_of(pe)].get(); }

  bootstrap::HostLayout layout;
  shm::Arena arena;
  HostWords* words = nullptr;
  std::vector<shm::Inbox*> inboxes;
  std::vector<shm::ReturnStack*> return_stacks;
  std::vector<shm::SleepWord*> sleep;
  std::vector<std::unique_ptr<shm::Heap>> heaps;
  std::vector<std::unique_ptr<shm::Port>> ports;
  int process = 0;
};

std::unique_ptr<MachineLayer> MachineLayer::start(int& argc, char** argv) {
  Result<bootstrap::LayoutRequest> request = bootstrap::take_layout_options(argc, argv);
  if (!request) fatal(request.message(), "command line");
  Result<bootstrap::HostLayout> layout = bootstrap::resolve_layout(*request, bootstrap::look_at_machine(request->pes));
  if (!layout) fatal(layout.message(), "command line");
  if (layout->show_affinity) log::note(layout->describe_carriers());
  Result<std::unique_ptr<MachineLayer>> layer = start(*layout);
  if (!layer) fatal(layer.message(), "start-up");
  return std::move(*layer);
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout) {
  Result<shm::Arena> arena = shm::Arena::map(layout.process_of);
  if (!arena) return arena.status();
  auto state = std::make_unique<State>(layout, std::move(*arena));
  int rank = 0;
  if (layout.process_count() > 1) {
    HostWords* words = state->words;
    rank = bootstrap::launch_processes(state->layout,
                                       {[words] { return words->exit.load(std::memory_order_acquire) != 0; },
                                        [words] { return words->ended.load(std::memory_order_acquire) != 0; }});
  }
  state->open_pes(rank);
  return std::unique_ptr<MachineLayer>(new MachineLayer(std::move(state)));
}

MachineLayer::MachineLayer(std::unique_ptr<State> state) : state_(std::move(state)) {
  current_layer.store(this, std::memory_order_release);
  set_fatal_exit_hook(leave_together);
}

MachineLayer::~MachineLayer() {
  MachineLayer* self = this;
  current_layer.compare_exchange_strong(self, nullptr);
}

MachineLayer* MachineLayer::current() { return current_layer.load(std::memory_order_acquire); }

const bootstrap::HostLayout& MachineLayer::layout() const { return state_->layout; }
int MachineLayer::process() const { return state_->process; }
int MachineLayer::pes() const { return state_->layout.pes; }
int MachineLayer::first_pe() const {
  return state_->layout.processes[static_cast<std::size_t>(state_->process)].first_pe;
}
int MachineLayer::own_pes() const { return state_->layout.processes[static_cast<std::size_t>(state_->process)].pes; }
shm::Port& MachineLayer::port(int pe) { return *state_->port_of(pe); }
shm::Heap& MachineLayer::heap(int pe) { return *state_->heaps[state_->rank_of(pe)]; }
const shm::Arena& MachineLayer::arena() const { return state_->arena; }

Route MachineLayer::route(int pe) const {
  if (pe < 0 || pe >= pes()) return Route::other_host;
  return state_->layout.process_of[static_cast<std::size_t>(pe)] == state_->process ? Route::self_process
                                                                                    : Route::same_host;
}

void MachineLayer::require_reachable(int pe) const {
  if (route(pe) != Route::other_host) return;
  fatal("PE " + std::to_string(pe) + " cannot be reached: this run has PEs 0 to " + std::to_string(pes() - 1) +
            ", all on this host",
        "machine layer", "a PE number was computed wrongly, or belongs to another host",
        "check the number against CkNumPes(); runs over several hosts are not possible yet");
}

void MachineLayer::enter(bootstrap::CarrierId carrier) {
  int cpu = state_->layout.carriers[static_cast<std::size_t>(carrier)].cpu;
  if (cpu < 0) return;
  Status bound = topology::pin_this_thread(cpu);
  if (!bound) log::warn(bound.message());  // slower perhaps, but it runs
}

bool MachineLayer::barrier() {
  HostWords& words = *state_->words;
  std::uint32_t generation = words.generation.load(std::memory_order_acquire);
  // acq_rel: what each did before the barrier comes before what any does after it; the last one collects all by its
  // fetch_add, and hands it on by the release of the generation.
  std::uint32_t arrived = words.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == static_cast<std::uint32_t>(state_->layout.carrier_count())) {
    words.arrived.store(0, std::memory_order_relaxed);
    words.generation.fetch_add(1, std::memory_order_release);
    futex(words.generation, FUTEX_WAKE, INT_MAX, nullptr);
    return true;
  }
  constexpr int kSpins = 200;
  constexpr timespec kLook{0, 20'000'000};
  for (int i = 0; words.generation.load(std::memory_order_acquire) == generation; ++i) {
    // All may have passed and one of them ended the run already, while we were not looking.
    if (exit_announced()) return words.generation.load(std::memory_order_acquire) != generation;
    if (i < kSpins && !state_->layout.oversubscribed) {
      platform::pause();
    } else {
      futex(words.generation, FUTEX_WAIT, generation, &kLook);
    }
  }
  return true;
}

std::byte* MachineLayer::board(int pe) const { return reinterpret_cast<PeWords*>(state_->arena.slice(pe))->board; }

void MachineLayer::announce_exit(int code) {
  HostWords& words = *state_->words;
  std::uint64_t none = 0;
  // The first one stands. release: partners are the acquires of those who look.
  words.exit.compare_exchange_strong(none, kAnnounced | static_cast<std::uint32_t>(code), std::memory_order_acq_rel);
  for (int c = 0; c < state_->layout.carrier_count(); ++c) shm::tell_news(words.sleep[c], state_->arena.shared());
  futex(words.generation, FUTEX_WAKE, INT_MAX, nullptr);
}

void MachineLayer::announce_end() { state_->words->ended.store(1, std::memory_order_release); }

bool MachineLayer::exit_announced() const { return state_->words->exit.load(std::memory_order_acquire) != 0; }

int MachineLayer::exit_code() const {
  return static_cast<int>(static_cast<std::uint32_t>(state_->words->exit.load(std::memory_order_acquire)));
}

}  // namespace periapt::machine
