// Readonlys declared in C++: see runtime/api/readonly.h.
#pragma once
#include "charm++.h"
