// The news of a collection that is to be made on every PE.
#pragma once
#include "runtime/message/message.h"

namespace periapt {

class Pe;

// Sends `news` to all other PEs. Where all are of one host each gets it from this PE itself, so what this PE sends to
// one of them afterwards finds the collection made there. Over several hosts it goes over a tree, and may be overtaken.
void announce(Pe& pe, const Message& news);

}  // namespace periapt
