#include "machine/gpu/packs.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <string>
#include <utility>

#include "base/log.h"
#include "machine/gpu/kernel_code.h"

namespace periapt::gpu {
namespace {

constexpr unsigned kPackThreads = 256, kMostPackBlocks = 4096;
constexpr std::uint64_t kUnitsOfThread = 4;        // pack_rows()
constexpr std::uint64_t kMostUnits = 0xFFFF'FFFF;  // that the kernel numbers
constexpr std::uint64_t kLargestPiece = 4096;
constexpr std::uint64_t kMostLanes = 32;
constexpr std::size_t kMostLists = 8;
constexpr std::uint64_t kMostPitch = (std::uint64_t{1} << 31) - 1;  // of copies by rows, for both vendors
static_assert(Layout::kMostRows == PackOrders::kMostRows);

Result<Kernel> load_pack(Driver& driver, int gpu) {
  Result<Kernel> loaded = driver.load_kernel(gpu, pack_code(driver.vendor()), kPackName);
  log::detail("strided memory of GPU " + std::to_string(gpu) +
              (loaded ? " is packed by a kernel" : " is copied row by row: " + loaded.message()));
  return loaded;
}

Word word_of(const void* address) { return reinterpret_cast<Word>(address); }

}  // namespace

/// The pieces of a list of blocks, in memory of the GPU.
struct Packer::List {
  Driver& driver;
  const int gpu;
  std::vector<PackPiece> pieces;  ///< what they are copied from, as long as a stream may do it
  std::byte* at = nullptr;
  unsigned lanes_log2 = 0;

