// What travels in a stream (NDMeshStreamer.h). C++17: programs include it.
#pragma once

// An item for an element of an array.
template <class dtype, class itype>
struct ArrayDataItem {
  itype arrayIndex;
  dtype dataItem;
};

// What is done with an item where it is for; a program may name another function.
template <class dtype, class ClientType>
int defaultMeshStreamerDeliver(char* item, void* client) {
  static_cast<ClientType*>(client)->process(*reinterpret_cast<dtype*>(item));
  return 0;
}
