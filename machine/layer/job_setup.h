// How the processes of a run come to know each other, from the launcher or from our own fork, and then share memory
// with those of their host. What they know then is the same in all of them.
#pragma once

#include <memory>

#include "base/status.h"
#include "machine/bootstrap/job_layout.h"
#include "machine/bootstrap/local_world.h"
#include "machine/host/arena.h"
#include "machine/layer/shared_world.h"
#include "machine/layer/shm_handshake.h"

namespace periapt::machine {

struct Job {
  bootstrap::JobLayout job_layout;
  std::unique_ptr<SharedWorld> world;              ///< null: there is no launcher, and one host's memory serves all
  std::unique_ptr<bootstrap::LocalBoard> board;    ///< of processes that we forked ourselves; the world stands on it
  std::unique_ptr<bootstrap::World> world_of_one;  ///< where world is null: of the process before it forks others
  bool watched_by_parent = false;                  ///< by a process of ours that knows best which one died
};

/// What set_up_job() is told.
struct JobRequest {
  bootstrap::LayoutRequest layout;
  bool apart = false;   ///< processes are to talk over a transport; without a launcher they are forked then
  bool alone = false;   ///< the run is meant to be this process: more of them are a mistake
  std::string options;  ///< those that all processes must have been given alike
};

/// From here until start_is_over() a fatal error is one of start-up. Mostly all processes of a run make the same
/// mistake; then one of them tells it, and none leaves before it has: a launcher ends the others as soon as one has
/// left, and what they were printing is lost.
void start_begins();
void start_is_over();

/// Looks for a launcher, and works out the layout with all that it has started. Without one: when processes are to be
/// apart, they are forked here, and each returns; otherwise nothing is started yet. What all processes find wrong alike
/// (a member that refuses, a layout that does not fit) ends the run here.
Result<std::unique_ptr<Job>> set_up_job(const JobRequest& request);

/// The memory of this host's processes: made by the first, had by the others. Contains a fence of the world.
Result<host::Arena> share_arena(Job& job, ShmHandshake& handshake);

}  // namespace periapt::machine
