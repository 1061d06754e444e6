#include "machine/layer/joining.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "machine/bootstrap/launch.h"

namespace periapt::machine {
namespace {

// The name under which the processes of a host meet.
std::string room_name(const bootstrap::World& world, const bootstrap::HostLayout& layout) {
  return "periapt-" + world.job() + "-host" + std::to_string(layout.host) + "-uid" + std::to_string(::geteuid());
}

// Everybody's member, told and heard.
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

// As the launcher started us.
bootstrap::Member member_of_launcher(const bootstrap::LayoutRequest& request, int size) {
  Result<int> pes = bootstrap::pes_of_member(request, size);
  bootstrap::Member own;
  if (!pes) {
    own.refusal = pes.message();
    return own;
  }
  own.pes = *pes;
  own.machine = bootstrap::look_at_machine(0);
  std::sort(own.machine.cpus.begin(), own.machine.cpus.end());
  return own;
}

// Forks the processes of the layout, which share no memory but the board where they meet; returns in each of them.
Result<bootstrap::Member> fork_apart(const bootstrap::HostLayout& layout, Joined& joined,
                                     std::unique_ptr<bootstrap::World>& world) {
  Result<bootstrap::LocalBoard> made = bootstrap::LocalBoard::make(layout.process_count());
  if (!made) return made.status();
  joined.board = std::make_unique<bootstrap::LocalBoard>(*made);
  joined.watched_by_parent = true;
  const bootstrap::LocalBoard& board = *joined.board;
  const int rank =
      bootstrap::launch_processes(layout, {[&board] { return board.aborted(); }, [&board] { return board.ended(); }});
  world = board.world(rank);
  const bootstrap::Process& mine = layout.processes[static_cast<std::size_t>(rank)];
  bootstrap::Member own;
  own.pes = mine.pes;
  for (int c = mine.first_carrier; c < mine.first_carrier + mine.carriers; ++c) {
    const int cpu = layout.carriers[static_cast<std::size_t>(c)].cpu;
    own.machine.cpus.push_back(cpu >= 0 ? cpu : 0);
  }
  own.crowded = layout.oversubscribed;
  return own;
}

}  // namespace

Result<std::unique_ptr<Joined>> join_run(const bootstrap::LayoutRequest& request, bool apart) {
  Result<std::unique_ptr<bootstrap::World>> found = bootstrap::World::find();
  if (!found) return found.status();
  std::unique_ptr<bootstrap::World> world = std::move(*found);
  log::detail("launcher: " + world->describe());
  for (const std::string& line : world->passed_over()) log::detail("launcher, not used: " + line);

  auto joined = std::make_unique<Joined>();
  Result<bootstrap::Member> own = Status();
  if (world->size() > 1) {
    own = member_of_launcher(request, world->size());
  } else {
    Result<bootstrap::HostLayout> layout =
        bootstrap::resolve_layout(request, bootstrap::look_at_machine(request.pes));
    if (!layout) return layout.status();
    if (layout->process_count() == 1 || !apart) {
      joined->job.layout = std::move(*layout);
      return joined;
    }
    own = fork_apart(*layout, *joined, world);
  }
  if (!own) return own.status();

  joined->world = std::make_unique<SharedWorld>(std::move(world));
  Result<std::vector<bootstrap::Member>> members = meet(*joined->world, *own, apart);
  if (!members) return members.status();
  Result<bootstrap::JobLayout> job = bootstrap::resolve_job(request, *members, joined->world->rank());
  if (!job) {
    joined->agreed = job.status();
    joined->world->finalize();
    return joined;
  }
  joined->job = std::move(*job);
  return joined;
}

Result<shm::Arena> share_arena(Joined& joined, HostRoom& room) {
  bootstrap::World& world = *joined.world;
  const bootstrap::JobLayout& job = joined.job;
  const bootstrap::HostLayout& layout = job.layout;
  const bootstrap::Host& host = layout.this_host();
  std::vector<int> process_of(layout.process_of.begin() + host.first_pe,
                              layout.process_of.begin() + host.first_pe + host.pes);
  if (host.processes == 1) {
    Status fence = world.fence();
    if (!fence) return fence;
    return shm::Arena::map(process_of);
  }
  const bool first = job.process == host.first_process;
  if (first) {
    Result<HostRoom> opened = HostRoom::open(room_name(world, layout));
    if (!opened) return opened.status();
    room = std::move(*opened);
  }
  Status fence = world.fence();  // the room is open, and network addresses are known
  if (!fence) return fence;
  shm::ArenaFiles files;
  Result<shm::Arena> arena = Status();
  if (first) {
    arena = shm::Arena::create(process_of, files);
    if (arena) {
      Status inside = room.let_in(host.processes - 1, files, world.secret());
      if (!inside) arena = inside;
    }
  } else {
    Result<HostRoom> entered =
        HostRoom::enter(room_name(world, layout), job.process - host.first_process - 1, world.secret(), files);
    if (!entered) return entered.status();
    room = std::move(*entered);
    arena = shm::Arena::join(process_of, files);
  }
  for (int file : files.files) ::close(file);
  return arena;
}

}  // namespace periapt::machine
