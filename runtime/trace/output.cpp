// See output.h.
#include "runtime/trace/output.h"

#include <filesystem>

#include "base/error_text.h"
#include "base/log.h"
#include "base/zlib_library.h"

namespace periapt::trace {

Output::Output(const std::string& name, bool compressed) : name_(name) {
  std::error_code error;
  const auto folder = std::filesystem::path(name).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const ZlibLibrary* const zlib = compressed ? ZlibLibrary::get() : nullptr;
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
  if (gz_ != nullptr && ZlibLibrary::get()->close(gz_) != 0) fail(error_text());
  if (plain_ != nullptr && std::fclose(plain_) != 0) fail(error_text());
}

void Output::write(std::string_view text) {
  if (text.empty()) return;
  errno = 0;
  const bool written = gz_ != nullptr
                           ? ZlibLibrary::get()->write(gz_, text.data(), static_cast<unsigned>(text.size())) ==
                                 static_cast<int>(text.size())
                           : plain_ != nullptr && std::fwrite(text.data(), 1, text.size(), plain_) == text.size();
  if (written || (gz_ == nullptr && plain_ == nullptr)) return;
  fail(error_text());
  if (gz_ != nullptr) ZlibLibrary::get()->close(gz_);
  if (plain_ != nullptr) std::fclose(plain_);
  gz_ = plain_ = nullptr;
}

void Output::fail(const std::string& why) {
  log::warn("the trace cannot be written to " + name_ + ": " + why + "; +traceroot names another folder");
}

}  // namespace periapt::trace
