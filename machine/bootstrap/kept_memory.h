// Memory of a run that stays when its processes are killed, all of them: a file without a name (memfd) that the parent
// that watches them makes before it starts them. Processes write what they could go on from into it, and say when it
// is whole; when one of them is killed the parent ends the others, starts the program again, and leaves it the memory.
// charmrun's agent is that parent on each host of a nodelist: then each host has a memory of its own.
//
// A run that is to go on with another number of PEs ends by itself, and is started again in the same way: by the
// parent, or, where it was one process without any, by itself.
//
// The file is a page of words, and behind it regions of 1 TB each. Only what is written takes memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/status.h"

namespace periapt::bootstrap {

class KeptMemory {
 public:
  /// In the parent, before it starts processes: what an earlier start of this run has left, or new memory, or none.
  static void open();
  /// In a process without a parent of ours, which is to be started again by itself.
  static Status open_here();
  /// In a process that was started with variable() in its environment and file() open.
  static void adopt();
  /// The same in one without a parent, that has started itself again.
  static void adopt_own();
  int file() const { return file_; }
  std::string variable() const;
  /// Of this run; null when no parent keeps any, for the reason that why_none() says.
  static KeptMemory* of_run() { return the_one_; }
  static const std::string& why_none() { return why_none_; }
  /// Whether a parent would go back to what is whole there when a process is killed.
  static bool is_watched() { return the_one_ != nullptr && watched_; }

  /// A region consists of blocks, which stay mapped where they are: to write a block that this process wrote before
  /// costs no more than a memcpy. Null when there is no room for it; the reason stands in errno. From any thread.
  static constexpr std::size_t kBlockBytes = 1 << 20;
  char* block(int region, std::uint64_t number);
  /// What lies from block 0 on so far is one piece.
  static constexpr std::size_t kMappedBytes = 64 * kBlockBytes;

  /// No other memory has it.
  std::uint64_t identity() const;
  /// The number of what is whole there (0: nothing is), and how long its description is. Of any process.
  std::uint64_t number() const;
  std::uint64_t description_bytes() const;
  /// From here on `number`, greater than the one before, is what counts. Its description and all else lie there.
  void commit(std::uint64_t number, std::uint64_t description_bytes);
  /// `number` counts again, which is the one that counts or the one before it: another host has come no farther.
  void go_back_to(std::uint64_t number);

  /// When all processes have left with status 0 the run is started again, with `start` (resized_start.h) in its
  /// environment, as in that of all starts behind it.
  Status resize(const std::string& start);
  bool is_resizing() const;
  /// When the run has been started again: where nothing was whole before the resize, nothing counts from here on, and
  /// the memory is given back.
  void drop_what_a_resize_left();

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
  static std::uint64_t begin_of(int region) { return (static_cast<std::uint64_t>(region) + 1) << 40; }

  KeptMemory(int file, Words* words) : file_(file), words_(words) {}

  static Result<KeptMemory*> make(int left);
  static void keep(Result<KeptMemory*> made);

  static KeptMemory* the_one_;
  static std::string why_none_;
  static bool watched_;
  int file_;
  Words* words_;
  std::mutex mapping_;
  std::map<std::uint64_t, char*> mapped_;  // by their place in the file
};

}  // namespace periapt::bootstrap
