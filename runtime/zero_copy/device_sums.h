// Memory of GPUs that is contributed to reductions: what sums (device_reduction.cpp) and allgathers (device_gather.cpp)
// share.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu/rooms.h"
#include "runtime/api/device_contribution.h"
#include "runtime/api/reduction_message.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::gpu {
class Folder;
}

namespace periapt::zero_copy {

struct Part;

// What was contributed, or was made of it: bytes on a PE, once it is ready. It has one reader, or so many as `readers`
// says, and is gone when they have read it.
struct Sum {
  struct Waiting : machine::Transfer {
    Sum* sum = nullptr;
  } waiting;  // for a stream, of a contribution
  DeviceContribution name;
  ucx::Place place;
  CkCallback cb = CkCallback(CkCallback::ignore);  // of a contribution, which lies where the program has it
  void* stream = DeviceStream().native();          // that has written it last
  bool ready = false;
  std::function<void()> reader;
  int readers = 1;      // of a result that all members of a group fetch: so many
  CkNcpyBuffer lent{};  // to those that gather it
  // Of one that is made of others.
  gpu::Room room;                 // where it lies
  gpu::Folder* folder = nullptr;  // what combines them; null: the host
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<Part*> early;  // those that came before the first one was in its place
  std::size_t left = 0;
  bool begun = false, has_first = false;
};

Sum& make_sum(Pe& pe, CkReduction::reducerType type, std::uint64_t bytes);
Sum& find_sum(Pe& pe, std::uint64_t number);
// Of a sum: that much memory at `like`. A lack of it ends the run.
gpu::Room room_for(Pe& pe, const Sum& sum, const gpu::Room& like);
// Calls it now, or when the bytes are there.
void when_ready(Sum& sum, std::function<void()> reader);
void is_ready(Sum& sum);
// It has been read.
void drop(Pe& pe, Sum& sum);
// Sends it, which is the result of a reduction, as that message would have been.
void give_result(Pe& pe, Sum& sum, const CkCallback& to, const std::shared_ptr<const CkReductionMsg>& of);

// Does it call an entry that has a nocopydevice array?
bool brings_to_device(const CkCallback& callback);
// How many items of the array of that entry so many bytes are. It has to be a reduction target, and the number one that
// an int holds. `of`: what the bytes are of device buffers.
int items_for(int ep, std::uint64_t bytes, const std::string& of = "the result of a reduction");
// What a callback calls goes through the receiver's queue: it may be sent within contribute(), and a call with a
// message that waits for elements has to wait.
CkCallback not_inline(CkCallback callback);

// The result of an allgather is these parts: all of them are on some PE, or will be. Sends it.
void gather(Pe& pe, std::vector<DeviceContribution> parts, const CkCallback& to,
            const std::shared_ptr<const CkReductionMsg>& of);
void register_device_gathers();
// Those of this PE that have not ended.
struct Gathering;
std::vector<Gathering*>& gatherings_of(Pe& pe);
// What they wait for, in words, for the watchdog.
std::string describe_gathers(Pe& pe);

}  // namespace periapt::zero_copy
