// The network of NCCL over our engine: what the functions of each table (plugin.cpp) do.
//
//   a communicator's thread   has a worker of the engine, made when it listens or connects first (NCCL has a thread of
//   its
//                             own for each communicator that does). It lives as long as one of its connections
//   listen, connect, accept   meet over TCP (meeting.h) and connect the workers; from then on the engine knows the
//   peer, and
//                             hears of its end
//   receive                   posts tagged receives, a tag of NCCL's each, and grants the other side as many sends
//   send                      answers no request until it has been granted one: so no message comes that no receive
//   waits
//                             for, none takes another one's room, and connections do not hold each other up
//   test                      makes progress, for all connections of the worker
//   flush                     has nothing to do: a receive ends when the bytes are in the GPU's memory
//
// Threads: any function may be called by any thread. Calls for the connections of one worker exclude each other (its
// mutex); those of different workers do not. listen() and connect() lock the process's table of workers besides, for
// moments. Nothing waits for another process but closing: it waits until what was sent has left this one. regMr of a
// GPU's memory waits for one copy of a byte.
//
// Errors: one line through NCCL's logger, at the first call that answers it, and
//   system_error     the system or a driver refuses; no transport is usable; memory that no driver knows
//   remote_error     the other process has gone, or has closed the connection
//   invalid_usage    a message is longer than the receive that it matches
//   internal_error   the rest
//
// A connection that is closed with operations under way ends those of all connections between the same two workers, at
// both sides: their memory is the caller's again when close returns. What the other side has received of a send that is
// given up so is not defined, even where it was told that all is well. NCCL closes so only when a communicator is given
// up.
//
// Environment: PERIAPT_NCCL_TRANSPORTS as +transports, PERIAPT_NCCL_DEVICES as +net-devices, PERIAPT_NCCL_SECRET for
// users with a secret: the same text for all processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/nccl-net/declarations.h"

namespace periapt::nccl_net {

/// Of the one device that stands for all: the engine chooses for each peer, and uses several devices at a time.
struct Properties {
  std::uint64_t guid = 0;
  int pointers = kPointsToHost;
  int speed = 0;      ///< Mb/s
  float latency = 0;  ///< us
};
inline constexpr int kMostComms = 1 << 16;
inline constexpr int kMostReceives = 8;

Answer init(Logger logger);
/// 1, or an error that says why no transport is usable.
Answer count_devices(int* count);
Answer properties(int device, Properties* properties);

/// `handle`: kHandleBytes.
Answer listen(int device, void* handle, void** listen);
/// *send, *receive stay nullptr while it is under way: to be called again with the same handle.
Answer connect(int device, void* handle, void** send);
Answer accept(void* listen, void** receive);

Answer register_memory(void* comm, void* memory, std::size_t bytes, int type, void** registered);
Answer refuse_dmabuf();

/// *request stays nullptr if it cannot be done now.
Answer send(void* send, void* memory, std::size_t bytes, int tag, void* registered, void** request);
Answer receive(void* receive, int count, void** memory, const std::size_t* bytes, const int* tags, void** registered,
               void** request);
/// bytes may be nullptr; else one for each receive of a group. A request that is done is not there any more.
Answer test(void* request, int* done, int* bytes);

Answer close_send(void* send);
Answer close_receive(void* receive);
Answer close_listen(void* listen);

}  // namespace periapt::nccl_net
