// From a piece of work to the object that it is for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/objects/pe_objects.h"

namespace periapt {

// What the scheduler has taken from its queue: held back while the program has not started here.
void deliver(Pe& pe, Work& work);
// The one place that finds out what a call is for. Counts it as processed.
void deliver(PeObjects& objects, Delivery& call);
// Calls that have come together: at the begin of `bytes`, `calls` bodies of body_bytes(meta) bytes, each an element and
// the arguments.
void deliver_run(PeObjects& objects, std::uint64_t meta, std::uint32_t calls, std::span<const std::byte> bytes);

}  // namespace periapt
