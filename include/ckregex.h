// findFirstCaptures: see runtime/containers/regex.h.
#pragma once
#include "runtime/containers/regex.h"
