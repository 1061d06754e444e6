// What tells this host from others, and what its kernel has.
#pragma once

#include <cstdint>
#include <string>

namespace periapt {

/// The kernel's name for this boot: no other host has it, nor this one after its next start. "" when it gives none.
std::string boot_id();

/// The same as a number, for addresses of a fixed size.
std::uint64_t boot_number();

/// The number of this process's namespace of a kind ("net", "pid"); 0 when the kernel gives none. Different hosts may
/// have the same number.
std::uint64_t namespace_number(const char* kind);

/// Whether the kernel lists anything in a folder of its own, as in /sys/class/infiniband.
bool kernel_lists_any(const char* folder);

}  // namespace periapt
