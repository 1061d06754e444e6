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
#include "runtime/zero_copy/gathered.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::gpu {
class Folder;
}

namespace periapt::zero_copy {

struct Part;

// What was contributed, or was made of it: bytes on a PE, once it is ready. It has one reader, or so many as `readers`
// says, and is gone when all of them have read it.
struct Sum {
  struct Waiting : machine::Transfer {
    Sum* sum = nullptr;
  } waiting;  // for a stream
  DeviceContribution name;
  ucx::Place place;
  CkCallback cb = CkCallback(CkCallback::ignore);  // of a contribution, which lies where the program has it
  void* stream = DeviceStream().native();          // that has written it last
  bool ready = false;
  std::vector<std::function<void()>> waiting_readers;
  std::uint64_t readers = 1;
  bool is_shared = false;                   // by the receivers of a result, which combine it themselves:
  std::uint64_t receivers = 0;              // so many
  CkNcpyBuffer lent{};                      // to those that gather it, or slices of it, or share it
  std::unique_ptr<GatheredPart> lent_part;  // the same, as those that share it get to know it
  struct Aside : machine::Transfer {
    Sum* sum = nullptr;
    ucx::Place to;
  } aside;                // one that is shared and lies where the program has it
  bool is_early = false;  // and was set aside before it was shared
  // Of one that is made of others.
  gpu::Room room;                 // where it lies
  gpu::Folder* folder = nullptr;  // what combines them; null: the host
  std::vector<std::unique_ptr<Part>> parts;
  std::uint64_t offset = 0;  // in them
  std::size_t left = 0;      // of them, which cannot be read yet
};

Sum& make_sum(Pe& pe, CkReduction::reducerType type, std::uint64_t bytes);
Sum& find_sum(Pe& pe, std::uint64_t number);
// So many receivers read it, each as one that has said so; the last one's drop() ends it. What the program has is set
// aside before: a receiver writes its result to where it was contributed from while others still read.
void share(Pe& pe, Sum& sum, std::uint64_t receivers);
// Of a sum: that much memory at `like`. A lack of it ends the run.
gpu::Room room_for(Pe& pe, const Sum& sum, const gpu::Room& like);
// Calls it now, or when the bytes are there.
void when_ready(Sum& sum, std::function<void()> reader);
void is_ready(Sum& sum);
// It has been read, by one of its readers.
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

// The members' order: by collection, then by index.
bool precedes(const DeviceContribution& a, const DeviceContribution& b);

// ---- in slices

// A sum of this PE's of so many bytes at `offset` of each of these, which are lent to all PEs that combine slices of
// them. It is ready when each of them has been brought to it.
Sum& begin_slice(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t offset, std::uint64_t bytes);
// Sum number `number` of those: where it is lent from; of this PE's own neither is looked at.
void bring_to_slice(Pe& pe, Sum& slice, std::size_t number, const CkNcpyBuffer& lent,
                    const DeviceDescription& described);
// The result of a reduction is the sum of these, in that order. Has it combined in slices, and sends it.
void reduce_scatter(Pe& pe, const std::vector<DeviceContribution>& names, const CkCallback& to,
                    const std::shared_ptr<const CkReductionMsg>& of);
void register_reduce_scatters();

// ---- by the receivers

// How many receivers may combine the sum of these themselves: all of the callback's; 0: they do not.
std::uint64_t combining_receivers(const std::vector<DeviceContribution>& names, const CkCallback& callback);
// Of more small sums the PE of the result makes one first.
constexpr std::size_t most_small_sums = 4;
// Has it combined by so many receivers. Sends the callback at once: they ask for the sums.
void send_sums(const std::vector<DeviceContribution>& names, const CkCallback& to, std::uint64_t receivers,
               const std::shared_ptr<const CkReductionMsg>& of);
void register_shared_sums();

// The sum of these on its way to one of so many receivers, to `to`, `bytes` of it. Nothing is written there before
// finish().
class ReceivedSum {
 public:
  ReceivedSum(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t receivers, ucx::Place to,
              std::uint64_t bytes);
  ReceivedSum(const ReceivedSum&) = delete;
  ~ReceivedSum();
  // Writes it, and calls that when it is there. `entry`: for messages.
  void finish(int entry, std::function<void()> received);
  // What it waits for.
  std::string describe() const;

 private:
  void deliver();
  void end();

  Pe& pe_;
  const ucx::Place to_;
  const std::uint64_t bytes_;
  const std::shared_ptr<std::vector<ReceivedSum*>> all_;
  std::size_t sums_ = 0;
  Sum* sum_ = nullptr;
  bool in_place_ = false;  // it is combined where it goes
  int entry_ = -1;
  std::function<void()> received_;
  struct Copy : machine::Transfer {
    ReceivedSum* sum = nullptr;
  } copy_;
};

// ---- to many

// Lends it, which is ready, to all that fetch it or read it where it is: what they have to know of that.
GatheredPart lend(Pe& pe, Sum& sum);
// All have read these.
void give_back(Pe& pe, const std::vector<DeviceContribution>& names);
// The result of an allgather is these parts: all of them are on some PE, or will be. Sends it.
void gather(Pe& pe, std::vector<DeviceContribution> parts, const CkCallback& to,
            const std::shared_ptr<const CkReductionMsg>& of);
// The same of a reduction, by its slices, which are lent.
void gather_slices(Pe& pe, std::vector<DeviceContribution> names, std::vector<GatheredPart> slices,
                   const CkCallback& to, const std::shared_ptr<const CkReductionMsg>& of);
void register_device_gathers();
// Those of this PE that have not ended.
struct Gathering;
std::vector<Gathering*>& gatherings_of(Pe& pe);
struct Scatters;
std::shared_ptr<Scatters>& scatters_of(Pe& pe);
// Messages may hold them until the PE has gone.
const std::shared_ptr<std::vector<ReceivedSum*>>& received_sums(Pe& pe);
// What they wait for, in words, for the watchdog.
std::string describe_gathers(Pe& pe);
std::string describe_scatters(Pe& pe);
std::string describe_shared(Pe& pe);

}  // namespace periapt::zero_copy
