// Points along a Hilbert curve: see runtime/containers/hilbert.h.
#pragma once
#include "runtime/containers/hilbert.h"
