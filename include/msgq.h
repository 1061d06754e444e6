// conv::msgQ: see runtime/scheduler/message_buckets.h.
#pragma once
#include "runtime/scheduler/message_buckets.h"
