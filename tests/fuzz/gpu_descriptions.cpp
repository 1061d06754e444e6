// What another process says of a GPU's memory, so that it is mapped here: damaged, or whole with numbers that are none.
// The GPUs are the fakes'. (What is said in the name of this very process is an address of it: a peer that knows the
// job's secret is trusted so far, and nothing is copied from there.)
#include <cstring>
#include <memory>
#include <vector>

#include "machine/gpu/device_memory.h"
#include "machine/gpu/imports.h"
#include "machine/gpu/vendors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/gpu/fake_gpu.h"

namespace periapt::fuzz {
namespace {

const fake_gpu::InPlace in_place;
constexpr std::uint64_t kBytes = 100'000;

struct Gpus {
  std::unique_ptr<ucx::DeviceMemory> memory;
  std::byte *own = nullptr, *target = nullptr;
  std::vector<std::byte> described;

  Gpus() {
    const Result<gpu::Driver*> driver = gpu::vendors().front().driver();
    expect(driver.ok(), "the fake is there");
    memory = gpu::make_device_memory({.piece_bytes = 4096, .pieces = 2});
    own = *(*driver)->allocate(0, gpu::Kind::device, kBytes);
    target = *(*driver)->allocate(0, gpu::Kind::device, kBytes);
    described = memory->describe({own, gpu::kind_of(own)});
    expect(!described.empty(), "there is something to say of it");
  }
};

// Whole, and of another process or of other numbers.
void change(Input& input, gpu::Export& exported) {
  for (std::size_t changes = 1 + input.below(3); changes > 0; --changes) {
    std::uint64_t* const numbers[] = {&exported.boot,  &exported.process, &exported.buffer,
                                      &exported.begin, &exported.size,    &exported.by_file};
    const std::size_t which = input.below(std::size(numbers) + 1);
    if (which < std::size(numbers)) {
      *numbers[which] = input.flag() ? *numbers[which] + input.below(3) : input.number<std::uint64_t>();
    } else {
      const std::size_t at = input.below(sizeof exported.handle);
      reinterpret_cast<unsigned char*>(&exported.handle)[at] = input.number<unsigned char>();
    }
  }
}

}  // namespace

void target(Input input) {
  static Gpus gpus;
  std::vector<std::byte> described = gpus.described;
  constexpr std::size_t kExport = 120;
  if (input.flag()) {
    gpu::Export exported = *gpu::unpack(Bytes(described).first(kExport));
    change(input, exported);
    const std::vector<std::byte> packed = pack(exported);
    std::copy(packed.begin(), packed.end(), described.begin());
  }
  if (input.flag()) input.damage(described);
  std::vector<ucx::Mapping> held;
  for (std::size_t maps = 1 + input.below(3); maps > 0; --maps) {
    std::uint64_t address = reinterpret_cast<std::uint64_t>(gpus.own) + input.below(kBytes + 2);
    if (input.below(4) == 3) address = input.number<std::uint64_t>();
    const std::uint64_t bytes = input.flag() ? input.below(kBytes + 2) : input.number<std::uint64_t>();
    const Result<ucx::Mapping> mapped =
        gpus.memory->map(described, address, bytes, {gpus.target, gpu::kind_of(gpus.target)});
    expect(mapped.ok() || !mapped.message().empty(), "what is refused has a reason");
    if (mapped && input.flag()) held.push_back(*mapped);
  }
  gpus.memory->progress();
}

}  // namespace periapt::fuzz
