// All blocks of the bodies that are registered, for what gives each a number before the program starts.
#pragma once
#include <functional>

#include "runtime/objects/serial_block.h"

namespace periapt {

struct AllSerialBlocks {
  // With the entry whose body the block is a part of. Set by runtime/sdag; null: no body is registered.
  static inline void (*for_each)(const std::function<void(const SerialBlock& block, int entry)>& visit) = nullptr;
};

}  // namespace periapt
