// See blocks.h.
#include "runtime/sdag/blocks.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "base/platform.h"

namespace periapt::sdag {

namespace {
constexpr std::align_val_t line{64};  // as the grain
}

Blocks::~Blocks() { release(); }

void* Blocks::take_new(std::size_t bytes) {
  const std::size_t size = class_of(bytes);
  // So that the sanitizer sees what is used after its end.
  if (size >= classes || platform::kAddressSanitizer) return ::operator new(bytes);
  const std::size_t wanted = size * grain;
  if (static_cast<std::size_t>(end_ - at_) < wanted) {
    const std::size_t room = std::clamp(bytes_, first_chunk, chunk_max);
    auto* chunk = static_cast<Chunk*>(::operator new(room + grain, line));
    *chunk = {chunks_, room + grain};
    chunks_ = chunk;
    bytes_ += chunk->bytes;
    at_ = reinterpret_cast<char*>(chunk) + grain;
    end_ = at_ + room;
  }
  ++in_use_;
  return std::exchange(at_, at_ + wanted);
}

void Blocks::release() {
  while (Chunk* chunk = chunks_) {
    chunks_ = chunk->next;
    ::operator delete(chunk, line);
  }
  std::fill(std::begin(free_), std::end(free_), nullptr);
  at_ = end_ = nullptr;
  bytes_ = 0;
}

}  // namespace periapt::sdag
