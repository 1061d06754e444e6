// The couriers of a process: one a GPU, made when small messages of that GPU are frequent, where it is faster than the
// copy engines. A short comparison says so at that time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/gpu/courier.h"

namespace periapt::gpu {

/// automatic: where it is faster. on: wherever it can be made.
enum class CourierUse : std::uint8_t { automatic, on, off };

/// One a process and driver. Any thread may call it.
class Couriers {
 public:
  explicit Couriers(Driver& driver, const CourierSettings& settings = {});
  ~Couriers();
  /// The process's own, until it ends.
  static Couriers& of(Driver& driver);

  /// The one for a small message that that GPU's is to take; nullptr: there is none, or not yet. Costs some ms once:
  /// with the first message where it is on, else with the first that is one of many.
  Courier* at(int gpu, CourierUse use);

  struct Verdict {
    bool is_used = false;
    std::string why;  ///< a sentence without its end
  };
  /// What automatic comes to there, now.
  Verdict judge(int gpu);

 private:
  struct OfGpu {
    std::atomic<Courier*> serves{nullptr};
    std::atomic<bool> is_settled{false};
    std::atomic<unsigned> asked{0};
    std::atomic<unsigned> enough{16};  ///< messages that are many
    std::mutex mutex;                  ///< of what follows
    std::unique_ptr<Courier> courier;
    std::byte* scratch = nullptr;  ///< there
    int presence = -1;             ///< a socket, by whose name other processes see that this one is here
    bool is_first = false;         ///< of the processes here
  };

  void settle(OfGpu& of, int gpu, CourierUse use, bool is_many);
  /// False: it was not to be known now, since the GPU is busy.
  bool judge(OfGpu& of, int gpu, Verdict& verdict);
  Status make(OfGpu& of, int gpu, unsigned likely);
  bool compare(OfGpu& of, int gpu, Verdict& verdict);
  std::uint64_t time_of_engine(OfGpu& of, int gpu);
  std::uint64_t time_of_courier(OfGpu& of);
  void appear(OfGpu& of, int gpu);
  bool is_alone(const OfGpu& of, int gpu) const;

  Driver& driver_;
  const CourierSettings settings_;
  std::vector<std::unique_ptr<OfGpu>> gpus_;
};

}  // namespace periapt::gpu
