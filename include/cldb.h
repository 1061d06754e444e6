// Messages that the runtime may put on any PE, and those among them that may be taken back: see runtime/converse/cld.h
// and cld_tokens.h. Plain C.
#pragma once
#include <stdio.h>

#include "converse.h"
#include "runtime/converse/cld_tokens.h"
