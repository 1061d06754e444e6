// What the streams of mesh_streamer.cpp carry: it leads to `further` others, one after the other.
#pragma once
#include "charm++.h"

struct Item {
  int value, further;
  CkGroupID streamer;  // that it came by
};

// What the streamers of groups call with an item, in place of the client's process().
int take_item(char* item, void* sink);
