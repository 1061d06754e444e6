#include "machine/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "base/error_text.h"

namespace periapt::shm {
namespace {

// Sparse: address space only, until it is touched.
constexpr std::uint64_t kLargestPool = std::uint64_t{platform::kThreadSanitizer ? 4 : 64} << 30;
constexpr std::uint64_t kSmallestPool = std::uint64_t{64} << 20;

struct Table {
  std::mutex lock;
  std::vector<Segment> segments;
  std::vector<const void*> retired;  ///< pools that wait for their last buffer: known here, so that they are no leak
  std::uint64_t next_id = 1;
  std::atomic<std::uint64_t> version{1};
};
Table& table() {
  static Table* const the_table = new Table;  // never destroyed: buffers may go back during exit
  return *the_table;
}

}  // namespace

namespace segments {

std::uint64_t add(std::byte* base, std::uint64_t size, int file) {
  struct stat status {};
  ::fstat(file, &status);
  Table& t = table();
  std::lock_guard<std::mutex> guard(t.lock);
  t.segments.push_back({t.next_id++, base, size, file, status.st_ino});
  t.version.fetch_add(1, std::memory_order_release);
  return t.segments.back().id;
}

void remove(std::uint64_t id) {
  Table& t = table();
  std::lock_guard<std::mutex> guard(t.lock);
  for (std::size_t i = 0; i < t.segments.size(); ++i) {
    if (t.segments[i].id != id) continue;
    ::close(t.segments[i].file);
    t.segments.erase(t.segments.begin() + static_cast<std::ptrdiff_t>(i));
    t.version.fetch_add(1, std::memory_order_release);
    return;
  }
}

std::vector<Segment> all() {
  Table& t = table();
  std::lock_guard<std::mutex> guard(t.lock);
  return t.segments;
}

std::uint64_t version() { return table().version.load(std::memory_order_acquire); }

}  // namespace segments

Result<int> make_memory_file(const char* name, std::uint64_t bytes) {
  int file = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) {
    const bool forbidden = errno == ENOSYS || errno == EPERM || errno == EACCES;
    return Status::failure(
        "memfd_create failed: " + error_text() +
        (forbidden ? ". Memory shared between processes needs it (Linux 3.17; a sandbox must allow it)" : ""));
  }
  rlimit limit{};
  // A limit on file sizes would end us with SIGXFSZ.
  bool fits = ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
  if (!fits) errno = EFBIG;
  if (!fits || ::ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const std::string why = error_text();
    ::close(file);
    return Status::failure("could not make a memory file of " + std::to_string(bytes >> 10) + " KiB: " + why);
  }
  return file;
}

std::byte* map_memory_file(int file, std::uint64_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

Mapping share_memory_file(int file, std::uint64_t bytes) {
  struct Known {
    std::mutex lock;
    std::map<std::uint64_t, std::weak_ptr<std::byte>> by_inode;
  };
  static Known* const known = new Known;  // never destroyed, as above
  struct stat status {};
  if (::fstat(file, &status) != 0) return nullptr;
  std::uint64_t inode = status.st_ino;
  std::lock_guard<std::mutex> guard(known->lock);
  if (Mapping mapped = known->by_inode[inode].lock()) return mapped;
  std::byte* at = map_memory_file(file, bytes);
  if (at == nullptr) return nullptr;
  Mapping mapped(at, [bytes, inode](std::byte* base) {
    {
      std::lock_guard<std::mutex> forgetting(known->lock);
      auto found = known->by_inode.find(inode);
      if (found != known->by_inode.end() && found->second.expired()) known->by_inode.erase(found);
    }
    ::munmap(base, bytes);
  });
  known->by_inode[inode] = mapped;
  return mapped;
}

bool is_fixed_memory_file(int file, std::uint64_t bytes) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || static_cast<std::uint64_t>(status.st_size) != bytes) return false;
  int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

Result<SharedPool*> SharedPool::create() {
  std::unique_ptr<SharedPool, void (*)(SharedPool*)> pool(new SharedPool, [](SharedPool* p) { delete p; });
  Status failed;
  for (std::uint64_t size = kLargestPool; size >= kSmallestPool; size /= 2) {
    auto file = make_memory_file("periapt-pool", size);
    if (!file) {
      failed = file.status();
      continue;
    }
    pool->base_ = map_memory_file(*file, size);
    if (pool->base_ == nullptr) {
      failed =
          Status::failure("could not map " + std::to_string(size >> 20) + " MiB of shared memory: " + error_text());
      ::close(*file);
      continue;
    }
    pool->size_ = size;
    pool->segment_ = segments::add(pool->base_, size, *file);
    host::HeapConfig config;
    config.begin = pool->base_;
    config.end = pool->base_ + size;
    config.shared = true;
    config.return_stacks = pool->stacks_;
    config.pes = 1;
    pool->heap_ = std::make_unique<host::Heap>(config);
    return pool.release();
  }
  return failed;
}

SharedPool::~SharedPool() {
  if (platform::kAddressSanitizer && heap_ != nullptr) {
    // What is mapped next at these addresses is not the heap's: it must not find its free blocks marked there.
    std::uint64_t carved = std::min(size_, heap_->statistics().carved_bytes + platform::kPage);
    platform::unpoison(base_, carved);
    platform::unpoison(base_ + size_ - carved, carved);
  }
  heap_.reset();
  if (segment_ != 0) segments::remove(segment_);
  if (base_ != nullptr) ::munmap(base_, size_);
}

ucx::Buffer SharedPool::allocate(std::uint64_t size) {
  // The heap ends the run when it is exhausted, so no more is promised than surely fits: an eighth is kept for
  // rounding.
  std::uint64_t need = size + size / 4 + platform::kPage;
  if (need > allowance_) {
    std::uint64_t used = heap_->statistics().carved_bytes + size_ / 8;
    allowance_ = used < size_ ? size_ - used : 0;
    if (need > allowance_) return {};
  }
  allowance_ -= need;
  ++live_;
  return ucx::Buffer(static_cast<std::byte*>(heap_->allocate(size)), size, &SharedPool::release, this);
}

void SharedPool::release(void* pool, void* bytes) {
  SharedPool& self = *static_cast<SharedPool*>(pool);
  self.heap_->release(bytes);
  if (--self.live_ != 0 || !self.retired_) return;
  {
    std::lock_guard<std::mutex> guard(table().lock);
    std::erase(table().retired, &self);
  }
  delete &self;
}

void SharedPool::retire() {
  retired_ = true;
  if (live_ == 0) return delete this;
  std::lock_guard<std::mutex> guard(table().lock);
  table().retired.push_back(this);
}

}  // namespace periapt::shm
