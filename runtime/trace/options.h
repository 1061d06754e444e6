// What a run records of itself, and where it writes that: from the command line, and from linking.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace periapt::trace {

// Of +traceprocessors: PEs `first`, first + step, ... up to `last`.
struct PeRange {
  int first = 0, last = 0, step = 1;
  bool has(int pe) const { return pe >= first && pe <= last && (pe - first) % step == 0; }
};

struct Options {
  bool projections = false;        // +tracemode projections: a log of all events for each PE
  bool summary = false;            // +tracemode summary: a profile for each PE
  bool modules = true;             // the program's own are made; +tracemode none: not
  bool off = false;                // +traceoff: until the program calls traceBegin()
  bool nested = true;              // what ran another entry within it is resumed in the log when that has ended
  bool compressed = true;          // .log.gz
  std::size_t log_size = 1000000;  // +logsize: events that a PE keeps before it writes
  int folders = 0;                 // +trace-subdirs; 0: none
  std::string root;                // folder and name that all files begin with, but for that of the partition
  std::vector<PeRange> pes;        // +traceprocessors; empty: all
  int bins = 10000;                // +bincount: intervals of the profile; an even number
  double bin_seconds = 1e-3;       // +binsize: how long they are at first
  bool detail = false;             // +sumDetail: a profile by entry and interval too

  bool on() const { return projections || summary; }
  bool wants(int pe) const;
};

const Options& options();
// Takes them out of argv.
void take_options(char** argv);
// What charmc -tracemode has linked a program for: the default of +tracemode.
void add_default_mode(const char* mode);

}  // namespace periapt::trace
