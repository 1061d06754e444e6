// pup of memory of GPUs. See device_pup.h.
#include "runtime/api/device_pup.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/gpu/contents.h"
#include "runtime/pup/memory.h"
#include "runtime/pup/operators.h"

namespace PUP::detail {
namespace {

using periapt::Result;
using periapt::Status;
using periapt::gpu::Contents;
using periapt::gpu::MemoryType;

// Elements of a stream that has no memory for all of them go through so many bytes of it.
constexpr std::size_t kMostAtOnce = 4 << 20;

// In front of the elements.
struct DeviceArrayHeader {
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;  // of the memory; host: there is none
  void pup(er& p) {
    p | bytes;
    p | kind;
  }
};

[[noreturn]] void fail(er& p, const Status& status) {
  raise(error::kind::misuse, &p,
        "PUP::device: " + status.message() +
            "; an object frees its memory in its destructor, not before pup() has packed it and not later");
}
Contents must(er& p, const Result<Contents>& found) {
  if (!found) fail(p, found.status());
  return *found;
}

std::size_t bytes_of(er& p, std::size_t count, std::size_t item_bytes) {
  if (count > SIZE_MAX / item_bytes) raise_length(p, count, item_bytes);
  return count * item_bytes;
}

void check(er& p, const DeviceArrayHeader& head, std::size_t bytes) {
  if (head.bytes != bytes)
    raise(error::kind::bad_length, &p,
          "PUP::device: " + std::to_string(bytes) + " bytes are to be unpacked, and " + std::to_string(head.bytes) +
              " were packed: pup the number of elements before them");
  if (bytes > p.remaining()) raise_overrun(p, bytes, 1);
}

void move(er& p, const Contents& contents, std::size_t bytes) {
  const auto copy = [&](char* at, std::size_t offset, std::size_t count) {
    const Status copied = p.isPacking() ? contents.read(at, offset, count) : contents.write(at, offset, count);
    if (!copied) fail(p, copied);
  };
  if (auto* memory = dynamic_cast<mem*>(&p)) {
    char* const at = memory->get_current_pointer();
    memory->advance(bytes);
    return copy(at, 0, bytes);
  }
  std::vector<char> piece(std::min(bytes, kMostAtOnce));
  for (std::size_t done = 0, count; done < bytes; done += count) {
    count = std::min(piece.size(), bytes - done);
    if (p.isPacking()) copy(piece.data(), done, count);
    p(piece.data(), count);
    if (p.isUnpacking()) copy(piece.data(), done, count);
  }
}

void size(er& p, std::size_t bytes) {
  DeviceArrayHeader head;
  p | head;
  char unread;  // what sizes looks at no memory
  if (bytes) p(&unread, bytes);
}

}  // namespace

void pup_device(er& p, void*& memory, std::size_t count, std::size_t item_bytes) {
  const std::size_t bytes = p.isUnpacking() || memory ? bytes_of(p, count, item_bytes) : 0;
  if (p.isSizing()) return size(p, bytes);
  DeviceArrayHeader head{bytes, 0};
  if (p.isPacking()) {
    if (bytes == 0) return static_cast<void>(p | head);
    const Contents contents = must(p, Contents::at(memory, bytes));
    if (!Contents::may_be_made(contents.kind()))
      fail(p, Status::failure("memory that was mapped by hand is made by the program: PUP::device_contents()"));
    head.kind = static_cast<std::uint8_t>(contents.kind());
    p | head;
    move(p, contents, bytes);
    if (!p.isDeleting()) return;
    if (const Status freed = contents.free(); !freed) fail(p, freed);
    memory = nullptr;
    return;
  }
  p | head;
  memory = nullptr;
  if (head.kind == 0 && head.bytes == 0) return;
  check(p, head, bytes);
  const auto kind = static_cast<MemoryType>(head.kind);
  if (head.kind > static_cast<std::uint8_t>(MemoryType::vmm) || !Contents::may_be_made(kind))
    raise(error::kind::bad_value, &p, "PUP::device: no kind of memory has the number " + std::to_string(head.kind));
  const Contents contents = must(p, Contents::make(kind, bytes));
  memory = contents.begin();
  move(p, contents, bytes);
}

void pup_device_contents(er& p, void* memory, std::size_t count, std::size_t item_bytes) {
  const std::size_t bytes = bytes_of(p, count, item_bytes);
  if (p.isSizing()) return size(p, bytes);
  DeviceArrayHeader head{bytes, 0};
  p | head;
  if (p.isUnpacking()) check(p, head, bytes);
  if (bytes != 0) move(p, must(p, Contents::at(memory, bytes)), bytes);
}

}  // namespace PUP::detail
