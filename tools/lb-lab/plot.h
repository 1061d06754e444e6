// Pictures to print or to put into a paper: a row for each step, a column for each strategy, and in each field the load
// of the PEs before and after, and which objects move where. A run of very many steps shows its first ones.
#pragma once
#include <iosfwd>
#include <vector>

#include "tools/lb-lab/view.h"

namespace periapt::lab {

// Vectors that browsers, editors and LaTeX take.
void write_svg(std::ostream& out, const std::vector<View>& views);
// The same, as pixels.
void write_png(std::ostream& out, const std::vector<View>& views);

}  // namespace periapt::lab
