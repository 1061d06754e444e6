// Readonlys declared in C++: see runtime/chare/readonly.h.
#pragma once
#include "charm++.h"
