#include "machine/gpu/packs.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "machine/gpu/kernel_code.h"

namespace periapt::gpu {
namespace {

constexpr unsigned kPackThreads = 256, kMostPackBlocks = 4096;
constexpr std::uint64_t kUnitsOfThread = 4;        // pack_rows()
constexpr std::uint64_t kMostUnits = 0xFFFF'FFFF;  // that the kernel numbers
constexpr std::uint64_t kLargestPiece = 4096;
constexpr std::uint64_t kMostLanes = 32;
constexpr std::uint64_t kMostPitch = (std::uint64_t{1} << 31) - 1;  // of copies by rows, for both vendors
static_assert(Layout::kMostRows == PackOrders::kMostRows);

Word word_of(const void* address) { return reinterpret_cast<Word>(address); }

// A list's kernel numbers pieces, of which there are not more than this.
bool fits_kernel(const Layout& layout, std::uint64_t unit) {
  return (layout.is_list() ? layout.blocks.size() + layout.bytes / kLargestPiece : layout.bytes / unit) <= kMostUnits;
}

// Where memory ends that is found at an address: what is mapped by hand goes on in the next mapping, if that is there.
std::uintptr_t end_of(Driver& driver, const Memory& found, std::uintptr_t enough) {
  std::uintptr_t end = found.begin + found.size;
  while (end < enough && found.kind == MemoryType::vmm) {
    const Result<Memory> next = driver.look(reinterpret_cast<const void*>(end));
    if (!next || next->kind != MemoryType::vmm || next->gpu != found.gpu || next->begin + next->size <= end) break;
    end = next->begin + next->size;
  }
  return end;
}

}  // namespace

Result<Memory> memory_of(Driver& driver, const Layout& layout, const std::byte* scattered) {
  Result<Memory> found = driver.look(scattered);
  if (!found) return found;
  if (found->kind == MemoryType::host) return unknown_memory(scattered);
  const auto address = reinterpret_cast<std::uintptr_t>(scattered);
  const std::uint64_t there = end_of(driver, *found, address + layout.extent) - address;
  if (there >= layout.extent) return found;
  return Status::failure("a layout that ends " + std::to_string(layout.extent) +
                         " bytes after its address, in an allocation that ends " + std::to_string(there) +
                         " bytes after it");
}

/// The pieces of a list of blocks, in memory of the GPU; one more says where the last one ends.
struct Packer::List {
  Rooms& rooms;
  Room room;
  unsigned count = 0, lanes_log2 = 0;

