// Copies between the memory of this process and that of another one of the machine, made by the kernel
// (process_vm_readv and writev). What a container or a security module forbids is found by a try.
#pragma once

#include <cstdint>

namespace periapt::host {

/// `from` is an address of `process`. 0: all was copied. Else errno, and nothing is known of `to`: ESRCH: the process
/// has gone; EFAULT: it has no such memory; anything else: it may not be looked into.
int copy_from_process(std::uint32_t process, void* to, std::uint64_t from, std::uint64_t size);
int copy_to_process(std::uint32_t process, std::uint64_t to, const void* from, std::uint64_t size);

/// Lets this process's parent and all that it started copy, where a rule of the system (Yama) would allow ancestors
/// only.
void allow_copies_by_siblings();

}  // namespace periapt::host
