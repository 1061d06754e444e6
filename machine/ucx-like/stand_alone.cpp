#include "machine/ucx-like/stand_alone.h"

#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "base/this_host.h"

namespace periapt::ucx {

PeerId random_peer_id() {
  PeerId id = 0;
  while (id == 0) fill_random(&id, sizeof(id));
  return id;
}

void stand_alone(ContextRequest& request, const char* variable, const char* otherwise) {
  request.self = random_peer_id();
  // Processes of one boot of one machine, in one set of namespaces, are of one host.
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  request.host = std::string(name) + "-" + boot_id();
  const char* const given = std::getenv(variable);
  const auto secret = std::as_bytes(std::span(std::string_view(given != nullptr ? given : otherwise)));
  request.secret.assign(secret.begin(), secret.end());
}

}  // namespace periapt::ucx
