#include "machine/layer/net.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "machine/gpu/device_memory.h"
#include "machine/layer/transports.h"

namespace periapt::machine {
namespace {

// When +workers says nothing there is a worker for each thread, but no more than this, ...
constexpr int kWorkersUsually = 8;
// ... and no more than keep the connections of a process below half of the 1024 files that it may usually have open,
// should all of its workers talk to all of the others'.
constexpr int kConnectionsUsually = 512;

}  // namespace

int Net::workers_for(const bootstrap::Process& process, int processes, int wanted) {
  const int most = std::min(process.pes, NetPeers::kWorkersMax);
  if (wanted != 0) return std::clamp(wanted, 1, most);
  int workers = std::min({process.carriers, kWorkersUsually, most});
  while (workers > 1 && workers * workers * (processes - 1) > kConnectionsUsually) --workers;
  return workers;
}

// ---- settings

ucx::ContextRequest request_of(const NetSettings& settings) {
  ucx::ContextRequest request;
  request.factories = settings.transports;
  request.transports = settings.wanted;
  request.option = settings.option;
  request.limits = settings.limits;
  request.device_memory = gpu::device_memory_maker({.courier = NetOptions::courier_use(settings.option)});
  if (settings.option) request.cost_file = settings.option("+cost-file");
  return request;
}

Status Net::check(const NetSettings& settings) { return ucx::check_request(request_of(settings)); }

Result<NetSettings> settings_of(const NetOptions& options) {
  NetSettings settings;
  settings.wanted = options.transports;
  settings.limits = options.limits;
  settings.workers = options.workers;
  settings.option = options.texts();
  settings.transports = options.known;
  Status sensible = Net::check(settings);
  if (!sensible) return sensible;
  return settings;
}

// ---- opening

Result<std::unique_ptr<Net>> Net::open(const NetConfig& config) {
  std::unique_ptr<Net> net(new Net(config));
  Status started = net->start();
  if (!started) return started;
  return net;
}

Status Net::start() {
  const int count = workers_for(config_.own(), peers_.processes(), config_.settings.workers);
  ucx::ContextRequest request = request_of(config_.settings);
  request.limits.unexpected_bytes /= static_cast<unsigned>(count);  // the bound is the process's
  // The real one, also when its processes are to count as hosts of their own.
  const std::vector<int>& hosts = config_.world->host_of();
  const int own = hosts[static_cast<std::size_t>(config_.world->rank())];
  request.host = config_.world->job() + "/" + std::to_string(own);
  request.one_host = std::all_of(hosts.begin(), hosts.end(), [own](int host) { return host == own; });
  request.number_on_host = config_.job->process - config_.job->layout.this_host().first_process;
  for (int i = 0; i < config_.own().carriers; ++i) {
    const auto carrier = static_cast<std::size_t>(config_.own().first_carrier + i);
    const int cpu = config_.job->layout.carriers[carrier].cpu;
    if (cpu >= 0) request.cpus.push_back(cpu);
  }
  const std::string& secret = config_.world->secret();
  request.secret.resize(secret.size());
  std::memcpy(request.secret.data(), secret.data(), secret.size());
  Result<std::unique_ptr<ucx::Context>> context = ucx::Context::create(std::move(request));
  if (!context) return context.status();
  context_ = std::move(*context);

  std::vector<NetPeers::Address> addresses;
  for (int index = 0; index < count; ++index) {
    Result<std::unique_ptr<NetWorker>> worker = NetWorker::open(config_, peers_, *context_, index, count, sleepers_);
    if (!worker) return worker.status();
    workers_.push_back(std::move(*worker));
    addresses.push_back(workers_.back()->address());
  }
  for (auto& worker : workers_) worker->meet(workers_);
  for (int i = 0; i < config_.own().pes; ++i) worker_of_.push_back(workers_[static_cast<std::size_t>(i % count)].get());
  return peers_.announce(addresses);
}

std::vector<host::FarSide*> Net::far_sides() const { return {worker_of_.begin(), worker_of_.end()}; }

// ---- one-sided access

Result<std::vector<std::byte>> Net::register_memory(std::uint64_t id, std::span<std::byte> bytes,
                                                    std::size_t key_bytes_max, ucx::MemoryKind kind) {
  return workers_[id % workers_.size()]->register_memory(id, bytes, key_bytes_max, kind);
}

void Net::forget_memory(std::uint64_t id) { workers_[id % workers_.size()]->forget_memory(id); }

void Net::access(int from, Access access) { worker_of(from).access(port_of(from), std::move(access)); }

// ---- driving

bool Net::drive_others(int pe) {
  bool moved = false;
  for (auto& worker : workers_) {
    if (worker.get() != &worker_of(pe) && worker->drive(port_of(pe))) moved = true;
  }
  return moved;
}

bool Net::progress_all(int pe) {
  const bool others = drive_others(pe);
  const auto drop = [](void*, std::uint64_t, const void*) {};
  return worker_of(pe).progress(port_of(pe), drop, nullptr) || others;
}

// Counted first: a PE that drives a worker after this one has armed it finds a sleeper.
bool Net::arm(int pe) {
  if (worker_of(pe).holds(pe) || drive_others(pe)) return false;
  sleepers_.fetch_add(1, std::memory_order_acq_rel);
  const bool armed =
      std::all_of(workers_.begin(), workers_.end(), [&](auto& worker) { return worker->arm(port_of(pe)); });
  if (!armed) awake();
  return armed;
}

void Net::awake() { sleepers_.fetch_sub(1, std::memory_order_acq_rel); }

std::vector<int> Net::wait_fds() const {
  std::vector<int> all;
  for (auto& worker : workers_) all.push_back(worker->engine().wait_fd());
  if (std::any_of(all.begin(), all.end(), [](int fd) { return fd < 0; })) return {};
  return all;
}

void Net::shutdown() {
  constexpr int kTries = 100, kTurns = 20;
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < kTries; ++i) {
    bool all = true;
    for (auto& worker : workers_) all &= worker->begin_shutdown();
    if (all) break;
    ::nanosleep(&kPause, nullptr);
  }
  // What they still send is read, or the kernel would throw the end of our connections away.
  for (int turn = 0; turn < kTurns; ++turn) {
    for (auto& worker : workers_) worker->progress_shutdown();
    ::nanosleep(&kPause, nullptr);
  }
  for (auto& worker : workers_) worker->end_shutdown();
}

// ---- what there is

std::string Net::name_of_peer(ucx::PeerId peer) const {
  const int process = peers_.process_of(peer), worker = NetPeers::index_of(peer) / peers_.processes();
  return "process " + std::to_string(process) + (worker == 0 ? "" : ", worker " + std::to_string(worker));
}

// What the engine says of "worker 7", in words of a run.
std::string Net::explain() const {
  std::string text;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_.size() > 1) text += "worker " + std::to_string(i) + " of this process:\n";
    std::istringstream lines(workers_[i]->engine().explain());
    for (std::string line; std::getline(lines, line);) {
      const std::string begin = "worker ";
      std::size_t digits = 0;
      if (line.rfind(begin, 0) == 0) {
        const ucx::PeerId peer = std::stoull(line.substr(begin.size()), &digits);
        line.replace(0, begin.size() + digits, name_of_peer(peer));
      }
      text += line + "\n";
    }
  }
  return text;
}

Status Net::keep_costs() const {
  Status all;
  for (auto& worker : workers_) {
    Status kept = worker->engine().keep_costs();
    if (all) all = std::move(kept);
  }
  return all;
}

}  // namespace periapt::machine
