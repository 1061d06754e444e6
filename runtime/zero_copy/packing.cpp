#include "runtime/zero_copy/packing.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "base/readable.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/pup/stl.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::zero_copy {

/// Those of a PE, and its memory for what is made on the way.
struct Packers {
  struct Waiting {
    Packing* packing;
    std::function<void(const Status&)> then;
  };
  struct OfGpu {
    std::unique_ptr<gpu::Packer> packer;
    std::size_t out = 0;          // rooms there that were taken and will be given back
    std::deque<Waiting> waiting;  // for those
    bool serves = false;
  };
  gpu::Rooms rooms;  // lists of the packers lie there
  std::map<std::pair<gpu::Driver*, int>, OfGpu> of_gpus;
  OfGpu& of(gpu::OnGpu where) { return of_gpus[{where.driver, where.gpu}]; }
};

namespace {

Packers& packers_of(Pe& pe) {
  if (!pe.objects->packers) pe.objects->packers = std::make_shared<Packers>();
  return *pe.objects->packers;
}

// That of the GPU that the memory lies on.
Status find_packer(Pe& pe, Packing& packing) {
  if (packing.packer) return {};
  const std::optional<gpu::OnGpu> where = gpu::gpu_of(packing.scattered.at);
  if (!where) return gpu::unknown_memory(packing.scattered.at);
  std::unique_ptr<gpu::Packer>& packer = packers_of(pe).of(*where).packer;
  if (!packer) {
    Result<std::unique_ptr<gpu::Packer>> made = gpu::Packer::make(*where->driver, where->gpu, packers_of(pe).rooms);
    if (!made) return made.status();
    packer = std::move(*made);
  }
  packing.packer = packer.get();
  return {};
}

Status demand_memory_of_host(const gpu::Layout& layout, const std::byte* scattered) {
  if (is_readable(scattered + layout.extent - 1)) return {};
  return Status::failure("a layout that ends " + std::to_string(layout.extent) +
                         " bytes after its address, where there is no memory");
}

Status move_by_processor(gpu::Packer::Way way, const Packing& packing, std::byte* packed) {
  const gpu::Layout& layout = *packing.layout;
  if (Status there = demand_memory_of_host(layout, packing.scattered.at); !there) return there;
  if (way == gpu::Packer::Way::pack)
    gpu::gather(layout, packed, packing.scattered.at);
  else
    gpu::scatter(layout, packing.scattered.at, packed);
  return {};
}

}  // namespace

Result<gpu::Room> take_room(Pe& pe, gpu::OnGpu where, gpu::MemoryType kind, std::uint64_t bytes) {
  Packers& packers = packers_of(pe);
  Result<gpu::Room> room = packers.rooms.take(where, kind, bytes);
  if (kind != gpu::MemoryType::device) return room;
  Packers::OfGpu& there = packers.of(where);
  if (!room && there.packer) {
    there.packer->drop_lists();
    room = packers.rooms.take(where, kind, bytes);
  }
  if (room) ++there.out;
  return room;
}

namespace {

// For its elements in one piece.
Status take_into(Pe& pe, Packing& packing, gpu::MemoryType kind) {
  const gpu::OnGpu where = kind == gpu::MemoryType::host ? gpu::OnGpu() : packing.packer->where();
  Result<gpu::Room> room = take_room(pe, where, kind, packing.layout->bytes);
  if (room) packing.room = *room;
  return room.status();
}

// Those that wait, in their order, as far as there is memory now. What is served may give a room back itself.
void serve(Pe& pe, Packers::OfGpu& there) {
  if (std::exchange(there.serves, true)) return;
  while (!there.waiting.empty()) {
    const Status taken = take_into(pe, *there.waiting.front().packing, gpu::MemoryType::device);
    if (!taken && there.out != 0) break;
    const std::function<void(const Status&)> then = std::move(there.waiting.front().then);
    there.waiting.pop_front();
    pe.end_pending();
    then(taken);
  }
  there.serves = false;
}

}  // namespace

void with_room(Pe& pe, Packing& packing, std::function<void(const Status&)> then) {
  if (packing.scattered.kind == ucx::MemoryKind::host) return then(take_into(pe, packing, gpu::MemoryType::host));
  if (const Status found = find_packer(pe, packing); !found) return then(found);
  Packers::OfGpu& there = packers_of(pe).of(packing.packer->where());
  if (there.waiting.empty()) {
    const Status taken = take_into(pe, packing, gpu::MemoryType::device);
    if (taken || there.out == 0) return then(taken);
  }
  pe.begin_pending();
  there.waiting.push_back({&packing, std::move(then)});
}

