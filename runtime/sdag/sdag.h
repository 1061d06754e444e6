// What generated code needs of the bodies of entries in a .ci ("structured dagger"). C++17: reached from charm++.h.
#pragma once
#include "runtime/sdag/frame.h"
#include "runtime/sdag/holder.h"
