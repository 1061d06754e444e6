// What Net is told: by the command line, and by the layer that opens it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/job_layout.h"
#include "machine/bootstrap/world.h"
#include "machine/layer/net_options.h"
#include "machine/layer/wire_format.h"
#include "machine/ucx-like/context.h"

namespace periapt::machine {

/// What the command line says about the network, as far as it concerns Net.
struct NetSettings {
  std::vector<const ucx::TransportFactory*> transports;
  std::string wanted;      ///< +transports
  ucx::OptionText option;  ///< the transports' own options
  ucx::Limits limits;
  int workers = 0;  ///< +workers; 0: chosen here
};

/// What the options say. Fails when it makes no sense (Net::check()).
Result<NetSettings> settings_of(const NetOptions& options);

/// The engine's part of them, for the whole process.
ucx::ContextRequest request_of(const NetSettings& settings);

struct NetConfig {
  bootstrap::World* world = nullptr;
  const bootstrap::JobLayout* job = nullptr;
  NetSettings settings;
  const WireFormat* format = nullptr;  ///< known before the first message
  /// A process of another host has gone, without being expected to. Called with a worker in use: only tell.
  std::function<void(int process, const std::string& reason)> lost;
  /// One has ended the run and said why. The same.
  std::function<void(int process)> ended;

  /// The number in the run of the PE that is number 0 to the Ports and the runtime of this process.
  int origin = 0;

  const bootstrap::Process& own() const { return job->layout.processes[static_cast<std::size_t>(job->process)]; }
};

}  // namespace periapt::machine
