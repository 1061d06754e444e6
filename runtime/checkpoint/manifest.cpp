// See manifest.h.
#include "runtime/checkpoint/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/error_text.h"
#include "base/file_text.h"
#include "runtime/checkpoint/blocks.h"

namespace periapt::checkpoint {

namespace fs = std::filesystem;

namespace {
constexpr const char* first_line = "periapt checkpoint";
constexpr const char* folder_prefix = "checkpoint.";
constexpr std::size_t manifest_bytes_max = std::size_t{1} << 30;
constexpr const char* byte_order = std::endian::native == std::endian::little ? "little" : "big";

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }

template <class T>
bool read_number(const std::string& text, T& value, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stop == end && !text.empty();
}

// "name rest of the line"
std::pair<std::string, std::string> split(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return {line, ""};
  return {line.substr(0, space), line.substr(space + 1)};
}

bool read_line(Manifest& manifest, const std::string& line) {
  const auto [name, value] = split(line);
  if (name == "program") {
    const auto [identity, program] = split(value);
    manifest.program = program;
    return read_number(identity, manifest.identity, 16);
  }
  if (name == "pes") return read_number(value, manifest.pes) && manifest.pes > 0;
  if (name == "processes") return read_number(value, manifest.processes) && manifest.processes > 0;
  if (name == "number") return read_number(value, manifest.number);
  if (name == "id") return read_number(value, manifest.id, 16);
  if (name != "part") return false;
  const auto [part, bytes] = split(value);
  manifest.parts.push_back({part, 0});
  return part.find('/') == std::string::npos && read_number(bytes, manifest.parts.back().bytes);
}

// Everything before the line with the checksum; nothing when that is not there or wrong.
std::string checked_text(const std::string& text) {
  const std::size_t last = text.rfind("checksum ");
  if (last == std::string::npos) return "";
  const std::string said = text.substr(last);
  const std::string body = text.substr(0, last);
  return said == "checksum " + hexadecimal(checksum(body.data(), body.size(), 0)) + "\n" ? body : "";
}

// A file on the disk, under its name.
Status write_durably(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good = good && ::fsync(file) == 0;
  Status status;
  if (!good) status = Status::failure("cannot write " + path + ": " + error_text());
  if (file >= 0) ::close(file);
  return status;
}

void sync_folder(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

// N of "checkpoint.N"; -1 for another name.
int number_of(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  if (name.rfind(folder_prefix, 0) != 0 || !read_number(name.substr(std::strlen(folder_prefix)), number)) return -1;
  return number;
}
}  // namespace

const Manifest::Part* Manifest::find(const std::string& part) const {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.name == part; });
  return found == parts.end() ? nullptr : &*found;
}

std::string Manifest::text() const {
  std::string text =
      fmt::format("{}\nversion {}\nbyte-order {}\nprogram {} {}\npes {}\nprocesses {}\nnumber {}\nid {}\n", first_line,
                  this_version, byte_order, hexadecimal(identity), program, pes, processes, number, hexadecimal(id));
  for (const Part& part : parts) text += fmt::format("part {} {}\n", part.name, part.bytes);
  return text + "checksum " + hexadecimal(checksum(text.data(), text.size(), 0)) + "\n";
}

Result<Manifest> parse_manifest(const std::string& text, const std::string& path) {
  std::istringstream all(text);
  std::string line;
  std::getline(all, line);
  if (line != first_line) return Status::failure(path + " is not the manifest of a checkpoint");
  const Status damaged = Status::failure(path + " is damaged: its checksum is wrong, or it was cut off");
  line.clear();
  std::getline(all, line);
  const auto [name, version] = split(line);
  if (name != "version" || version.empty()) return damaged;
  if (version != std::to_string(Manifest::this_version))
    return Status::failure(path + " is of a checkpoint that another version of Periapt wrote (format " + version +
                           "; this one reads format " + std::to_string(Manifest::this_version) + ")");
  const std::string body = checked_text(text);
  if (body.empty()) return damaged;
  std::istringstream lines(body);
  std::getline(lines, line);
  std::getline(lines, line);
  std::getline(lines, line);
  if (line != std::string("byte-order ") + byte_order)
    return Status::failure(path + " is of a checkpoint from a machine with another order of bytes (" +
                           split(line).second + "; this one's is " + byte_order + ")");
  Manifest manifest;
  while (std::getline(lines, line))
    if (!read_line(manifest, line)) return Status::failure(path + " has a line that means nothing: " + line);
  if (manifest.pes == 0 || manifest.processes == 0)
    return Status::failure(path + " does not say of how many PEs it is");
  return manifest;
}

std::string manifest_path(const std::string& folder) { return folder + "/manifest"; }

Result<Manifest> read_manifest(const std::string& folder) {
  const std::string path = manifest_path(folder);
  std::error_code none;
  if (!fs::exists(path, none)) return Status::failure("there is no finished checkpoint in " + folder);
  Result<std::string> text = read_file(path, manifest_bytes_max);
  if (!text) return Status::failure(path + " cannot be read: " + text.message());
  return parse_manifest(*text, path);
}

std::string parts_folder(const std::string& folder, int number) {
  return folder + "/" + folder_prefix + std::to_string(number);
}
std::string part_path(const std::string& folder, const Manifest& manifest, const std::string& part) {
  return parts_folder(folder, manifest.number) + "/" + part;
}

int next_number(const std::string& folder) {
  int last = 0;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    last = std::max(last, number_of(entry->path()));
  return last + 1;
}

Status commit(const std::string& folder, const Manifest& manifest) {
  sync_folder(parts_folder(folder, manifest.number));
  const std::string path = manifest_path(folder);
  const std::string fresh = path + ".new";
  if (Status written = write_durably(fresh, manifest.text()); !written.ok()) return written;
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    return Status::failure("cannot rename " + fresh + " to " + path + ": " + error_text());
  sync_folder(folder);
  std::error_code none;
  std::vector<int> others;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    if (const int number = number_of(entry->path()); number >= 0 && number != manifest.number) others.push_back(number);
  for (int number : others) discard(folder, number);
  return Status();
}

void discard(const std::string& folder, int number) {
  std::error_code none;
  fs::remove_all(parts_folder(folder, number), none);
}

}  // namespace periapt::checkpoint
