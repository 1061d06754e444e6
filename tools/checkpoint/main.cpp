// periapt-checkpoint DIR: what is in a checkpoint, and whether it is whole. Exits with 1 when it is not.
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/part_stream.h"
#include "runtime/checkpoint/snapshot.h"

using namespace periapt::checkpoint;
using periapt::Status;

namespace {

Place place_of(const std::string& folder, const Manifest& manifest, const Manifest::Part& part) {
  return {folder, part_path(folder, manifest, part.name)};
}

// All checksums of a part.
Status check(const std::string& folder, const Manifest& manifest, const Manifest::Part& part) {
  BlockReader blocks;
  Status opened = blocks.open(place_of(folder, manifest, part), part.bytes, seed_of(manifest.id, part.name));
  if (!opened.ok()) return opened;
  while (blocks.left() > 0)
    if (auto block = blocks.next(); !block) return block.status();
  return Status();
}

// False when a part is damaged.
bool check_parts(const std::string& folder, const Manifest& manifest) {
  bool whole = true;
  std::uint64_t bytes = 0;
  std::printf("  %-14s %14s\n", "part", "bytes");
  for (const Manifest::Part& part : manifest.parts) {
    const Status status = check(folder, manifest, part);
    std::printf("  %-14s %14llu  %s\n", part.name.c_str(), static_cast<unsigned long long>(part.bytes),
                status.ok() ? "good" : status.message().c_str());
    whole = whole && status.ok();
    bytes += part.bytes;
  }
  std::printf("  %-14s %14llu\n", "all", static_cast<unsigned long long>(bytes));
  return whole;
}

struct Amount {
  std::uint64_t objects = 0, bytes = 0;
};

class Contents {
 public:
  void add(const std::string& folder, const Manifest& manifest, const Manifest::Part& part) {
    UnpackPart in(place_of(folder, manifest, part), part.bytes, seed_of(manifest.id, part.name));
    for (RecordHead head = in.next(); head.kind != RecordKind::end; head = in.next()) {
      if (head.kind == RecordKind::registered) read_classes(in);
      if (head.kind == RecordKind::array) arrays_[static_cast<int>(head.id)] = class_of(head.type);
      if (head.kind == RecordKind::places)
        add_places(in, head);
      else if (head.kind != RecordKind::registered)
        add(std::string(name_of(head.kind)) + class_of(head.type), 1, head.bytes);
    }
  }

  void print() const {
    std::printf("\n  %-40s %12s %14s\n", "what", "number", "bytes");
    for (const auto& [what, amount] : amounts_)
      std::printf("  %-40s %12llu %14llu\n", what.c_str(), static_cast<unsigned long long>(amount.objects),
                  static_cast<unsigned long long>(amount.bytes));
  }

 private:
  void add(const std::string& what, std::uint64_t objects, std::uint64_t bytes) {
    amounts_[what].objects += objects;
    amounts_[what].bytes += bytes;
  }
  // The names of classes, by number.
  void read_classes(UnpackPart& in) {
    std::string text;
    static_cast<PUP::er&>(in) | text;
    std::istringstream lines(text);
    for (std::string kind, name; lines >> kind && std::getline(lines >> std::ws, name);)
      if (kind == "class") classes_.push_back(name);
  }
  std::string class_of(int type) const {
    if (type < 0) return "";
    return " " + (static_cast<std::size_t>(type) < classes_.size() ? classes_[static_cast<std::size_t>(type)] : "?");
  }
  // Each element by its array, whose record came before.
  void add_places(UnpackPart& in, const RecordHead& head) {
    for (std::uint64_t i = 0; i < head.count; ++i) {
      PlaceHead place;
      in.bytes(&place, 1, sizeof place, PUP::Tbyte);
      for (std::uint32_t k = 0; k < place.members; ++k) {
        MemberHead member;
        in.bytes(&member, 1, sizeof member, PUP::Tbyte);
        in.pass_over(member.bytes + (member.in_sync ? sizeof(double) : 0));
        add("elements of array " + std::to_string(member.array) + arrays_[member.array], 1, member.bytes);
      }
    }
  }

  std::vector<std::string> classes_;
  std::map<int, std::string> arrays_;  // their classes
  std::map<std::string, Amount> amounts_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "periapt-checkpoint DIR: what is in the checkpoint in a folder, and whether it is whole\n");
    return argc == 2 && std::string(argv[1]) == "--help" ? 0 : 2;
  }
  const std::string folder = argv[1];
  const auto manifest = read_manifest(folder);
  if (!manifest) {
    std::fprintf(stderr, "periapt-checkpoint: %s\n", manifest.message().c_str());
    return 1;
  }
  std::printf("checkpoint %d in %s: written by %s on %d PEs in %d processes\n\n", manifest->number, folder.c_str(),
              manifest->program.c_str(), manifest->pes, manifest->processes);
  if (!check_parts(folder, *manifest)) {
    std::printf("\nit is damaged and cannot be restarted from\n");
    return 1;
  }
  Contents contents;
  // The names of classes come first.
  if (const Manifest::Part* program = manifest->find(program_part)) contents.add(folder, *manifest, *program);
  for (const Manifest::Part& part : manifest->parts)
    if (part.name != program_part) contents.add(folder, *manifest, part);
  contents.print();
  return 0;
}
