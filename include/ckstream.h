// ckout, ckerr and ckin: see runtime/scheduler/streams.h.
#pragma once
#include "runtime/scheduler/streams.h"
