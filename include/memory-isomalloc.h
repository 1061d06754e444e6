// Memory at the same addresses in all processes: see runtime/converse/isomalloc.h. Plain C.
#pragma once
#include "runtime/converse/isomalloc.h"
