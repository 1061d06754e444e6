// Packing into a part of a checkpoint, and out of it: streams of PUP over its blocks, and the records that a part
// consists of.
//
//   pe-N        numbers; the reductions and definitions of its collections; chares; groups; the elements of each array
//   process-N   node groups
//   program     what the program registers; readonlys; the callback; what parts keep; mainchares
#pragma once
#include <cstdint>
#include <string>

#include "runtime/checkpoint/blocks.h"
#include "runtime/pup/pup.h"

namespace periapt::checkpoint {

enum class RecordKind : std::uint32_t {
  end,
  registered,  // identity.h's text
  readonlys,
  callback,
  mainchare,   // id: its serial number
  numbers,     // how many chares and collections the PE has made
  reduction,   // id: of a group or array
  array,       // id: the array
  chare,       // id: its serial number
  group,       // id: the group
  node_group,  // id: the node group
  places,      // id: the array that leads those bound to each other; count: indices with elements here
  futures,     // count: so many
  kept,        // what parts of the runtime keep (runtime/face/kept_state.h)
};
const char* name_of(RecordKind kind);

struct RecordHead {
  RecordKind kind = RecordKind::end;
  std::int32_t type = -1;  // number of the chare class
  std::int64_t id = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // behind this head
};
static_assert(sizeof(RecordHead) == 32);

class PackPart final : public PUP::er {
 public:
  PackPart(Place place, std::uint64_t seed);
  std::size_t size() const override { return flushed_ + (cursor_ - start_); }
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override;

  // Begins a record of so many bytes. end_record(): that many have come; else pup() of `what` is to blame, and the run
  // ends.
  void begin_record(const RecordHead& head);
  void end_record(const std::string& what);
  // A record whose bytes pack(PUP::er&) makes.
  template <class Pack>
  void record(RecordHead head, const std::string& what, Pack&& pack) {
    PUP::sizer sizer(IS_CHECKPOINT);
    pack(static_cast<PUP::er&>(sizer));
    head.bytes = sizer.size();
    begin_record(head);
    pack(static_cast<PUP::er&>(*this));
    end_record(what);
  }
  // Ends the part, which lies on the disk then.
  Status close();
  std::uint64_t file_bytes() const { return blocks_.file_bytes(); }

 private:
  void begin_block();
  void flush();

  BlockWriter blocks_;
  std::uintptr_t start_ = 0;  // of the block in memory
  std::size_t flushed_ = 0;   // bytes of blocks before it
  std::size_t record_end_ = 0;
};

// What is wrong with the part ends the run.
class UnpackPart final : public PUP::er {
 public:
  UnpackPart(const Place& place, std::uint64_t bytes, std::uint64_t seed);
  std::size_t size() const override { return taken_ + (cursor_ - start_); }
  std::size_t remaining() const override { return record_end_ - size(); }
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override;

  // The next record; what is left of the one before is passed over. RecordKind::end: there is none.
  RecordHead next();
  void pass_over(std::size_t bytes);
  // pup() of `what`, which began at size() == begin, has to have taken so many bytes.
  void check_taken(std::size_t begin, std::size_t bytes, const std::string& what) const;

 private:
  bool refill();

  BlockReader blocks_;
  const Place place_;
  std::uintptr_t start_ = 0;
  std::size_t taken_ = 0;
  std::size_t record_end_ = PUP::unbounded;
};

// "the checkpoint in DIR cannot be used", why, and what to do. `at`: where any part of it lies.
[[noreturn]] void refuse(const Place& at, const std::string& why);

}  // namespace periapt::checkpoint
