// Calls of functions on other PEs: see runtime/converse/cpm.h.
#pragma once
#include "converse.h"
