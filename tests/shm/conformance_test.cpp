// The shared memory transport passes the suite: as workers of one process that copy straight from each other, as if
// they were in several (with process_vm_readv), and where a container forbids that.
#include "tests/machine/conformance.h"

#include "machine/shm/transport.h"

PERIAPT_CONFORMS(ShmSameProcess, (periapt::conformance::Subject{.factory = &periapt::shm::factory}));
PERIAPT_CONFORMS(ShmCopying, (periapt::conformance::Subject{.factory = &periapt::shm::factory,
                                                            .options = {{"+shm-direct", "off"}}}));
PERIAPT_CONFORMS(ShmForbidden,
                 (periapt::conformance::Subject{.factory = &periapt::shm::factory,
                                                .options = {{"+shm-direct", "off"}, {"+shm-cma", "off"}}}));
