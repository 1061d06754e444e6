// How the processes of a run come to know each other, from the launcher or from our own fork, and then share memory with
// those of their host. What they know then is the same in all of them.
#pragma once

#include <memory>

#include "base/status.h"
#include "machine/bootstrap/job_layout.h"
#include "machine/bootstrap/local_world.h"
#include "machine/layer/host_room.h"
#include "machine/layer/shared_world.h"
#include "machine/shm/arena.h"

namespace periapt::machine {

struct Joined {
  /// What makes the run impossible and all processes have found alike. One says it, when all have told the launcher that
  /// they are through: one that leaves earlier has the launcher end the others, and lose what they were printing.
  Status agreed;
  bootstrap::JobLayout job;
  std::unique_ptr<SharedWorld> world;            ///< null: nobody has started us, and one host's memory serves all
  std::unique_ptr<bootstrap::LocalBoard> board;  ///< of processes that we forked ourselves; the world stands on it
  bool watched_by_parent = false;                ///< by a process of ours that says best who died
};

/// Looks for a launcher, and works out the layout with all that it has started. Without one: `apart` says that processes
/// are to talk over a transport; they are forked here then, and each returns. Otherwise nothing is started yet.
Result<std::unique_ptr<Joined>> join_run(const bootstrap::LayoutRequest& request, bool apart);

/// The memory of this host's processes: made by the first, had by the others. Contains a fence of the world.
Result<shm::Arena> share_arena(Joined& joined, HostRoom& room);

}  // namespace periapt::machine
