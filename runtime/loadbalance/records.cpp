// See records.h.
#include "runtime/loadbalance/records.h"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/error_text.h"
#include "base/log.h"
#include "base/zlib_library.h"

namespace periapt::loadbalance {

namespace {
constexpr const char* no_zlib = "it is compressed, and zlib (libz.so.1) cannot be loaded here";

bool is_to_be_compressed(const std::string& name) { return name.size() > 3 && name.substr(name.size() - 3) == ".gz"; }

bool is_compressed(std::istream& file) {
  char start[2] = {};
  file.read(start, sizeof start);
  const bool magic = file && start[0] == '\x1f' && start[1] == '\x8b';
  file.clear();
  file.seekg(0);
  return magic;
}

// Of a file that was cut off: what there is.
bool unpack(const std::string& name, std::string* text, std::string* why) {
  const ZlibLibrary* const zlib = ZlibLibrary::get();
  *why = no_zlib;
  if (zlib == nullptr) return false;
  void* const file = zlib->open(name.c_str(), "rb");
  if (file == nullptr) return *why = error_text(), false;
  std::string block(1 << 20, '\0');
  int got;
  while ((got = zlib->read(file, block.data(), static_cast<unsigned>(block.size()))) > 0)
    text->append(block, 0, static_cast<std::size_t>(got));
  zlib->close(file);
  *why = "its bytes are not what was compressed";
  return got == 0 || !text->empty();
}

// Whether all that a line of JSON has opened is closed in it.
bool is_closed(const std::string& line) {
  int open = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted)
      open += (c == '{' || c == '[') - (c == '}' || c == ']');
  }
  return open == 0 && !quoted;
}

bool read_lines(std::istream& in, const std::string& name, std::vector<LoadDatabase>* steps, Complaint* complaint) {
  for (std::string line; std::getline(in, line);) {
    LoadDatabase database;
    std::string error;
    const bool whole =
        !in.eof();  // the last line ends as the others do, unless its writer was stopped, or is no program
    if (!from_json(line, &database, &error)) {
      const std::string where = name + ":" + std::to_string(steps->size() + 1);
      const bool cut = !whole && line.substr(0, 1) == "{" && !is_closed(line);
      if (cut && !steps->empty()) {
        log::warn(where + " is cut short, and left out: the program that wrote it was ended, or the disk was full (" +
                  error + ")");
        return true;
      }
      if (cut)
        *complaint = {where + " is cut short: " + error, "",
                      "the program that wrote it was ended, or the disk was full, before a step was whole", ""};
      else
        *complaint = {where + ": no load database: " + error, "", "",
                      "a program run with +LBRecord FILE writes one in each line"};
      return false;
    }
    steps->push_back(std::move(database));
  }
  return true;
}
}  // namespace

std::string write_record(const std::string& name, const LoadDatabase& database, bool first) {
  const std::string line = to_json(database) + '\n';
  errno = 0;
  if (!is_to_be_compressed(name)) {
    std::ofstream file(name, first ? std::ios::trunc : std::ios::app);
    file << line;
    return file.flush() ? "" : error_text();
  }
  const ZlibLibrary* const zlib = ZlibLibrary::get();
  if (zlib == nullptr) return no_zlib;
  void* const file = zlib->open(name.c_str(), first ? "wb3" : "ab3");
  if (file == nullptr) return error_text();
  const bool written =
      zlib->write(file, line.data(), static_cast<unsigned>(line.size())) == static_cast<int>(line.size());
  return zlib->close(file) == 0 && written ? "" : error_text();
}

bool read_records(const std::string& name, std::vector<LoadDatabase>* steps, Complaint* complaint) {
  std::ifstream file;
  if (name != "-") file.open(name);
  std::istream& in = name == "-" ? std::cin : file;
  if (!in) {
    *complaint = {name + " cannot be read", "", "",
                  "a program run with +LBRecord FILE, or with +LBDump STEP, writes such a file"};
    return false;
  }
  const bool compressed = name != "-" && is_compressed(file);
  std::istringstream unpacked;
  if (compressed) {
    std::string text, why;
    if (!unpack(name, &text, &why)) {
      *complaint = {name + " cannot be read: " + why, "", "", "gzip -d unpacks it"};
      return false;
    }
    unpacked.str(std::move(text));
  }
  return read_lines(compressed ? unpacked : in, name, steps, complaint);
}

}  // namespace periapt::loadbalance
