#include "machine/layer/transports.h"

#include "machine/shm/transport.h"
#include "machine/tcp/transport.h"

namespace periapt::machine {

const std::vector<const ucx::TransportFactory*>& transports() {
  static const std::vector<const ucx::TransportFactory*> all = {
      &shm::factory,
      &tcp::factory,
  };
  return all;
}

}  // namespace periapt::machine
