// What another process says of a GPU's memory, so that it is mapped here: sound, damaged, or whole with numbers that
// are none, or another allocation's; mappings are held for a while and given back, and what is not in use stays mapped
// from input to input, as in any process. The GPUs are the fakes', the other process a child that keeps its memory.
// (What is said in the name of this very process is an address of it: a peer that knows the job's secret is trusted so
// far, and nothing is copied from there.)
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Three allocations of the other process, as it tells of them.
struct Told {
  static constexpr std::size_t kExport = 120;  ///< of the bytes, in front
  std::array<std::byte, 256> description{};
  std::size_t bytes = 0;

  std::vector<std::byte> described() const {
    return {description.begin(), description.begin() + static_cast<std::ptrdiff_t>(bytes)};
  }
  gpu::Export exported() const { return *gpu::unpack(Bytes(description).first(kExport)); }
};
constexpr std::size_t kTold = 3;

std::unique_ptr<ucx::DeviceMemory> open_gpus(gpu::Driver** driver) {
  const Result<gpu::Driver*> found = gpu::vendors().front().driver();
  expect(found.ok(), "the fake is there");
  *driver = *found;
  return gpu::make_device_memory({.piece_bytes = 4096, .pieces = 2});
}

// A process of its own, since one's own memory is not mapped: forked before the driver is loaded. It ends with this
// one.
void be_the_other(int to, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  gpu::Driver* driver = nullptr;
  const auto memory = open_gpus(&driver);
  for (std::size_t i = 0; i < kTold; ++i) {
    std::byte* const own = *driver->allocate(0, gpu::MemoryType::device, kBytes);
    const std::vector<std::byte> described = memory->describe({own, gpu::kind_of(own)});
    Told told;
    expect(!described.empty() && described.size() <= told.description.size(), "there is something to say of it");
    told.bytes = described.size();
    std::copy(described.begin(), described.end(), told.description.begin());
    expect(::write(to, &told, sizeof told) == static_cast<ssize_t>(sizeof told), "it can be told");
  }
  for (;;) ::pause();
}

struct Gpus {
  gpu::Driver* driver = nullptr;
  std::unique_ptr<ucx::DeviceMemory> memory;
  std::byte* target = nullptr;
  std::array<Told, kTold> theirs;

  Gpus() {
    int ends[2];
    expect(::pipe(ends) == 0, "a pipe");
    const pid_t parent = ::getpid();
    if (::fork() == 0) be_the_other(ends[1], parent);
    ::close(ends[1]);
    for (Told& told : theirs)
      expect(::read(ends[0], &told, sizeof told) == static_cast<ssize_t>(sizeof told), "the other process tells");
    ::close(ends[0]);
    memory = open_gpus(&driver);
    target = *driver->allocate(0, gpu::MemoryType::device, kBytes);
  }
};

// Whole, and of another process or of other numbers: by chance, or another allocation's, whose place it takes.
void change(Input& input, const gpu::Export& other, gpu::Export& exported) {
  if (input.flag()) {
    (input.flag() ? exported.buffer : exported.begin) = input.flag() ? other.buffer : other.begin;
    return;
  }
  for (std::size_t changes = 1 + input.below(3); changes > 0; --changes) {
    std::uint64_t* const numbers[] = {&exported.boot,  &exported.process, &exported.buffer,
                                      &exported.begin, &exported.size,    &exported.by_hand};
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
  std::vector<ucx::Mapping> held;
  for (std::size_t acts = 1 + input.below(8); acts > 0; --acts) {
    const std::size_t which = input.below(kTold);
    gpu::Export exported = gpus.theirs[which].exported();
    std::vector<std::byte> described = gpus.theirs[which].described();
    if (input.below(2) == 1) {
      change(input, gpus.theirs[input.below(kTold)].exported(), exported);
      const std::vector<std::byte> packed = pack(exported);
      std::copy(packed.begin(), packed.end(), described.begin());
    }
    if (input.below(4) == 3) input.damage(described);
    const std::uint64_t address =
        input.below(8) == 7 ? input.number<std::uint64_t>() : exported.begin + input.below(kBytes + 2);
    const std::uint64_t bytes = input.below(8) == 7 ? input.number<std::uint64_t>() : input.below(3000);
    const Result<ucx::Mapping> mapped =
        gpus.memory->map(described, address, bytes, {gpus.target, gpu::kind_of(gpus.target)});
    expect(mapped.ok() || !mapped.message().empty(), "what is refused has a reason");
    if (mapped && !input.flag()) held.push_back(*mapped);
    if (!held.empty() && input.below(4) == 3) held.erase(held.begin());
  }
  held.clear();
  gpus.memory->progress();
  expect(fake_gpu::settings("cuda").imports == static_cast<std::int64_t>(gpu::Imports::of(*gpus.driver).mapped()),
         "what is open is known, so that it is closed some day");
}

}  // namespace periapt::fuzz
