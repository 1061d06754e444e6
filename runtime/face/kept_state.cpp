// See kept_state.h.
#include "runtime/face/kept_state.h"

#include <vector>

namespace periapt {
namespace {
std::vector<KeptState>& states() {
  static std::vector<KeptState> all;
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

}  // namespace periapt
