// See colorScale.h.
#include <cmath>

#include "colorScale.h"
#include "liveViz.h"

void colorScale(double value, double min, double max, unsigned char rgb[3]) {
  const double place = (value - min) / (max - min) * 5.0;
  rgb[0] = rgb[1] = rgb[2] = 255;
  if (!(place >= 0 && place <= 5)) return;
  const int part = place == 5 ? 4 : static_cast<int>(place);
  const auto rising = static_cast<unsigned char>((place - part) * 255.0);
  const auto falling = static_cast<unsigned char>(255.0 - (place - part) * 255.0);
  // Of each part: which color stays full, which changes, and how.
  static constexpr struct {
    int full, changing;
    bool rises;
  } parts[] = {{0, 1, true}, {1, 0, false}, {1, 2, true}, {2, 1, false}, {2, 0, true}};
  rgb[0] = rgb[1] = rgb[2] = 0;
  rgb[parts[part].full] = 255;
  rgb[parts[part].changing] = parts[part].rises ? rising : falling;
}

// Where a program has one of its own, that is linked.
__attribute__((weak)) void liveVizFloatToRGB(liveVizRequest&, const float* pixels, unsigned char* rgb, int count) {
  for (int i = 0; i < count; ++i) colorScale(pixels[i], 0, 1, rgb + 3 * i);
}
