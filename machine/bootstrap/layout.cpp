#include "machine/bootstrap/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/topology.h"
#include "machine/bootstrap/arguments.h"
#include "machine/bootstrap/resized_start.h"

namespace periapt::bootstrap {
namespace {

// ---- reading numbers and options

Result<int> read_number(const std::string& option, const std::string& text, int least) {
  char* end = nullptr;
  long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    return Status::failure("+" + option + " wants a number, not \"" + text + "\". Write it as +" + option + " 4");
  }
  if (value < least) {
    return Status::failure("+" + option + " " + text + " makes no sense: it must be at least " + std::to_string(least));
  }
  if (value > kMaxPes) {
    return Status::failure("+" + option + " " + text + " is too many: one host can have at most " +
                           std::to_string(kMaxPes) + " PEs");
  }
  return static_cast<int>(value);
}

bool is_number_start(char c) { return (c >= '0' && c <= '9') || c == '-'; }

struct NumberOption {
  const char* name;
  int LayoutRequest::*field;
};
constexpr NumberOption kNumbers[] = {
    {"p", &LayoutRequest::pes},        {"pe", &LayoutRequest::pes},      {"ppn", &LayoutRequest::pes_a_process},
    {"np", &LayoutRequest::processes}, {"n", &LayoutRequest::processes}, {"processPerHost", &LayoutRequest::processes},
};
constexpr const char* one_pe = "oneWthPerHost";  // what holds without any option
struct SwitchOption {
  const char* name;
  bool LayoutRequest::*field;
};
constexpr SwitchOption kSwitches[] = {
    {"auto-provision", &LayoutRequest::all_cpus}, {"autoProvision", &LayoutRequest::all_cpus},
    {"oneWthPerCore", &LayoutRequest::all_cpus},  {"oneWthPerPU", &LayoutRequest::all_cpus},
    {"setcpuaffinity", &LayoutRequest::bind},     {"showcpuaffinity", &LayoutRequest::show_affinity},
};

// ---- words for the arithmetic

std::string count(int n, const char* one, const char* many) { return std::to_string(n) + " " + (n == 1 ? one : many); }
std::string count_pes(int n) { return count(n, "PE", "PEs"); }
std::string count_processes(int n) { return count(n, "process", "processes"); }
std::string count_cpus(int n) { return count(n, "cpu", "cpus"); }

std::string ratio(int a, int b) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", static_cast<double>(a) / b);
  return text;
}

// "0-3,8": consecutive numbers joined.
std::string ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0, j; i < numbers.size(); i = j) {
    for (j = i + 1; j < numbers.size() && numbers[j] == numbers[j - 1] + 1;) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (j > i + 1) text.append("-").append(std::to_string(numbers[j - 1]));
  }
  return text;
}

// What to write instead, when `part` (of option `option`) does not divide `pes`.
Status does_not_divide(int pes, int part, const std::string& option, const std::string& parts) {
  std::string divisors;
  for (int d = 1; d <= pes; ++d) {
    if (pes % d == 0) divisors += (divisors.empty() ? "" : ", ") + std::to_string(d);
  }
  int below = pes / part * part;
  std::string instead = (below > 0 ? "+p " + std::to_string(below) + " or " : std::string()) + "+p " +
                        std::to_string(below + part) + " with +" + option + " " + std::to_string(part);
  return Status::failure("+p " + std::to_string(pes) + " is the number of all PEs of the run and +" + option + " " +
                         std::to_string(part) + " " + parts + ": " + std::to_string(pes) + " / " +
                         std::to_string(part) + " = " + ratio(pes, part) + " is not whole. Use " + instead +
                         ", or with +p " + std::to_string(pes) + " a +" + option + " of " + divisors);
}

struct Counts {
  int pes;
  int processes;
};

