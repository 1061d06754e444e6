// The layout of a run: how many PEs, in how many processes on which hosts; and of this host, on which cores, and which
// OS thread runs which PEs. It is worked out once, from the command line, from what we may use and, under a launcher,
// from what the other processes said (job_layout.h), before anything is started.
//
// PEs and processes are numbered through the whole run, host by host; carriers are this host's alone.
//
// A *carrier* is an OS thread that runs one or more PEs. As long as there are cores enough each PE has a carrier of its
// own; with more PEs than cores a carrier runs several PEs in turn, so that the kernel never has to switch between
// threads that wait for each other (`+p16` on two cores is two carriers of eight PEs).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace periapt::bootstrap {

using CarrierId = int;

struct Carrier {
  int process = 0;
  int cpu = -1;          ///< OS number of the cpu it is bound to; -1: not bound
  std::vector<int> pes;  ///< ascending
};

struct Process {
  int first_pe = 0;
  int pes = 0;
  CarrierId first_carrier = 0;  ///< on this host; elsewhere both are 0
  int carriers = 0;
  int host = 0;

  /// "PE 6" or "PEs 6-7".
  std::string describe_pes() const;
};

/// A host of the run: a set of processes that share memory.
struct Host {
  int first_pe = 0;
  int pes = 0;
  int first_process = 0;
  int processes = 0;
};

struct HostLayout {
  int pes = 1;   ///< of the run
  int cpus = 1;  ///< cpus this run may use here (affinity mask, cgroup quota)
  int host = 0;  ///< this one
  std::vector<Host> hosts;
  std::vector<Process> processes;
  std::vector<Carrier> carriers;      ///< of this host
  std::vector<int> process_of;        ///< by PE
  std::vector<CarrierId> carrier_of;  ///< by PE; -1: on another host
  std::string binding;                ///< how threads were bound, in words: "bound to cpus 0-1", "not bound"
  bool oversubscribed = false;        ///< more PEs than cpus
  bool show_affinity = false;         ///< +showcpuaffinity: print describe_carriers()

  int host_count() const { return static_cast<int>(hosts.size()); }
  int host_of(int pe) const {
    return processes[static_cast<std::size_t>(process_of[static_cast<std::size_t>(pe)])].host;
  }
  const Host& this_host() const { return hosts[static_cast<std::size_t>(host)]; }
  int process_count() const { return static_cast<int>(processes.size()); }
  int carrier_count() const { return static_cast<int>(carriers.size()); }
  int rank_in_process(int pe) const { return pe - processes[process_of[pe]].first_pe; }

  /// One line: "4 PEs in 2 processes of 2, on 2 cpus: ...".
  std::string describe() const;
  /// One line a carrier, for +showcpuaffinity.
  std::string describe_carriers() const;
};

/// What the machine offers, apart from the command line so that tests can invent machines.
struct UsableCpus {
  std::vector<int> cpus;  ///< usable, best first (a core's second hardware thread after all first ones)
  double quota = 0;       ///< cpus' worth of time granted; 0: all of them
};

/// Options asked for, as written; -1 or empty: not given.
struct LayoutRequest {
  int pes = -1;               ///< +p N, +pe N: all PEs of the run
  int pes_a_process = -1;     ///< +ppn N
  int processes = -1;         ///< +np N, +n N, ++processPerHost N
  bool process_a_pe = false;  ///< when neither +ppn nor +np is given: each PE is a process
  bool all_cpus = false;      ///< +auto-provision, +oneWthPerPU, +oneWthPerCore: a PE for each cpu
  std::string pe_map;         ///< +pemap
  std::vector<int> excluded;  ///< +excludecore
  bool bind = false;          ///< +setcpuaffinity
  bool show_affinity = false;
};

/// Takes the options of the layout out of argv (argc shrinks, argv stays null-terminated); what it does not know stays.
/// `+name` and `++name` mean the same; numbers may be attached or follow (`+p4`, `+p 4`). A run that was resized has
/// its counts from its start (resized_start.h).
Result<LayoutRequest> take_layout_options(int& argc, char** argv);
/// Their names, without plus signs.
void add_layout_options(std::vector<std::string_view>& names);

/// Works the layout out; a contradiction is a Status with the arithmetic and a suggestion. Pure.
Result<HostLayout> resolve_layout(const LayoutRequest& request, const UsableCpus& usable);

/// The machine we are on, as far as a layout of `wanted` threads needs to know it (0: all of it).
UsableCpus find_usable_cpus(int wanted);

/// The cpus of a `+pemap` text, in order: `L[-U[:S[.R]+O]][,...]`, optional prefix `L` for hwloc's logical numbers.
Result<std::vector<int>> parse_pe_map(const std::string& text);

/// Most PEs on one host that the mapping has room for.
inline constexpr int kMaxPes = 4096;

}  // namespace periapt::bootstrap
