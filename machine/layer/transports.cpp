#include "machine/layer/transports.h"

#include <sstream>

#include "machine/ofi/transport.h"
#include "machine/shm/transport.h"
#include "machine/tcp/transport.h"
#include "machine/verbs/transport.h"

namespace periapt::machine {

const std::vector<const ucx::TransportFactory*>& transports() {
  static const std::vector<const ucx::TransportFactory*> all = {
      &shm::factory,
      &tcp::factory,
      &verbs::factory,
      &ofi::factory,
  };
  return all;
}

bool name_shared_memory(const std::string& names) {
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == shm::factory.name) return true;
  }
  return false;
}

bool wants_kernel_copies(const ucx::OptionText& option) { return shm::wants_kernel_copies(option); }

}  // namespace periapt::machine
