#include "machine/bootstrap/local_world.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/futex.h"
#include "base/secret.h"

namespace periapt::bootstrap {
namespace {

constexpr std::size_t kSlotBytes = 64 << 10;  // what one process can put
constexpr int kReasonBytes = 256;

void append(std::string& text, const std::string& field) {
  const std::uint32_t size = static_cast<std::uint32_t>(field.size());
  text.append(reinterpret_cast<const char*>(&size), sizeof size).append(field);
}
std::string next_field(const char*& at) {
  std::uint32_t size;
  std::memcpy(&size, at, sizeof size);
  std::string field(at + sizeof size, size);
  at += sizeof size + size;
  return field;
}

}  // namespace

struct alignas(64) LocalBoard::Memory {
  int processes;
  char secret[32];
  char job[32];
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> fences;  // passed; a futex
  std::atomic<std::uint32_t> finalized;
  std::atomic<std::uint32_t> aborted;
  char reason[kReasonBytes];

  // Behind it (and aligned, as its size is a multiple of 64) a slot for each process: bytes used, then name and value,
  // name and value ...
  struct Slot {
    std::atomic<std::uint32_t> used;
    char bytes[kSlotBytes - sizeof(std::atomic<std::uint32_t>)];
  };
  Slot& slot(int rank) { return reinterpret_cast<Slot*>(this + 1)[rank]; }
};

namespace {

template <class Board>
class LocalWorld : public World {
 public:
  LocalWorld(Board& board, int rank)
      : board_(board),
        rank_(rank),
        host_of_(static_cast<std::size_t>(board.processes)),
        job_(board.job),
        secret_(board.secret, sizeof board.secret) {}

  int rank() const override { return rank_; }
  int size() const override { return board_.processes; }
  const std::vector<int>& host_of() const override { return host_of_; }
  const std::string& job() const override { return job_; }
  const std::string& secret() const override { return secret_; }

  Status put(const std::string& name, const std::string& value) override {
    std::string record;
    append(record, name);
    append(record, value);
    auto& slot = board_.slot(rank_);
    const std::uint32_t used = slot.used.load(std::memory_order_relaxed);
    if (used + record.size() > sizeof slot.bytes) {
      return Status::failure("what process " + std::to_string(rank_) + " tells the others is longer than " +
                             std::to_string(sizeof slot.bytes) + " bytes");
    }
    std::memcpy(slot.bytes + used, record.data(), record.size());
    // release: partner is the acquire in get(); it carries the record.
    slot.used.store(used + static_cast<std::uint32_t>(record.size()), std::memory_order_release);
    return {};
  }

  Status fence() override {
    const std::uint32_t passed = board_.fences.load(std::memory_order_acquire);
    // acq_rel: what each did before comes before what any does after.
    if (board_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(board_.processes)) {
      board_.arrived.store(0, std::memory_order_relaxed);
      board_.fences.fetch_add(1, std::memory_order_release);
      futex_wake_all(board_.fences, true);
      return {};
    }
    constexpr std::uint64_t kLookNs = 20'000'000;
    while (board_.fences.load(std::memory_order_acquire) == passed) {
      std::string reason;
      if (!well(&reason)) return Status::failure(reason);
      futex_wait(board_.fences, passed, kLookNs, true);
    }
    return {};
  }

  Result<std::string> get(int rank, const std::string& name) override {
    auto& slot = board_.slot(rank);
    const char* end = slot.bytes + slot.used.load(std::memory_order_acquire);
    for (const char* at = slot.bytes; at < end;) {
      const bool found = next_field(at) == name;
      std::string value = next_field(at);
      if (found) return value;
    }
    return Status::failure("process " + std::to_string(rank) + " has told nothing of \"" + name + "\"");
  }

  void abort(int, const std::string& reason) override {
    std::uint32_t none = 0;
    if (board_.aborted.compare_exchange_strong(none, 1)) {
      std::strncpy(board_.reason, reason.c_str(), kReasonBytes - 1);
      board_.aborted.store(2, std::memory_order_release);
    }
  }
  void finalize() override { board_.finalized.store(1, std::memory_order_release); }
  bool well(std::string* reason) override {
    if (board_.aborted.load(std::memory_order_acquire) != 2) return true;
    if (reason != nullptr) *reason = board_.reason;
    return false;
  }
  int wait_fd() const override { return -1; }
  const std::string& describe() const override { return words_; }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  Board& board_;
  int rank_;
  std::vector<int> host_of_;
  std::string job_;
  std::string secret_;
  std::string words_ = "started by the program itself";
  std::vector<std::string> passed_over_;
};

}  // namespace

Result<LocalBoard> LocalBoard::make(int processes) {
  const std::size_t bytes = sizeof(Memory) + static_cast<std::size_t>(processes) * sizeof(Memory::Slot);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status::failure(std::string("no memory for the start of a run: ") + std::strerror(errno));
  }
  LocalBoard board;
  board.memory_ = new (memory) Memory{};
  board.memory_->processes = processes;
  fill_random(board.memory_->secret, sizeof board.memory_->secret);
  std::snprintf(board.memory_->job, sizeof board.memory_->job, "local-%d", static_cast<int>(::getpid()));
  return board;
}

std::unique_ptr<World> LocalBoard::world(int rank) const {
  return std::make_unique<LocalWorld<Memory>>(*memory_, rank);
}
bool LocalBoard::ended() const { return memory_->finalized.load(std::memory_order_acquire) != 0; }
bool LocalBoard::aborted() const { return memory_->aborted.load(std::memory_order_acquire) != 0; }

}  // namespace periapt::bootstrap
