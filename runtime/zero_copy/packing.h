// Arrays in strided memory on their way: packed into one piece before they leave, unpacked where they arrive. See
// device_layout.h; machine/gpu/packs.h has the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "machine/gpu/layout.h"
#include "machine/gpu/packs.h"
#include "machine/gpu/rooms.h"
#include "runtime/api/device_layout.h"
#include "runtime/scheduler/pe.h"

namespace periapt::zero_copy {

/// One array, with its elements in one piece on one side. It lives until `done`.
struct Packing : machine::Transfer {
  std::shared_ptr<const gpu::Layout> layout;
  ucx::Place scattered;              ///< where the program has the elements, or wants them
  gpu::Room room;                    ///< where they are in one piece; none: elsewhere
  std::shared_ptr<const void> held;  ///< what the kernel reads beside
  gpu::Packer* packer = nullptr;     ///< of the GPU that they lie on, when it is first needed
  bool read_there = false;           ///< reads() has said so
};

/// Memory of ours, for sums too. Where there is none left, what is kept for packing is given back first. A failure:
/// that does not suffice.
Result<gpu::Room> take_room(Pe& pe, gpu::OnGpu where, gpu::MemoryType kind, std::uint64_t bytes);
/// To pack them, for the elements in one piece, on the GPU of the scattered ones, or the host's with those: calls
/// then(Status()) when it has room. Where a GPU has no memory left and some of it is out, it waits until that comes
/// back; until then the run is not quiescent. A failure: none is out either, or no driver knows their memory.
void with_room(Pe& pe, Packing& packing, std::function<void(const Status&)> then);
/// To unpack them, the same at once: pinned memory of the host where the GPU has none left. What has come does not wait
/// for what is sent: two PEs that send to each other would wait for ever. A failure: there is none of that either, or
/// no driver knows their memory.
Status take_room_to_unpack(Pe& pe, Packing& packing);
/// For what comes next, and for what waits.
void give_room(Pe& pe, const gpu::Room& room);
/// What waits for room, in words, for the watchdog.
std::string describe_waiting_for_room(const Pe& pe);
/// Where the elements of a layout in one piece lie (Layout::is_one_piece()), which go as those of any array. A failure:
/// they reach beyond their memory, or it was freed.
Result<std::byte*> one_piece_at(const gpu::Layout& layout, ucx::Place memory);
/// From the blocks to `packed`, or back; `done` is called when they are there: at once, by the processor, where they
/// are in memory of the host (`packed` too). Its memory is looked at only now. A failure: `done` is not called.
Status begin(Pe& pe, gpu::Packer::Way way, Packing& packing, std::byte* packed);
/// May the kernel that unpacks read them where they are? `mapped`: it is another process's memory.
bool reads(Pe& pe, Packing& packing, const void* packed, bool mapped);

/// Ends the run unless so many bytes are what the layout holds. `what`: "a call sends an array".
void demand_as_many(const CkDeviceLayout& layout, std::size_t bytes, const std::string& what, const std::string& where);

}  // namespace periapt::zero_copy
