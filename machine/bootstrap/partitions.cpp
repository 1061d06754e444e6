// See partitions.h.
#include "machine/bootstrap/partitions.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "machine/bootstrap/arguments.h"

namespace periapt::bootstrap {
namespace {

constexpr const char* kSizesForm = "write it as 0-4:2#10,1#5,3#15: partitions 0, 2 and 4 of 10 processes, ...";

// Reads numbers and marks from the beginning of a text.
class PartitionsParser {
 public:
  explicit PartitionsParser(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  bool take(char mark) {
    if (text_.empty() || text_.front() != mark) return false;
    text_.remove_prefix(1);
    return true;
  }
  // -1: there is no number, or one that no layout has.
  int number() {
    int value = -1;
    for (; !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; text_.remove_prefix(1)) {
      if (value > 1'000'000) return -1;
      value = std::max(value, 0) * 10 + (text_.front() - '0');
    }
    return value;
  }

 private:
  std::string_view text_;
};

// One item of +partition_sizes.
struct Item {
  int first = 0, last = 0, stride = 1, together = 1, processes = 0;
  bool make_sense() const { return first >= 0 && last >= first && stride >= 1 && together >= 1 && processes >= 1; }
};

Item read_item(PartitionsParser& text) {
  Item item;
  item.first = item.last = text.number();
  if (text.take('-')) {
    item.last = text.number();
    if (text.take(':')) {
      item.stride = text.number();
      if (text.take('.')) item.together = text.number();
    }
  }
  item.processes = text.take('#') ? text.number() : -1;
  return item;
}

Result<std::vector<int>> read_sizes(const std::string& text, int count) {
  const auto wrong = [&](const std::string& why) { return Status::failure("+partition_sizes " + text + ": " + why); };
  std::vector<int> sizes(static_cast<std::size_t>(count));
  PartitionsParser reader(text);
  do {
    const Item item = read_item(reader);
    if (!item.make_sense()) return wrong(kSizesForm);
    for (int first = item.first; first <= item.last; first += item.stride) {
      for (int at = first; at < first + item.together; ++at) {
        if (at >= count) return wrong("there is no partition " + std::to_string(at) + " of " + std::to_string(count));
        int& size = sizes[static_cast<std::size_t>(at)];
        if (size != 0) return wrong("partition " + std::to_string(at) + " is named twice");
        size = item.processes;
      }
    }
  } while (reader.take(','));
  if (!reader.done()) return wrong(kSizesForm);
  for (int at = 0; at < count; ++at) {
    if (sizes[static_cast<std::size_t>(at)] == 0)
      return wrong("it does not say how many processes partition " + std::to_string(at) + " has");
  }
  return sizes;
}

std::string in_words(int n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}
std::string processes_in_words(int n) { return in_words(n, "process", "processes"); }

Result<std::vector<int>> sizes_of(const PartitionRequest& request, int processes) {
  const int count = request.count;
  if (!request.sizes.empty()) {
    Result<std::vector<int>> sizes = read_sizes(request.sizes, count);
    if (!sizes) return sizes.status();
    long long sum = 0;
    for (int size : *sizes) sum += size;
    if (sum == processes) return sizes;
    return Status::failure("+partition_sizes " + request.sizes + " are " + std::to_string(sum) +
                           " processes in all, but the run has " + std::to_string(processes) +
                           ". Without +ppn and +np each PE is a process");
  }
  const int masters = request.master ? 1 : 0;
  const int left = processes - masters, among = count - masters;
  if (left < among || left % among != 0) {
    return Status::failure(
        "the run has " + processes_in_words(processes) + (request.master ? ", one of them the master partition" : "") +
        ", and " + std::to_string(left) + " / " + std::to_string(among) +
        (left < among ? " is less than one for each partition" : " is not whole: partitions are of processes") +
        ". Use +p, +ppn or +np so that there are " + std::to_string(among * std::max(1, left / among) + masters) +
        ", or say with +partition_sizes how many each has");
  }
  std::vector<int> sizes(static_cast<std::size_t>(count), left / among);
  if (request.master) sizes[0] = 1;
  return sizes;
}

}  // namespace

std::string PartitionRequest::text() const {
  if (!wanted()) return {};
  return "+partitions " + std::to_string(count) + (master ? " +master_partition" : "") +
         (sizes.empty() ? "" : " +partition_sizes " + sizes);
}

void add_partition_options(std::vector<std::string_view>& names) {
  names.insert(names.end(), {"partitions", "replicas", "master_partition", "partition_sizes", "partition_topology",
                             "partition_topology_scheme", "use_custom_partition"});
}

Status take_partition_options(int& argc, char** argv, PartitionRequest& request) {
  for (Arguments arguments(argc, argv); arguments.more();) {
    const std::string name = arguments.name();
    if (name == "partitions" || name == "replicas") {
      Result<std::string> text = arguments.take_value(name);
      if (!text) return text.status();
      PartitionsParser reader(*text);
      request.count = reader.number();
      if (request.count < 1 || !reader.done())
        return Status::failure("+" + name + " wants a number of partitions, not \"" + *text + "\"");
    } else if (name == "partition_sizes") {
      Result<std::string> text = arguments.take_value(name);
      if (!text) return text.status();
      request.sizes = *text;
    } else if (name == "master_partition") {
      arguments.take();
      request.master = true;
    } else if (name == "partition_topology" || name == "use_custom_partition") {
      arguments.take();  // processes are numbered host by host in any case: what is near is together
    } else if (name == "partition_topology_scheme") {
      Result<std::string> scheme = arguments.take_value(name);
      if (!scheme) return scheme.status();
    } else {
      arguments.skip();
    }
  }
  return {};
}

Result<Partitions> Partitions::resolve(const PartitionRequest& request, int processes) {
  if (request.master && !request.sizes.empty())
    return Status::failure("+master_partition and +partition_sizes exclude each other: sizes begin with 0#1 then");
  if (request.master && request.count < 2)
    return Status::failure("+master_partition needs others: add +partitions 2 or more");
  Result<std::vector<int>> sizes = sizes_of(request, processes);
  if (!sizes) return Status::failure("+partitions " + std::to_string(request.count) + ": " + sizes.message());
  Partitions partitions;
  partitions.first_ = {0};
  for (int size : *sizes) partitions.first_.push_back(partitions.first_.back() + size);
  return partitions;
}

int Partitions::of_process(int process) const {
  return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), process) - first_.begin()) - 1;
}

