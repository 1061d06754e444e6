// Memory of a run that stays when its processes are killed, all of them: a file without a name (memfd) that the parent
// which watches them makes before it forks. Processes write what they could go on from into it, and say when it is
// whole; when one of them is killed the parent ends the others, starts the program again, and leaves it the memory.
//
// The file is a page of words, and behind it regions of 1 TB each. Only what is written takes memory. Nothing of the
// regions is mapped: a process that goes wild cannot write there by mistake.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace periapt::bootstrap {

class KeptMemory {
 public:
  /// In the parent, before it forks: what an earlier start of this run has left, or new memory, or none.
  static void open();
  /// Of this run; null when no parent keeps any, for the reason that why_none() says.
  static KeptMemory* of_run() { return the_one_; }
  static const std::string& why_none() { return why_none_; }

  int file() const { return file_; }
  static std::uint64_t region(int number) { return (static_cast<std::uint64_t>(number) + 1) << 40; }

  /// The number of what is whole there (0: nothing is), and how long its description is. Of any process.
  std::uint64_t number() const;
  std::uint64_t description_bytes() const;
  /// From here on `number`, greater than the one before, is what counts. Its description and all else lie there.
  void commit(std::uint64_t number, std::uint64_t description_bytes);

  /// When the run was first started (clock::now_ns()).
  std::uint64_t began_ns() const;

  /// In the parent, when a process was killed: may the run begin again? It may not without something whole, nor when it
  /// has done so kStartsMost times from the same: then something kills it each time.
  static constexpr std::uint32_t kStartsMost = 10;
  bool may_start_again() const;
  /// Starts this program again, with the words and the environment that it was started with. Returns only when that is
  /// not possible.
  Status start_again();

 private:
  struct Words;
  KeptMemory(int file, Words* words) : file_(file), words_(words) {}

  static Result<KeptMemory*> make();

  static KeptMemory* the_one_;
  static std::string why_none_;
  int file_;
  Words* words_;
};

}  // namespace periapt::bootstrap
