// Simulated: a whole machine of many hosts inside this process (machine/sim), as the layer and its Port see it. All PEs
// share one heap and one Port; whatever is sent leaves the Port by its FarSide, as if every other PE were on another
// host, and becomes an event of the machine.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "machine/bootstrap/layout.h"
#include "machine/host/heap.h"
#include "machine/host/inbox.h"
#include "machine/sim/machine.h"

namespace periapt::machine {

/// Takes "+sim OPTIONS" out of argv; nothing: not given.
Result<std::optional<sim::Options>> take_sim_option(int& argc, char** argv);

class Simulated : public host::FarSide {
 public:
  explicit Simulated(const sim::Options& options);
  ~Simulated() override;

  sim::Machine& machine() { return machine_; }
  /// One host with one process for each node; the carrier of this process runs all PEs.
  bootstrap::HostLayout layout() const;
  void set_heap(host::Heap* heap) { heap_ = heap; }
  void set_block_bytes(std::size_t (*block_bytes)(const void*)) { block_bytes_ = block_bytes; }

  void send(host::Port& from, int to, std::uint64_t meta, void* block) override;
  void send_line(host::Port& from, int to, const void* line, std::size_t bytes) override;
  bool progress(host::Port& driver, host::Deliver deliver, void* context) override;

  /// Prints what the simulation has found, and writes the file that was asked for.
  void report() const;

 private:
  sim::Machine machine_;
  host::Heap* heap_ = nullptr;
  std::size_t (*block_bytes_)(const void*) = nullptr;
};

}  // namespace periapt::machine
