// See NDMeshStreamer.h.
#include "NDMeshStreamer.h"

#include "NDMeshStreamer.def.h"
