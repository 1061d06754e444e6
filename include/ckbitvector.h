// CkBitVector: see runtime/containers/bit_vector.h.
#pragma once
#include "runtime/containers/bit_vector.h"
