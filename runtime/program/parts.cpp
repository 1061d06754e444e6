// The one file that names all parts above the chares. A part is a folder of floor 4, and one line here.
#include "runtime/program/parts.h"

#include "runtime/ccs/part.h"
#include "runtime/checkpoint/part.h"
#include "runtime/loadbalance/part.h"
#include "runtime/order/part.h"
#include "runtime/resize/part.h"
#include "runtime/trace/part.h"

namespace periapt::program {
std::vector<Part> parts() {
  return {order::part(), loadbalance::part(), checkpoint::part(), ccs::part(), resize::part(), trace::part()};
}
}  // namespace periapt::program
