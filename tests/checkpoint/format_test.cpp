// The format of checkpoints: blocks and manifests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "machine/bootstrap/kept_memory.h"
#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/storage.h"
#include "runtime/registry/registered_text.h"

using namespace periapt::checkpoint;
using testing::HasSubstr;

namespace {

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("periapt-format-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

Manifest some_manifest() {
  Manifest manifest;
  manifest.program = "jacobi 3d";
  manifest.identity = 0xabcdef;
  manifest.pes = 4;
  manifest.processes = 2;
  manifest.number = 3;
  manifest.id = 77;
  manifest.parts = {{"pe-0", 100}, {"pe-1", 1ull << 40}};
  return manifest;
}

// The text with a line changed, and a checksum that is right.
std::string resealed(std::string text, const std::string& old, const std::string& now) {
  text.replace(text.find(old), old.size(), now);
  text = text.substr(0, text.rfind("checksum "));
  char sum[32];
  std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(checksum(text.data(), text.size(), 0)));
  return text + "checksum " + sum + "\n";
}

// What reading the part says; empty when all is well.
std::string problem_of(const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  BlockReader reader;
  if (auto status = reader.open({"the checkpoint", path}, bytes, seed); !status.ok()) return status.message();
  while (reader.left() > 0)
    if (auto block = reader.next(); !block) return block.message();
  return "";
}

TEST(Manifest, IsReadAsItWasWritten) {
  const auto read = parse_manifest(some_manifest().text(), "m");
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read->program, "jacobi 3d");
  EXPECT_EQ(read->identity, 0xabcdefu);
  EXPECT_EQ(read->pes, 4);
  EXPECT_EQ(read->processes, 2);
  EXPECT_EQ(read->number, 3);
  EXPECT_EQ(read->id, 77u);
  ASSERT_EQ(read->parts.size(), 2u);
  EXPECT_EQ(read->find("pe-1")->bytes, 1ull << 40);
  EXPECT_EQ(read->find("pe-2"), nullptr);
}

TEST(Manifest, OfAnotherOrderOfBytesIsRefused) {
  const std::string text = some_manifest().text();
  const bool little = text.find("byte-order little") != std::string::npos;
  const auto read = parse_manifest(little ? resealed(text, "byte-order little", "byte-order big")
                                          : resealed(text, "byte-order big", "byte-order little"),
                                   "m");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.message(), HasSubstr("from a machine with another order of bytes"));
}

TEST(Manifest, OfAnotherVersionIsRefusedWhateverElseItSays) {
  EXPECT_THAT(parse_manifest("periapt checkpoint\nversion 99\ngibberish", "m").message(), HasSubstr("format 99"));
}

TEST(Manifest, CutOffBeforeItsVersionIsDamagedAndNotOfAnother) {
  for (const char* text : {"periapt checkpoint", "periapt checkpoint\n", "periapt checkpoint\nver",
                           "periapt checkpoint\nversion", "periapt checkpoint\nversion "})
    EXPECT_THAT(parse_manifest(text, "m").message(), HasSubstr("it was cut off")) << text;
}

TEST(Manifest, EveryCutIsNoticed) {
  const std::string text = some_manifest().text();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_manifest(text.substr(0, length), "m").ok()) << length;
}

TEST(Manifest, EveryChangedByteIsNoticed) {
  const std::string text = some_manifest().text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(parse_manifest(changed, "m").ok()) << at;
  }
}

TEST(Manifest, LinesThatMeanNothingAreRefused) {
  const std::string text = some_manifest().text();
  for (const char* line : {"pes x", "pes -1", "pes 99999999999999", "galaxy 3", "part ../../etc/passwd 3", "part pe-0"})
    EXPECT_FALSE(parse_manifest(resealed(text, "pes 4", line), "m").ok()) << line;
}

TEST(Manifest, ANewOneCountsAndOthersGo) {
  const Folder folder;
  for (int number = 1; number <= 3; ++number) {
    ASSERT_EQ(next_number(folder.path), number);
    std::filesystem::create_directories(parts_folder(folder.path, number));
    Manifest manifest = some_manifest();
    manifest.number = number;
    if (number == 2) continue;  // was never finished
    ASSERT_TRUE(commit(folder.path, manifest).ok());
    EXPECT_EQ(read_manifest(folder.path)->number, number);
  }
  EXPECT_FALSE(std::filesystem::exists(parts_folder(folder.path, 1)));
  EXPECT_FALSE(std::filesystem::exists(parts_folder(folder.path, 2)));
  EXPECT_TRUE(std::filesystem::exists(parts_folder(folder.path, 3)));
}

class Blocks : public testing::Test {
 protected:
  void SetUp() override {
    BlockWriter writer({"the checkpoint", path}, seed_of(9, "pe-0"));
    for (std::size_t bytes : {block_bytes, block_bytes, std::size_t{12345}}) {
      for (std::size_t i = 0; i < bytes; ++i) writer.room()[i] = static_cast<char>(i * 7);
      writer.write(bytes);
    }
    ASSERT_TRUE(writer.close().ok());
    bytes = writer.file_bytes();
    ASSERT_EQ(bytes, std::filesystem::file_size(path));
  }
  void change(std::uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int old = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(old ^ 16));
  }
  Folder folder;
  std::string path = folder.path / "pe-0";
  std::uint64_t bytes = 0;
};

TEST_F(Blocks, AreReadAsTheyWereWritten) { EXPECT_EQ(problem_of(path, bytes, seed_of(9, "pe-0")), ""); }

