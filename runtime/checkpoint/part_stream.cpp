// See part_stream.h.
#include "runtime/checkpoint/part_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.h"

namespace periapt::checkpoint {

const char* name_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::end:
      return "end";
    case RecordKind::registered:
      return "names of what the program registers";
    case RecordKind::readonlys:
      return "readonlys";
    case RecordKind::callback:
      return "callback";
    case RecordKind::mainchare:
      return "mainchare";
    case RecordKind::numbers:
      return "numbers";
    case RecordKind::reduction:
      return "reduction";
    case RecordKind::array:
      return "array";
    case RecordKind::chare:
      return "chare";
    case RecordKind::group:
      return "group";
    case RecordKind::futures:
      return "futures";
    case RecordKind::node_group:
      return "node group";
    case RecordKind::kept:
      return "what parts of the runtime keep";
    case RecordKind::places:
      return "elements";
  }
  return "unknown record";
}

void refuse(const Place& at, const std::string& why) {
  const std::string what = "the checkpoint in " + at.checkpoint + " cannot be used: " + why;
  if (at.memory) fatal(what, "the run goes back to it", "", "start the program anew");
  fatal(what, "+restart", "",
        "periapt-checkpoint " + at.checkpoint +
            " says what is in it; start without +restart, or from another checkpoint");
}

// --- packing ---------------------------------------------------------------------------------------------------------

PackPart::PackPart(Place place, std::uint64_t seed) : er(IS_PACKING, IS_CHECKPOINT), blocks_(std::move(place), seed) {
  begin_block();
}

void PackPart::begin_block() {
  start_ = cursor_ = reinterpret_cast<std::uintptr_t>(blocks_.room());
  end_ = start_ + block_bytes;
}

void PackPart::flush() {
  const std::size_t bytes = cursor_ - start_;
  blocks_.write(bytes);
  flushed_ += bytes;
  begin_block();
}

void PackPart::bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) {
  const char* from = static_cast<const char*>(p);
  for (std::size_t left = n * itemSize; left > 0;) {
    if (cursor_ == end_) flush();
    const std::size_t part = std::min<std::size_t>(left, end_ - cursor_);
    std::memcpy(reinterpret_cast<void*>(cursor_), from, part);
    cursor_ += part;
    from += part;
    left -= part;
  }
}

void PackPart::begin_record(const RecordHead& head) {
  RecordHead copy = head;
  bytes(&copy, 1, sizeof copy, PUP::Tbyte);
  record_end_ = size() + head.bytes;
}

void PackPart::end_record(const std::string& what) {
  if (size() == record_end_) return;
  fatal("pup() of " + what + " packs another number of bytes than it says when sizing: " +
            std::to_string(static_cast<std::int64_t>(size() - record_end_)) + " more",
        "a checkpoint is written", "pup() does something else when packing than when sizing",
        "pup the same members in both, whatever p.isSizing() says");
}

Status PackPart::close() {
  if (cursor_ != start_) flush();
  return blocks_.close();
}

// --- unpacking -------------------------------------------------------------------------------------------------------

UnpackPart::UnpackPart(const Place& place, std::uint64_t bytes, std::uint64_t seed)
    : er(IS_UNPACKING, IS_CHECKPOINT | IS_RESTARTING), place_(place) {
  if (Status status = blocks_.open(place, bytes, seed); !status.ok()) refuse(place_, status.message());
}

bool UnpackPart::refill() {
  taken_ += cursor_ - start_;
  Result<std::span<const char>> block = blocks_.next();
  if (!block) refuse(place_, block.message());
  start_ = cursor_ = reinterpret_cast<std::uintptr_t>(block->data());
  end_ = start_ + block->size();
  return !block->empty();
}

void UnpackPart::bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) {
  if (n > SIZE_MAX / itemSize || n * itemSize > remaining()) PUP::detail::raise_overrun(*this, n, itemSize);
  char* to = static_cast<char*>(p);
  for (std::size_t left = n * itemSize; left > 0;) {
    if (cursor_ == end_ && !refill()) PUP::detail::raise_overrun(*this, left, 1);
    const std::size_t part = std::min<std::size_t>(left, end_ - cursor_);
    std::memcpy(to, reinterpret_cast<const void*>(cursor_), part);
    cursor_ += part;
    to += part;
    left -= part;
  }
}

void UnpackPart::pass_over(std::size_t bytes) {
  while (bytes > 0) {
    if (cursor_ == end_ && !refill()) PUP::detail::raise_overrun(*this, bytes, 1);
    const std::size_t part = std::min<std::size_t>(bytes, end_ - cursor_);
    cursor_ += part;
    bytes -= part;
  }
}

RecordHead UnpackPart::next() {
  if (record_end_ != PUP::unbounded) pass_over(record_end_ - size());
  record_end_ = PUP::unbounded;
  RecordHead head;
  if (cursor_ == end_ && !refill()) return head;
  bytes(&head, 1, sizeof head, PUP::Tbyte);
  record_end_ = size() + head.bytes;
  return head;
}

void UnpackPart::check_taken(std::size_t begin, std::size_t bytes, const std::string& what) const {
  if (size() - begin == bytes) return;
  fatal("pup() of " + what + " unpacked " + std::to_string(size() - begin) + " of " + std::to_string(bytes) + " bytes",
        "+restart", "pup() does something else when unpacking than when packing, or the class has other members now",
        "pup the same members in both, in the same order");
}

}  // namespace periapt::checkpoint
