// Colors of numbers. C++17: reached from liveViz.h.
#pragma once

// The color of a value between min and max: red, yellow, green, cyan, blue, purple. White outside of them.
void colorScale(double value, double min, double max, unsigned char rgb[3]);
