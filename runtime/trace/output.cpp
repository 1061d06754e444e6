// See output.h.
#include "runtime/trace/output.h"

#include <filesystem>

#include "base/error_text.h"
#include "base/loaded_library.h"
#include "base/log.h"

namespace periapt::trace {
namespace {

// What is used of zlib, whose functions these are. Loaded, so that programs are linked without it.
struct Zlib {
  LoadedLibrary library{{"libz.so.1"}};
  void* (*open)(const char*, const char*) = nullptr;
  int (*write)(void*, const void*, unsigned) = nullptr;
  int (*close)(void*) = nullptr;
  Zlib() {
    library.find(open, "gzopen");
    library.find(write, "gzwrite");
    library.find(close, "gzclose");
  }
  static const Zlib* get() {
    static const Zlib zlib;
    return zlib.library.unusable().empty() ? &zlib : nullptr;
  }
};

}  // namespace

Output::Output(const std::string& name, bool compressed) : name_(name) {
  std::error_code error;
  const auto folder = std::filesystem::path(name).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const Zlib* const zlib = compressed ? Zlib::get() : nullptr;
  if (compressed && zlib == nullptr) log::detail("traces are not compressed: zlib cannot be loaded");
  if (zlib != nullptr) name_ += ".gz";
  errno = 0;
  if (zlib != nullptr)
    gz_ = zlib->open(name_.c_str(), "wb1");
  else
    plain_ = std::fopen(name_.c_str(), "w");
  if (gz_ == nullptr && plain_ == nullptr) fail(error_text());
}

Output::~Output() {
  errno = 0;
  if (gz_ != nullptr && Zlib::get()->close(gz_) != 0) fail(error_text());
  if (plain_ != nullptr && std::fclose(plain_) != 0) fail(error_text());
}

void Output::write(std::string_view text) {
  if (text.empty()) return;
  errno = 0;
  const bool written =
      gz_ != nullptr
          ? Zlib::get()->write(gz_, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size())
          : plain_ != nullptr && std::fwrite(text.data(), 1, text.size(), plain_) == text.size();
  if (written || (gz_ == nullptr && plain_ == nullptr)) return;
  fail(error_text());
  if (gz_ != nullptr) Zlib::get()->close(gz_);
  if (plain_ != nullptr) std::fclose(plain_);
  gz_ = plain_ = nullptr;
}

void Output::fail(const std::string& why) {
  log::warn("the trace cannot be written to " + name_ + ": " + why + "; +traceroot names another folder");
}

}  // namespace periapt::trace
