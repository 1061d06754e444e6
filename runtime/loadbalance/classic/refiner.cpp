// See refiner.h and graph.h.
#include "runtime/loadbalance/classic/refiner.h"

#include <algorithm>

#include "runtime/loadbalance/classic/graph.h"
#include "runtime/loadbalance/classic/statistics.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"
#include "runtime/pup/pup_c.h"

using namespace periapt::loadbalance;

int* Refiner::AllocProcs(int, BaseLB::LDStats* stats) { return new int[stats->objData.size()]; }

// Refine, among the PEs of the statistics.
void Refiner::Refine(int, BaseLB::LDStats* stats, int* from, int* to) {
  const LoadDatabase database = database_of(*stats, from);
  Strategy refine(*find_strategy("Refine"));
  refine.options["tolerance"] = tolerance_;
  Assignment assignment;
  refine.answer(database, &assignment);
  std::copy(assignment.begin(), assignment.end(), to);
  const Balance balance = balance_of(database, assignment);
  average_ = balance.average;
  max_ = balance.max;
}

ProcArray::ProcArray(BaseLB::LDStats* stats) {
  for (const BaseLB::ProcStats& pe : stats->procs) {
    const double busy = balances_processor_time() ? pe.total_cputime : pe.total_walltime - pe.idletime;
    procs.emplace_back(pe.pe, background_of(pe), busy, pe.pe_speed, pe.available);
    average_ += procs.back().getTotalLoad();
  }
  if (!procs.empty()) average_ /= static_cast<double>(procs.size());
}
void ProcArray::resetTotalLoad() {
  for (ProcInfo& pe : procs) pe.setTotalLoad(pe.getOverhead());
}

ObjGraph::ObjGraph(BaseLB::LDStats* stats) {
  for (std::size_t i = 0; i < stats->objData.size(); ++i) {
    const LDObjData& data = stats->objData[i];
    vertices.emplace_back(static_cast<int>(i), load_of(data), data.migratable, stats->from_proc[i], -1,
                          pup_decodeSize(data.pupSize));
  }
  for (LDCommData& c : stats->commData) {
    const int from = stats->getSendHash(c), to = stats->getRecvHash(c);
    if (from < 0 || to < 0) continue;  // one of them has gone since
    vertices[from].sendToList.emplace_back(to, c.messages, c.bytes);
    vertices[to].recvFromList.emplace_back(from, c.messages, c.bytes);
  }
}
void ObjGraph::convertDecisions(BaseLB::LDStats* stats) {
  for (const CkVertex& vertex : vertices)
    if (vertex.getNewPe() != -1) stats->to_proc[vertex.getVertexId()] = vertex.getNewPe();
}
