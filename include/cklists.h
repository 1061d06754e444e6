// CkVec, CkQ and their kin. The parts are in runtime/containers/.
#pragma once
#include "runtime/containers/compact_vec.h"
#include "runtime/containers/paged_vector.h"
#include "runtime/containers/queue.h"
#include "runtime/containers/safe_pool.h"
#include "runtime/containers/vec.h"
