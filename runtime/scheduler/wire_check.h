// What another host has sent is looked at before a PE takes it: what a line or a block says of itself must hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/message/envelope.h"

namespace periapt::scheduler {

// What is wrong with a line of that `meta` (see Work) and body; nullptr: nothing. A pointer never comes in a line.
const char* wrong_line(std::uint64_t meta, std::span<const std::byte> body);
// The same of a block in a run of that many PEs, whose length has been looked at already.
const char* wrong_block(std::uint64_t meta, const Envelope& envelope, int pes);

}  // namespace periapt::scheduler