Result<Counts> resolve_counts(const LayoutRequest& request, int cpus) {
  int pes = request.pes, a_process = request.pes_a_process, processes = request.processes;
  if (pes < 0 && request.all_cpus) pes = cpus;
  if (pes < 0) pes = std::max(a_process, 1) * std::max(processes, 1);
  if (pes > kMaxPes) {
    return Status::failure(count_processes(processes) + " of " + count_pes(a_process) + " are " + count_pes(pes) +
                           "; one host can have at most " + std::to_string(kMaxPes));
  }
  if (a_process > 0 && processes > 0 && a_process * processes != pes) {
    return Status::failure(count_processes(processes) + " (+np) of " + count_pes(a_process) + " each (+ppn) are " +
                           std::to_string(processes) + " * " + std::to_string(a_process) + " = " +
                           std::to_string(processes * a_process) + " PEs, but +p says " + std::to_string(pes) +
                           ". Leave one of the three out, or use +p " + std::to_string(processes * a_process));
  }
  if (a_process > 0 && pes % a_process != 0) {
    return does_not_divide(pes, a_process, "ppn", "the number in each process");
  }
  if (processes > 0 && pes % processes != 0) {
    return does_not_divide(pes, processes, "np", "the number of processes to divide them over");
  }
  if (a_process < 0 && processes < 0 && request.process_a_pe) a_process = 1;
  if (a_process > 0) processes = pes / a_process;
  return Counts{pes, std::max(processes, 1)};
}

void add_carrier(HostLayout& layout, int process, int cpu) {
  Carrier carrier;
  carrier.process = process;
  carrier.cpu = cpu;
  layout.carriers.push_back(std::move(carrier));
  ++layout.processes[process].carriers;
}

void assign(HostLayout& layout, int pe, CarrierId carrier) {
  layout.carrier_of[pe] = carrier;
  layout.carriers[carrier].pes.push_back(pe);
}

// The i-th of n equal blocks of `total` things begins here.
int block_begin(int i, int n, int total) { return static_cast<int>(static_cast<long long>(i) * total / n); }

// Each process gets its block of the cpus, each PE of it its block of the process's carriers.
void spread(HostLayout& layout, const std::vector<int>& cpus, bool bind) {
  int available = static_cast<int>(cpus.size());
  int processes = layout.process_count();
  int most = std::min(layout.pes, available);
  for (int i = 0; i < processes; ++i) {
    Process& process = layout.processes[i];
    process.first_carrier = layout.carrier_count();
    int begin = block_begin(i, processes, most), end = block_begin(i + 1, processes, most);
    if (begin == end) end = begin + 1;  // more processes than cpus: neighbours share one
    for (int c = begin; c < end; ++c) add_carrier(layout, i, bind ? cpus[c] : -1);
    for (int c = 0; c < process.carriers; ++c) {
      int last = block_begin(c + 1, process.carriers, process.pes);
      for (int rank = block_begin(c, process.carriers, process.pes); rank < last; ++rank) {
        assign(layout, process.first_pe + rank, process.first_carrier + c);
      }
    }
  }
}

// +pemap: PE i on map[i mod length]; the PEs of a process that share a cpu share a carrier.
void follow_map(HostLayout& layout, const std::vector<int>& map) {
  for (int i = 0; i < layout.process_count(); ++i) {
    Process& process = layout.processes[i];
    process.first_carrier = layout.carrier_count();
    for (int pe = process.first_pe; pe < process.first_pe + process.pes; ++pe) {
      int cpu = map[static_cast<std::size_t>(pe) % map.size()];
      CarrierId carrier = process.first_carrier;
      while (carrier < layout.carrier_count() && layout.carriers[carrier].cpu != cpu) ++carrier;
      if (carrier == layout.carrier_count()) add_carrier(layout, i, cpu);
      assign(layout, pe, carrier);
    }
  }
}

