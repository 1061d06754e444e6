// See central_lb.h and base_lb.h.
#include "runtime/loadbalance/classic/central_lb.h"

#include <new>

#include "runtime/loadbalance/classic/statistics.h"

namespace {
// The sizes that operator new was called with: the constructor, which runs next on this thread, makes the arrays.
struct Sizes {
  int moves = 0, available = 0, loads = 0;
};
thread_local Sizes wanted;
}  // namespace

void* LBMigrateMsg::operator new(std::size_t bytes, int moves, int available, int loads, int) {
  wanted = {moves, available, loads};
  return ::operator new(bytes);
}
void LBMigrateMsg::operator delete(void* message) { ::operator delete(message); }
void LBMigrateMsg::operator delete(void* message, int, int, int, int) { ::operator delete(message); }
LBMigrateMsg::LBMigrateMsg() : room_(wanted.moves), available_(wanted.available), loads_(wanted.loads) {
  n_moves = wanted.moves;
  moves = room_.data();
  avail_vector = available_.data();
  expectedLoad = loads_.data();
}
LBMigrateMsg::~LBMigrateMsg() = default;

void MigrateInfo::pup(PUP::er& p) {
  p | index;
  p | obj;
  p | from_pe;
  p | to_pe;
  p | async_arrival;
}

void CLBStatsMsg::pup(PUP::er& p) {
  p | from_pe;
  p | pe_speed;
  p | total_walltime;
  p | idletime;
  p | bg_walltime;
  p | total_cputime;
  p | bg_cputime;
  p | objData;
  p | commData;
}

LBMigrateMsg* CentralLB::Strategy(LDStats* stats) {
  work(stats);
  return createMigrateMsg(stats);
}

LBMigrateMsg* CentralLB::createMigrateMsg(LDStats* stats) {
  std::vector<MigrateInfo> moves;
  for (std::size_t i = 0; i < stats->objData.size(); ++i) {
    if (stats->to_proc[i] == stats->from_proc[i]) continue;
    MigrateInfo move;
    move.index = static_cast<int>(i);
    move.obj = stats->objData[i].handle;
    move.from_pe = stats->from_proc[i];
    move.to_pe = stats->to_proc[i];
    moves.push_back(move);
  }
  auto* message = new (static_cast<int>(moves.size()), 0, 0, 0) LBMigrateMsg;
  std::copy(moves.begin(), moves.end(), message->moves);
  return message;
}

// Where in the database an object of a decision is; -1: nowhere. A balancer may have taken objects out of its list
// since it was made: an index is one of the list as it is now, whose handles know the places that objects had at first.
static int place_of(const MigrateInfo& move, BaseLB::LDStats& stats) {
  const int i = move.index >= 0 ? move.index : stats.getHash(move.obj.objID(), move.obj.omID());
  return i >= 0 && static_cast<std::size_t>(i) < stats.objData.size()
             ? stats.objData[static_cast<std::size_t>(i)].handle.handle
             : -1;
}

std::vector<int> CentralLB::impl_solve(const periapt::loadbalance::LoadDatabase& database) {
  LDStats stats = periapt::loadbalance::statistics_of(database);
  std::vector<int> assignment = stats.from_proc;
  const std::unique_ptr<LBMigrateMsg> message(Strategy(&stats));
  for (int k = 0; message && k < message->n_moves; ++k) {
    const MigrateInfo& move = message->moves[k];
    const int i = place_of(move, stats);
    if (i >= 0 && static_cast<std::size_t>(i) < assignment.size()) assignment[static_cast<std::size_t>(i)] = move.to_pe;
  }
  return assignment;
}
