// Memory for what one object's machine makes and forgets with each message: frames, messages that are kept, arguments.
// Whole cache lines: what has 64 bytes is one line.
// A block that was given back is taken by the next that wants one of its size; all go back to the heap together, when
// none is in use and there were many, or with the machine.
#pragma once
#include <cstddef>
#include <new>

#include "base/platform.h"

namespace periapt::sdag {

class Blocks {
 public:
  Blocks() = default;
  ~Blocks();
  Blocks(const Blocks&) = delete;

  void* take(std::size_t bytes) {
    const std::size_t size = class_of(bytes);
    if (PERIAPT_UNLIKELY(size >= classes || !free_[size])) return take_new(bytes);
    Free* block = free_[size];
    free_[size] = block->next;
    ++in_use_;
    return block;
  }
  // As many bytes as were wanted.
  void give(void* block, std::size_t bytes) {
    const std::size_t size = class_of(bytes);
    if (PERIAPT_UNLIKELY(size >= classes || platform::kAddressSanitizer)) return ::operator delete(block);
    free_[size] = new (block) Free{free_[size]};
    if (--in_use_ == 0 && PERIAPT_UNLIKELY(bytes_ > kept_bytes)) release();
  }
  std::size_t bytes() const { return bytes_; }  // of the heap

 private:
  static constexpr std::size_t grain = 64, largest = 512, classes = largest / grain + 1;
  static constexpr std::size_t first_chunk = 512, chunk_max = 64 << 10, kept_bytes = 4 << 10;
  struct Free {
    Free* next;
  };
  struct Chunk {
    Chunk* next;
    std::size_t bytes;
  };
  static std::size_t class_of(std::size_t bytes) { return (bytes + grain - 1) / grain; }
  void* take_new(std::size_t bytes);
  void release();

  Free* free_[classes] = {};
  Chunk* chunks_ = nullptr;
  char* at_ = nullptr;  // what is left of the newest
  char* end_ = nullptr;
  std::size_t in_use_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace periapt::sdag
