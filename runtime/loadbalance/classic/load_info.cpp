// See central_lb.h: what the loads of PEs come to, and statistics without what cannot move.
#include <algorithm>
#include <limits>

#include "runtime/converse/cmi.h"
#include "runtime/loadbalance/classic/central_lb.h"

extern CkLBArgs _lb_args;

LBInfo::LBInfo(int count)
    : room_(4 * static_cast<std::size_t>(count)),
      peLoads(room_.data()),
      objLoads(peLoads + count),
      comLoads(objLoads + count),
      bgLoads(comLoads + count),
      numPes(count) {}

void LBInfo::clear() {
  for (LBRealType* loads : {peLoads, objLoads, comLoads, bgLoads})
    if (loads) std::fill_n(loads, numPes, 0.0);
  minObjLoad = maxObjLoad = 0;
  msgCount = 0;
  msgBytes = 0;
}

// What an object is not in any more, or is on no PE, counts nowhere.
void LBInfo::getInfo(BaseLB::LDStats* stats, int count, int considerComm) {
  clear();
  minObjLoad = std::numeric_limits<LBRealType>::max();
  const auto add = [](LBRealType* loads, int pe, double seconds) {
    if (loads) loads[pe] += seconds;
  };
  for (int pe = 0; pe < count; ++pe) {
    add(peLoads, pe, stats->procs[static_cast<std::size_t>(pe)].bg_walltime);
    add(bgLoads, pe, stats->procs[static_cast<std::size_t>(pe)].bg_walltime);
  }
  const auto place = [stats, count](int object) {
    const int pe = object < 0 ? -1 : stats->to_proc[static_cast<std::size_t>(object)];
    return pe < count ? pe : -1;
  };
  for (std::size_t i = 0; i < stats->objData.size(); ++i) {
    const int pe = place(static_cast<int>(i));
    if (pe < 0) continue;
    const LBRealType load = stats->objData[i].wallTime;
    minObjLoad = std::min(minObjLoad, load);
    maxObjLoad = std::max(maxObjLoad, load);
    add(peLoads, pe, load);
    add(objLoads, pe, load);
  }
  if (!considerComm) return;
  const auto take = [&](int pe, const LDCommData& c) {
    const double seconds = _lb_args.alpha() * c.messages + _lb_args.beta() * c.bytes;
    add(peLoads, pe, seconds);
    add(comLoads, pe, seconds);
  };
  for (LDCommData& c : stats->commData) {
    const int from = c.from_proc() ? c.src_proc : place(stats->getHash(c.sender));
    const int to = c.recv_type() == LD_PROC_MSG ? c.receiver.proc() : place(stats->getHash(c.receiver.get_destObj()));
    if (from < 0 || to < 0 || from == to || from >= count || to >= count) continue;
    msgCount += c.messages;
    msgBytes += static_cast<CmiUInt8>(c.bytes);
    take(from, c);
  }
}

void LBInfo::print() {
  CmiPrintf("objects: least load %g, greatest %g; between PEs: %d messages, %llu bytes\n", minObjLoad, maxObjLoad,
            msgCount, static_cast<unsigned long long>(msgBytes));
  for (int pe = 0; pe < numPes; ++pe)
    CmiPrintf("PE %d: load %g, objects %g, background %g, messages %g\n", pe, peLoads[pe], objLoads ? objLoads[pe] : 0,
              bgLoads ? bgLoads[pe] : 0, comLoads ? comLoads[pe] : 0);
}

void LBInfo::getSummary(LBRealType& maxLoad, LBRealType& maxCpuLoad, LBRealType& totalLoad) {
  maxLoad = maxCpuLoad = totalLoad = 0;
  for (int pe = 0; pe < numPes; ++pe) {
    maxLoad = std::max(maxLoad, peLoads[pe]);
    if (objLoads) maxCpuLoad = std::max(maxCpuLoad, objLoads[pe]);
    totalLoad += peLoads[pe];
  }
}

void getLoadInfo(BaseLB::LDStats* stats, int count, LBInfo& info, int considerComm) {
  info.getInfo(stats, count, considerComm);
}

void CentralLB::removeNonMigratable(LDStats* stats, int) {
  const auto moves = [stats](int object) {
    return object >= 0 && stats->objData[static_cast<std::size_t>(object)].migratable;
  };
  const auto stays = [&](LDCommData& c) {
    return (!c.from_proc() && !moves(stats->getSendHash(c))) ||
           (c.recv_type() == LD_OBJ_MSG && !moves(stats->getRecvHash(c)));
  };
  stats->commData.erase(std::remove_if(stats->commData.begin(), stats->commData.end(), stays), stats->commData.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < stats->objData.size(); ++i) {
    if (!stats->objData[i].migratable) {
      ProcStats& pe = stats->procs[static_cast<std::size_t>(stats->from_proc[i])];
      pe.bg_walltime += stats->objData[i].wallTime;
      pe.bg_cputime += stats->objData[i].cpuTime;
      continue;
    }
    if (kept != i) stats->objData[kept] = std::move(stats->objData[i]);
    stats->from_proc[kept] = stats->from_proc[i];
    stats->to_proc[kept++] = stats->to_proc[i];
  }
  stats->objData.resize(kept);
  stats->from_proc.resize(kept);
  stats->to_proc.resize(kept);
  // Places have changed.
  stats->clearCommHash();
  stats->deleteCommHash();
}

int CentralLB::useMem() { return static_cast<int>(sizeof *this); }
