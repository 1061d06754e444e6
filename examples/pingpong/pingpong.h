// What goes with the calls of pingpong.ci.
#pragma once
#include "pup.h"

// One size of one table: how often, and by which entry.
struct Task {
  enum Way { marshalled, message, threaded, device };
  int way;
  int size;        // bytes
  int warm_up;     // round trips that check every byte and don't count
  int iterations;  // round trips that count
  int window;      // messages on their way at a time when streaming
};
PUPbytes(Task)

    // Seconds of one way, but for the stream.
    struct Result {
  double latency;      // mean
  double p50, p99;     // of single round trips, halved
  double per_message;  // streaming
};
PUPbytes(Result)
