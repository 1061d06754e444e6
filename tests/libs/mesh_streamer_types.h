// The types of the streamers of mesh_streamer.cpp's array: those that Charm++ up to 7.0 has for them, or 8.0's. Macros
// alone, as the .ci includes it.
#pragma once
#ifdef AS_8_0
#define CELL_TYPES Item, Cell, SimpleMeshRouter
#else
#define CELL_TYPES Item, CkArrayIndex2D, Cell, NodeAwareMeshRouter
#endif
