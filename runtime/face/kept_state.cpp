// See kept_state.h.
#include "runtime/face/kept_state.h"

#include <algorithm>
#include <vector>

namespace periapt {
namespace {
std::vector<KeptState>& states() {
  static std::vector<KeptState> all;
  return all;
}
std::vector<TiedToPes>& libraries_to_ask() {
  static std::vector<TiedToPes> all;
  return all;
}
}  // namespace

void keep_state(const KeptState& state) { states().push_back(state); }

std::map<std::string, std::string> bytes_of_kept_states(bool in_memory) {
  std::map<std::string, std::string> bytes;
  for (const KeptState& state : states()) bytes[state.name] = state.bytes(in_memory);
  return bytes;
}
void give_kept_states_back(const std::map<std::string, std::string>& bytes) {
  for (const KeptState& state : states())
    if (const auto found = bytes.find(state.name); found != bytes.end()) state.take_back(found->second);
}

void also_ask_what_is_tied_to_pes(TiedToPes library) {
  // (Processes that are simulated start here one after the other.)
  std::vector<TiedToPes>& all = libraries_to_ask();
  if (std::find(all.begin(), all.end(), library) == all.end()) all.push_back(library);
}
std::string what_is_tied_to_pes(int pe) {
  for (const TiedToPes library : libraries_to_ask())
    if (std::string what = library(pe); !what.empty()) return what;
  return "";
}

}  // namespace periapt
