#include "runtime/zero_copy/packing.h"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "base/readable.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/pup/stl.h"
#include "runtime/scheduler/process.h"

namespace periapt::zero_copy {

/// Those of a PE, and its memory for what is made on the way.
struct Packers {
  using OfGpu = std::pair<gpu::Driver*, int>;
  struct Waiting {
    Packing* packing;
    std::function<void(const Status&)> then;
    bool is_on(gpu::OnGpu gpu) const {
      return packing->packer->where().driver == gpu.driver && packing->packer->where().gpu == gpu.gpu;
    }
  };
  gpu::Rooms rooms;  // lists of the packers lie there
  std::map<OfGpu, std::unique_ptr<gpu::Packer>> of_gpus;
  std::map<OfGpu, std::size_t> out;   // rooms on that GPU that were taken and will be given back
  std::list<Waiting> waiting;         // for those
  std::vector<gpu::OnGpu> came_back;  // ... of which some were given back
  bool serves = false;
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
  std::unique_ptr<gpu::Packer>& packer = packers_of(pe).of_gpus[{where->driver, where->gpu}];
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

Result<gpu::Room> take_room(Pe& pe, gpu::OnGpu where, gpu::Kind kind, std::uint64_t bytes) {
  Packers& packers = packers_of(pe);
  Result<gpu::Room> room = packers.rooms.take(where, kind, bytes);
  const auto packer = packers.of_gpus.find({where.driver, where.gpu});
  if (!room && kind == gpu::Kind::device && packer != packers.of_gpus.end()) {
    packer->second->drop_lists();
    room = packers.rooms.take(where, kind, bytes);
  }
  if (room && kind == gpu::Kind::device) ++packers.out[{where.driver, where.gpu}];
  return room;
}

namespace {

// The first one that waits for a room of that GPU. False: there is none, or no memory for it.
bool serve_one(Pe& pe, gpu::OnGpu where) {
  Packers& packers = packers_of(pe);
  const auto next = std::find_if(packers.waiting.begin(), packers.waiting.end(),
                                 [where](const Packers::Waiting& one) { return one.is_on(where); });
  if (next == packers.waiting.end()) return false;
  Result<gpu::Room> room = take_room(pe, where, gpu::Kind::device, next->packing->layout->bytes);
  if (!room && packers.out[{where.driver, where.gpu}] != 0) return false;
  const Packers::Waiting served = std::move(*next);
  packers.waiting.erase(next);
  pe.end_pending();
  if (room) served.packing->room = *room;
  served.then(room.status());
  return true;
}

// What is served may give a room back itself.
void serve(Pe& pe, gpu::OnGpu where) {
  Packers& packers = packers_of(pe);
  packers.came_back.push_back(where);
  if (std::exchange(packers.serves, true)) return;
  while (!packers.came_back.empty()) {
    const gpu::OnGpu gpu = packers.came_back.back();
    packers.came_back.pop_back();
    while (serve_one(pe, gpu)) {
    }
  }
  packers.serves = false;
}

}  // namespace

void with_room(Pe& pe, Packing& packing, std::function<void(const Status&)> then) {
  const bool of_host = packing.scattered.kind == ucx::MemoryKind::host;
  if (!of_host)
    if (const Status found = find_packer(pe, packing); !found) return then(found);
  Packers& packers = packers_of(pe);
  const gpu::OnGpu where = of_host ? gpu::OnGpu() : packing.packer->where();
  const bool is_served = !of_host && std::any_of(packers.waiting.begin(), packers.waiting.end(),
                                                 [where](const auto& one) { return one.is_on(where); });
  if (!is_served) {
    Result<gpu::Room> room = take_room(pe, where, of_host ? gpu::Kind::host : gpu::Kind::device, packing.layout->bytes);
    if (room) packing.room = *room;
    if (room || of_host || packers.out[{where.driver, where.gpu}] == 0) return then(room.status());
  }
  pe.begin_pending();
  packers.waiting.push_back({&packing, std::move(then)});
}

Status take_room_to_unpack(Pe& pe, Packing& packing) {
  const bool of_host = packing.scattered.kind == ucx::MemoryKind::host;
  if (!of_host)
    if (Status found = find_packer(pe, packing); !found) return found;
  const gpu::OnGpu where = of_host ? gpu::OnGpu() : packing.packer->where();
  const std::uint64_t bytes = packing.layout->bytes;
  Result<gpu::Room> room = take_room(pe, where, of_host ? gpu::Kind::host : gpu::Kind::device, bytes);
  if (!room && !of_host) room = take_room(pe, where, gpu::Kind::pinned, bytes);
  if (room) packing.room = *room;
  return room.status();
}

void give_room(Pe& pe, const gpu::Room& room) {
  if (room.at == nullptr) return;
  Packers& packers = packers_of(pe);
  packers.rooms.give(room);
  if (room.kind != gpu::Kind::device) return;
  --packers.out[{room.where.driver, room.where.gpu}];
  serve(pe, room.where);
}

std::string describe_waiting_for_room(const Pe& pe) {
  std::string text;
  if (!pe.objects->packers) return text;
  for (const Packers::Waiting& one : pe.objects->packers->waiting)
    text += "an array in strided memory on PE " + std::to_string(pe.index) + " waits for " +
            std::to_string(one.packing->layout->bytes) + " bytes on GPU " +
            std::to_string(one.packing->packer->where().gpu) +
            ", which has no memory left; what others have there is " + "given back when their receivers have read it\n";
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
  pe.when_reached(packing.packer->stream(way), packing.scattered, packing);
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
