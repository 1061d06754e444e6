// The Hilbert curve through all points whose coordinates are whole numbers from 0 on, of any number of dimensions.
// C++17: reached from hilbert.h.
//
// Point 0 is the origin, and two points that follow each other differ by 1 in one coordinate. The first 2^(dim * k)
// points fill a cube of 2^k a side. The order is Charm++'s.
#pragma once
#include <vector>

// The point with number `i` (0 or more), of `dim` coordinates (1 to 31).
std::vector<int> int_to_Hilbert(int i, int dim);
// The number of a point. One that is no int ends the run with a sentence.
int Hilbert_to_int(const std::vector<int>& coords, int dim);
