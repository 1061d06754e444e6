// What the streams of mesh_streamer.cpp carry: it leads to `further` others, one after the other.
#pragma once
#include <vector>

#include "charm++.h"
#include "pup_stl.h"

struct Item {
  int value = 0, further = 0;
  CkGroupID streamer;  // that it came by
#ifdef OWNING
  std::vector<int> copies = std::vector<int>(static_cast<std::size_t>(value % 7), value);
  bool is_whole() const { return copies == std::vector<int>(static_cast<std::size_t>(value % 7), value); }
  void pup(PUP::er& p) {
    p | value;
    p | further;
    p | streamer;
    p | copies;
  }
#else
  bool is_whole() const { return true; }
#endif
};

// What the streamers of groups call with an item, in place of the client's process().
int take_item(char* item, void* sink);