Status take_room_to_unpack(Pe& pe, Packing& packing) {
  if (packing.scattered.kind == ucx::MemoryKind::host) return take_into(pe, packing, gpu::MemoryType::host);
  if (Status found = find_packer(pe, packing); !found) return found;
  if (Status taken = take_into(pe, packing, gpu::MemoryType::device); taken) return taken;
  return take_into(pe, packing, gpu::MemoryType::pinned);
}

void give_room(Pe& pe, const gpu::Room& room) {
  if (room.at == nullptr) return;
  Packers& packers = packers_of(pe);
  packers.rooms.give(room);
  if (room.kind != gpu::MemoryType::device) return;
  Packers::OfGpu& there = packers.of(room.where);
  --there.out;
  serve(pe, there);
}

std::string describe_waiting_for_room(const Pe& pe) {
  std::string text;
  if (!pe.objects->packers) return text;
  for (const auto& [gpu, there] : pe.objects->packers->of_gpus)
    for (const Packers::Waiting& one : there.waiting)
      text += "an array in strided memory on PE " + std::to_string(pe.index) + " waits for " +
              std::to_string(one.packing->layout->bytes) + " bytes on GPU " + std::to_string(gpu.second) +
              ", which has no memory left; what others have there is given back when their receivers have read it\n";
  return text;
}

Result<std::byte*> one_piece_at(const gpu::Layout& layout, ucx::Place memory) {
  if (memory.kind == ucx::MemoryKind::host) {
    if (Status there = demand_memory_of_host(layout, memory.at); !there) return there;
  } else {
    const std::optional<gpu::OnGpu> where = gpu::gpu_of(memory.at);
    if (!where) return gpu::unknown_memory(memory.at);
    if (const Result<gpu::Memory> found = gpu::memory_of(*where->driver, layout, memory.at); !found)
      return found.status();
  }
  return memory.at + layout.begin();
}

Status begin(Pe& pe, gpu::Packer::Way way, Packing& packing, std::byte* packed) {
  if (packing.scattered.kind == ucx::MemoryKind::host) {
    const Status moved = move_by_processor(way, packing, packed);
    if (moved) packing.done(packing, moved);
    return moved;
  }
  if (Status found = find_packer(pe, packing); !found) return found;
  Result<std::shared_ptr<const void>> held =
      packing.packer->begin(way, packing.layout, packing.scattered.at, packed, packing.read_there);
  if (!held) return held.status();
  packing.held = std::move(*held);
  when_reached(pe, packing.packer->stream(way), packing.scattered, packing);
  return {};
}

bool reads(Pe& pe, Packing& packing, const void* packed, bool mapped) {
  packing.read_there = find_packer(pe, packing) && packing.packer->touches(packed, packing.layout->bytes, mapped);
  return packing.read_there;
}

void demand_as_many(const CkDeviceLayout& layout, std::size_t bytes, const std::string& what,
                    const std::string& where) {
  if (layout.is_contiguous() || layout.bytes() == bytes) return;
  fatal(what + " of " + std::to_string(bytes) + " bytes with a layout that holds " + std::to_string(layout.bytes()),
        where, "a layout holds as many elements as are sent, on both sides",
        "make the layout of the elements' type, and give the array as many elements as it has: layout.bytes() / "
        "sizeof(x[0])");
}

}  // namespace periapt::zero_copy

// ---- layouts

using periapt::Pe;
using periapt::Result;
using periapt::gpu::Layout;

namespace {

[[noreturn]] void refuse(const std::string& call, const std::string& what, const std::string& what_next) {
  periapt::fatal("CkDeviceLayout::" + call + ": " + what,
                 Pe::current() ? periapt::describe_running(*Pe::current()) : std::string(), "", what_next);
}

// In bytes.
std::uint64_t not_negative(const std::string& call, const std::string& name, std::ptrdiff_t number, std::size_t item) {
  std::uint64_t bytes = 0;
  if (number < 0)
    refuse(call, "a negative " + name + ", " + std::to_string(number),
           "Count from the block with the lowest address; indexed() takes blocks in any order");
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(number), item, &bytes))
    refuse(call, "a " + name + " of " + std::to_string(number) + " elements of " + std::to_string(item) + " bytes",
           "It is more than there are addresses");
  return bytes;
}

std::shared_ptr<const Layout> made(const std::string& call, Result<Layout> layout) {
  if (!layout) refuse(call, layout.message(), "Look at the numbers: they are elements, not bytes");
  return std::make_shared<const Layout>(std::move(*layout));
}

}  // namespace

