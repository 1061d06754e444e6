// Arrays of threads: see runtime/converse/cpath.h. Plain C.
#pragma once
#include "converse.h"