  List(Rooms& of, const Room& where) : rooms(of), room(where) {}
  List(const List&) = delete;
  ~List() { rooms.give(room); }
};

const Result<Kernel>& Packer::kernel(Driver& driver, int gpu) { return kernel_of(driver, gpu, pack_code, kPackName); }

Result<std::unique_ptr<Packer>> Packer::make(Driver& driver, int gpu, Rooms& rooms) {
  const Result<Stream> pack = driver.make_stream(gpu);
  if (!pack) return pack.status();
  const Result<Stream> unpack = driver.make_stream(gpu);
  if (!unpack) {
    driver.destroy(*pack);
    return unpack.status();
  }
  return std::unique_ptr<Packer>(new Packer(driver, rooms, kernel(driver, gpu), *pack, *unpack));
}

Packer::~Packer() {
  for (Stream stream : streams_) {
    static_cast<void>(driver_.finish(stream));
    driver_.destroy(stream);
  }
}

bool Packer::touches(const Memory& memory) { return kernel_ && reach_.touches(memory); }

bool Packer::touches(const void* address, std::uint64_t bytes, bool imported) {
  return kernel_ && reach_.touches(address, bytes, imported);
}

Result<std::shared_ptr<const void>> Packer::begin(Way way, const std::shared_ptr<const Layout>& layout,
                                                  std::byte* scattered, std::byte* packed, bool touched) {
  if (layout->bytes == 0) return std::shared_ptr<const void>();
  const Result<Memory> found = memory_of(driver_, *layout, scattered);
  if (!found) return found.status();
  PackOrders orders{};
  orders.scattered = word_of(scattered) + (layout->is_list() ? 0 : layout->first);
  orders.packed = word_of(packed);
  orders.unit = 1U << std::countr_zero(layout->multiples | orders.scattered | orders.packed | 16U);
  orders.unpacks = way == Way::unpack;
  if (!fits_kernel(*layout, orders.unit) || !touches(*found) || !(touched || touches(packed, layout->bytes))) {
    const Status copied = copy(way, *layout, scattered, packed);
    return copied ? Result<std::shared_ptr<const void>>(std::shared_ptr<const void>()) : copied;
  }
  std::shared_ptr<const void> held;
  Word items = layout->bytes / orders.unit / kUnitsOfThread;
  if (layout->is_list()) {
    Result<Held> known = list_of(way, layout);
    if (!known) return known.status();
    const List& list = *known->first;
    held = std::move(known->second);
    orders.pieces = word_of(list.room.at);
    orders.count = list.count;
    orders.lanes_log2 = list.lanes_log2;
    items = Word{orders.count} << orders.lanes_log2;
  } else {
    orders.count = static_cast<unsigned>(layout->bytes / orders.unit);
    orders.block = static_cast<unsigned>(layout->block / orders.unit);
    orders.rows = static_cast<unsigned>(layout->rows.size());
    for (std::size_t i = 0; i < layout->rows.size(); ++i)
      orders.row[i] = {layout->rows[i].stride, static_cast<unsigned>(layout->rows[i].count)};
  }
  void* arguments[] = {&orders};
  const auto blocks = std::clamp<std::uint64_t>((items + kPackThreads - 1) / kPackThreads, 1, kMostPackBlocks);
  const Stream stream = streams_[static_cast<std::size_t>(way)];
  const Status begun = driver_.launch(stream, *kernel_, static_cast<unsigned>(blocks), kPackThreads, arguments);
  if (begun) return held;
  if (held) static_cast<void>(driver_.finish(stream));  // a list may be on its way
  return begun;
}

// A block is cut into pieces, so that threads have about as much to do each.
Result<Packer::Held> Packer::list_of(Way way, const std::shared_ptr<const Layout>& layout) {
  const auto number = static_cast<std::size_t>(way);
  const auto of_layout = [&](const Kept& kept) { return kept.layout == layout; };
  auto kept = std::find_if(kept_.begin(), kept_.end(), of_layout);
  if (kept != kept_.end() && kept->lists[number]) return Held{kept->lists[number], kept->lists[number]};
  // A layout that the program has let go of does not come again.
  std::erase_if(kept_, [](const Kept& one) { return one.layout.use_count() == 1; });

  struct Brought {
    std::shared_ptr<const List> list;
    std::vector<PackPiece> pieces;  // are read by the copy
  };
  auto brought = std::make_shared<Brought>();
  Word packed = 0;
  for (const Layout::Block& block : layout->blocks) {
    for (std::uint64_t done = 0; done < block.bytes; done += kLargestPiece)
      brought->pieces.push_back({block.offset + done, packed + done});
    packed += block.bytes;
  }
  const std::uint64_t count = brought->pieces.size();
  const std::uint64_t lanes = std::clamp<std::uint64_t>(packed / count / 16, 1, kMostLanes);
  brought->pieces.push_back({0, packed});
  const std::uint64_t bytes = brought->pieces.size() * sizeof(PackPiece);
  Result<Room> room = rooms_.take(where(), MemoryType::device, bytes);
  if (!room && !kept_.empty()) {
    drop_lists();
    room = rooms_.take(where(), MemoryType::device, bytes);
  }
  if (!room) return room.status();
  auto list = std::make_shared<List>(rooms_, *room);
  list->count = static_cast<unsigned>(count);
  list->lanes_log2 = static_cast<unsigned>(std::bit_width(lanes - 1));
  if (Status copied = driver_.copy(streams_[number], room->at, brought->pieces.data(), bytes); !copied) return copied;
  kept = std::find_if(kept_.begin(), kept_.end(), of_layout);
  if (kept == kept_.end()) kept = kept_.insert(kept, Kept{layout, {}});
  kept->lists[number] = list;
  brought->list = list;
  return Held{list, brought};
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
