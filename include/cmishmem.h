// CmiIpcBlock: see runtime/converse/ipc.h.
#pragma once
#include "runtime/converse/ipc.h"
