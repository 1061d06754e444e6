// The scheduler's queue as something of its own: see runtime/scheduler/cqs.h.
#pragma once
#include "conv-config.h"
#include "runtime/scheduler/cqs.h"