// The cpus that the run uses: what is usable less the excluded, no more than the quota.
Result<std::vector<int>> chosen_cpus(const LayoutRequest& request, const UsableCpus& usable) {
  std::vector<int> cpus;
  for (int cpu : usable.cpus) {
    if (std::count(request.excluded.begin(), request.excluded.end(), cpu) == 0) cpus.push_back(cpu);
  }
  if (cpus.empty()) {
    return Status::failure("+excludecore leaves no cpu: all of those we may use (" + ranges(usable.cpus) +
                           ") are excluded");
  }
  if (usable.quota > 0) {
    int granted = std::max(1, static_cast<int>(std::ceil(usable.quota - 0.01)));
    if (granted < static_cast<int>(cpus.size())) cpus.resize(granted);
  }
  return cpus;
}

std::string describe_binding(const HostLayout& layout) {
  std::vector<int> bound;
  for (const Carrier& carrier : layout.carriers) {
    if (carrier.cpu >= 0) bound.push_back(carrier.cpu);
  }
  if (bound.empty()) return "not bound to a cpu";
  std::string text = ranges(bound);
  return (text.find_first_of(",-") == std::string::npos ? "bound to cpu " : "bound to cpus ") + text;
}

// Each takes an option that is one of its own, and answers whether it was.
Result<bool> take_number(Arguments& arguments, const std::string& name, LayoutRequest& request) {
  for (const NumberOption& option : kNumbers) {
    std::size_t length = std::strlen(option.name);
    if (name.compare(0, length, option.name) != 0) continue;
    if (name.size() > length && !is_number_start(name[length])) continue;
    Result<std::string> text = arguments.take_value(option.name, name.substr(length));
    if (!text) return text.status();
    Result<int> number = read_number(option.name, *text, 1);
    if (!number) return number.status();
    int& field = request.*option.field;
    if (field >= 0 && field != *number) {
      return Status::failure("+" + std::string(option.name) + " was given twice, as " + std::to_string(field) +
                             " and as " + std::to_string(*number) + ". Leave one out");
    }
    field = *number;
    return true;
  }
  return false;
}

bool take_switch(Arguments& arguments, const std::string& name, LayoutRequest& request) {
  if (name == one_pe) {
    arguments.take();
    return true;
  }
  for (const SwitchOption& option : kSwitches) {
    if (name != option.name) continue;
    arguments.take();
    request.*option.field = true;
    return true;
  }
  return false;
}

Result<bool> take_cpus(Arguments& arguments, const std::string& name, LayoutRequest& request) {
  if (name != "pemap" && name != "excludecore" && name != "commap") return false;
  Result<std::string> text = arguments.take_value(name);
  if (!text) return text.status();
  if (name == "pemap") request.pe_map = *text;
  if (name != "excludecore") return true;  // there is no communication thread that +commap could place
  Result<std::vector<int>> cpus = parse_pe_map(*text);
  if (!cpus) return Status::failure("+excludecore: " + cpus.message());
  request.excluded.insert(request.excluded.end(), cpus->begin(), cpus->end());
  return true;
}

}  // namespace

void add_layout_options(std::vector<std::string_view>& names) {
  for (const NumberOption& option : kNumbers) names.push_back(option.name);
  for (const SwitchOption& option : kSwitches) names.push_back(option.name);
  names.insert(names.end(), {"pemap", "excludecore", "commap", one_pe});
}

Result<LayoutRequest> take_layout_options(int& argc, char** argv) {
  LayoutRequest request;
  for (Arguments arguments(argc, argv); arguments.more();) {
    const std::string name = arguments.name();
    Result<bool> taken = take_number(arguments, name, request);
    if (!taken) return taken.status();
    if (*taken || take_switch(arguments, name, request)) continue;
    taken = take_cpus(arguments, name, request);
    if (!taken) return taken.status();
    if (!*taken) arguments.skip();
  }
  if (const ResizedStart* resized = ResizedStart::current()) {
    request.pes = resized->pes;
    request.pes_a_process = resized->pes_a_process > 0 ? resized->pes_a_process : resized->pes;
    request.processes = -1;
  }
  return request;
}

