// Messages of Converse packed into one block: see runtime/converse/pup_cmialloc.h.
#pragma once
#include "runtime/converse/pup_cmialloc.h"
