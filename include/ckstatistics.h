// CkSample: see runtime/containers/sample.h.
#pragma once
#include "runtime/containers/sample.h"
