// +fuzz-changes: in which of its decisions +fuzz may choose another order than the usual one, and +fuzz-log: in which
// it did. A PE numbers its decisions, one a piece of work, from 0 on; what a decision comes to follows from the seed,
// the PE and its number. So a run can be had again with some of its changes only, and those that matter be found
// (tools/periapt-fuzz).
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace periapt::order {

class Changes {
 public:
  // "all", "none", or a list such as 0:12,0:40-43,1:7, of a PE and its decisions; @FILE: it is in that file. Fails with
  // what is wrong.
  static Result<Changes> parse(const std::string& text);
  Changes() = default;

  // Of one PE; its decisions are asked for in their order.
  class OfPe {
   public:
    OfPe() = default;
    bool all() const { return all_; }
    bool has(std::uint64_t decision) {
      if (all_) return true;
      while (at_ < ranges_.size() && ranges_[at_].second < decision) ++at_;
      return at_ < ranges_.size() && ranges_[at_].first <= decision;
    }

   private:
    friend class Changes;
    using Range = std::pair<std::uint64_t, std::uint64_t>;  // both ends are in it
    bool all_ = true;
    std::vector<Range> ranges_;
    std::size_t at_ = 0;
  };
  OfPe of(int pe) const;
  bool all() const { return all_; }
  std::uint64_t count() const;
  int last_pe() const { return pes_.empty() ? -1 : pes_.rbegin()->first; }

 private:
  bool all_ = true;
  std::map<int, std::vector<OfPe::Range>> pes_;
};

// A line for each change, "DECISION what it was", as soon as it is made: what a killed process has done is there.
class ChangeLog {
 public:
  // A file that cannot be written ends the run.
  explicit ChangeLog(std::string name);
  ~ChangeLog();
  ChangeLog(const ChangeLog&) = delete;
  void add(std::uint64_t decision, const std::string& what);

 private:
  const std::string name_;
  std::FILE* file_;
};

}  // namespace periapt::order
