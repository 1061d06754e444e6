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
  // The same for a name that only some versions have.
  template <class Function>
  Function* find_if_there(const char* name) const {
    return reinterpret_cast<Function*>(symbol_if_there(name));
  }
  // Empty: the library and all names asked for are there.
  const std::string& missing() const { return missing_; }

 private:
  void* symbol(const char* name);
  void* symbol_if_there(const char* name) const;
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace periapt::loadbalance
