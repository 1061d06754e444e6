// Requests from outside that come to a CkCallback.
#pragma once
#include "charm++.h"
#include "conv-ccs.h"
#include "runtime/ccs/ccs_callback.h"
