#include "machine/layer/machine_layer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/topology.h"
#include "machine/bootstrap/communicator.h"
#include "machine/bootstrap/kept_memory.h"
#include "machine/bootstrap/launch.h"
#include "machine/gpu/device_memory.h"
#include "machine/layer/host_memory.h"
#include "machine/layer/job_setup.h"
#include "machine/layer/net.h"
#include "machine/layer/net_options.h"
#include "machine/layer/partition_output.h"
#include "machine/layer/run_end.h"
#include "machine/layer/shm_handshake.h"
#include "machine/layer/simulated.h"
#include "machine/layer/watch.h"

namespace periapt::machine {
namespace {

// A network that can't say when it has something is asked again so often.
constexpr std::uint64_t kLookNs = 100'000;

std::atomic<MachineLayer*> current_layer{nullptr};

// Of the processes of a host that find the same wrong, the one that says it.
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
  State(bootstrap::HostLayout the_layout, host::Arena arena)
      : layout(std::move(the_layout)), memory(layout, std::move(arena)) {}

  // A simulated machine.
  State(std::unique_ptr<Simulated> the_simulated, host::Arena arena)
      : layout(the_simulated->layout()),
        memory(layout, std::move(arena), *the_simulated),
        simulated(std::move(the_simulated)) {
    simulated->set_heap(&memory.heap(0));
    OneSidedConfig config;
    config.simulated = true;
    config.device_memory = gpu::device_memory_maker({});  // no time passes that a courier would save
    open_one_sided(std::move(config));
  }

  // A run whose processes know each other: opens the network, shares memory, starts to watch.
  static std::unique_ptr<State> of_job(std::unique_ptr<Job> job, bootstrap::Partitions partitions,
                                       const NetOptions& options, NetSettings settings);

  // In the process that runs.
  void open_pes(int rank, const NetOptions& options) {
    process = rank;
    memory.open(rank, origin, net ? net->far_sides() : std::vector<host::FarSide*>());
    net_sleeper.store(own().first_pe - origin, std::memory_order_relaxed);
    if (net) net->set_ports(memory.ports());
    OneSidedConfig config;
    config.kernel_copies = options.kernel_copies();
    config.device_memory = gpu::device_memory_maker({.courier = options.gpu_courier()});
    open_one_sided(std::move(config));
  }

  void open_one_sided(OneSidedConfig config) {
    config.layout = &layout;
    config.process = &process;
    config.origin = origin;
    config.arena = &memory.arena();
    config.net = net.get();
    config.ports = memory.ports();
    config.words = memory.one_sided_words();
    one_sided = std::make_unique<OneSided>(config);
  }

  void start_watch() {
    WatchConfig watched;
    end->watch(watched, handshake.sockets());
    if (net) watched.net_fds = net->wait_fds();
    net_sleeps = !watched.net_fds.empty();
    watched.net_ready = [this] {
      const int pe = net_sleeper.load(std::memory_order_acquire);
      memory.port(pe).wake(pe);
    };
    watch = std::make_unique<Watch>(std::move(watched));
  }

  // A run is started again with another number of PEs by the process that is alone, by the parent that forked it, or by
  // its launcher.
  bool is_forked() const { return (!job && layout.process_count() > 1) || (job && job->watched_by_parent); }
  bootstrap::World* launcher() const { return job ? job->world.get() : world_of_one.get(); }
  bool starts_itself() const {
    return !is_forked() && launcher() != nullptr && launcher()->starts_again() == bootstrap::StartsAgain::itself;
  }

  const bootstrap::Process& own() const { return layout.processes[static_cast<std::size_t>(process)]; }

  void divide(bootstrap::Partitions into, int rank) {
    partitions = std::move(into);
    partition = partitions.of_process(rank);
    const int first = partitions.first_process(partition);
    origin = layout.processes[static_cast<std::size_t>(first)].first_pe;
    if (partitions.count() > 1) part = bootstrap::layout_of_partition(layout, partitions, partition);
  }
  const bootstrap::HostLayout& seen() const { return partitions.count() > 1 ? part : layout; }

  bootstrap::HostLayout layout;  // of the run
  HostMemory memory;
  int process = 0;  // of the run
  bootstrap::Partitions partitions;
  int partition = 0;           // of this process
  int origin = 0;              // of the numbers of its PEs
  bootstrap::HostLayout part;  // its own; not used where there is one

