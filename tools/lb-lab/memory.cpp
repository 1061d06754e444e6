// See memory.h. Linux says it in /proc/self/status, and forgets the peak when told to (proc(5), clear_refs).
#include "tools/lb-lab/memory.h"

#include <malloc.h>

#include <fstream>
#include <string>

namespace periapt::lab {

namespace {
std::uint64_t status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}
}  // namespace

std::uint64_t begin_peak() {
  ::malloc_trim(0);  // or what was freed before would be taken without being seen
  std::ofstream("/proc/self/clear_refs") << "5";
  return status("VmRSS:");
}
std::uint64_t peak_bytes() { return status("VmHWM:"); }

}  // namespace periapt::lab
