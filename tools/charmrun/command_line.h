// The command line of charmrun. Its options may stand on either side of the program; what comes out is the one form
// that programs understand: ./program +pN +ppn M arguments...
#pragma once

#include <string>
#include <vector>

namespace periapt::charmrun {

struct Run {
  std::string error;                 ///< not empty: what is wrong, with what to do about it
  std::vector<std::string> remarks;  ///< options accepted without effect, shown with ++verbose
  std::vector<std::string> argv;     ///< the program and its arguments
  std::string timeout;               ///< ++timelimit: seconds, empty for none
  bool verbose = false;
  bool quiet = false;
  bool help = false;
  bool version = false;
};

Run parseCommandLine(const std::vector<std::string>& arguments);

std::string helpText();

}  // namespace periapt::charmrun
