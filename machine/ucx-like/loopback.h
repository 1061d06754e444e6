// A worker's way to itself: messages wait in a queue until progress(). A Transport like any other, so that what the
// engine does with a peer it also does with itself.
#pragma once

#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

extern const TransportFactory kLoopback;

}  // namespace periapt::ucx