  List(Driver& of, int on) : driver(of), gpu(on) {}
  List(const List&) = delete;
  ~List() {
    if (at == nullptr) return;
    if (const Status freed = driver.free(gpu, Kind::device, at); !freed) log::detail(freed.message());
  }
  unsigned count() const { return static_cast<unsigned>(pieces.size() - 1); }
};

// Until the process ends: static destructors run when the driver may be gone.
const Result<Kernel>& Packer::kernel(Driver& driver, int gpu) {
  static std::mutex mutex;
  static auto& kernels = *new std::map<std::pair<Driver*, int>, Result<Kernel>>;
  std::lock_guard lock(mutex);
  const auto known = kernels.find({&driver, gpu});
  return known != kernels.end() ? known->second
                                : kernels.emplace(std::pair(&driver, gpu), load_pack(driver, gpu)).first->second;
}

Result<std::unique_ptr<Packer>> Packer::make(Driver& driver, int gpu) {
  const Result<Stream> pack = driver.make_stream(gpu);
  if (!pack) return pack.status();
  const Result<Stream> unpack = driver.make_stream(gpu);
  if (!unpack) {
    driver.destroy(*pack);
    return unpack.status();
  }
  return std::unique_ptr<Packer>(new Packer(driver, kernel(driver, gpu), *pack, *unpack));
}

Packer::~Packer() {
  for (Stream stream : streams_) {
    static_cast<void>(driver_.finish(stream));
    driver_.destroy(stream);
  }
}

bool Packer::touches(const Memory& memory) {
  const int gpu = streams_[0].gpu;
  if (!kernel_ || !memory.open) return false;
  if (memory.kind == Kind::pinned || memory.gpu == gpu) return true;
  if (memory.kind != Kind::device) return false;
  const auto [known, is_new] = reached_.try_emplace(memory.gpu, false);
  if (is_new) known->second = driver_.reach(gpu, memory.gpu).ok();
  return known->second;
}

bool Packer::touches(const void* address, std::uint64_t bytes, bool imported) {
  const Result<Memory> found = driver_.look(address);
  if (found && imported && found->gpu != streams_[0].gpu) return false;
  return found && found->holds(reinterpret_cast<std::uintptr_t>(address), bytes) && touches(*found);
}

Result<std::shared_ptr<const void>> Packer::begin(Way way, const std::shared_ptr<const Layout>& layout,
                                                  std::byte* scattered, std::byte* packed) {
  if (layout->bytes == 0) return std::shared_ptr<const void>();
  const Result<Memory> found = driver_.look(scattered);
  if (!found) return found.status();
  if (found->kind == Kind::host) return unknown_memory(scattered);
  const auto address = reinterpret_cast<std::uintptr_t>(scattered);
  if (!found->holds(address, layout->extent))
    return Status::failure("a layout that ends " + std::to_string(layout->extent) +
                           " bytes after its address, in an allocation that ends " +
                           std::to_string(found->begin + found->size - address) + " bytes after it");
  PackOrders orders{};
  orders.scattered = word_of(scattered) + (layout->is_list() ? 0 : layout->first);
  orders.packed = word_of(packed);
  orders.unit = 1U << std::countr_zero(layout->multiples | orders.scattered | orders.packed | 16U);
  orders.unpacks = way == Way::unpack;
  const std::uint64_t units = layout->bytes / orders.unit;
  if (units > kMostUnits || !touches(*found) || !touches(packed, layout->bytes)) {
    const Status copied = copy(way, *layout, scattered, packed);
    return copied ? Result<std::shared_ptr<const void>>(std::shared_ptr<const void>()) : copied;
  }
  std::shared_ptr<const List> list;
  Word items = units / kUnitsOfThread;
  if (layout->is_list()) {
    Result<std::shared_ptr<const List>> known = list_of(way, layout);
    if (!known) return known.status();
    list = *known;
    orders.pieces = word_of(list->at);
    orders.count = list->count();
    orders.lanes_log2 = list->lanes_log2;
    items = Word{orders.count} << orders.lanes_log2;
  } else {
    orders.count = static_cast<unsigned>(units);
    orders.block = static_cast<unsigned>(layout->block / orders.unit);
    orders.rows = static_cast<unsigned>(layout->rows.size());
    for (std::size_t i = 0; i < layout->rows.size(); ++i)
      orders.row[i] = {layout->rows[i].stride, static_cast<unsigned>(layout->rows[i].count)};
  }
  void* arguments[] = {&orders};
  const auto blocks = std::clamp<std::uint64_t>((items + kPackThreads - 1) / kPackThreads, 1, kMostPackBlocks);
  const Status begun = driver_.launch(streams_[static_cast<std::size_t>(way)], *kernel_, static_cast<unsigned>(blocks),
                                      kPackThreads, arguments);
  return begun ? Result<std::shared_ptr<const void>>(std::shared_ptr<const void>(std::move(list))) : begun;
}

// A block is cut into pieces, so that threads have about as much to do each.
Result<std::shared_ptr<const Packer::List>> Packer::list_of(Way way, const std::shared_ptr<const Layout>& layout) {
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.layout == layout && kept.way == way; });
  if (known != kept_.end()) {
    std::rotate(known, known + 1, kept_.end());
    return kept_.back().list;
  }
  const Stream stream = streams_[static_cast<std::size_t>(way)];
  auto list = std::make_shared<List>(driver_, stream.gpu);
  Word packed = 0;
  for (const Layout::Block& block : layout->blocks) {
    for (std::uint64_t done = 0; done < block.bytes; done += kLargestPiece)
      list->pieces.push_back({block.offset + done, packed + done});
    packed += block.bytes;
  }
  const std::uint64_t lanes = std::clamp<std::uint64_t>(packed / list->pieces.size() / 16, 1, kMostLanes);
  list->lanes_log2 = static_cast<unsigned>(std::bit_width(lanes - 1));
  list->pieces.push_back({0, packed});
  const std::uint64_t bytes = list->pieces.size() * sizeof(PackPiece);
  const Result<std::byte*> made = driver_.allocate(stream.gpu, Kind::device, bytes);
  if (!made) return made.status();
  list->at = *made;
  if (const Status copied = driver_.copy(stream, list->at, list->pieces.data(), bytes); !copied) return copied;
  if (kept_.size() == kMostLists) kept_.erase(kept_.begin());
  kept_.push_back({layout, way, list});
  return std::shared_ptr<const List>(std::move(list));
}

Status Packer::copy(Way way, const Layout& layout, std::byte* scattered, std::byte* packed) {
  const Stream stream = streams_[static_cast<std::size_t>(way)];
  const bool unpacks = way == Way::unpack;
  Status begun;
  for_each_row(layout, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes, Layout::Row row) {
    std::byte *const blocks = scattered + offset, *const piece = packed + at;
    if (begun && row.count > 1 && row.stride >= bytes && row.stride <= kMostPitch) {
      begun = driver_.copy_rows(stream, unpacks ? CopiedRows{blocks, row.stride, piece, bytes, bytes, row.count}
                                                : CopiedRows{piece, bytes, blocks, row.stride, bytes, row.count});
      return;
    }
    for (std::uint64_t i = 0; begun && i < row.count; ++i) {
      std::byte *const block = blocks + i * row.stride, *const there = piece + i * bytes;
      begun = driver_.copy(stream, unpacks ? block : there, unpacks ? there : block, bytes);
    }
  });
  return begun;
}

}  // namespace periapt::gpu
