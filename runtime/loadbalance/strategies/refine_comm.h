// RefineComm as other strategies use it: it goes on from their assignment.
#pragma once
#include "runtime/loadbalance/partners.h"

namespace periapt::loadbalance {
// `tolerance`: how full a PE may stay, in times of the average. A message counts as `message_bytes` beside its own.
Assignment refine_by_messages(const LoadDatabase& database, const Assignment& start, const Partners& partners,
                              double tolerance, double message_bytes);
}  // namespace periapt::loadbalance
