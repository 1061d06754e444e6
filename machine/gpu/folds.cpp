#include "machine/gpu/folds.h"

#include <algorithm>

#include "machine/gpu/kernel_code.h"

namespace periapt::gpu {
namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 2048;
constexpr std::uint64_t kItemsOfBlock = 2 * kThreads;

}  // namespace

const Result<Kernel>& Folder::kernel(Driver& driver, int gpu) { return kernel_of(driver, gpu, fold_code, kFoldName); }

Result<std::unique_ptr<Folder>> Folder::make(Driver& driver, int gpu) {
  const Result<Kernel>& found = kernel(driver, gpu);
  if (!found) return found.status();
  const Result<Stream> stream = driver.make_stream(gpu);
  if (!stream) return stream.status();
  return std::unique_ptr<Folder>(new Folder(driver, *found, *stream));
}

Folder::~Folder() {
  static_cast<void>(driver_.finish(stream_));
  driver_.destroy(stream_);
}

bool Folder::reads(const void* address, std::uint64_t bytes, std::uint64_t item_bytes, bool imported) {
  return reinterpret_cast<std::uintptr_t>(address) % item_bytes == 0 && reach_.touches(address, bytes, imported);
}

Status Folder::begin(const FoldOrders& orders) {
  FoldOrders told = orders;
  void* arguments[] = {&told};
  const std::uint64_t blocks = std::clamp<std::uint64_t>(orders.count / kItemsOfBlock, 1, kMostBlocks);
  return driver_.launch(stream_, kernel_, static_cast<unsigned>(blocks), kThreads, arguments);
}

}  // namespace periapt::gpu
