// The inside of the engine, for tests that look at it. From the bottom up, a part each:
//
//   credit.h       what a peer may send, and what may be sent to it
//   device_ports.h the devices of this process; rails.h: the links to a peer
//   plan.h         what devices cost; what large messages took
//   matching/      which receive gets which message
//   operation.h    an operation of the user's
//   endpoint.h     a peer; worker_impl.h: all peers, progress, and what arrives
//   protocol/      the ways in which bytes travel, a file and a row of a table each
//
// Everything belongs to one thread. Call-backs of the user are made when the state is whole again, from progress()
// only.
#pragma once

#include "machine/ucx-like/endpoint.h"
#include "machine/ucx-like/worker_impl.h"
