// CkRect, CkImage, CkAllocImage: see runtime/containers/image.h.
#pragma once
#include "runtime/containers/image.h"
