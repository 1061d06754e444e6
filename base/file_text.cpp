#include "base/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_text.h"

namespace periapt {

Status check_is_file(const std::string& path, bool pipes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  if (pipes && S_ISFIFO(status.st_mode)) return {};
  const char* kind = S_ISDIR(status.st_mode)    ? "a folder"
                     : S_ISFIFO(status.st_mode) ? "a pipe"
                     : S_ISSOCK(status.st_mode) ? "a socket"
                                                : "a device";
  return Status::failure(std::string("it is ") + kind + ", not a file");
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  Status sound = check_is_file(path, true);
  if (!sound) return sound;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Status::failure(error_text());
  std::string text;
  char part[1 << 16];
  ssize_t got;
  while ((got = ::read(file, part, sizeof part)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > most) break;
  }
  const std::string why = got < 0 ? error_text() : std::string();
  ::close(file);
  if (got < 0) return Status::failure(why);
  if (text.size() > most) return Status::failure("it is longer than " + std::to_string(most) + " bytes");
  return text;
}

}  // namespace periapt
