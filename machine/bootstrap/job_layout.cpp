#include "machine/bootstrap/job_layout.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "machine/bootstrap/frames.h"

namespace periapt::bootstrap {
namespace {

constexpr char kForm[] = "member 2";  // changes with what a member tells

bool same_cpus(const UsableCpus& a, const UsableCpus& b) { return a.cpus == b.cpus && a.quota == b.quota; }

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
    run.carrier_of[static_cast<std::size_t>(first_pe + pe)] =
        first_carrier + part.carrier_of[static_cast<std::size_t>(pe)];
  }
  run.oversubscribed = run.oversubscribed || part.oversubscribed;
  run.binding = run.binding.empty() || run.binding == part.binding ? part.binding : "bound as the launcher said";
}

// The request as it is for `processes` of the processes. One that was given a single cpu is bound to it even if it has
// a single PE: the launcher that dealt the cpus out meant it.
LayoutRequest share_of(const LayoutRequest& request, const UsableCpus& usable, int pes, int processes) {
  LayoutRequest share = request;
  share.bind = share.bind || usable.cpus.size() == 1;
  share.pes = pes;
  share.processes = processes;
  share.pes_a_process = -1;
  share.all_cpus = false;
  return share;
}

}  // namespace

std::string Member::encode() const {
  std::ostringstream numbers;
  numbers << pes << ' ' << usable.quota << ' ' << crowded;
  for (int cpu : usable.cpus) numbers << ' ' << cpu;
  return pack_texts({kForm, refusal, program, options, numbers.str()});
}

Result<Member> Member::decode(const std::string& text) {
  std::vector<std::string> parts;
  if (!unpack_texts(text, parts) || parts.size() != 5 || parts[0] != kForm) {
    return Status::failure(
        "another process of this run does not speak as this one does: it is of another version of "
        "Periapt. Build the program anew, and install it on every host");
  }
  Member member;
  member.refusal = parts[1];
  if (!member.refusal.empty()) return member;
  member.program = parts[2];
  member.options = parts[3];
  std::istringstream in(parts[4]);
  if (!(in >> member.pes >> member.usable.quota >> member.crowded) || member.pes < 1 || member.pes > kMaxPes) {
    return Status::failure("another process told of its layout what makes no sense: \"" + parts[4].substr(0, 80) +
                           "\"");
  }
  for (int cpu; in >> cpu;) member.usable.cpus.push_back(cpu);
  if (!in.eof() || member.usable.cpus.empty()) {
    return Status::failure("another process told of its cpus what makes no sense: \"" + parts[4].substr(0, 80) + "\"");
  }
  return member;
}

int speaker_of(const std::vector<Member>& members) {
  const auto refuses = [](const Member& member) { return !member.refusal.empty(); };
  const auto first = std::find_if(members.begin(), members.end(), refuses);
  return first == members.end() ? 0 : static_cast<int>(first - members.begin());
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
                           ". Leave +p out, or start " + std::to_string(std::max(1, request.pes / each)) +
                           " processes");
  }
  if (request.pes % members != 0) {
    return Status::failure("+p " + std::to_string(request.pes) + " is the number of all PEs of the run, and " +
                           started + ": " + std::to_string(request.pes) + " is not a multiple of " +
                           std::to_string(members) + ". Use +ppn to say how many PEs each process has");
  }
  return request.pes / members;
}

namespace {

std::string build_of(const Member& member) { return member.program.substr(0, member.program.find(' ')); }

std::string program_in_words(int rank, const Member& member) {
  const std::size_t space = member.program.find(' ');
  const std::string file = space == std::string::npos ? "" : member.program.substr(space + 1);
  return "process " + std::to_string(rank) + " runs " + file + " (build " + build_of(member).substr(0, 12) + ")";
}

std::string options_in_words(int rank, const Member& member) {
  return "process " + std::to_string(rank) + " was started " +
         (member.options.empty() ? "without options of the run" : "with " + member.options);
}

// What the members must have in common.
Status check_alike(const std::vector<Member>& members) {
  const Member& first = members.front();
  for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
    const Member& other = members[static_cast<std::size_t>(rank)];
    if (!other.refusal.empty()) return Status::failure(other.refusal);
    if (build_of(other) != build_of(first)) {
      return Status::failure(
          program_in_words(0, first) + ", " + program_in_words(rank, other) +
          ": all processes of a run execute the same program. Install one build of it on every host");
    }
    if (other.options != first.options) {
      return Status::failure(options_in_words(0, first) + ", " + options_in_words(rank, other) +
                             ": these options concern all processes. Give them to each of them, or to none");
    }
  }
  return {};
}

// The layout of one host goes into `run`; a failure leaves it as it is.
Status lay_out_host(HostLayout& run, const LayoutRequest& request, const std::vector<Member>& members,
                    const std::vector<int>& member_of, const Host& host, bool here) {
  // Together when all were given the same cpus, each for itself when the launcher dealt them out.
  const auto member_at = [&](int process) -> const Member& {
    return members[static_cast<std::size_t>(member_of[static_cast<std::size_t>(process)])];
  };
  const Member& first = member_at(host.first_process);
  bool together = true;
  for (int i = 0; i < host.processes; ++i) {
    const Member& one = member_at(host.first_process + i);
    together = together && same_cpus(one.usable, first.usable) && one.pes == first.pes;
  }
  for (int i = 0; i < host.processes; i += together ? host.processes : 1) {
    const int process = host.first_process + i;
    const Member& member = member_at(process);
    const int pes = together ? host.pes : member.pes;
    Result<HostLayout> part =
        resolve_layout(share_of(request, member.usable, pes, together ? host.processes : 1), member.usable);
    if (!part) return part.status();
    if (!here) continue;
    part->oversubscribed = part->oversubscribed || member.crowded;
    adopt(run, *part, run.processes[static_cast<std::size_t>(process)].first_pe, process);
    run.cpus += part->cpus;
  }
  return {};
}

}  // namespace

Result<JobLayout> resolve_job(const LayoutRequest& request, const std::vector<Member>& members, int self) {
  const int count = static_cast<int>(members.size());
  Status alike = check_alike(members);
  if (!alike) return alike;
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

  run.cpus = 0;
  for (int host = 0; host < run.host_count(); ++host) {
    Status possible =
        lay_out_host(run, request, members, job.member_of, run.hosts[static_cast<std::size_t>(host)], host == run.host);
    if (!possible) return possible;
  }
  return job;
}

Member forked_member(const HostLayout& layout, int process, const UsableCpus& usable) {
  const Process& own = layout.processes[static_cast<std::size_t>(process)];
  Member member;
  member.pes = own.pes;
  member.crowded = layout.oversubscribed;
  for (int c = own.first_carrier; c < own.first_carrier + own.carriers; ++c) {
    const int cpu = layout.carriers[static_cast<std::size_t>(c)].cpu;
    if (cpu >= 0) member.usable.cpus.push_back(cpu);
  }
  if (!member.usable.cpus.empty()) return member;
  // Threads that the layout leaves to the kernel may run on every cpu: no fewer are told, or they would be bound.
  member.usable.cpus = usable.cpus;
  if (own.carriers < own.pes) member.usable.quota = own.carriers;
  return member;
}

}  // namespace periapt::bootstrap
