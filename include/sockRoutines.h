// Helpers for sockets, of programs and of clients of CCS: see runtime/ccs/sockets.h. Plain C.
#pragma once
#include "runtime/ccs/sockets.h"
