// The scheduler's queue as something of its own: see runtime/converse/cqs.h. Plain C.
#pragma once
#include "conv-config.h"
#include "runtime/converse/cqs.h"
