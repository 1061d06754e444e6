// The result of an allgather of device buffers, or of a reduction that was combined in slices, as its receivers get it:
// the call carries where the parts are, and each receiver fetches all of them to where it wants them. See
// device_gather.cpp.
//
//   | ArraysHead | ArrayRecord | the arguments | GatheredHead | GatheredPart for each member, in their order |
//
// Or it is the result of a reduction that each receiver combines itself (device_shared.cpp): then DeviceContributions
// stand there, the names of the sums.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "machine/gpu/rooms.h"
#include "runtime/api/array_index.h"
#include "runtime/api/device_contribution.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::zero_copy {

class ReceivedSum;

struct GatheredHead {
  CkNcpyBuffer whole;  // of no memory: its callback is told of each receiver that has fetched all
  std::uint64_t parts = 0;
  std::uint32_t members = 0;    // 1: the receivers are to be those that have contributed
  std::uint32_t slices = 0;     // 1: of a reduction, of which less than all may be wanted
  std::uint64_t receivers = 0;  // not 0: so many combine the sums that are named
};
struct GatheredPart {
  CkNcpyBuffer buffer;  // cnt: bytes
  DeviceDescription description;
  CkArrayIndexBase member = {};
};

// All parts of a message, and what fetches them. It lives until it has said that they are there.
class Gathered {
 public:
  // So many bytes stand there, of which the result are `bytes`. Null: they do not hold what they say.
  static std::unique_ptr<Gathered> read(const char* at, std::size_t size, std::uint64_t bytes);
  explicit Gathered(std::vector<GatheredPart> parts);
  explicit Gathered(std::vector<DeviceContribution> sums);
  Gathered(const Gathered&) = delete;
  ~Gathered();

  GatheredHead head;
  bool has(const CkArrayIndexBase& member) const;
  // fetch() of so many bytes to that memory will follow: has the PEs of sums prepare for it. Nothing is written.
  void prepare(Pe& pe, ucx::Place to, std::uint64_t bytes);
  // Brings so many bytes of the parts to `to`, one behind the other, those first that follow this PE's own; one that
  // lies where it belongs stays there. `posted`: the receiver's memory for the result, which may not cover any other
  // part. `entry`: for messages; -1: no call brings them.
  void fetch(Pe& pe, ucx::Place to, std::uint64_t bytes, std::span<const std::byte> posted, int entry,
             std::function<void()> fetched);

 private:
  struct Fetch;
  void one_less();

  std::vector<DeviceContribution> sums_;
  std::unique_ptr<ReceivedSum> received_;
  std::vector<GatheredPart> parts_;
  std::unique_ptr<Fetch[]> fetches_;
  std::size_t left_ = 0;
  std::function<void()> fetched_;
};

}  // namespace periapt::zero_copy
