// What makes a shared object of a transport; left out where it is linked into the library.
#include "machine/ucx-like/plugin.h"

#include "machine/transport-template/transport.h"

PERIAPT_TRANSPORT_PLUGIN(periapt::transport_template::factory)
