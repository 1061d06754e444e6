// Where in the polls of a PE a piece of work runs. A poll is a scheduler that runs within an entry, a constructor or a
// thread: CthYield() outside of a thread, CsdSchedulePoll(). What a program does there depends on how much ran in which
// of them.
#pragma once
#include <cstdint>

namespace periapt::order {

struct Polls {
  std::uint64_t begun = 0;  ///< since the piece before
  std::uint64_t depth = 0;  ///< how many are open
  bool inside = false;      ///< the last one that was begun is still open

  void begin() {
    ++begun;
    ++depth;
    inside = true;
  }
  void end() {
    if (depth != 0) --depth;
    inside = false;
  }

  /// In a replay, where it has come to: may a piece run that ran there? A poll that was further out, or not so soon, is
  /// waited for, but not where there are fewer than there were: then clocks have ended them, or what does not come
  /// again.
  bool lets_run(const Polls& then) const {
    if (depth != then.depth) return depth < then.depth;
    return !then.inside || begun >= then.begun;
  }
  /// It ran within the poll that is the innermost now.
  bool is_in(const Polls& then) const { return depth != 0 && depth == then.depth && begun == then.begun; }
};

}  // namespace periapt::order
