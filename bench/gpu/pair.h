// Two processes of one host that exchange memory of GPUs through the engine, for benchmarks and tests: this one, and
// the same program anew, since drivers do not outlive a fork. Both run the same part of the program, which asks rank().
//
//   int main() { if (auto status = bench::other_of_pair(parts)) return *status; ... run_pair(parts, "pingpong", way); }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/gpu/vendors.h"
#include "machine/ucx-like/worker.h"

namespace periapt::bench {

/// How the two reach each other.
struct Way {
  std::string transport = "shm";
  bool maps = true;  ///< false: as if the other's memory could not be mapped, so that it goes through pinned memory
  std::uint64_t largest = std::uint64_t{256} << 20;  ///< bytes of a message
  bool courier = false;
};

class Pair {
 public:
  Pair(const gpu::Vendor& vendor, Way way, int rank, int socket);
  ~Pair();
  Pair(const Pair&) = delete;

  int rank() const { return rank_; }
  const Way& way() const { return way_; }
  gpu::Driver& driver() const { return *vendor_.driver().value(); }
  /// This process's: the first one's is the first of the host, the other's the second, where there is one.
  int gpu() const { return rank_ % static_cast<int>(driver().gpus().size()); }
  ucx::MemoryKind kind_of(gpu::MemoryType kind) const;
  ucx::Worker& worker() { return *worker_; }
  ucx::Endpoint& peer() { return *peer_; }

  /// Memory until the pair ends; of `host` too.
  std::byte* make(gpu::MemoryType kind, std::uint64_t bytes);
  void free(gpu::MemoryType kind, std::byte* memory);
  /// Contents that a seed tells; both wait for the GPU.
  void fill(gpu::MemoryType kind, std::byte* memory, std::uint64_t bytes, unsigned seed);
  bool holds(gpu::MemoryType kind, const std::byte* memory, std::uint64_t bytes, unsigned seed);

  /// Until it has ended; what has not ended well ends the process with a sentence, unless `may_fail`.
  ucx::Outcome wait(const ucx::RequestPtr& request, bool may_fail = false);
  void send(gpu::MemoryType kind, const std::byte* memory, std::uint64_t bytes, ucx::Tag tag);
  void receive(gpu::MemoryType kind, std::byte* memory, std::uint64_t bytes, ucx::Tag tag);
  /// Until the other one is here too.
  void barrier();
  /// Small things between the two.
  void tell(const std::vector<std::byte>& bytes);
  std::vector<std::byte> told();

 private:
  void copy(void* to, const void* from, std::uint64_t bytes);

  const gpu::Vendor& vendor_;
  const Way way_;
  const int rank_, socket_;
  std::vector<std::pair<gpu::MemoryType, std::byte*>> made_;
  std::byte* scratch_ = nullptr;
  gpu::Stream stream_;
  std::unique_ptr<ucx::Context> context_;
  std::unique_ptr<ucx::Worker> worker_;
  ucx::Endpoint* peer_ = nullptr;
};

/// What both processes do, by a name; the answer is an exit status.
using Parts = std::map<std::string, int (*)(Pair& pair)>;
/// In the other process: its exit status; nothing in the first.
std::optional<int> other_of_pair(const Parts& parts);
/// The worse of both exit statuses.
int run_pair(const Parts& parts, const std::string& part, const gpu::Vendor& vendor, const Way& way);

}  // namespace periapt::bench
