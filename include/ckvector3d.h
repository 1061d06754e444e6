// CkVector3d: see runtime/containers/vector3d.h.
#pragma once
#include "runtime/containers/vector3d.h"
