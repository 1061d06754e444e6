// Calls of [aggregate] entries travel together (TRAM, in Charm++'s words).
//
// PEs form a grid: a row is a host, a column holds the PEs of equal rank on all hosts. A call goes along the column in
// a message with others for any PE of that host, and along the row in one with others for the same PE. So a PE keeps at
// most one buffer for each other host and for each PE of its own. A buffer is sent when it is full, when the PE has
// nothing else to do, and after a millisecond of work.
//
// A call counts for quiescence when it is made and when it is delivered, so nothing is quiet while one lies in a
// buffer. C++17: reached from charm++.h.
#pragma once
#include <cstddef>

#include "runtime/scheduler/aggregator.h"

// What generated code says of an entry [aggregate]: bytes of a buffer for one host, of which the largest that an entry
// of the program asks for counts.
void CkRegisterAggregate(int buffer_bytes);

namespace periapt {

class Pe;

// Gives the PE its buffers, if the program has such entries.
void begin_aggregation(Pe& pe);
void register_aggregation_entries();

}  // namespace periapt
