// Partitions: a run that is divided into several, each with PEs, processes and hosts that are numbered from 0 and a
// program of its own to begin and to end (+partitions, as in Charm++). A partition has processes that follow each other
// in the run, so a PE's number in its partition is that in the run less the number of the partition's first PE, its
// *origin*; the PEs of other partitions have numbers too, below 0 or behind the last one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/layout.h"

namespace periapt::bootstrap {

/// Options asked for, as written.
struct PartitionRequest {
  int count = 1;        ///< +partitions N, +replicas N
  bool master = false;  ///< +master_partition: the first one has one process, the others share the rest
  std::string sizes;    ///< +partition_sizes L[-U[:S[.R]]]#W[,...]: in processes

  bool wanted() const { return count > 1 || master || !sizes.empty(); }
  /// As the options; for what all processes of a run must have been given alike.
  std::string text() const;
};

/// Takes the options out of argv; what they do not say stays as it is in `request`.
Status take_partition_options(int& argc, char** argv, PartitionRequest& request);
/// Their names, without plus signs.
void add_partition_options(std::vector<std::string_view>& names);

class Partitions {
 public:
  explicit Partitions(int processes = 1) : first_{0, processes} {}
  /// A contradiction is a Status with the arithmetic.
  static Result<Partitions> resolve(const PartitionRequest& request, int processes);

  int count() const { return static_cast<int>(first_.size()) - 1; }
  /// Of the run.
  int first_process(int partition) const { return first_[static_cast<std::size_t>(partition)]; }
  int processes(int partition) const { return first_process(partition + 1) - first_process(partition); }
  int of_process(int process) const;

  /// "2 partitions of 3 processes", "3 partitions of 1, 2 and 2 processes".
  std::string describe() const;

 private:
  std::vector<int> first_;  // by partition, and the number of all processes
};

/// The layout that a partition sees, on the host of which `run` is the layout.
HostLayout layout_of_partition(const HostLayout& run, const Partitions& partitions, int partition);

}  // namespace periapt::bootstrap
