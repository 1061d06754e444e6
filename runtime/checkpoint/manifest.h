// What a checkpoint consists of: a small file of text that is written last, when all parts lie on the disk.
//
// The folder that a program names holds a folder checkpoint.N with the parts, and the file `manifest`, which names that
// folder, the parts and their lengths, and ends in its own checksum. A new checkpoint gets the next N. Its manifest is
// written beside the old one and renamed over it, in one step: until then the checkpoint before is the one that counts,
// and afterwards its folder is removed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::checkpoint {

struct Manifest {
  static constexpr int this_version = 3;

  struct Part {
    std::string name;  // of its file
    std::uint64_t bytes = 0;
  };
  std::string program;         // its name, for people
  std::uint64_t identity = 0;  // of what it registers (identity.h)
  int pes = 0, processes = 0;  // of the run that wrote it
  int number = 0;              // N
  std::uint64_t id = 0;        // no other checkpoint has it: what the checksums of the parts begin with
  std::vector<Part> parts;

  // Null when there is none of that name.
  const Part* find(const std::string& part) const;
  std::string text() const;
};

// Fails with a sentence about `path` when the text is no manifest that this version can read.
Result<Manifest> parse_manifest(const std::string& text, const std::string& path);
// Of the checkpoint in a folder.
Result<Manifest> read_manifest(const std::string& folder);
std::string part_path(const std::string& folder, const Manifest& manifest, const std::string& part);
std::string manifest_path(const std::string& folder);
// Where the parts of checkpoint N lie.
std::string parts_folder(const std::string& folder, int number);

// A number that no checkpoint in the folder has, finished or not.
int next_number(const std::string& folder);
// The new checkpoint counts from here on, and all others in the folder are removed.
Status commit(const std::string& folder, const Manifest& manifest);
// One that was not finished.
void discard(const std::string& folder, int number);

}  // namespace periapt::checkpoint
