// Persistent channels: see runtime/converse/persistent.h. Plain C.
#pragma once
#include "converse.h"
