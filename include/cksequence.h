// CkSequence: see runtime/containers/sequence.h.
#pragma once
#include "runtime/containers/sequence.h"
