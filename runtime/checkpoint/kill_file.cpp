// See kill_file.h.
#include "runtime/checkpoint/kill_file.h"

#include <cstdlib>
#include <sstream>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/file_text.h"
#include "machine/bootstrap/kept_memory.h"
#include "runtime/checkpoint/ck_checkpoint.h"
#include "runtime/checkpoint/storage.h"
#include "runtime/converse/converse.h"
#include "runtime/scheduler/pe.h"
#include "runtime/scheduler/process.h"

namespace periapt::checkpoint {

namespace {
constexpr std::size_t bytes_most = 1 << 20;

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  fatal("+killFile " + path + ": " + why, "command line", "",
        "each line of it names a process and the seconds after which it is killed: 3 2.5");
}

// Seconds that the run had behind it when it went back to a checkpoint; 0: it has not.
double seconds_before() {
  if (!has_checkpoint_in_memory()) return 0;
  return static_cast<double>(clock::now_ns() - bootstrap::KeptMemory::of_run()->began_ns()) * 1e-9;
}
}  // namespace

void arm_kill_file(Pe& pe, const std::string& path) {
  Result<std::string> text = read_file(path, bytes_most);
  if (!text) refuse_file(path, "cannot be read: " + text.message());
  std::istringstream lines(*text);
  const double before = seconds_before();
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int process = 0;
    double seconds = 0;
    if ((words >> std::ws).eof()) continue;
    if (!(words >> process >> seconds) || !(words >> std::ws).eof())
      refuse_file(path, "a line in it is not understood: " + line);
    if (process != pe.process.rank() || seconds < before) continue;
    CcdCallFnAfter([](void*, double) { CkDieNow(); }, nullptr, (seconds - before) * 1e3);
  }
}

}  // namespace periapt::checkpoint
