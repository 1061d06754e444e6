// What a context says of its process where no launcher of ours has told it: in libraries that other programs load
// (libucp, NCCL's net).
#pragma once

#include "machine/ucx-like/context.h"

namespace periapt::ucx {

PeerId random_peer_id();

/// Sets `self`, `host` and `secret`. Jobs of such programs share no secret; a user with one gives it to all processes
/// by the variable in the environment, without which it is `otherwise`.
void stand_alone(ContextRequest& request, const char* variable, const char* otherwise);

}  // namespace periapt::ucx