  // Of a run that was not simply forked on one host.
  std::unique_ptr<Job> job;
  std::unique_ptr<bootstrap::World> world_of_one;  // where there is no job
  const std::vector<int> cpus_at_start = topology::allowed_cpus();
  ShmHandshake handshake;
  std::unique_ptr<Net> net;
  std::unique_ptr<Simulated> simulated;
  std::unique_ptr<OneSided> one_sided;
  std::atomic<int> net_sleeper{0};  // the PE that went to sleep last, to be woken by the network
  bool net_sleeps = false;          // the network says when it has something
  bool explain = false;
  std::atomic<unsigned> speaker{0};
  std::unique_ptr<RunEnd> end;
  std::unique_ptr<Watch> watch;
};

namespace {

[[noreturn]] void refuse_start(const Status& status, const char* where = "start-up") { fatal(status.message(), where); }

// What the options say that concern all processes of a run, which must be the same for each.
std::string common_options(const bootstrap::LayoutRequest& layout, const bootstrap::PartitionRequest& partitions,
                           const NetOptions& net) {
  std::string text;
  const auto add = [&](const std::string& option) { text += (text.empty() ? "" : " ") + option; };
  if (layout.pes > 0) add("+p " + std::to_string(layout.pes));
  if (!layout.pe_map.empty()) add("+pemap " + layout.pe_map);
  for (int cpu : layout.excluded) add("+excludecore " + std::to_string(cpu));
  if (!net.transports.empty()) add("+transports " + net.transports);
  if (net.no_shared_memory) add("+no-shared-memory");
  if (partitions.wanted()) add(partitions.text());
  return text;
}

// What the runtime has said of what it sends; Net is made before it has.
WireFormat the_wire_format;

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

std::unique_ptr<MachineLayer::State> MachineLayer::State::of_job(std::unique_ptr<Job> job,
                                                                 bootstrap::Partitions partitions,
                                                                 const NetOptions& options, NetSettings settings) {
  // The network first: its address must be known before the fence that comes with the memory.
  std::unique_ptr<Net> net;
  auto self = std::make_shared<State*>(nullptr);
  if (job->job_layout.layout.host_count() > 1) {
    NetConfig config;
    config.world = job->world.get();
    config.job = &job->job_layout;
    config.settings = std::move(settings);
    config.format = &the_wire_format;
    config.lost = [self](int process, const std::string& reason) { (*self)->end->lost(process, reason); };
    config.ended = [self](int) { (*self)->end->disconnected(); };
    const int first = partitions.first_process(partitions.of_process(job->job_layout.process));
    config.origin = job->job_layout.layout.processes[static_cast<std::size_t>(first)].first_pe;
    Result<std::unique_ptr<Net>> opened = Net::open(config);
    if (!opened) refuse_start(opened.status(), "network");
    net = std::move(*opened);
    describe_devices(*net);
  }
  ShmHandshake handshake;
  Result<host::Arena> arena = share_arena(*job, handshake);
  if (!arena) refuse_start(arena.status());

  auto state = std::make_unique<State>(job->job_layout.layout, std::move(*arena));
  *self = state.get();
  state->job = std::move(job);
  state->handshake = std::move(handshake);
  state->net = std::move(net);
  state->explain = options.explain;
  const int process = state->job->job_layout.process;
  state->divide(std::move(partitions), process);
  state->end = std::make_unique<RunEnd>(state->layout, process, state->memory, *state->job, state->net.get());
  state->open_pes(process, options);
  state->start_watch();
  return state;
}

void MachineLayer::expect_start() { start_begins(); }

std::unique_ptr<MachineLayer> MachineLayer::start(int& argc, char** argv) {
  start_begins();
  Result<NetOptions> options = take_net_options(argc, argv);
  if (!options) refuse_start(options.status(), "command line");
  if (options->verbose) log::set_verbose(true);
  Result<NetSettings> settings = settings_of(*options);
  if (!settings) refuse_start(settings.status(), "command line");
  Result<std::optional<sim::Options>> sim_options = take_sim_option(argc, argv);
  if (!sim_options) refuse_start(sim_options.status(), "command line");
  Result<bootstrap::LayoutRequest> request = bootstrap::take_layout_options(argc, argv);
  if (!request) refuse_start(request.status(), "command line");
  bootstrap::PartitionRequest parts = default_partitions();
  const Status parts_taken = bootstrap::take_partition_options(argc, argv, parts);
  if (!parts_taken) refuse_start(parts_taken, "command line");
  Result<std::string> output_path = PartitionOutput::take_option(argc, argv);
  if (!output_path) refuse_start(output_path.status(), "command line");
  if (*sim_options && parts.wanted())
    refuse_start(Status::failure("a simulated machine (+sim) has no partitions"), "command line");
  request->process_a_pe = parts.wanted();
  if (*sim_options && (request->pes != -1 || request->pes_a_process != -1 || request->processes != -1)) {
    refuse_start(Status::failure("+p, +ppn and +np are about a real run; of a simulated one +sim says nodes= and ppn="),
                 "command line");
  }

  Result<std::unique_ptr<Job>> job =
      set_up_job({*request, options->apart(), sim_options->has_value(), common_options(*request, parts, *options)});
  if (!job) refuse_start(job.status());
  if (*sim_options) return simulate(**sim_options);
  const bootstrap::HostLayout& layout = (*job)->job_layout.layout;
  Result<bootstrap::Partitions> partitions(bootstrap::Partitions(layout.process_count()));
  if (parts.wanted()) partitions = bootstrap::Partitions::resolve(parts, layout.process_count());
  if (!partitions) refuse_start(partitions.status(), "command line");
  const bool forks = !(*job)->world;
  const int own = forks ? 0 : partitions->of_process((*job)->job_layout.process);
  Result<PartitionOutput> output = PartitionOutput::open(*output_path, own, forks ? partitions->count() : 1);
  if (!output) refuse_start(output.status(), "command line");
  if (layout.show_affinity) log::note(layout.describe_carriers());
  if (forks) {
    Result<std::unique_ptr<MachineLayer>> layer = start(layout, *partitions, *options);
    if (!layer) refuse_start(layer.status());
    (*layer)->state_->world_of_one = std::move((*job)->world_of_one);
    output->redirect((*layer)->partition());
    return std::move(*layer);
  }
  output->redirect(own);
  return std::unique_ptr<MachineLayer>(
      new MachineLayer(State::of_job(std::move(*job), std::move(*partitions), *options, std::move(*settings))));
}

std::unique_ptr<MachineLayer> MachineLayer::simulate(const sim::Options& options) {
  auto simulated = std::make_unique<Simulated>(options);
  Result<host::Arena> arena = host::Arena::map({0});
  if (!arena) refuse_start(arena.status());
  auto state = std::make_unique<State>(std::move(simulated), std::move(*arena));
  return std::unique_ptr<MachineLayer>(new MachineLayer(std::move(state)));
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout) {
  return start(layout, NetOptions());
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout,
                                                          const NetOptions& options) {
  return start(layout, bootstrap::Partitions(layout.process_count()), options);
}

Result<std::unique_ptr<MachineLayer>> MachineLayer::start(const bootstrap::HostLayout& layout,
                                                          const bootstrap::Partitions& partitions,
                                                          const NetOptions& options) {
  Result<host::Arena> arena = host::Arena::map(layout.process_of);
  if (!arena) return arena.status();
  auto state = std::make_unique<State>(layout, std::move(*arena));
  int rank = 0;
  if (layout.process_count() > 1) {
    HostControlBlock* control = &state->memory.control();
    rank = bootstrap::launch_processes(
        state->layout, {[control] { return control->exit_announced(); }, [control] { return control->has_ended(); }});
  } else {
    bootstrap::KeptMemory::adopt_own();
  }
  state->divide(partitions, rank);
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

bootstrap::PartitionRequest& MachineLayer::default_partitions() {
  static bootstrap::PartitionRequest request;
  return request;
}

const bootstrap::HostLayout& MachineLayer::layout() const { return state_->seen(); }
const bootstrap::HostLayout& MachineLayer::whole_run() const { return state_->layout; }
const bootstrap::Partitions& MachineLayer::partitions() const { return state_->partitions; }
int MachineLayer::partition() const { return state_->partition; }
int MachineLayer::origin() const { return state_->origin; }
int MachineLayer::process() const { return state_->process - state_->partitions.first_process(state_->partition); }
int MachineLayer::pes() const { return state_->seen().pes; }
int MachineLayer::first_pe() const { return state_->own().first_pe - state_->origin; }
int MachineLayer::own_pes() const { return state_->own().pes; }
host::Port& MachineLayer::port(int pe) { return state_->memory.port(pe); }
host::Heap& MachineLayer::heap(int pe) { return state_->memory.heap(pe); }
const host::Arena& MachineLayer::arena() const { return state_->memory.arena(); }
std::byte* MachineLayer::pe_page(int pe) const { return state_->memory.pe_page(pe); }

Route MachineLayer::route(int pe) const {
  const bootstrap::HostLayout& layout = state_->layout;
  pe += state_->origin;
  if (pe < 0 || pe >= layout.pes || layout.host_of(pe) != layout.host) return Route::other_host;
  return layout.process_of[static_cast<std::size_t>(pe)] == state_->process ? Route::self_process : Route::same_host;
}

// ---- other hosts

void MachineLayer::set_wire_format(const WireFormat& format) {
  the_wire_format = format;
  if (state_->simulated) state_->simulated->set_block_bytes(format.block_bytes);
}

void MachineLayer::sleep(int pe, std::uint64_t deadline_ns) {
  host::Port& port = state_->memory.port(pe);
  if (one_sided_->has_events(pe)) return;
  if (!net_) return port.sleep(deadline_ns);
  if (!state_->net->arm(pe)) return;
  if (state_->net_sleeps) {
    // The PE that sleeps last is woken; it drives, and so wakes those whose messages came.
    state_->net_sleeper.store(pe, std::memory_order_release);
    state_->watch->arm_net();
  } else {  // it has no descriptor to wait for: it is asked again and again
    deadline_ns = std::min(deadline_ns, clock::now_ns() + kLookNs);
  }
  port.sleep(deadline_ns);
  state_->net->awake();
}

void MachineLayer::enter(bootstrap::CarrierId carrier) {
  int cpu = state_->seen().carriers[static_cast<std::size_t>(carrier)].cpu;
  if (cpu < 0) return;
  Status bound = topology::pin_this_thread(cpu);
  if (!bound) log::warn(bound.message());  // slower perhaps, but it runs
}

bool MachineLayer::host_barrier() {
  return state_->memory.control().barrier(state_->layout.carrier_count(), state_->layout.oversubscribed);
}

bool MachineLayer::barrier() {
  if (!host_barrier()) return false;
  if (state_->layout.host_count() == 1) return true;
  // One thread of the process speaks for it with the other hosts; the second barrier holds those that don't.
  const auto carriers = static_cast<unsigned>(state_->own().carriers);
  if (state_->speaker.fetch_add(1, std::memory_order_acq_rel) % carriers == 0) {
    Status fence = state_->job->world->fence();
    if (!fence) fatal(fence.message(), "barrier");
  }
  return host_barrier();
}

void MachineLayer::set_sim_context(int process) {
  state_->process = process;
  state_->layout.host = state_->layout.processes[static_cast<std::size_t>(process)].host;
}

void MachineLayer::announce_exit(int code) { state_->memory.announce_exit(code); }

void MachineLayer::end_badly(int code) {
  state_->memory.control().note_told();
  if (state_->end) state_->end->leave_with(code);
  // First those elsewhere: once it is announced here, another thread may end this process.
  if (state_->watch) state_->watch->leave_badly();
  announce_exit(code);
}

void MachineLayer::announce_end() {
  if (state_->partitions.count() > 1) return;
  state_->memory.control().note_end();
  if (simulated_ != nullptr) simulated_->note_end();
}

template <class Wait>
void MachineLayer::drive_while(int pe, Wait&& wait) {
  if (!net_ && state_->partitions.count() == 1) return wait();  // there is nothing to drive
  std::atomic<bool> done{false};
  std::thread waiter = make_thread("that waits for the other processes", [&] {
    wait();
    done.store(true, std::memory_order_release);
  });
  while (!done.load(std::memory_order_acquire)) {
    if (!net_ || !state_->net->progress_all(pe)) ::usleep(100);
    // Only while other partitions are at work: of an end that is near, the waiter hears.
    if (exit_announced() && !state_->memory.control().has_ended()) ::_exit(exit_code());
  }
  waiter.join();
}

// Until then a process that is missed is a fault, and one that leaves would be missed.
void MachineLayer::wait_for_partitions(int pe) {
  HostControlBlock& control = state_->memory.control();
  control.note_left();
  drive_while(pe, [this, &control] {
    if (state_->job) return static_cast<void>(state_->job->world->fence());  // that it fails shows in the next one
    while (control.left() < state_->layout.process_count() && !control.exit_announced()) ::usleep(1000);
  });
  if (exit_announced()) ::_exit(exit_code());
  control.note_end();
}

void MachineLayer::leave(int pe) {
  if (simulated_ != nullptr) {
    simulated_->note_end();  // of programs that have not said it: those on Converse alone
    return state_->simulated->report();
  }
  if (state_->partitions.count() > 1) wait_for_partitions(pe);
  if (!state_->job && state_->world_of_one) state_->world_of_one->finalize();
  if (!state_->job) return;
  state_->memory.control().note_end();
  state_->watch->expect_ends();
  if (state_->explain && state_->net) std::fprintf(stderr, "%s", state_->net->explain().c_str());
  // Others may still need us for what they have sent, so the network is driven until all are here.
  Status together;
  drive_while(pe, [this, &together] {
    together = state_->job->world->fence();
    if (together) state_->job->world->finalize();
  });
  if (state_->net) {
    const Status kept = state_->net->keep_costs();
    if (!kept && is_first_of_host(*state_->job->world)) log::warn(kept.message());
  }
  if (together) return;
  if (state_->job->watched_by_parent)
    std::_Exit(1);      // why was said by the process that ended the run, or by our parent
  ::usleep(1'500'000);  // the launcher is about to name the lost process, and to end us
  fatal("not all processes came to the end of the run: " + together.message(), "CkExit",
        "one of them was killed, perhaps", "look at what the others said last");
}

// ---- another number of PEs

Status MachineLayer::may_be_resized() const {
  if (simulated_ != nullptr) return Status::failure("the machine is simulated (+sim)");
  if (state_->partitions.count() > 1) return Status::failure("it has partitions");
  if (bootstrap::runs_on_communicator()) return Status::failure("MPI has started its processes");
  if (state_->is_forked() && bootstrap::KeptMemory::of_run() == nullptr)
    return Status::failure(bootstrap::KeptMemory::why_none());
  if (resizes_in_memory()) return Status();
  if (state_->launcher() != nullptr && state_->launcher()->starts_again() == bootstrap::StartsAgain::launcher)
    return Status();
  return Status::failure("what started its processes cannot start them again; charmrun can" +
                         (state_->launcher() != nullptr ? " (" + state_->launcher()->describe() + ")" : std::string()));
}

bool MachineLayer::resizes_in_memory() const { return state_->is_forked() || state_->starts_itself(); }

// Processes that were forked have it from their parent.
Status MachineLayer::keep_memory_for_resize() {
  return state_->is_forked() ? Status() : bootstrap::KeptMemory::open_here();
}

Status MachineLayer::resize(const bootstrap::ResizedStart& start) {
  if (!resizes_in_memory()) return state_->launcher()->start_again(start.text());
  return bootstrap::KeptMemory::of_run()->resize(start.text());
}

void MachineLayer::checkpoint_begins(const std::string& folder) {
  if (state_->launcher() != nullptr && state_->partitions.count() == 1) state_->launcher()->checkpoint_begins(folder);
}

void MachineLayer::start_again_if_resized() {
  bootstrap::KeptMemory* const kept = bootstrap::KeptMemory::of_run();
  if (kept == nullptr || !kept->is_resizing() || !state_->starts_itself()) return;
  // This thread may be bound to a cpu, which the new program would take for all that it may use.
  const Status freed = topology::pin_this_thread(state_->cpus_at_start);
  if (!freed) log::warn(freed.message());
  fatal(kept->start_again().message(), "another number of PEs");
}

bool MachineLayer::exit_announced() const { return state_->memory.control().exit_announced(); }
int MachineLayer::exit_code() const { return state_->memory.control().exit_code(); }

}  // namespace periapt::machine
