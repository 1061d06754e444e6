// See storage.h.
#include "runtime/checkpoint/storage.h"

#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/error_text.h"
#include "machine/bootstrap/kept_memory.h"

namespace periapt::checkpoint {

namespace fs = std::filesystem;
using bootstrap::KeptMemory;

namespace {

class FolderStorage final : public Storage {
 public:
  explicit FolderStorage(std::string folder) : folder_(std::move(folder)) {}

  std::string name() const override { return folder_; }
  Result<Manifest> manifest() const override { return read_manifest(folder_); }
  Place place(int number, const std::string& part) const override {
    return {folder_, parts_folder(folder_, number) + "/" + part};
  }
  int next_number() const override { return checkpoint::next_number(folder_); }
  Status prepare(int number) override {
    const std::string parts = parts_folder(folder_, number);
    std::error_code error;
    fs::create_directories(parts, error);
    return error ? Status::failure("cannot make the folder " + parts + ": " + error.message()) : Status();
  }
  Status commit(const Manifest& manifest) override { return checkpoint::commit(folder_, manifest); }
  void discard(int number) override { checkpoint::discard(folder_, number); }

 private:
  const std::string folder_;
};

// Each part has two regions of its own, for even and for odd numbers: what counts stays while the next is written over
// the one before it.
class MemoryStorage final : public Storage {
 public:
  std::string name() const override { return "memory"; }

  Result<Manifest> manifest() const override {
    const Place at = place(static_cast<int>(memory_.number()), manifest_part);
    const char* text = memory_.block(at.region, 0);
    if (!text) return Status::failure(at.path + " cannot be read: " + error_text());
    return parse_manifest(std::string(text, memory_.description_bytes()), at.path);
  }
  Place place(int number, const std::string& part) const override {
    const int region = 2 * region_of(part) + number % 2;
    return {name(), "memory: " + part, &memory_, region};
  }
  int next_number() const override { return static_cast<int>(memory_.number()) + 1; }
  Status prepare(int) override { return Status(); }
  Status commit(const Manifest& manifest) override {
    const Place at = place(manifest.number, manifest_part);
    const std::string text = manifest.text();
    if (text.size() > KeptMemory::kMappedBytes) return Status::failure("its manifest is too long for the memory");
    char* to = memory_.block(at.region, 0);
    if (!to) return Status::failure("cannot write " + at.path + ": " + error_text());
    std::memcpy(to, text.data(), text.size());
    memory_.commit(static_cast<std::uint64_t>(manifest.number), text.size());
    return Status();
  }
  void discard(int) override {}

 private:
  static constexpr const char* manifest_part = "manifest";

  // The manifest, the program, then processes and PEs in turn: the same in whatever layout the run begins again.
  static int region_of(const std::string& part) {
    if (part == manifest_part) return 0;
    const std::size_t dash = part.find('-');
    if (dash == std::string::npos) return 1;
    int number = 0;
    std::from_chars(part.data() + dash + 1, part.data() + part.size(), number);
    return 2 + 2 * number + (part[1] == 'e' ? 1 : 0);
  }

  KeptMemory& memory_ = *KeptMemory::of_run();
};

}  // namespace

std::unique_ptr<Storage> folder_storage(const std::string& folder) { return std::make_unique<FolderStorage>(folder); }

bool has_memory_storage() { return KeptMemory::of_run() != nullptr; }
bool has_checkpoint_in_memory() { return has_memory_storage() && KeptMemory::of_run()->number() != 0; }
std::unique_ptr<Storage> memory_storage() { return std::make_unique<MemoryStorage>(); }

}  // namespace periapt::checkpoint
