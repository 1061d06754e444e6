#include "machine/gpu/pinned_pool.h"

namespace periapt::gpu {

PinnedPool::~PinnedPool() {
  for (std::byte* piece : free_) static_cast<void>(driver_.free(gpu_, MemoryType::pinned, piece));
}

Result<ucx::Buffer> PinnedPool::take() {
  if (free_.empty() && made_ == most_) return ucx::Buffer();
  if (free_.empty()) {
    Result<std::byte*> piece = driver_.allocate(gpu_, MemoryType::pinned, bytes_);
    if (!piece && made_ == 0) {
      return Status::failure("memory of GPUs goes through pinned memory of the host here, and there is none: " +
                             piece.message());
    }
    if (!piece) {
      most_ = made_;
      return ucx::Buffer();
    }
    ++made_;
    free_.push_back(*piece);
  }
  std::byte* piece = free_.back();
  free_.pop_back();
  return ucx::Buffer(
      piece, bytes_,
      [](void* pool, void* bytes) { static_cast<PinnedPool*>(pool)->free_.push_back(static_cast<std::byte*>(bytes)); },
      this);
}

}  // namespace periapt::gpu
