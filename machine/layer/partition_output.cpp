// See partition_output.h.
#include "machine/layer/partition_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/error_text.h"
#include "machine/bootstrap/arguments.h"

namespace periapt::machine {

Result<std::string> PartitionOutput::take_option(int& argc, char** argv) {
  std::string path;
  for (bootstrap::Arguments arguments(argc, argv); arguments.more();) {
    if (arguments.name() != "stdout") {
      arguments.skip();
      continue;
    }
    Result<std::string> text = arguments.take_value("stdout");
    if (!text) return text;
    path = *text;
  }
  return path;
}

std::string PartitionOutput::path_of(const std::string& path, int partition) {
  const std::string number = std::to_string(partition);
  std::string text = path;
  std::size_t at = 0;
  for (int place = 0; place < 3 && (at = text.find("%d", at)) != std::string::npos; ++place) {
    text.replace(at, 2, number);
    at += number.size();
  }
  return text == path ? path + "." + number : text;
}

Result<PartitionOutput> PartitionOutput::open(const std::string& path, int first, int count) {
  PartitionOutput output;
  output.first_ = first;
  for (int partition = first; !path.empty() && partition < first + count; ++partition) {
    const std::string name = path_of(path, partition);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return Status::failure("+stdout " + path + ": cannot write " + name + ": " + error_text());
    output.files_.push_back(file);
  }
  return output;
}

void PartitionOutput::redirect(int partition) {
  if (files_.empty()) return;
  std::fflush(stdout);
  ::dup2(files_[static_cast<std::size_t>(partition - first_)], STDOUT_FILENO);
  for (int file : files_) ::close(file);
  files_.clear();
}

}  // namespace periapt::machine
