// What another process says of a GPU's memory, so that it is mapped here: sound, damaged, or whole with numbers that are
// none; mappings are held for a while and given back. The GPUs are the fakes', the other process a child that keeps its
// memory. (What is said in the name of this very process is an address of it: a peer that knows the job's secret is
// trusted so far, and nothing is copied from there.)
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

// Two allocations of the other process, as it tells of them.
struct Told {
  std::uint64_t begin = 0;
  std::array<std::byte, 256> description{};
  std::size_t bytes = 0;
};
constexpr std::size_t kTold = 2;

std::unique_ptr<ucx::DeviceMemory> open_gpus(gpu::Driver** driver) {
  const Result<gpu::Driver*> found = gpu::vendors().front().driver();
  expect(found.ok(), "the fake is there");
  *driver = *found;
  return gpu::make_device_memory({.piece_bytes = 4096, .pieces = 2});
}

// A process of its own, since one's own memory is not mapped: forked before the driver is loaded. It ends with this one.
void be_the_other(int to, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  gpu::Driver* driver = nullptr;
  const auto memory = open_gpus(&driver);
  for (std::size_t i = 0; i < kTold; ++i) {
    std::byte* const own = *driver->allocate(0, gpu::Kind::device, kBytes);
    const std::vector<std::byte> described = memory->describe({own, gpu::kind_of(own)});
    Told told;
    expect(!described.empty() && described.size() <= told.description.size(), "there is something to say of it");
    told.begin = reinterpret_cast<std::uint64_t>(own);
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
    for (Told& told : theirs) expect(::read(ends[0], &told, sizeof told) == static_cast<ssize_t>(sizeof told), "the other process tells");
    ::close(ends[0]);
    memory = open_gpus(&driver);
    target = *driver->allocate(0, gpu::Kind::device, kBytes);
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
  std::vector<ucx::Mapping> held;
  for (std::size_t maps = 1 + input.below(6); maps > 0; --maps) {
    const Told& told = gpus.theirs[input.below(kTold)];
    std::vector<std::byte> described(told.description.begin(),
                                     told.description.begin() + static_cast<std::ptrdiff_t>(told.bytes));
    constexpr std::size_t kExport = 120;
    if (input.flag()) {
      gpu::Export exported = *gpu::unpack(Bytes(described).first(kExport));
      change(input, exported);
      if (input.below(4) == 3) exported.begin = gpus.theirs[0].begin;  // so that one takes the other's place
      const std::vector<std::byte> packed = pack(exported);
      std::copy(packed.begin(), packed.end(), described.begin());
    }
    if (input.flag()) input.damage(described);
    std::uint64_t address = told.begin + input.below(kBytes + 2);
    if (input.below(4) == 3) address = input.number<std::uint64_t>();
    const std::uint64_t bytes = input.flag() ? input.below(kBytes + 2) : input.number<std::uint64_t>();
    const Result<ucx::Mapping> mapped =
        gpus.memory->map(described, address, bytes, {gpus.target, gpu::kind_of(gpus.target)});
    expect(mapped.ok() || !mapped.message().empty(), "what is refused has a reason");
    if (mapped && input.flag()) held.push_back(*mapped);
    if (!held.empty() && input.below(4) == 3) held.erase(held.begin());
  }
  held.clear();
  gpus.memory->progress();
}

}  // namespace periapt::fuzz
