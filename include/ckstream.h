// ckout, ckerr and ckin: see runtime/converse/streams.h.
#pragma once
#include "runtime/converse/streams.h"