Result<HostLayout> resolve_layout(const LayoutRequest& request, const UsableCpus& usable) {
  Result<std::vector<int>> cpus = chosen_cpus(request, usable);
  if (!cpus) return cpus.status();
  HostLayout layout;
  layout.cpus = static_cast<int>(cpus->size());
  layout.show_affinity = request.show_affinity;
  Result<Counts> counts = resolve_counts(request, layout.cpus);
  if (!counts) return counts.status();

  layout.pes = counts->pes;
  layout.oversubscribed = layout.pes > layout.cpus;
  layout.process_of.resize(static_cast<std::size_t>(layout.pes));
  layout.carrier_of.resize(static_cast<std::size_t>(layout.pes));
  int a_process = counts->pes / counts->processes;
  for (int i = 0; i < counts->processes; ++i) {
    Process process;
    process.first_pe = i * a_process;
    process.pes = a_process;
    layout.processes.push_back(process);
    for (int rank = 0; rank < a_process; ++rank) layout.process_of[process.first_pe + rank] = i;
  }

  layout.hosts.push_back({0, layout.pes, 0, layout.process_count()});

  if (!request.pe_map.empty()) {
    Result<std::vector<int>> map = parse_pe_map(request.pe_map);
    if (!map) return Status::failure("+pemap " + request.pe_map + ": " + map.message());
    for (int cpu : *map) {
      if (std::count(usable.cpus.begin(), usable.cpus.end(), cpu) == 0) {
        return Status::failure("+pemap " + request.pe_map + " names cpu " + std::to_string(cpu) +
                               ", which we may not use; we may use " + ranges(usable.cpus));
      }
    }
    follow_map(layout, *map);
  } else {
    // Threads are bound where the run takes every cpu that it may use. Others are left to the kernel, which gives them
    // those cpus that nothing else keeps busy: bound, several such runs could sit on the same ones for good.
    const bool takes_all = layout.pes > 1 && layout.pes >= static_cast<int>(usable.cpus.size());
    spread(layout, *cpus, takes_all || request.bind || !request.excluded.empty());
  }
  layout.binding = describe_binding(layout);
  return layout;
}

UsableCpus find_usable_cpus(int wanted) {
  UsableCpus usable;
  std::vector<int> cpus = topology::allowed_cpus();
  int all = static_cast<int>(cpus.size());
  if (wanted <= 0) wanted = all;
  // Several small runs on one machine should not all begin on its first cpu: begin on the one we are on.
  auto current = std::find(cpus.begin(), cpus.end(), topology::current_cpu());
  if (wanted < all && current != cpus.end()) std::rotate(cpus.begin(), current, cpus.end());
  usable.cpus = topology::distinct_cores_first(cpus, wanted);
  usable.quota = topology::cpu_quota();
  return usable;
}

// ---- +pemap

namespace {

struct MapRange {
  int first = 0, last = 0, stride = 1, run = 1, repeat = 1;
  std::vector<int> offsets = {0};
};

// L[-U[:S[.R]]][+O]..., optionally preceded by a repeat count and an x.
class MapReader {
 public:
  explicit MapReader(const std::string& text) : text_(text) {}

