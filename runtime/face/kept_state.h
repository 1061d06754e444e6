// What the parts above the chares (part.h) keep over a checkpoint and a restart: bytes of PE 0, under a name. And what
// libraries of chares could not keep over a change of the number of PEs.
#pragma once
#include <map>
#include <string>

namespace periapt {

struct KeptState {
  const char* name;
  // When a checkpoint is written. `in_memory`: it never lies on a disk.
  std::string (*bytes)(bool in_memory);
  // At a restart, before the mainchares are there again.
  void (*take_back)(const std::string& bytes);
};
// When entries are registered (Part::register_entries).
void keep_state(const KeptState& state);

// For checkpoints: all of it, by name.
std::map<std::string, std::string> bytes_of_kept_states(bool in_memory);
void give_kept_states_back(const std::map<std::string, std::string>& bytes);

// A library of chares says what it has on a PE that cannot go on with another number of PEs, in words that "is open"
// may follow; "": nothing. A request for another number is refused then. Called while the process starts.
using TiedToPes = std::string (*)(int pe);
void also_ask_what_is_tied_to_pes(TiedToPes library);
std::string what_is_tied_to_pes(int pe);

}  // namespace periapt
