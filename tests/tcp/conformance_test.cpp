// TCP over loopback passes the suite, with IPv4 and with IPv6.
#include "tests/machine/conformance.h"

#include "machine/tcp/transport.h"

PERIAPT_CONFORMS(Ip4, (periapt::conformance::Subject{.factory = &periapt::tcp::factory,
                                                     .options = {{"+net-devices", "127.0.0.1"}}}));
PERIAPT_CONFORMS(Ip6,
                 (periapt::conformance::Subject{
                     .factory = &periapt::tcp::factory, .options = {{"+net-devices", "::1"}}, .beyond_4_gib = false}));
