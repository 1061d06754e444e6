// The kernel's asymmetric barrier: a PE about to sleep for long pays for the ordering, a sender pays nothing.
#pragma once

namespace periapt::host {

/// Registers this process for the barrier: among its own threads, or among all registered processes of the host. False:
/// the kernel (or a sandbox) does not let us.
bool register_membarrier(bool across_processes);

/// A full barrier on every running thread that is registered so.
void membarrier(bool across_processes);

}  // namespace periapt::host
