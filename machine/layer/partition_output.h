// PartitionOutput: where the standard output of each partition goes (+stdout PATH).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::machine {

class PartitionOutput {
 public:
  /// Takes +stdout out of argv; empty: it is not there.
  static Result<std::string> take_option(int& argc, char** argv);
  /// PATH for a partition: its number in place of the first three `%d`; behind it where there is none.
  static std::string path_of(const std::string& path, int partition);

  /// Opens the files of partitions first .. first+count-1, to be appended to.
  static Result<PartitionOutput> open(const std::string& path, int first, int count);
  /// This process's standard output goes to the file of that partition from now on. Once, in each process; nothing when
  /// no path was given.
  void redirect(int partition);

 private:
  int first_ = 0;
  std::vector<int> files_;
};

}  // namespace periapt::machine
