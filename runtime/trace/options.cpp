// See options.h.
#include "runtime/trace/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/fatal.h"
#include "base/log.h"
#include "base/nearest.h"
#include "runtime/scheduler/arguments.h"

namespace periapt::trace {
namespace {

Options the_options;
std::vector<std::string> linked;

const std::vector<std::string_view> modes = {"projections", "summary", "all", "none"};

void turn_on(Options& o, const std::string& mode, const char* where) {
  if (mode == "projections" || mode == "all") o.projections = true;
  if (mode == "summary" || mode == "all") o.summary = true;
  if (mode == "none") o.projections = o.summary = o.modules = false;
  if (std::find(modes.begin(), modes.end(), mode) != modes.end()) return;
  const std::string near = nearest(mode, modes);
  fatal("there is no way of tracing called " + mode + (near.empty() ? "" : ": did you mean " + near + "?"), where, "",
        "the ways are: projections, summary, all, none");
}

bool read_number(const char*& at, const char* end, int* number) {
  const auto read = std::from_chars(at, end, *number);
  if (read.ec != std::errc() || *number < 0) return false;
  at = read.ptr;
  return true;
}

// "0-31,32-999:100,1000"; false where it is none.
bool read_ranges(const std::string& text, std::vector<PeRange>* ranges) {
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    PeRange range;
    if (!read_number(at, end, &range.first)) return false;
    range.last = range.first;
    if (at != end && *at == '-' && !read_number(++at, end, &range.last)) return false;
    if (at != end && *at == ':' && !read_number(++at, end, &range.step)) return false;
    if (range.step == 0 || range.last < range.first) return false;
    ranges->push_back(range);
    if (at == end) return true;
    if (*at++ != ',') return false;
  }
}

void take_number(char** argv, const char* name, int least, int* value) {
  if (CmiGetArgInt(argv, name, value) && *value < least)
    fatal(std::string(name) + " makes no sense: it must be at least " + std::to_string(least), "the command line");
}

}  // namespace

const Options& options() { return the_options; }

bool Options::wants(int pe) const {
  return pes.empty() || std::any_of(pes.begin(), pes.end(), [pe](const PeRange& range) { return range.has(pe); });
}

void add_default_mode(const char* mode) { linked.push_back(mode); }

void take_options(char** argv) {
  Options& o = the_options;
  std::vector<std::string> wanted;
  char* text = nullptr;
  while (CmiGetArgString(argv, "+tracemode", &text)) wanted.push_back(text);
  const bool asked = !wanted.empty();
  for (const std::string& mode : asked ? wanted : linked)
    turn_on(o, mode, asked ? "the command line" : "linking with -tracemode");

  std::string folder;
  if (CmiGetArgString(argv, "+traceroot", &text)) folder = text;
  o.root = (std::filesystem::path(folder) / std::filesystem::path(argv[0]).filename()).string();
  o.off = CmiGetArgFlag(argv, "+traceoff");
  o.nested = !CmiGetArgFlag(argv, "+notracenested");
  if (CmiGetArgFlag(argv, "+gz-trace")) o.compressed = true;
  if (CmiGetArgFlag(argv, "+no-gz-trace")) o.compressed = false;
  int log_size = static_cast<int>(o.log_size);
  take_number(argv, "+logsize", 1, &log_size);
  o.log_size = static_cast<std::size_t>(log_size);
  take_number(argv, "+trace-subdirs", 0, &o.folders);
  take_number(argv, "+bincount", 2, &o.bins);
  o.bins += o.bins % 2;
  if (CmiGetArgDouble(argv, "+binsize", &o.bin_seconds) && !(o.bin_seconds > 0))
    fatal("+binsize makes no sense: it must be more than 0 seconds", "the command line");
  o.detail = CmiGetArgFlag(argv, "+sumDetail");
  if (CmiGetArgString(argv, "+traceprocessors", &text) && !read_ranges(text, &o.pes))
    fatal(std::string("+traceprocessors ") + text + " is no list of PEs", "the command line", "",
          "write ranges with commas between them, 0-31,32-999:100 for every hundredth of the later ones");

  // Asked for what holds anyway, or what is not there.
  for (const char* name : {"+traceWarn", "+checknested"}) CmiGetArgFlag(argv, name);
  for (const char* name : {"+binary-trace", "+sumonly", "+extrema"})
    if (CmiGetArgFlag(argv, name)) log::note(std::string(name) + " has no effect");
  int clusters = 0;
  if (CmiGetArgInt(argv, "+numClusters", &clusters)) log::note("+numClusters has no effect");
}

}  // namespace periapt::trace

void TraceDefaultMode(const char* mode) { periapt::trace::add_default_mode(mode); }
