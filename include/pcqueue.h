// PCQueue: see runtime/containers/pc_queue.h.
#pragma once
#include "runtime/containers/pc_queue.h"
