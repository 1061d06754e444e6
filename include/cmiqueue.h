// The queue of PCQueue by another name.
#pragma once
#include "pcqueue.h"

#define CMIQueue PCQueue
#define CMIQueueCreate PCQueueCreate
#define CMIQueuePush PCQueuePush
#define CMIQueuePop PCQueuePop
#define CMIQueueEmpty PCQueueEmpty
