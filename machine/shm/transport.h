// The shared memory transport: workers of one host, in processes that need not have been started by each other.
// See link.h for how bytes go, rendezvous.h for how workers meet.
//
// Options: +shm-cma on|off (may the private memory of other processes be read with process_vm_readv? default on, where
// a try shows that it works), +shm-direct on|off (do workers of one process copy straight from each other? default on;
// off treats them as if they were in two processes).
#pragma once

#include "machine/ucx-like/transport.h"

namespace periapt::shm {

/// The name is "shm"; its one device is "memory".
extern const ucx::TransportFactory factory;

/// Do the options leave it to a try whether processes of one host may copy from each other by the kernel? (+shm-cma)
bool wants_kernel_copies(const ucx::OptionText& option);

}  // namespace periapt::shm
