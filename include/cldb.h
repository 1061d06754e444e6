// Messages that the runtime may put on any PE: see runtime/converse/cld.h. Plain C.
#pragma once
#include <stdio.h>

#include "converse.h"
