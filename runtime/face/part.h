// Parts of the runtime that stand above the chares (load balancing, checkpoints, traces, libraries) and take part in
// start and end of a program. runtime/program/parts.cpp names them all.
#pragma once
#include <vector>

namespace periapt {
class Pe;

struct Part {
  const char* name;
  void (*register_entries)() = nullptr;         // in every process, in the same order
  void (*take_options)(char** argv) = nullptr;  // before the processes part: removes its options
  void (*begin)(Pe& pe) = nullptr;              // on each PE, before any object of the program exists
  // On each PE, behind that: true when this part begins the program (from a checkpoint) instead of new mainchares.
  bool (*start)(Pe& pe) = nullptr;
  void (*end)(int code) = nullptr;  // once in each process, when its PEs have stopped
  // On the first PE of each process when all of the run is over, in place of exit(). Does not come back.
  void (*left)() = nullptr;
};

}  // namespace periapt
