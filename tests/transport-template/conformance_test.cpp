// The template passes the suite: put and get whose only completion signal is a marker message behind the data.
#include "tests/machine/conformance.h"

#include "machine/transport-template/transport.h"

PERIAPT_CONFORMS(Template, (periapt::conformance::Subject{.factory = &periapt::transport_template::factory}));
