// Files as charmc handles them: read whole, replaced whole or not at all, temporary ones gone at the end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace periapt::charmc {

/// False when the file cannot be read.
bool readFile(const std::filesystem::path& file, std::string& text);

/// Writes beside the file and renames, so that no reader sees half of it. Returns what went wrong, or an empty text.
std::string replaceFile(const std::filesystem::path& file, const std::string& text);

/// A folder of our own under $TMPDIR that goes away with this object, unless kept.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  std::filesystem::path path_;
  bool keep_ = false;
};

/// Splits a text into words as a shell does: quotes and backslashes.
std::vector<std::string> splitCommandLine(const std::string& text);

/// Replaces each @file by the words in that file; an @word that is no file stays.
std::vector<std::string> expandResponseFiles(const std::vector<std::string>& arguments, int depth = 0);

}  // namespace periapt::charmc
