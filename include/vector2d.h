// vector2d: see runtime/containers/vector2d.h.
#pragma once
#include "runtime/containers/vector2d.h"
