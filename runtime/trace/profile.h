// The profile of one PE as Projections reads it: NAME.PE.sum, the share of each interval in which entries ran and in
// which nothing was to do, and for each entry its calls and time; and NAME.PE.sumd, that by interval.
//
// The number of intervals is bounded: when a run outgrows it, two become one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace periapt::trace {

class Profile {
 public:
  // `bins`: an even number. `detail`: for text_by_interval().
  Profile(int pe, int pes, std::size_t entries, int bins, double bin_seconds, bool detail);

  // Times are nanoseconds since the begin of the run on this PE.
  void executed(std::uint16_t entry, std::uint64_t begin_ns, std::uint64_t end_ns);
  void idled(std::uint64_t begin_ns, std::uint64_t end_ns);
  // A call has begun; what executed() is told may be a part of one.
  void called(std::uint16_t entry);

  // The run has ended at that time.
  std::string text(std::uint64_t end_ns) const;
  std::string text_by_interval(std::uint64_t end_ns) const;

 private:
  struct EntryTimes {
    std::uint64_t ns = 0, longest_ns = 0;
    std::uint64_t calls = 0;
    std::vector<std::uint64_t> by_bin;  // nanoseconds
    std::vector<std::uint32_t> begun;   // executions that began in it
  };
  // Spreads an amount of time over the intervals in which it passed.
  template <class Add>
  void spread(std::uint64_t begin_ns, std::uint64_t end_ns, Add&& add);
  void reach(std::uint64_t ns);
  std::size_t used_bins(std::uint64_t end_ns) const;

  const int pe_, pes_;
  const bool detail_;
  std::uint64_t bin_ns_;
  std::vector<std::uint64_t> busy_, idle_;  // nanoseconds, by interval
  std::vector<EntryTimes> entries_;
};

}  // namespace periapt::trace
