/* Pools of memory: see runtime/converse/mempool.h. Plain C. */
#pragma once
#include "converse.h"
#include "runtime/converse/mempool.h"
