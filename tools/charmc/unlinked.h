// Objects that lie beside those of a link line and are not on it: one of them may have what the linker misses.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace periapt::charmc {

class UnlinkedObjects {
 public:
  /// `line` is the linker's command: objects and libraries in folders, below the current
  /// one, that it names files of, and in that one itself, are looked at.
  explicit UnlinkedObjects(std::vector<std::string> line) : line_(std::move(line)) {}

  /// The file that defines the symbol, written as the linker writes it (`_registerpart()`); empty if none does, or two.
  std::string defining(const std::string& symbol);

 private:
  void look();

  std::vector<std::string> line_;
  bool looked_ = false;
  std::map<std::string, std::string> files_;  ///< by symbol; empty where several define it
};

}  // namespace periapt::charmc
