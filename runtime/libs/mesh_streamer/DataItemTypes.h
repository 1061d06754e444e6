// What travels in a stream (NDMeshStreamer.h). C++17: programs include it.
#pragma once

// An item for an element of an array.
template <class dtype, class itype>
struct ArrayDataItem {
  itype arrayIndex;
  dtype dataItem;
};
