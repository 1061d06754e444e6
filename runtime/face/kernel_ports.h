// What kernels send to this process, PE by PE: for the watchdog. Programs have it by runtime/api/kernel_port.h.
#pragma once
#include <cstddef>
#include <string>

#include "runtime/scheduler/pe.h"

namespace periapt {

/// Ports that are open on this PE, those being closed too, and waits for counters: something may still come from them.
std::size_t kernels_that_may_send(const Pe& pe);
/// Timers of this PE that are there to look at them.
std::size_t kernel_port_timers(const Pe& pe);
/// A line each.
std::string describe_kernel_ports(const Pe& pe);

}  // namespace periapt