std::string Partitions::describe() const {
  constexpr int kNamed = 8;
  bool equal = true;
  for (int i = 1; i < count(); ++i) equal = equal && processes(i) == processes(0);
  const std::string text = in_words(count(), "partition", "partitions") + " of ";
  if (equal) return text + processes_in_words(processes(0));
  std::string sizes;
  for (int i = 0; i < std::min(count(), kNamed); ++i) {
    if (i != 0) sizes += i + 1 == count() ? " and " : ", ";
    sizes += std::to_string(processes(i));
  }
  return text + sizes + (count() > kNamed ? ", ..." : "") + " processes";
}

HostLayout layout_of_partition(const HostLayout& run, const Partitions& partitions, int partition) {
  const int first = partitions.first_process(partition), end = partitions.first_process(partition + 1);
  const int origin = run.processes[static_cast<std::size_t>(first)].first_pe;
  HostLayout part;
  part.cpus = run.cpus;
  part.binding = run.binding;
  part.oversubscribed = run.oversubscribed;
  part.show_affinity = run.show_affinity;
  part.pes = 0;
  int host = -1;  // of the run, of the process before
  for (int i = first; i < end; ++i) {
    Process process = run.processes[static_cast<std::size_t>(i)];
    if (process.host != host) part.hosts.push_back({part.pes, 0, i - first, 0});
    host = process.host;
    if (host == run.host) part.host = part.host_count() - 1;
    part.hosts.back().pes += process.pes;
    ++part.hosts.back().processes;

    const int run_carrier = process.first_carrier;
    process.first_carrier = part.carrier_count();
    for (int c = run_carrier; host == run.host && c < run_carrier + process.carriers; ++c) {
      Carrier carrier = run.carriers[static_cast<std::size_t>(c)];
      carrier.process = i - first;
      for (int& pe : carrier.pes) pe -= origin;
      part.carriers.push_back(std::move(carrier));
    }
    for (int pe = process.first_pe; pe < process.first_pe + process.pes; ++pe) {
      const int carrier = run.carrier_of[static_cast<std::size_t>(pe)];
      part.carrier_of.push_back(carrier < 0 ? -1 : carrier - run_carrier + process.first_carrier);
    }
    part.process_of.insert(part.process_of.end(), static_cast<std::size_t>(process.pes), i - first);
    process.first_pe -= origin;
    process.host = part.host_count() - 1;
    part.pes += process.pes;
    part.processes.push_back(process);
  }
  return part;
}

}  // namespace periapt::bootstrap
