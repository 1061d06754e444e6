// CkListString: numbers, as options name PEs. C++17: reached from ckliststring.h.
//
//   CkListString("0-10,20-40:2,100,200-300:10.3").includes(21)   // 0 to 10, every second from 20, 100, three of ten
#pragma once
#include <cstdio>
#include <sstream>
#include <string>

class CkListString {
 public:
  CkListString() = default;
  CkListString(const char* list) { set(list); }
  void set(const char* list) {
    list_ = list;
    set_ = true;
  }
  int isEmpty() const { return !set_; }
  // One that has never been set includes all.
  int includes(int number) const {
    if (!set_) return 1;
    std::istringstream parts(list_);
    for (std::string part; std::getline(parts, part, ',');) {
      int first = 0, last = 0, stride = 1, block = 1;
      const int read = std::sscanf(part.c_str(), "%d-%d:%d.%d", &first, &last, &stride, &block);
      if (read == 1) last = first;
      if (read < 1 || stride < 1)
        std::printf("Warning: \"%s\" of the list %s is ignored\n", part.c_str(), list_.c_str());
      if (read < 1 || stride < 1 || number < first || number > last) continue;
      if ((number - first) % stride < (block > stride ? 1 : block)) return 1;
    }
    return 0;
  }

 private:
  std::string list_;
  bool set_ = false;
};
