// A file of a trace, plain or compressed as gzip does.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace periapt::trace {

class Output {
 public:
  // What cannot be written is said once, and then left out: a run is worth more than its trace.
  // `compressed`: where zlib can be loaded, the file is called `name`.gz.
  Output(const std::string& name, bool compressed);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  void write(std::string_view text);

 private:
  void fail(const std::string& why);

  std::string name_;
  std::FILE* plain_ = nullptr;
  void* gz_ = nullptr;
};

}  // namespace periapt::trace