CkDeviceLayout CkDeviceLayout::make_vector(std::ptrdiff_t count, std::ptrdiff_t length, std::ptrdiff_t stride,
                                           std::size_t item) {
  const std::string call = "vector()";
  const Layout::Row row{not_negative(call, "count", count, 1), not_negative(call, "stride", stride, item)};
  CkDeviceLayout layout;
  layout.layout_ = made(
      call, periapt::gpu::layout_of_rows(0, not_negative(call, "length of blocks", length, item), std::span(&row, 1)));
  return layout;
}

CkDeviceLayout CkDeviceLayout::make_indexed(const Numbers& offsets, const Numbers& lengths, std::size_t item) {
  const std::string call = "indexed()";
  if (offsets.size() != lengths.size())
    refuse(call, std::to_string(offsets.size()) + " offsets and " + std::to_string(lengths.size()) + " lengths",
           "Each block has one of both");
  std::vector<Layout::Block> blocks(offsets.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = {not_negative(call, "offset", offsets[i], item), not_negative(call, "length", lengths[i], item)};
  CkDeviceLayout layout;
  layout.layout_ = made(call, periapt::gpu::layout_of_blocks(blocks));
  return layout;
}

CkDeviceLayout CkDeviceLayout::make_subarray(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts,
                                             std::size_t item) {
  const std::string call = "subarray()";
  const std::size_t dimensions = sizes.size();
  if (dimensions == 0 || dimensions > 4 || subsizes.size() != dimensions || starts.size() != dimensions)
    refuse(call,
           std::to_string(dimensions) + " sizes, " + std::to_string(subsizes.size()) + " subsizes and " +
               std::to_string(starts.size()) + " starts",
           "An array has one to four dimensions, with one of each for each");
  std::uint64_t first = 0, block = item, stride = item;
  std::vector<Layout::Row> rows;
  for (std::size_t i = dimensions; i-- > 0;) {
    const std::uint64_t size = not_negative(call, "size", sizes[i], 1);
    const std::uint64_t part = not_negative(call, "subsize", subsizes[i], 1);
    const std::uint64_t start = not_negative(call, "start", starts[i], 1);
    if (start > size || part > size - start)
      refuse(call,
             "elements " + std::to_string(start) + " to " + std::to_string(start + part) + " of dimension " +
                 std::to_string(i) + ", which has " + std::to_string(size),
             "start + subsize is at most the size");
    std::uint64_t behind = 0;
    if (__builtin_mul_overflow(start, stride, &behind) || __builtin_add_overflow(first, behind, &first) ||
        (size != 0 && __builtin_mul_overflow(stride, size, &behind)))
      refuse(call, "an array that ends beyond the addresses that there are",
             "Look at the sizes: they are elements, not bytes");
    rows.push_back({part, stride});
    stride = size != 0 ? behind : stride;
  }
  CkDeviceLayout layout;
  layout.layout_ = made(call, periapt::gpu::layout_of_rows(first, block, rows));
  return layout;
}

std::size_t CkDeviceLayout::bytes() const { return layout_ ? layout_->bytes : 0; }
std::size_t CkDeviceLayout::extent() const { return layout_ ? layout_->extent : 0; }

// As numbers: what each block or row is, or nothing of a contiguous one. It is made of them there as it was made here.
void CkDeviceLayout::pup(PUP::er& p) {
  enum Form : std::uint8_t { contiguous, rows, list } form = contiguous;
  std::vector<std::uint64_t> numbers;
  if (layout_ && !p.isUnpacking()) {
    form = layout_->is_list() ? list : rows;
    if (form == rows) numbers = {layout_->first, layout_->block};
    for (const Layout::Row& row : layout_->rows) numbers.insert(numbers.end(), {row.count, row.stride});
    for (const Layout::Block& block : layout_->blocks) numbers.insert(numbers.end(), {block.offset, block.bytes});
  }
  auto number = static_cast<std::uint8_t>(form);
  p | number;
  p | numbers;
  if (!p.isUnpacking()) return;
  layout_ = nullptr;
  if (number == contiguous) return;
  const std::string call = "pup()";
  const std::size_t first = number == rows ? 2 : 0;
  if (number > list || numbers.size() < first || numbers.size() % 2 != 0)
    refuse(call, std::to_string(numbers.size()) + " numbers of form " + std::to_string(number),
           "What is unpacked was not packed as a CkDeviceLayout, or is damaged");
  if (number == rows) {
    std::vector<Layout::Row> of;
    for (std::size_t i = first; i < numbers.size(); i += 2) of.push_back({numbers[i], numbers[i + 1]});
    layout_ = made(call, periapt::gpu::layout_of_rows(numbers[0], numbers[1], of));
  } else {
    std::vector<Layout::Block> of;
    for (std::size_t i = first; i < numbers.size(); i += 2) of.push_back({numbers[i], numbers[i + 1]});
    layout_ = made(call, periapt::gpu::layout_of_blocks(of));
  }
}
