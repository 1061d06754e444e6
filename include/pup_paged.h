// Objects in blocks of a file: see runtime/converse/pup_paged.h.
#pragma once
#include "runtime/converse/pup_paged.h"