TEST_F(Blocks, OfAnotherPartOrCheckpointAreRefused) {
  EXPECT_THAT(problem_of(path, bytes, seed_of(9, "pe-1")), HasSubstr("checksum of its block 0"));
  EXPECT_THAT(problem_of(path, bytes, seed_of(8, "pe-0")), HasSubstr("checksum of its block 0"));
}

TEST_F(Blocks, AChangedByteIsNoticedWhereverItIs) {
  const std::uint64_t places[] = {0, 8, 12, 16, 5000, block_bytes + 16 + 3, bytes - 1};
  for (std::uint64_t at : places) {
    change(at);
    EXPECT_THAT(problem_of(path, bytes, seed_of(9, "pe-0")), HasSubstr("is damaged")) << at;
    change(at);
  }
}

TEST_F(Blocks, ACutIsNoticedWhereverItIs) {
  for (std::uint64_t length : {bytes - 1, std::uint64_t{block_bytes + 16}, std::uint64_t{5}, std::uint64_t{0}}) {
    std::filesystem::resize_file(path, length);
    EXPECT_THAT(problem_of(path, bytes, seed_of(9, "pe-0")), HasSubstr("was cut off")) << length;
  }
}

TEST_F(Blocks, AMissingFileIsNamed) { EXPECT_THAT(problem_of(path + "x", bytes, 0), HasSubstr("pe-0x is missing")); }

TEST(BlockWriter, SaysWhyItCannotWrite) {
  BlockWriter writer({"the checkpoint", "/dev/full"}, 1);
  writer.write(10);
  EXPECT_THAT(writer.close().message(), HasSubstr("No space left on device"));
  BlockWriter nowhere({"the checkpoint", "/no such folder/pe-0"}, 1);
  nowhere.write(10);
  EXPECT_THAT(nowhere.close().message(), HasSubstr("No such file"));
}

// The parts of checkpoint `number` in memory, each with bytes of its own.
Manifest write_in_memory(int number, const std::vector<std::string>& names) {
  const auto storage = memory_storage();
  Manifest manifest = some_manifest();
  manifest.number = number;
  manifest.parts.clear();
  for (const std::string& name : names) {
    BlockWriter writer(storage->place(number, name), seed_of(static_cast<std::uint64_t>(number), name));
    for (int block = 0; block < 2; ++block) {
      std::memset(writer.room(), static_cast<int>(number + name.back()), block_bytes);
      writer.write(block_bytes);
    }
    EXPECT_TRUE(writer.close().ok());
    manifest.parts.push_back({name, writer.file_bytes()});
  }
  return manifest;
}
std::string problem_in_memory(const Manifest& manifest) {
  for (const Manifest::Part& part : manifest.parts) {
    BlockReader reader;
    const Place place = memory_storage()->place(manifest.number, part.name);
    const auto seed = seed_of(static_cast<std::uint64_t>(manifest.number), part.name);
    if (auto status = reader.open(place, part.bytes, seed); !status.ok()) return status.message();
    while (reader.left() > 0)
      if (auto block = reader.next(); !block) return block.message();
  }
  return "";
}

TEST(Memory, HoldsACheckpointUntilTheNextIsWhole) {
  periapt::bootstrap::KeptMemory::open();
  ASSERT_TRUE(has_memory_storage()) << periapt::bootstrap::KeptMemory::why_none();
  const auto storage = memory_storage();
  const std::vector<std::string> names = {"program", "process-0", "process-1", "pe-0", "pe-1", "pe-10", "pe-1000"};
  EXPECT_FALSE(has_checkpoint_in_memory());
  Manifest before;
  for (int number = 1; number <= 4; ++number) {
    ASSERT_EQ(storage->next_number(), number);
    const Manifest manifest = write_in_memory(number, names);
    if (number > 1) {
      EXPECT_EQ(problem_in_memory(before), "") << number;
      EXPECT_EQ(storage->manifest()->number, number - 1);
    }
    ASSERT_TRUE(storage->commit(manifest).ok());
    EXPECT_EQ(problem_in_memory(manifest), "") << number;
    EXPECT_EQ(storage->manifest()->text(), manifest.text());
    before = manifest;
  }
  // Another host has only the one before; the next one is written over what does not count any more.
  periapt::bootstrap::KeptMemory::of_run()->go_back_to(3);
  EXPECT_EQ(storage->manifest()->number, 3);
  EXPECT_EQ(problem_in_memory(*storage->manifest()), "");
  EXPECT_EQ(storage->next_number(), 4);
  ASSERT_TRUE(storage->commit(before).ok());
  EXPECT_EQ(storage->manifest()->number, 4);
  const Place damaged = storage->place(4, "pe-10");
  damaged.memory->block(damaged.region, 0)[3000] ^= 16;
  EXPECT_THAT(problem_in_memory(before), HasSubstr("memory: pe-10 is damaged"));
}

TEST(Memory, IsNotHadWhereFilesAreLimited) {
  rlimit former{};
  getrlimit(RLIMIT_FSIZE, &former);
  const rlimit small{1 << 20, former.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  periapt::bootstrap::KeptMemory::open();
  EXPECT_THAT(periapt::bootstrap::KeptMemory::why_none(), HasSubstr("ulimit -f unlimited"));
  setrlimit(RLIMIT_FSIZE, &former);
}

TEST(Identity, TheFirstDifferenceIsNamed) {
  EXPECT_EQ(periapt::first_difference("class A\nclass B\n", "class A\nclass C\n"),
            "it has class B where this program has class C");
  EXPECT_EQ(periapt::first_difference("class A\n", "class A\nclass C\n"), "it has no class C");
  EXPECT_EQ(periapt::first_difference("class A\nclass C\n", "class A\n"), "it has class C, which this program has not");
}

}  // namespace
