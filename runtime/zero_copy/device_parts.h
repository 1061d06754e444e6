// Sums of device buffers that are made of others: what the ways of combining them share (device_reduction.cpp,
// device_shared.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "machine/gpu/vendors.h"
#include "runtime/zero_copy/device_sums.h"

namespace periapt::zero_copy {

// One of the sums that another one is made of: at `local` when it can be read there.
struct Part : Access {
  struct Step : machine::Transfer {
    Part* part = nullptr;
  } step;
  Sum* into = nullptr;
  DeviceContribution name;
  Sum* here = nullptr;                 // it, if it is one of this PE's
  bool is_lent = false;                // to others too: its reading ends when all have read it
  bool is_shared = false;              // with others, each of which says so when it has read it (share()),
  bool is_read = false;                // or does not have to: the bytes came along
  gpu::Room room;                      // that it is brought to: none if it is read where it is
  std::shared_ptr<std::byte> mapping;  // of another process's memory where it is read
  DeviceDescription others;
};

// Is it combined by the host, wherever it lies?
bool is_small(const DeviceContribution& name);
std::size_t bytes_of_item(CkReduction::reducerType type);
// The GPU that memory lies on.
std::optional<gpu::OnGpu> gpu_of(Pe& pe, const void* memory);
// A sum is to be made where its reader wants it: if a kernel of that GPU may write there. False: it is not, and has a
// place yet to be chosen.
bool take_place(Pe& pe, Sum& sum, ucx::Place wanted);
// Memory for it, on the GPU of a part that is here, or of the host.
void choose_place(Pe& pe, Sum& sum);
// `offset`, `bytes`: of each of these that the sum is made of. It has no place yet.
Sum& make_sum_of(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t offset, std::uint64_t bytes);
// Where a part is brought to.
void choose_place(Pe& pe, Part& part);
// The part's bytes are there: at `here`, or at the `remote` of another PE.
void bring(Pe& pe, Part& part);
// One part more can be read; the last one has them combined.
void brought(Pe& pe, Sum& sum);
// Copies the bytes of a sum of that name, between memory of this process.
void copy(Pe& pe, ucx::Place to, ucx::Place from, const DeviceContribution& name, machine::Transfer& transfer);
[[noreturn]] void failed(const Sum& sum, const Status& status);

// All of a PE's.
void for_each_sum(Pe& pe, const std::function<void(const Sum&)>& visit);

// What the PE of a sum answers to one that wants it.
struct There {
  Part* part;
  std::uint64_t brings;  // 1: the bytes stand behind it
  DeviceSource source;
};
// To that PE: with the bytes, or with what is lent to it.
void send_bytes(Pe& pe, int asker, Part* part, const Sum& sum);
void send_lent(Pe& pe, int asker, Part* part, const CkNcpyBuffer& buffer, const DeviceDescription& description);

// Contributions that a PE has copied to memory of ours when their streams have got there, as it expects that they will
// be shared.
struct EarlyAsides {
  // Of the contribution that was shared last and had to be set aside, by group and node group; none: the last one that
  // was set aside early was not shared.
  std::unordered_map<std::int32_t, std::uint64_t> bytes;
  unsigned out = 0;  // that have not been read
};
EarlyAsides& early_asides(Pe& pe);
// Has that done, if it is so. Then it is ready, and the program has its memory back. False: it is not.
bool set_aside_early(Pe& pe, Sum& sum);
// Such a one has been read.
void dropped_early(Pe& pe, const Sum& sum);
// To the PE of one that is shared: this reader has read it.
void has_read(Pe& pe, const DeviceContribution& name);

}  // namespace periapt::zero_copy