  Result<MapRange> range() {
    MapRange range;
    if (!number(range.first)) return wrong("a cpu number");
    if (accept('x') || accept('X')) {
      range.repeat = range.first;
      if (!number(range.first)) return wrong("a cpu number behind the x");
    }
    range.last = range.first;
    if (accept('-')) {
      if (!number(range.last)) return wrong("a cpu number behind the -");
      if (accept(':')) {
        if (!number(range.stride)) return wrong("a stride behind the :");
        if (accept('.') && !number(range.run)) return wrong("a run length behind the .");
      }
    }
    while (accept('+')) {
      int offset = 0;
      if (!number(offset)) return wrong("a number behind the +");
      range.offsets.push_back(offset);
    }
    if (range.last < range.first) {
      return Status::failure("the range " + std::to_string(range.first) + "-" + std::to_string(range.last) +
                             " ends before it begins");
    }
    if (range.stride < 1 || range.run < 1 || range.run > range.stride) {
      return Status::failure("in a range L-U:S.R the stride S must be at least 1 and the run R between 1 and S");
    }
    return range;
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool done() const { return at_ == text_.size(); }
  Status wrong(const std::string& expected) const {
    return Status::failure("expected " + expected + " at \"" + text_.substr(at_) + "\" of \"" + text_ +
                           "\". The form is L[-U[:S[.R]+O]][,...], for example 0-15:4.3");
  }

 private:
  bool number(int& value) {
    std::size_t begin = at_;
    long long read = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && read < 1'000'000) {
      read = read * 10 + (text_[at_++] - '0');
    }
    value = static_cast<int>(read);
    return at_ > begin;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

constexpr std::size_t kLongestMap = 1 << 16;

}  // namespace

Result<std::vector<int>> parse_pe_map(const std::string& text) {
  MapReader reader(text);
  bool logical = reader.accept('L') || reader.accept('l');
  std::vector<int> cpus;
  do {
    Result<MapRange> range = reader.range();
    if (!range) return range.status();
    for (int again = 0; again < range->repeat; ++again) {
      for (int at = range->first; at <= range->last; at += range->stride) {
        for (int i = at; i < at + range->run && i <= range->last; ++i) {
          for (int offset : range->offsets) cpus.push_back(i + offset);
          if (cpus.size() > kLongestMap) return Status::failure("the map names more than 65536 cpus");
        }
      }
    }
  } while (reader.accept(','));
  if (!reader.done()) return reader.wrong("a comma or the end");
  if (!logical) return cpus;
  Result<std::vector<int>> os = topology::logical_to_os();
  if (!os) return Status::failure("the prefix L asks for logical numbers, but " + os.message());
  for (int& cpu : cpus) {
    if (cpu >= static_cast<int>(os->size())) {
      return Status::failure("there is no logical cpu " + std::to_string(cpu) + ", only 0 to " +
                             std::to_string(os->size() - 1));
    }
    cpu = (*os)[static_cast<std::size_t>(cpu)];
  }
  return cpus;
}

// ---- in words

std::string Process::describe_pes() const {
  if (pes == 1) return "PE " + std::to_string(first_pe);
  return "PEs " + std::to_string(first_pe) + "-" + std::to_string(first_pe + pes - 1);
}

std::string HostLayout::describe() const {
  std::string text = count_pes(pes) + " in " + count_processes(process_count());
  if (process_count() > 1) text += " of " + std::to_string(processes[0].pes);
  if (host_count() > 1) text += " on " + std::to_string(host_count()) + " hosts; here " + count_pes(this_host().pes);
  text += ", " + count(carrier_count(), "thread", "threads") + " on " + count_cpus(cpus);
  if (this_host().pes > carrier_count()) {
    std::size_t most = 0;
    for (const Carrier& carrier : carriers) most = std::max(most, carrier.pes.size());
    text += " (" + std::to_string(most) + " PEs a thread)";
  }
  return text + ", " + binding + (oversubscribed ? "; more PEs than cpus" : "");
}

std::string HostLayout::describe_carriers() const {
  std::string text;
  for (int i = 0; i < carrier_count(); ++i) {
    const Carrier& carrier = carriers[static_cast<std::size_t>(i)];
    if (i > 0) text += '\n';
    text += carrier.pes.size() == 1 ? "PE " : "PEs ";
    text += ranges(carrier.pes) + " of process " + std::to_string(carrier.process) + ": ";
    text += carrier.cpu >= 0 ? topology::describe_cpu(carrier.cpu) : "not bound to a cpu";
  }
  return text;
}

}  // namespace periapt::bootstrap
