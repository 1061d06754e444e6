#include "base/error_text.h"

#include <cstring>

namespace periapt {
namespace {

const char* remedy_of(int error) {
  switch (error) {
    case EMFILE:
      return "; more are allowed by: ulimit -n 65536";
    case ENFILE:
      return "; all processes of this machine together have too many: sysctl fs.file-max=1000000";
    case ENOMEM:
      return "; a limit on addresses is lifted by: ulimit -v unlimited";
    case EAGAIN:  // of fork and of a thread; of reads and writes it is never told
      return "; limits on processes and on addresses are lifted by: ulimit -u unlimited; ulimit -v unlimited";
    case EFBIG:
      return "; a limit on the size of files, which counts for shared memory too, is lifted by: ulimit -f unlimited";
    case ENOSPC:
      return "; df shows which file system is full";
    case EDQUOT:
      return "; quota shows how much you may use";
    default:
      return "";
  }
}

}  // namespace

std::string error_text(int error) { return std::string(std::strerror(error)) + remedy_of(error); }

}  // namespace periapt
