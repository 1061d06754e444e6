// See dist_base_lb.h.
#include "runtime/loadbalance/classic/dist_base_lb.h"

#include <exception>

#include "base/fatal.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/classic/statistics.h"
#include "runtime/loadbalance/model.h"

using periapt::loadbalance::Balancer;
using periapt::loadbalance::LoadDatabase;

std::vector<int> DistBaseLB::impl_solve(const LoadDatabase& database) {
  return periapt::loadbalance::present(database);
}

void DistBaseLB::impl_begin(const LoadDatabase& own) {
  // Objects name PEs of the whole machine; the statistics are of one.
  LoadDatabase alone = own;
  for (auto& object : alone.objects) object.pe = 0;
  BaseLB::LDStats stats = periapt::loadbalance::statistics_of(alone);
  const BaseLB::ProcStats& pe = stats.procs.front();
  myStats = {};
  myStats.from_pe = CkMyPe();
  myStats.available = pe.available;
  myStats.total_walltime = pe.total_walltime;
  myStats.idletime = pe.idletime;
  myStats.bg_walltime = pe.bg_walltime;
  myStats.total_cputime = pe.total_cputime;
  myStats.bg_cputime = pe.bg_cputime;
  for (const LDObjData& object : stats.objData) {
    myStats.obj_walltime += object.wallTime;
    myStats.obj_cputime += object.cpuTime;
  }
  myStats.objData = std::move(stats.objData);
  myStats.commData = std::move(stats.commData);
  decides_ = true;
  // The other members may wait for what this one has not sent: the step has no end then.
  const auto refuse = [this](const std::string& what) {
    periapt::fatal(std::string(lbName()) + "::Strategy() has thrown an exception" + what,
                   "load balancing, step " + std::to_string(step() + 1) + ", PE " + std::to_string(CkMyPe()),
                   "what the other members wait for is not known", "catch it there, and move nothing");
  };
  try {
    Strategy(&myStats);
  } catch (const std::exception& e) {
    refuse(std::string(": ") + e.what());
  } catch (...) {
    refuse("");
  }
}

void DistBaseLB::Strategy(const LDStats* const) { ProcessMigrationDecision(new (0, 0, 0, 0) LBMigrateMsg); }

void DistBaseLB::ProcessMigrationDecision(LBMigrateMsg* message) {
  if (!decides_)
    periapt::fatal(std::string(lbName()) + " calls ProcessMigrationDecision(), and its member here is not deciding",
                   periapt::describe_running(*periapt::Pe::current()),
                   "each member calls it once after Strategy() was called, and this one has, or was not asked",
                   "count what has been heard, and begin anew in Strategy()");
  decides_ = false;
  std::vector<Balancer::Move> moves;
  const int count = QueryMigrateStep(step()) ? message->n_moves : 0;
  for (int i = 0; i < count; ++i) {
    const MigrateInfo& move = message->moves[i];
    if (move.from_pe == CkMyPe() && move.to_pe != CkMyPe())
      moves.push_back({move.obj.omID().id.idx, move.to_pe, move.obj.objID()});
  }
  delete message;
  Balancer::of(*periapt::Pe::current()).decided(moves);
}
