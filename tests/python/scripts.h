// What client (pack.cpp) and program (scripts.cpp) have alike: numbers that a script's function visits.
#pragma once
#include "PythonCCS-client.h"

class Range : public PythonIterator {
 public:
  Range(int first, int end) : first(first), end(end) {}
  int size() override { return static_cast<int>(sizeof(*this)); }
  int first, end;
};
// The same as it arrives: what the client's object begins with means nothing here.
struct RangeBytes {
  void* of_the_client;
  int first, end;
};
