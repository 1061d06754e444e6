#include "machine/bootstrap/job_layout.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace periapt::bootstrap {
namespace {

constexpr char kRefuses = '!';

bool same_machine(const Machine& a, const Machine& b) { return a.cpus == b.cpus && a.quota == b.quota; }

// Puts a host's layout, whose numbers begin at 0, where it belongs in the run.
void adopt(HostLayout& run, const HostLayout& part, int first_pe, int first_process) {
  const int first_carrier = run.carrier_count();
  for (Carrier carrier : part.carriers) {
    carrier.process += first_process;
    for (int& pe : carrier.pes) pe += first_pe;
    run.carriers.push_back(std::move(carrier));
  }
  for (int i = 0; i < part.process_count(); ++i) {
    Process& process = run.processes[static_cast<std::size_t>(first_process + i)];
    process.first_carrier = first_carrier + part.processes[static_cast<std::size_t>(i)].first_carrier;
    process.carriers = part.processes[static_cast<std::size_t>(i)].carriers;
  }
  for (int pe = 0; pe < part.pes; ++pe) {
    run.carrier_of[static_cast<std::size_t>(first_pe + pe)] = first_carrier + part.carrier_of[static_cast<std::size_t>(pe)];
  }
  run.oversubscribed = run.oversubscribed || part.oversubscribed;
  run.binding = run.binding.empty() || run.binding == part.binding ? part.binding : "bound as the launcher said";
}

// The request as it is for `processes` of the processes. One that was given a single cpu is bound to it even if it has a
// single PE: whoever dealt the cpus out meant it.
LayoutRequest share_of(const LayoutRequest& request, const Machine& machine, int pes, int processes) {
  LayoutRequest share = request;
  share.bind = share.bind || machine.cpus.size() == 1;
  share.pes = pes;
  share.processes = processes;
  share.pes_a_process = -1;
  share.all_cpus = false;
  return share;
}

}  // namespace

std::string Member::encode() const {
  if (!refusal.empty()) return kRefuses + refusal;
  std::ostringstream text;
  text << pes << ' ' << machine.quota << ' ' << crowded;
  for (int cpu : machine.cpus) text << ' ' << cpu;
  return text.str();
}

Result<Member> Member::decode(const std::string& text) {
  std::istringstream in(text);
  Member member;
  if (!text.empty() && text[0] == kRefuses) {
    member.refusal = text.substr(1);
    return member;
  }
  if (!(in >> member.pes >> member.machine.quota >> member.crowded) || member.pes < 1 || member.pes > kMaxPes) {
    return Status::failure("another process told of its layout what makes no sense: \"" + text.substr(0, 80) + "\"");
  }
  for (int cpu; in >> cpu;) member.machine.cpus.push_back(cpu);
  if (!in.eof() || member.machine.cpus.empty()) {
    return Status::failure("another process told of its cpus what makes no sense: \"" + text.substr(0, 80) + "\"");
  }
  return member;
}

Result<int> pes_of_member(const LayoutRequest& request, int members) {
  const std::string started = "the launcher started " + std::to_string(members) + " processes";
  if (request.processes > 0 && request.processes != members) {
    return Status::failure(started + ", but +np says " + std::to_string(request.processes) +
                           ". Leave +np to the launcher: its own option says how many processes it starts");
  }
  const int each = request.pes_a_process;
  if (request.pes < 0) return each > 0 ? each : 1;
  if (each > 0 && each * members != request.pes) {
    return Status::failure(started + " and +ppn gives each of them " + std::to_string(each) + ": " +
                           std::to_string(members) + " * " + std::to_string(each) + " = " +
                           std::to_string(members * each) + " PEs, but +p says " + std::to_string(request.pes) +
                           ". Leave +p out, or start " + std::to_string(std::max(1, request.pes / each)) + " processes");
  }
  if (request.pes % members != 0) {
    return Status::failure("+p " + std::to_string(request.pes) + " is the number of all PEs of the run, and " + started +
                           ": " + std::to_string(request.pes) + " is not a multiple of " + std::to_string(members) +
                           ". Use +ppn to say how many PEs each process has");
  }
  return request.pes / members;
}

Result<JobLayout> resolve_job(const LayoutRequest& request, const std::vector<Member>& members, int self) {
  const int count = static_cast<int>(members.size());
  for (const Member& member : members) {
    if (!member.refusal.empty()) return Status::failure(member.refusal);
  }
  JobLayout job;
  job.member_of.resize(members.size());
  std::iota(job.member_of.begin(), job.member_of.end(), 0);
  // Hosts in the order of their lowest rank.
  std::vector<int> order;
  for (const Member& member : members) {
    if (std::find(order.begin(), order.end(), member.host) == order.end()) order.push_back(member.host);
  }
  const auto place = [&](int rank) {
    return std::find(order.begin(), order.end(), members[static_cast<std::size_t>(rank)].host) - order.begin();
  };
  std::stable_sort(job.member_of.begin(), job.member_of.end(), [&](int a, int b) { return place(a) < place(b); });

  HostLayout& run = job.layout;
  run.show_affinity = request.show_affinity;
  run.pes = 0;
  for (int process = 0; process < count; ++process) {
    const int rank = job.member_of[static_cast<std::size_t>(process)];
    const Member& member = members[static_cast<std::size_t>(rank)];
    if (rank == self) job.process = process;
    const int host = static_cast<int>(place(rank));
    if (host == run.host_count()) run.hosts.push_back({run.pes, 0, process, 0});
    Host& its_host = run.hosts[static_cast<std::size_t>(host)];
    ++its_host.processes;
    its_host.pes += member.pes;
    Process here;
    here.first_pe = run.pes;
    here.pes = member.pes;
    here.host = host;
    run.processes.push_back(here);
    run.pes += member.pes;
    run.process_of.insert(run.process_of.end(), static_cast<std::size_t>(member.pes), process);
  }
  run.carrier_of.assign(static_cast<std::size_t>(run.pes), -1);
  run.host = run.processes[static_cast<std::size_t>(job.process)].host;

  // Of this host: together when all were given the same cpus, each for itself when the launcher dealt them out.
  const Host& host = run.this_host();
  const auto member_at = [&](int process) -> const Member& {
    return members[static_cast<std::size_t>(job.member_of[static_cast<std::size_t>(process)])];
  };
  bool together = true;
  for (int i = 0; i < host.processes; ++i) {
    const Member& one = member_at(host.first_process + i);
    const Member& first = member_at(host.first_process);
    together = together && same_machine(one.machine, first.machine) && one.pes == first.pes;
  }
  run.cpus = 0;
  for (int i = 0; i < host.processes; i += together ? host.processes : 1) {
    const int process = host.first_process + i;
    const int processes = together ? host.processes : 1;
    const int pes = together ? host.pes : member_at(process).pes;
    Result<HostLayout> part = resolve_layout(share_of(request, member_at(process).machine, pes, processes), member_at(process).machine);
    if (!part) return part.status();
    part->oversubscribed = part->oversubscribed || member_at(process).crowded;
    adopt(run, *part, run.processes[static_cast<std::size_t>(process)].first_pe, process);
    run.cpus += part->cpus;
  }
  return job;
}

}  // namespace periapt::bootstrap
