// See grid_queue.h.
#include "runtime/converse/grid_queue.h"

#include <array>
#include <set>

#include "runtime/converse/converse_state.h"

using namespace periapt;

namespace {
std::set<std::array<int, 5>>& here(const char* function) { return ConverseState::of(require_pe(function)).grid; }
}  // namespace

void CmiGridQueueRegister(int array, int ints, int index1, int index2, int index3) {
  here("CmiGridQueueRegister").insert({array, ints, index1, index2, index3});
}
void CmiGridQueueDeregister(int array, int ints, int index1, int index2, int index3) {
  here("CmiGridQueueDeregister").erase({array, ints, index1, index2, index3});
}
void CmiGridQueueDeregisterAll() { here("CmiGridQueueDeregisterAll").clear(); }
int CmiGridQueueLookup(int array, int ints, int index1, int index2, int index3) {
  return static_cast<int>(here("CmiGridQueueLookup").count({array, ints, index1, index2, index3}));
}
int CmiGridQueueLookupMsg(char*) { return 0; }
int CmiGridQueueGetInterval() { return 0; }
int CmiGridQueueGetThreshold() { return 0; }
