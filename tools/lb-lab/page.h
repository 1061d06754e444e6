// A page of HTML that a browser opens as it is: for each step and strategy the load of the PEs before and after, and
// how many objects go from where to where.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/lb-lab/view.h"

namespace periapt::lab {

class Page {
 public:
  void add(const View& view);
  void write(std::ostream& out) const;

 private:
  std::vector<std::string> pictures_;  // JSON objects
};

}  // namespace periapt::lab
