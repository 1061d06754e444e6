// A library that a strategy uses where the machine has it: opened when the strategy first runs, so neither this library
// nor a program needs it to start.
#pragma once
#include <string>
#include <vector>

namespace periapt::loadbalance {

class Library {
 public:
  // The first of these files that is there. `first`: one whose names the library itself needs.
  explicit Library(const std::vector<const char*>& files, const std::vector<const char*>& first = {});

  // Null when there is no library, or no such name in it.
  template <class Function>
  Function* find(const char* name) {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // Empty: the library and all names asked for are there.
  const std::string& missing() const { return missing_; }

 private:
  void* symbol(const char* name);
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace periapt::loadbalance
