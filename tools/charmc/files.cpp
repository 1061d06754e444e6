#include "tools/charmc/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace periapt::charmc {
namespace fs = std::filesystem;

bool readFile(const fs::path& file, std::string& text) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  std::ifstream in(file, std::ios::binary);
  if (!in) return false;
  text.assign(std::istreambuf_iterator<char>(in), {});
  return !in.bad();
}

std::string replaceFile(const fs::path& file, const std::string& text) {
  const fs::path beside = file.string() + ".tmp" + std::to_string(::getpid());
  std::error_code error;
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    if (out) out << text << std::flush;
    if (!out) {
      const std::string why = std::strerror(errno);
      fs::remove(beside, error);
      return "cannot write " + file.string() + ": " + why;
    }
  }
  fs::rename(beside, file, error);
  if (!error) return {};
  const std::string why = error.message();
  fs::remove(beside, error);
  return "cannot write " + file.string() + ": " + why;
}

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base && *base ? base : "/tmp") + "/charmc-XXXXXX";
  if (!::mkdtemp(name.data()))
    throw std::runtime_error("cannot make a temporary folder " + name + ": " + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!keep_) fs::remove_all(path_, error);
}

}  // namespace periapt::charmc
