#include "machine/layer/job_setup.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "base/log.h"
#include "base/output.h"
#include "base/program.h"
#include "machine/bootstrap/communicator.h"
#include "machine/bootstrap/launch.h"
#include "machine/bootstrap/watchdog.h"
#include "machine/bootstrap/wire.h"

namespace periapt::machine {
namespace {

// A name for sockets of this run that other users can't guess and take before it does: any user of the host may bind
// any name. It tells 8 bytes about the 32 of the secret.
std::string own_name(const bootstrap::World& world, const std::string& purpose) {
  char number[17];
  std::snprintf(number, sizeof number, "%016zx", std::hash<std::string>()(purpose + world.secret()));
  return "periapt-" + purpose + "-" + number;
}

// The name under which the processes of a host meet.
std::string handshake_name(const bootstrap::World& world, const bootstrap::HostLayout& layout) {
  return own_name(world, "host" + std::to_string(layout.host));
}

// The member of every process, told and heard.
Result<std::vector<bootstrap::Member>> meet(bootstrap::World& world, const bootstrap::Member& own, bool apart) {
  Status told = world.put("member", own.encode());
  if (told) told = world.fence();
  if (!told) return told;
  std::vector<bootstrap::Member> members;
  for (int rank = 0; rank < world.size(); ++rank) {
    Result<std::string> text = world.get(rank, "member");
    if (!text) return text.status();
    Result<bootstrap::Member> member = bootstrap::Member::decode(*text);
    if (!member) return member.status();
    member->host = apart ? rank : world.host_of()[static_cast<std::size_t>(rank)];
    members.push_back(std::move(*member));
  }
  return members;
}

// How far start-up has come, for a fatal error: a launcher is looked for, did not answer as it should, or was found;
// all processes have met, and agree.
enum class Stage { over, begun, looking, unanswered, found, met, agreed };
Stage stage = Stage::over;
bootstrap::World* world_found = nullptr;

// Processes of a host that find the same wrong later on, each by itself (a limit, a device that is not there): the
// first one has the right to say it. It is held as long as it lives; a name is the one thing they can have only once.
bool speaks_for_its_host(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a first byte of 0: in no file system
  int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0 && ::close(STDIN_FILENO) == 0)  // too many are open, perhaps; we read nothing any more
    socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool first = socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0;
  // The process that has said it has gone already, or is about to have the launcher end us; that news may still be on
  // its way.
  ::usleep(100'000);
  if (world_found != nullptr && !world_found->well(nullptr)) return false;
  if (!first) ::sleep(2);
  return first;
}

// While a launcher is looked for, and does not answer as it should: what its processes on a host have in common. Empty:
// there is none.
std::string name_from_environment() {
  std::string job;
  for (const char* name : {"PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    const char* value = std::getenv(name);
    const bool own = std::strcmp(name, "PMI_FD") == 0;  // a number of this process's
    if (value != nullptr) job += std::string(name) + (own ? "" : value) + " ";
  }
  if (job.empty()) return job;
  job += std::to_string(::geteuid()) + " " + std::to_string(::getppid());
  return "periapt-told-" + std::to_string(std::hash<std::string>()(job));
}

// A fatal error before this process has met the others, which wait for it, or make the same mistake. True: it is
// printed here.
bool speaks_for_all(const Complaint& complaint) {
  if (stage == Stage::agreed) return speaks_for_its_host(own_name(*world_found, "told"));
  if (stage == Stage::begun) {
    stage = Stage::looking;
    Result<std::unique_ptr<bootstrap::World>> found = bootstrap::World::find();
    if (found && (*found)->size() == 1) return true;
    stage = found ? Stage::found : Stage::unanswered;
    if (found) world_found = found->release();
  }
  if (stage == Stage::unanswered) {
    const std::string name = name_from_environment();
    return name.empty() || speaks_for_its_host(name);
  }
  if (stage != Stage::found) return true;
  bootstrap::Member own;
  own.refusal = complaint.what;
  Result<std::vector<bootstrap::Member>> members = meet(*world_found, own, false);
  if (!members) return true;
  stage = Stage::met;
  return bootstrap::speaker_of(*members) == world_found->rank();
}

// After it: together, if all know of it.
void leave_start(int code) {
  if (stage == Stage::unanswered) return bootstrap::let_output_through();
  if (world_found == nullptr) return;
  if (stage == Stage::met && world_found->fence()) return world_found->finalize();
  world_found->abort(code, {});  // it has been said
}

// All have found the same; each comes here.
[[noreturn]] void refuse_together(const Status& status, int speaker) {
  if (world_found->rank() == speaker) fatal(status.message(), "start-up");
  leave_start(1);
  std::_Exit(1);
}

// Another process has left, or the launcher has. Mostly the one has said why, and the other is about to end this
// process; they get a moment.
void let_launcher_end_us() {
  constexpr timespec kPause{0, 25'000'000};
  for (int look = 0; look < 60 && world_found->well(nullptr); ++look) ::nanosleep(&kPause, nullptr);
}

// That before all had met. The world stays for the fatal error that follows.
Status lost_others(std::unique_ptr<Job> job, const Status& status) {
  static_cast<void>(job.release());
  stage = Stage::agreed;
  let_launcher_end_us();
  return status;
}

// As the launcher started us.
bootstrap::Member member_of_launcher(const JobRequest& request, int size) {
  Result<int> pes = bootstrap::pes_of_member(request.layout, size);
  bootstrap::Member own;
  if (request.alone) {
    own.refusal = "the launcher started " + std::to_string(size) +
                  " processes, but a simulated machine (+sim) is in one: start the program without a launcher";
  } else if (!pes) {
    own.refusal = pes.message();
  }
  if (!own.refusal.empty()) return own;
  own.program = program::build() + " " + program::path();
  own.options = request.options;
  own.pes = *pes;
  own.usable = bootstrap::find_usable_cpus(0);
  std::sort(own.usable.cpus.begin(), own.usable.cpus.end());
  return own;
}

// Forks the processes of the layout, which share no memory but the board where they meet; returns in each of them.
Result<bootstrap::Member> fork_apart(const bootstrap::HostLayout& layout, const bootstrap::UsableCpus& usable, Job& job,
                                     std::unique_ptr<bootstrap::World>& world) {
  Result<bootstrap::LocalBoard> made = bootstrap::LocalBoard::make(layout.process_count());
  if (!made) return made.status();
  job.board = std::make_unique<bootstrap::LocalBoard>(*made);
  job.watched_by_parent = true;
  const bootstrap::LocalBoard& board = *job.board;
  const int rank =
      bootstrap::launch_processes(layout, {[&board] { return board.aborted(); }, [&board] { return board.ended(); }});
  world = board.world(rank);
  return bootstrap::forked_member(layout, rank, usable);
}

}  // namespace

void start_begins() {
  output::keep_standard_files();
  stage = Stage::begun;
  set_speak_hook(speaks_for_all);
  set_fatal_exit_hook(leave_start);
}

void start_is_over() {
  stage = Stage::over;
  bootstrap::startup_is_over();
  world_found = nullptr;
  set_speak_hook(nullptr);
}

Result<std::unique_ptr<Job>> set_up_job(const JobRequest& request) {
  stage = Stage::looking;
  Result<std::unique_ptr<bootstrap::World>> found = bootstrap::World::find();
  if (!found) {
    stage = Stage::unanswered;
    return found.status();
  }
  std::unique_ptr<bootstrap::World> world = std::move(*found);
  log::detail("launcher: " + world->describe());
  for (const std::string& line : world->passed_over()) log::detail("launcher, not used: " + line);

  auto job = std::make_unique<Job>();
  Result<bootstrap::Member> own = Status();
  if (world->size() > 1) {
    own = member_of_launcher(request, world->size());
  } else if (request.alone) {
    return job;
  } else {
    const bootstrap::UsableCpus usable = bootstrap::find_usable_cpus(request.layout.pes);
    Result<bootstrap::HostLayout> layout = bootstrap::resolve_layout(request.layout, usable);
    if (!layout) return layout.status();
    if (layout->process_count() > 1 && bootstrap::runs_on_communicator()) {
      return Status::failure("MPI has started the processes of this run, one; +p, +ppn and +np make it " +
                             std::to_string(layout->process_count()) + ". Start as many with mpirun");
    }
    if (layout->process_count() == 1 || !request.apart) {
      job->world_of_one = std::move(world);
      job->job_layout.layout = std::move(*layout);
      return job;
    }
    own = fork_apart(*layout, usable, *job, world);
  }
  if (!own) return own.status();

  job->world = std::make_unique<SharedWorld>(std::move(world));
  world_found = job->world.get();
  stage = Stage::found;
  Result<std::vector<bootstrap::Member>> members = meet(*job->world, *own, request.apart);
  if (!members) return lost_others(std::move(job), members.status());
  stage = Stage::met;
  Result<bootstrap::JobLayout> layout = bootstrap::resolve_job(request.layout, *members, job->world->rank());
  if (!layout) refuse_together(layout.status(), bootstrap::speaker_of(*members));
  stage = Stage::agreed;
  job->job_layout = std::move(*layout);
  return job;
}

Result<host::Arena> share_arena(Job& job, ShmHandshake& handshake) {
  bootstrap::World& world = *job.world;
  const bootstrap::JobLayout& placed = job.job_layout;
  const bootstrap::HostLayout& layout = placed.layout;
  const bootstrap::Host& host = layout.this_host();
  std::vector<int> process_of(layout.process_of.begin() + host.first_pe,
                              layout.process_of.begin() + host.first_pe + host.pes);
  if (host.processes == 1) {
    Status fence = world.fence();
    if (!fence) return fence;
    return host::Arena::map(process_of);
  }
  const bool first = placed.process == host.first_process;
  if (first) {
    Result<ShmHandshake> opened = ShmHandshake::listen(handshake_name(world, layout));
    if (!opened) return opened.status();
    handshake = std::move(*opened);
  }
  Status fence = world.fence();  // the handshake has its listener, and network addresses are known
  if (!fence) return fence;
  host::ArenaFiles files;
  Result<host::Arena> arena = Status();
  if (first) {
    arena = host::Arena::create(process_of, files);
    if (arena) {
      Status inside = handshake.accept(host.processes - 1, files, world.secret());
      if (!inside) arena = inside;
    }
  } else {
    Result<ShmHandshake> connected = ShmHandshake::connect(
        handshake_name(world, layout), placed.process - host.first_process - 1, world.secret(), files);
    if (!connected) {
      let_launcher_end_us();
      return Status::failure(connected.message() + " (process " + std::to_string(host.first_process) +
                             ": what did it say last? Was it killed?)");
    }
    handshake = std::move(*connected);
    arena = host::Arena::join(process_of, files);
  }
  for (int file : files.files) ::close(file);
  return arena;
}

}  // namespace periapt::machine
