// ckcomplex: see runtime/containers/complex.h.
#pragma once
#include "runtime/containers/complex.h"
