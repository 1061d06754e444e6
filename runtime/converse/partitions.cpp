// See partitions.h. A PE of another partition has a number to this one, too: its number in the run less our origin.
#include "runtime/converse/partitions.h"

#include <string>

#include "base/fatal.h"
#include "runtime/converse/converse.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

using namespace periapt;

namespace {

const MachineLayer* layer() {
  Process* process = Process::current();
  return process ? &process->layer() : nullptr;
}
bootstrap::PartitionRequest& defaults() { return MachineLayer::default_partitions(); }

void require(bool there, const char* function, const std::string& what, const std::string& most) {
  if (there) return;
  Pe* pe = Pe::current();
  fatal(std::string(function) + ": there is no " + what, pe && Pe::describe ? Pe::describe(*pe) : "", "", most);
}

// The first process of a partition that exists, `node` of it too.
int first_node(const char* function, int node, int partition) {
  const bootstrap::Partitions& partitions = layer()->partitions();
  require(partition >= 0 && partition < partitions.count(), function, "partition " + std::to_string(partition),
          "the run has " + partitions.describe());
  require(node >= 0 && node < partitions.processes(partition), function,
          "node " + std::to_string(node) + " of partition " + std::to_string(partition),
          "it has " + std::to_string(partitions.processes(partition)));
  return partitions.first_process(partition);
}

const bootstrap::Process& process_of_run(int process) {
  return layer()->whole_run().processes[static_cast<std::size_t>(process)];
}

int global_pe(const char* function, int pe, int partition) {
  const int first = process_of_run(first_node(function, 0, partition)).first_pe;
  const int next = layer()->partitions().first_process(partition + 1);
  const bootstrap::HostLayout& run = layer()->whole_run();
  const int end = next == run.process_count() ? run.pes : process_of_run(next).first_pe;
  require(pe >= 0 && pe < end - first, function,
          "PE " + std::to_string(pe) + " of partition " + std::to_string(partition),
          "it has " + std::to_string(end - first));
  return first + pe;
}

}  // namespace

extern "C" {

int CmiNumPartitions() { return layer() ? layer()->partitions().count() : 1; }
int CmiMyPartition() { return layer() ? layer()->partition() : 0; }
int CmiPartitionSize(int partition) {
  if (!layer()) return 1;
  first_node("CmiPartitionSize", 0, partition);
  return layer()->partitions().processes(partition);
}
int CmiMyPartitionSize() { return CmiNumNodes(); }
int CmiNumNodesGlobal() { return layer() ? layer()->whole_run().process_count() : 1; }
int CmiMyNodeGlobal() { return layer() ? CmiGetNodeGlobal(CmiMyNode(), CmiMyPartition()) : 0; }
int CmiNumPesGlobal() { return layer() ? layer()->whole_run().pes : 1; }
int CmiMyPeGlobal() {
  const int pe = CmiMyPe();
  return pe >= 0 && layer() ? layer()->origin() + pe : pe;
}
int CmiGetNodeGlobal(int node, int partition) {
  return layer() ? first_node("CmiGetNodeGlobal", node, partition) + node : node;
}
int CmiGetPeGlobal(int pe, int partition) { return layer() ? global_pe("CmiGetPeGlobal", pe, partition) : pe; }
int CmiGetNodeLocal(int node) {
  if (!layer()) return node;
  require(node >= 0 && node < CmiNumNodesGlobal(), "CmiGetNodeLocal", "node " + std::to_string(node),
          "the run has " + std::to_string(CmiNumNodesGlobal()));
  return node - layer()->partitions().first_process(layer()->partitions().of_process(node));
}
int CmiGetPeLocal(int pe) {
  if (!layer()) return pe;
  require(pe >= 0 && pe < CmiNumPesGlobal(), "CmiGetPeLocal", "PE " + std::to_string(pe),
          "the run has " + std::to_string(CmiNumPesGlobal()));
  const int node = layer()->whole_run().process_of[static_cast<std::size_t>(pe)];
  return pe - process_of_run(node - CmiGetNodeLocal(node)).first_pe;
}

void CmiInterFreeSendFn(int pe, int partition, int bytes, char* message) {
  CmiFreeSendFn(global_pe("CmiInterSyncSend", pe, partition) - layer()->origin(), bytes, message);
}
void CmiInterSyncSendFn(int pe, int partition, int bytes, char* message) {
  CmiSyncSendFn(global_pe("CmiInterSyncSend", pe, partition) - layer()->origin(), bytes, message);
}
void CmiInterFreeNodeSendFn(int node, int partition, int bytes, char* message) {
  const int first = first_node("CmiInterSyncNodeSend", node, partition);
  CmiFreeSendFn(process_of_run(first + node).first_pe - layer()->origin(), bytes, message);
}
void CmiInterSyncNodeSendFn(int node, int partition, int bytes, char* message) {
  const int first = first_node("CmiInterSyncNodeSend", node, partition);
  CmiSyncSendFn(process_of_run(first + node).first_pe - layer()->origin(), bytes, message);
}

void CmiSetNumPartitions(int count) { defaults().count = count; }
void CmiSetMasterPartition() { defaults().master = true; }
void CmiSetPartitionSizes(char* sizes) { defaults().sizes = sizes; }
void CmiSetPartitionScheme(int) {}
void CmiSetCustomPartitioning() {}
}
