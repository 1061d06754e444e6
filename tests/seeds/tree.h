// What the nodes of a tree tell their parents of the tree below them.
#pragma once
#include "pup.h"

struct Seen {
  int nodes = 0;
  unsigned long long pes = 0;  // a bit for each PE on which one was constructed
  void pup(PUP::er& p) {
    p | nodes;
    p | pes;
  }
};
