#include "machine/layer/machine_layer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/topology.h"
#include "machine/bootstrap/launch.h"
#include "machine/layer/host_room.h"
#include "machine/layer/joining.h"
#include "machine/layer/net.h"
#include "machine/layer/net_options.h"
#include "machine/layer/simulated.h"
#include "machine/layer/watch.h"

namespace periapt::machine {
namespace {

// The words of the run, at the start of the arena. Zero is their first state, and the arena's memory is zero.
struct HostWords {
  // 0: the run goes on; else the code announced, with kAnnounced.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> exit;
  alignas(platform::kCacheLine) std::atomic<std::uint32_t> arrived;        // at the barrier
  std::atomic<std::uint32_t> generation;                                   // barriers passed; a futex
  std::atomic<std::uint32_t> ended;                                        // the program has come to its end
  std::atomic<std::uint32_t> told;                                         // somebody has said why the run ends
  alignas(platform::kCacheLine) shm::SleepWord sleep[bootstrap::kMaxPes];  // by carrier
};
constexpr std::uint64_t kLookNs = 100'000;
constexpr std::uint64_t kAnnounced = std::uint64_t{1} << 32;
static_assert(sizeof(HostWords) <= shm::Arena::kHostBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// The start of a PE's slice; its tables and then its heap follow.
struct PeWords {
  shm::Inbox inbox;
  shm::ReturnStack returns;
  OneSidedWords one_sided;  // of the process, at its first PE
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

std::atomic<MachineLayer*> current_layer{nullptr};

// Of those who find the same wrong on a host, the one who says it.
bool is_first_of_host(const bootstrap::World& world) {
  const std::vector<int>& hosts = world.host_of();
  const auto own = hosts.begin() + world.rank();
  return std::find(hosts.begin(), own, *own) == own;
}

void leave_together(int code) {
  if (MachineLayer* layer = MachineLayer::current()) layer->end_badly(code);
}

}  // namespace

struct MachineLayer::State {
  // A simulated machine: one heap, one Port that leads to everybody by the FarSide.
  State(std::unique_ptr<Simulated> the_simulated, shm::Arena the_arena)
      : layout(the_simulated->layout()), arena(std::move(the_arena)), simulated(std::move(the_simulated)) {
    words = reinterpret_cast<HostWords*>(arena.host_page());
    PeWords* pe_words = reinterpret_cast<PeWords*>(arena.slice(0));
    PeTables tables = tables_of(arena.slice(0), 1);
    pe_words->inbox.rings = tables.rings;
    pe_words->inbox.may_hold = tables.may_hold;
    return_stacks.push_back(&pe_words->returns);
    shm::HeapPlace heap_place;
    heap_place.pes = 1;
    heap_place.begin = tables.end;
    heap_place.end = arena.slice(0) + arena.slice_bytes();
    heap_place.return_stacks = return_stacks.data();
    heaps.push_back(std::make_unique<shm::Heap>(heap_place));
    simulated->set_heap(heaps.front().get());
    boards =
        static_cast<std::byte*>(heaps.front()->allocate_permanent(kBoardBytes * static_cast<std::size_t>(layout.pes)));

    // The Port stands for a PE behind the last one, which nobody is: so all others are far.
    const auto nobody = static_cast<std::size_t>(layout.pes);
    inboxes.resize(nobody + 1);
    sleep.resize(nobody + 1);
    inboxes[nobody] = &pe_words->inbox;
    sleep[nobody] = &words->sleep[0];
    shm::PortPlace port_place;
    port_place.pe = layout.pes;
    port_place.pes = layout.pes + 1;
    port_place.host_first = layout.pes;
    port_place.host_pes = 1;
    port_place.far = simulated.get();
    port_place.inboxes = inboxes.data();
    port_place.sleep = sleep.data();
    port_place.heap = heaps.front().get();
    ports.push_back(std::make_unique<shm::Port>(port_place));
    OneSidedPlace place;
    place.simulated = true;
    place.words.push_back(&pe_words->one_sided);
    open_one_sided(std::move(place));
  }

  State(bootstrap::HostLayout the_layout, shm::Arena the_arena)
      : layout(std::move(the_layout)), arena(std::move(the_arena)) {
    words = reinterpret_cast<HostWords*>(arena.host_page());
    const bootstrap::Host& host = layout.this_host();
    inboxes.resize(static_cast<std::size_t>(layout.pes));
    sleep.resize(static_cast<std::size_t>(layout.pes));
    for (int i = 0; i < host.pes; ++i) {
      PeWords* pe_words = reinterpret_cast<PeWords*>(arena.slice(i));
      PeTables tables = tables_of(arena.slice(i), host.pes);
      pe_words->inbox.rings = tables.rings;
      pe_words->inbox.may_hold = tables.may_hold;
      const auto pe = static_cast<std::size_t>(host.first_pe + i);
      inboxes[pe] = &pe_words->inbox;
      return_stacks.push_back(&pe_words->returns);
      sleep[pe] = &words->sleep[layout.carrier_of[pe]];
    }
  }

  // A run whose processes know each other: opens the network, shares memory, starts to watch.
  static std::unique_ptr<State> of_joined(std::unique_ptr<Joined> joined, const NetOptions& options, NetWishes wishes);

  void open_one_sided(OneSidedPlace place) {
    place.layout = &layout;
    place.process = &process;
    place.arena = &arena;
    place.net = net.get();
    for (auto& port : ports) place.ports.push_back(port.get());
    one_sided = std::make_unique<OneSided>(place);
  }

  // In the process that runs: its own PEs' private parts.
  void open_pes(int rank, const NetOptions& options) {
    process = rank;
    const bootstrap::Process& own = layout.processes[static_cast<std::size_t>(rank)];
    const bootstrap::Host& host = layout.this_host();
    for (int pe = own.first_pe; pe < own.first_pe + own.pes; ++pe) {
      const int i = pe - host.first_pe;
      shm::HeapPlace heap_place;
      heap_place.pe = i;
      heap_place.pes = host.pes;
      heap_place.begin = tables_of(arena.slice(i), host.pes).end;
      heap_place.end = arena.slice(i) + arena.slice_bytes();
      heap_place.shared = arena.shared();
      heap_place.return_stacks = return_stacks.data();
      heaps.push_back(std::make_unique<shm::Heap>(heap_place));

      shm::PortPlace port_place;
      port_place.pe = pe;
      port_place.pes = layout.pes;
      port_place.host_first = host.first_pe;
      port_place.host_pes = host.pes;
      port_place.far = net.get();
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
    net_sleeper.store(own.first_pe, std::memory_order_relaxed);
    if (net) {
      std::vector<shm::Port*> all;
      for (auto& port : ports) all.push_back(port.get());
      net->set_ports(std::move(all));
    }
    OneSidedPlace place;
    place.kernel_copies = options.kernel_copies();
    for (int i = host.first_process; i < host.first_process + host.processes; ++i) {
      const int first = layout.processes[static_cast<std::size_t>(i)].first_pe - host.first_pe;
      place.words.push_back(&reinterpret_cast<PeWords*>(arena.slice(first))->one_sided);
    }
    open_one_sided(std::move(place));
  }

  // Which of `heaps` and `ports`.
  std::size_t rank_of(int pe) const {
    if (simulated != nullptr) return 0;
    return static_cast<std::size_t>(pe - layout.processes[static_cast<std::size_t>(process)].first_pe);
  }
  shm::Port* port_of(int pe) { return ports[rank_of(pe)].get(); }

  // "process 3 (PEs 6-7)"
  std::string name_of(int which) const {
    const bootstrap::Process& other = layout.processes[static_cast<std::size_t>(which)];
    std::string text = "process " + std::to_string(which) + " (" + other.describe_pes();
    if (layout.host_count() > 1) text += ", host " + std::to_string(other.host);
    return text + ")";
  }

  bool ending() const {
    return words->ended.load(std::memory_order_acquire) != 0 || words->exit.load(std::memory_order_acquire) != 0;
  }

  // A process is missed, and the run can't go on. Mostly it has said why, and the launcher, our parent or a farewell is
  // about to end us all; they get a moment. Of several hosts the first speaks.
  void end_for(int which, const std::string& what, const std::string& where, const std::string& next) {
    const int first = layout.processes[static_cast<std::size_t>(which)].host == 0 ? 1 : 0;
    end_after(layout.host <= first ? 60 : 120, [=, this] {
      if (words->told.exchange(1, std::memory_order_relaxed) != 0) return;  // one of this host says it
      fatal(what + "; this run ends", where, "", next);
    });
  }
  // On a thread of its own, for this one may be needed for that farewell. `looks`: each a fortieth of a second.
  void end_after(int looks, std::function<void()> otherwise) {
    if (ends.exchange(true, std::memory_order_relaxed)) return;
    make_thread("that waits for the end of the run", [this, looks, otherwise = std::move(otherwise)] {
      constexpr timespec kPause{0, 25'000'000};
      for (int look = 0; look < looks; ++look) {
        if (ending()) return;
        if (!joined->world->well(nullptr)) return announce(1);
        ::nanosleep(&kPause, nullptr);
      }
      otherwise();
    }).detach();
  }
  void lost(int which, const std::string& reason) {
    end_for(which, name_of(which) + " cannot be reached any more: " + reason, "network",
            "look at what that process said last, and whether its host is up");
  }

  void start_watch() {
    Watched watched;
    watched.sockets = room.sockets();
    watched.launcher_fd = joined->world->wait_fd();
    watched.launcher = [this](std::string* reason) { return joined->world->well(reason); };
    if (net) watched.net_fds = net->wait_fds();
    net_sleeps = !watched.net_fds.empty();
    watched.gone = [this](int socket) {
      // The first process of the host sees all others, they see it.
      const int first = layout.this_host().first_process;
      const int which = process == first ? first + 1 + socket : first;
      end_for(which, name_of(which) + " of this host has gone", "this host",
              "look at what that process said last; a kill -9 or a lack of memory lets it say nothing");
    };
    // Whoever had it ended said why; without a launcher nobody is left to say it but us.
    watched.ended_by_launcher = [this](const std::string& reason) {
      if (ending()) return;
      const bool says_it = !joined->watched_by_parent && words->told.exchange(1, std::memory_order_relaxed) == 0;
      if (says_it) log::warn(reason + "; " + name_of(process) + " ends with it");
      announce(1);
    };
    watched.net_ready = [this] {
      const int pe = net_sleeper.load(std::memory_order_acquire);
      port_of(pe)->wake(pe);
    };
    watched.leaving_badly = [this] {
      const int code = leaving_with.load(std::memory_order_acquire);
      if (net) net->part();
      joined->world->abort(code, name_of(process) + " ended the run with status " + std::to_string(code));
    };
    watch = std::make_unique<Watch>(std::move(watched));
  }

  void announce(int code) {
    std::uint64_t none = 0;
    // The first one stands. release: partners are the acquires of those who look.
    words->exit.compare_exchange_strong(none, kAnnounced | static_cast<std::uint32_t>(code), std::memory_order_acq_rel);
    for (int c = 0; c < layout.carrier_count(); ++c) shm::tell_news(words->sleep[c], arena.shared());
    futex_wake_all(words->generation, true);
  }

  bootstrap::HostLayout layout;
  shm::Arena arena;
  HostWords* words = nullptr;
  std::vector<shm::Inbox*> inboxes;              // by PE; null: on another host
  std::vector<shm::ReturnStack*> return_stacks;  // by PE of this host
  std::vector<shm::SleepWord*> sleep;            // by PE
  std::vector<std::unique_ptr<shm::Heap>> heaps;
  std::vector<std::unique_ptr<shm::Port>> ports;
  int process = 0;

  // Of a run that was not simply forked on one host.
  std::unique_ptr<Joined> joined;
  HostRoom room;
  std::unique_ptr<Net> net;
  std::unique_ptr<Simulated> simulated;
  std::unique_ptr<OneSided> one_sided;
  std::byte* boards = nullptr;      // of a simulated machine
  std::atomic<int> net_sleeper{0};  // the PE that went to sleep last, to be woken by the network
  bool net_sleeps = false;          // the network says when it has something
  bool explain = false;
  std::atomic<unsigned> speaker{0};
  std::atomic<int> leaving_with{1};  // the code of end_badly()
  std::atomic<bool> ends{false};     // end_after() is at work
  std::unique_ptr<Watch> watch;
};

namespace {

[[noreturn]] void refuse_start(const Status& status, const char* where = "start-up") { fatal(status.message(), where); }

// What the options say that concern all processes of a run, which must be the same for each.
std::string common_options(const bootstrap::LayoutRequest& layout, const NetOptions& net) {
  std::string text;
  const auto add = [&](const std::string& option) { text += (text.empty() ? "" : " ") + option; };
  if (layout.pes > 0) add("+p " + std::to_string(layout.pes));
  if (!layout.pe_map.empty()) add("+pemap " + layout.pe_map);
  for (int cpu : layout.excluded) add("+excludecore " + std::to_string(cpu));
  if (!net.transports.empty()) add("+transports " + net.transports);
  if (net.no_shared_memory) add("+no-shared-memory");
  return text;
}

// What the runtime has said of blocks; Net is made before it has.
BlockBytes the_block_bytes;

void describe_devices(const Net& net) {
  for (const ucx::Device& device : net.devices()) {
    log::detail("transport " + device.transport + ", " + device.name + ": " +
                (device.usable ? "usable, " : "not usable, ") + device.detail +
                (device.remedy.empty() ? "" : " (" + device.remedy + ")"));
  }
  log::detail("network: " + std::to_string(net.workers()) + (net.workers() == 1 ? " worker" : " workers") +
              " for the PEs of this process");
}

}  // namespace

std::unique_ptr<MachineLayer::State> MachineLayer::State::of_joined(std::unique_ptr<Joined> joined,
                                                                    const NetOptions& options, NetWishes wishes) {
  // The network first: its address must be known before the fence that comes with the memory.
  std::unique_ptr<Net> net;
  auto self = std::make_shared<State*>(nullptr);
  if (joined->job.layout.host_count() > 1) {
    NetPlace place;
    place.world = joined->world.get();
    place.job = &joined->job;
    place.wishes = std::move(wishes);
    place.block_bytes = &the_block_bytes;
    place.lost = [self](int process, const std::string& reason) { (*self)->lost(process, reason); };
    place.ended = [self](int) { (*self)->end_after(60, [self] { (*self)->announce(1); }); };
    Result<std::unique_ptr<Net>> opened = Net::open(place);
    if (!opened) refuse_start(opened.status(), "network");
    net = std::move(*opened);
    describe_devices(*net);
  }
  HostRoom room;
  Result<shm::Arena> arena = share_arena(*joined, room);
  if (!arena) refuse_start(arena.status());

  auto state = std::make_unique<State>(joined->job.layout, std::move(*arena));
  *self = state.get();
  state->joined = std::move(joined);
  state->room = std::move(room);
  state->net = std::move(net);
  state->explain = options.explain;
  state->open_pes(state->joined->job.process, options);
  state->start_watch();
  return state;
}

void MachineLayer::expect_start() { start_begins(); }

std::unique_ptr<MachineLayer> MachineLayer::start(int& argc, char** argv) {
  start_begins();
  Result<NetOptions> options = take_net_options(argc, argv);
  if (!options) refuse_start(options.status(), "command line");
  if (options->verbose) log::set_verbose(true);
  Result<NetWishes> wishes = wishes_of(*options);
  if (!wishes) refuse_start(wishes.status(), "command line");
  Result<std::optional<sim::Options>> sim_options = take_sim_option(argc, argv);
  if (!sim_options) refuse_start(sim_options.status(), "command line");
  Result<bootstrap::LayoutRequest> request = bootstrap::take_layout_options(argc, argv);
  if (!request) refuse_start(request.status(), "command line");
  if (*sim_options && (request->pes != -1 || request->pes_a_process != -1 || request->processes != -1)) {
    refuse_start(Status::failure("+p, +ppn and +np are about a real run; of a simulated one +sim says nodes= and ppn="),
                 "command line");
  }

  Result<std::unique_ptr<Joined>> joined =
      join_run({*request, options->apart(), sim_options->has_value(), common_options(*request, *options)});
  if (!joined) refuse_start(joined.status());
  if (*sim_options) return simulate(**sim_options);
  const bootstrap::HostLayout& layout = (*joined)->job.layout;
  if (layout.show_affinity) log::note(layout.describe_carriers());
  if (!(*joined)->world) {
    Result<std::unique_ptr<MachineLayer>> layer = start(layout, *options);
    if (!layer) refuse_start(layer.status());
    return std::move(*layer);
  }
  return std::unique_ptr<MachineLayer>(
      new MachineLayer(State::of_joined(std::move(*joined), *options, std::move(*wishes))));
}

std::unique_ptr<MachineLayer> MachineLayer::simulate(const sim::Options& options) {
  auto simulated = std::make_unique<Simulated>(options);
  Result<shm::Arena> arena = shm::Arena::map({0});
  if (!arena) refuse_start(arena.status());
  auto state = std::make_unique<State>(std::move(simulated), std::move(*arena));
  return std::unique_ptr<MachineLayer>(new MachineLayer(std::move(state)));
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout) {
  return start(layout, NetOptions());
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout,
                                                          const NetOptions& options) {
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
  state->open_pes(rank, options);
  return std::unique_ptr<MachineLayer>(new MachineLayer(std::move(state)));
}

MachineLayer::MachineLayer(std::unique_ptr<State> state)
    : state_(std::move(state)),
      net_(state_->net != nullptr || state_->simulated != nullptr),
      one_sided_(state_->one_sided.get()),
      simulated_(state_->simulated != nullptr ? &state_->simulated->machine() : nullptr) {
  current_layer.store(this, std::memory_order_release);
  start_is_over();
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
  const bootstrap::HostLayout& layout = state_->layout;
  if (pe < 0 || pe >= pes() || layout.host_of(pe) != layout.host) return Route::other_host;
  return layout.process_of[static_cast<std::size_t>(pe)] == state_->process ? Route::self_process : Route::same_host;
}

// ---- other hosts

void MachineLayer::set_block_bytes(std::size_t least, std::size_t (*block_bytes)(const void*)) {
  the_block_bytes = {least, block_bytes};
  if (state_->simulated) state_->simulated->set_block_bytes(block_bytes);
}

bool MachineLayer::progress_net(int pe, Deliver deliver, void* context) {
  if (simulated_ != nullptr) return state_->simulated->progress(deliver, context);
  return state_->net->progress(pe, deliver, context);
}

void MachineLayer::sleep(int pe, std::uint64_t deadline_ns) {
  shm::Port& port = *state_->port_of(pe);
  if (one_sided_->has_events(pe)) return;
  if (!net_) return port.sleep(deadline_ns);
  if (!state_->net->arm(pe)) return;
  if (state_->net_sleeps) {
    // Whoever sleeps last is woken; it drives, and so wakes those whose messages came.
    state_->net_sleeper.store(pe, std::memory_order_release);
    state_->watch->arm_net();
  } else {  // it has no descriptor to wait for: it is asked again and again
    deadline_ns = std::min(deadline_ns, clock::now_ns() + kLookNs);
  }
  port.sleep(deadline_ns);
  state_->net->awake();
}

void MachineLayer::enter(bootstrap::CarrierId carrier) {
  int cpu = state_->layout.carriers[static_cast<std::size_t>(carrier)].cpu;
  if (cpu < 0) return;
  Status bound = topology::pin_this_thread(cpu);
  if (!bound) log::warn(bound.message());  // slower perhaps, but it runs
}

bool MachineLayer::host_barrier() {
  HostWords& words = *state_->words;
  std::uint32_t generation = words.generation.load(std::memory_order_acquire);
  // acq_rel: what each did before the barrier comes before what any does after it; the last one collects all by its
  // fetch_add, and hands it on by the release of the generation.
  std::uint32_t arrived = words.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == static_cast<std::uint32_t>(state_->layout.carrier_count())) {
    words.arrived.store(0, std::memory_order_relaxed);
    words.generation.fetch_add(1, std::memory_order_release);
    futex_wake_all(words.generation, true);
    return true;
  }
  constexpr int kSpins = 200;
  constexpr std::uint64_t kLookNs = 20'000'000;
  for (int i = 0; words.generation.load(std::memory_order_acquire) == generation; ++i) {
    // All may have passed and one of them ended the run already, while we were not looking.
    if (exit_announced()) return words.generation.load(std::memory_order_acquire) != generation;
    if (i < kSpins && !state_->layout.oversubscribed) {
      platform::pause();
    } else {
      futex_wait(words.generation, generation, kLookNs, true);
    }
  }
  return true;
}

bool MachineLayer::barrier() {
  if (!host_barrier()) return false;
  if (state_->layout.host_count() == 1) return true;
  // One thread of the process speaks for it with the other hosts; the second barrier holds those that don't.
  const bootstrap::Process& own = state_->layout.processes[static_cast<std::size_t>(process())];
  if (state_->speaker.fetch_add(1, std::memory_order_acq_rel) % static_cast<unsigned>(own.carriers) == 0) {
    Status fence = state_->joined->world->fence();
    if (!fence) fatal(fence.message(), "barrier");
  }
  return host_barrier();
}

void MachineLayer::impersonate(int process) {
  state_->process = process;
  state_->layout.host = state_->layout.processes[static_cast<std::size_t>(process)].host;
}

std::byte* MachineLayer::board(int pe) const {
  if (simulated_ != nullptr) return state_->boards + kBoardBytes * static_cast<std::size_t>(pe);
  return reinterpret_cast<PeWords*>(state_->arena.slice(pe - state_->layout.this_host().first_pe))->board;
}

void MachineLayer::announce_exit(int code) { state_->announce(code); }

void MachineLayer::end_badly(int code) {
  state_->words->told.store(1, std::memory_order_relaxed);
  state_->leaving_with.store(code, std::memory_order_release);
  // First those elsewhere: once it is announced here, another thread may end this process.
  if (state_->watch) state_->watch->leave_badly();
  announce_exit(code);
}

void MachineLayer::announce_end() {
  state_->words->ended.store(1, std::memory_order_release);
  if (simulated_ != nullptr) simulated_->note_end();
}

void MachineLayer::leave(int pe) {
  if (simulated_ != nullptr) return state_->simulated->report();
  if (!state_->joined) return;
  announce_end();
  state_->watch->expect_ends();
  if (state_->explain && state_->net) std::fprintf(stderr, "%s", state_->net->explain().c_str());
  // Others may still need us for what they have sent, so the network is driven until all are here.
  std::atomic<bool> all_here{false};
  Status together;
  std::thread waiter = make_thread("that waits for the other processes", [this, &all_here, &together] {
    together = state_->joined->world->fence();
    if (together) state_->joined->world->finalize();
    all_here.store(true, std::memory_order_release);
  });
  while (!all_here.load(std::memory_order_acquire)) {
    const auto drop = [](void*, std::uint64_t, void*) {};
    if (!net_ || !state_->net->progress_all(pe, drop, nullptr)) ::usleep(100);
  }
  waiter.join();
  if (state_->net) {
    const Status kept = state_->net->keep_costs();
    if (!kept && is_first_of_host(*state_->joined->world)) log::warn(kept.message());
  }
  if (together) return;
  if (state_->joined->watched_by_parent) std::_Exit(1);  // who has ended the run has said why, or our parent has
  ::usleep(1'500'000);                                   // the launcher is about to say who has gone, and to end us
  fatal("not all processes came to the end of the run: " + together.message(), "CkExit",
        "one of them was killed, perhaps", "look at what the others said last");
}

bool MachineLayer::exit_announced() const { return state_->words->exit.load(std::memory_order_acquire) != 0; }

int MachineLayer::exit_code() const {
  return static_cast<int>(static_cast<std::uint32_t>(state_->words->exit.load(std::memory_order_acquire)));
}

}  // namespace periapt::machine
