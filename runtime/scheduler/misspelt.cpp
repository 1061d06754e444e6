#include "runtime/scheduler/misspelt.h"

#include <cctype>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/nearest.h"
#include "machine/bootstrap/layout.h"
#include "machine/bootstrap/partitions.h"
#include "machine/layer/net_options.h"

namespace periapt {

namespace {
// Where the name behind the plus signs begins; npos: the argument has none.
std::size_t begin_of_name(const std::string& argument) {
  const std::size_t begin = argument.find_first_not_of('+');
  const bool is_name =
      begin != 0 && begin != std::string::npos && std::isalpha(static_cast<unsigned char>(argument[begin]));
  return is_name ? begin : std::string::npos;
}
}  // namespace

std::string meant_option(const std::string& argument) {
  const std::size_t begin = begin_of_name(argument);
  if (begin == std::string::npos) return {};
  // What may follow a name directly: +ppn2, +ppn=2.
  const std::string name = argument.substr(begin, argument.find_first_of("=0123456789", begin) - begin);
  // In a short name a letter is half of it.
  constexpr std::size_t kShort = 3, kLong = 8;
  if (name.size() < kShort) return {};
  std::vector<std::string_view> known = {"balancer",  "watchdog",     "stacksize",      "sim",           "LBDebug",
                                         "LBOff",     "LBCentPE",     "LBObjOnly",      "LBRecord",      "verbose",
                                         "restart",   "fuzz",         "record",         "replay",        "stdout",
                                         "tracemode", "traceroot",    "longIdleThresh", "seed-balancer", "LBPeriod",
                                         "LBCommOn",  "LBCommOff",    "LBModel",        "LBDump",        "LBSim",
                                         "MetaLB",    "LBUseCpuTime", "LBTestPESpeed",  "fuzz-changes",  "fuzz-log"};
  bootstrap::add_layout_options(known);
  bootstrap::add_partition_options(known);
  machine::add_net_options(known);
  return nearest(name, known, name.size() < kLong ? 2 : 3);
}

void warn_of_misspelt_options(char** argv) {
  for (++argv; *argv != nullptr; ++argv) {
    const std::string argument = *argv;
    if (begin_of_name(argument) == std::string::npos) continue;
    const std::string meant = meant_option(argument);
    log::warn(argument + " is no option of Periapt's and goes to the program" +
              (meant.empty() ? std::string() : ": did you mean +" + meant + "?"));
  }
}

}  // namespace periapt
