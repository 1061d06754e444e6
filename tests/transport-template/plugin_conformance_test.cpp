// The template passes the suite as a shared object, too.
#include "machine/layer/transports.h"
#include "tests/machine/conformance.h"

static const periapt::ucx::TransportFactory* loaded() {
  auto all = periapt::machine::transports_with(PLUGINS "/plugin/plugin.so");
  if (!all) throw std::runtime_error(all.message());
  return all->back();
}

PERIAPT_CONFORMS(LoadedTemplate, (periapt::conformance::Subject{.factory = loaded()}));
