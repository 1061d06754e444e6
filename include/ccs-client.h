// A client of programs that run with ++server: see runtime/ccs/client.h. Plain C.
#pragma once
#include "runtime/ccs/client.h"
