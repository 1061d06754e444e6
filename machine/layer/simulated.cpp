#include "machine/layer/simulated.h"

#include <sys/stat.h>

#include <cstdio>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/fatal.h"
#include "base/output.h"
#include "machine/bootstrap/arguments.h"
#include "machine/layer/one_sided.h"

namespace periapt::machine {
namespace {
sim::Machine* the_machine = nullptr;
constexpr std::uint64_t kIsLine = std::uint64_t{1} << 63;
std::uint64_t virtual_ns() { return the_machine->now() / sim::kNs; }
}  // namespace

Result<std::optional<sim::Options>> take_sim_option(int& argc, char** argv) {
  std::optional<sim::Options> found;
  for (bootstrap::Arguments arguments(argc, argv); arguments.more();) {
    if (arguments.name() != "sim") {
      arguments.skip();
      continue;
    }
    if (found) return Status::failure("+sim is given twice; put all of it into one: +sim nodes=4,seed=7");
    Result<std::string> text = arguments.take_value("sim");
    if (!text) return Status::failure("+sim wants the machine behind it: +sim nodes=1024,ppn=4,topology=torus:8x8x16");
    Result<sim::Options> options = sim::parse_options(*text);
    if (!options) return options.status();
    found = std::move(*options);
  }
  return found;
}

Simulated::Simulated(const sim::Options& options) : machine_(options) {
  the_machine = &machine_;
  clock::set_source(virtual_ns);
}
Simulated::~Simulated() {
  clock::set_source(nullptr);
  the_machine = nullptr;
}

bootstrap::HostLayout Simulated::layout() const {
  const sim::Options& options = machine_.options();
  bootstrap::HostLayout layout;
  layout.pes = options.pes();
  layout.binding = "simulated";
  bootstrap::Carrier carrier;
  for (int node = 0; node < options.nodes; ++node) {
    const int first = node * options.ppn;
    layout.hosts.push_back({first, options.ppn, node, 1});
    layout.processes.push_back({first, options.ppn, 0, node == 0 ? 1 : 0, node});
    for (int pe = first; pe < first + options.ppn; ++pe) {
      carrier.pes.push_back(pe);
      layout.process_of.push_back(node);
      layout.carrier_of.push_back(0);
    }
  }
  layout.carriers.push_back(std::move(carrier));
  return layout;
}

void Simulated::send(host::Port&, int to, std::uint64_t meta, void* block) {
  if (meta == OneSided::kRmaRequestMeta) return machine_.send(to, meta, block, OneSided::request_bytes(block));
  const std::size_t bytes = block_bytes_(block);
  if (machine_.node_of(machine_.running()) != machine_.node_of(to) && host::Heap::is_shared(block)) {
    // What a network delivers belongs to its receiver alone.
    void* copy = heap_->allocate(bytes);
    std::memcpy(copy, block, bytes);
    heap_->release(block);
    block = copy;
  }
  machine_.send(to, meta, block, bytes);
}

// A line travels in a block of its own, with kIsLine in its meta, which has 56 bits.
void Simulated::send_line(host::Port&, int to, const void* line, std::size_t bytes) {
  std::uint64_t meta;
  std::memcpy(&meta, line, sizeof meta);
  void* block = heap_->allocate(host::Slot::kBodyBytes);
  std::memcpy(block, static_cast<const std::byte*>(line) + sizeof meta, bytes - sizeof meta);
  machine_.send(to, meta | kIsLine, block, bytes);
}

bool Simulated::progress(host::Port&, host::Deliver deliver, void* context) {
  sim::Machine::Arrival arrival;
  bool any = false;
  while (machine_.take(&arrival)) {
    any = true;
    alignas(16) std::byte body[host::Slot::kBodyBytes];
    if ((arrival.meta & kIsLine) == 0) {
      std::memcpy(body, &arrival.block, sizeof arrival.block);
    } else {
      std::memcpy(body, arrival.block, sizeof body);
      heap_->release(arrival.block);
    }
    deliver(context, arrival.meta & ~kIsLine, body);
  }
  return any;
}

void Simulated::report() const {
  const sim::Options& options = machine_.options();
  if (!options.quiet) {
    std::fputs(machine_.summary().c_str(), stdout);
    if (const Status printed = output::flush(); !printed) fatal(printed.message(), "standard output");
  }
  if (options.json.empty()) return;
  std::FILE* file = std::fopen(options.json.c_str(), "w");
  const std::string text = machine_.json();
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr && std::fclose(file) == 0 && written) return;
  const std::string why = error_text();
  struct stat about;
  if (::stat(options.json.c_str(), &about) == 0 && S_ISREG(about.st_mode)) std::remove(options.json.c_str());
  fatal("+sim json=" + options.json + " could not be written: " + why, "the report of a simulated run");
}

}  // namespace periapt::machine
