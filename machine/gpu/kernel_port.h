// The host's side of what kernels send (device_send.h): the ring of a port, and counters that kernels raise.
//
// Nothing here waits for a GPU but opening, which allocates. A port that is closed goes on until what kernels had begun
// to send has come, and its memory is kept for the next port like it: to free it would wait for all kernels of the GPU,
// of which one may wait for this thread. What is kept in excess goes when a port is opened while there is no other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "machine/gpu/device_send.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// Used by one thread at a time.
class KernelPort {
 public:
  static constexpr std::uint64_t kMostPlaces = 1 << 20, kMostBytes = 1 << 20, kMostMemory = 1 << 30;
  /// What a message that was begun has for coming, once the port is being closed.
  static constexpr std::uint64_t kPatience_ns = 1'000'000'000;
  enum class Closing { under_way, done, given_up };

  /// For messages of at most `bytes`, of which `places` may be on their way: rounded up to a power of two. A failure
  /// says why there is no port: a number that makes no sense, or the driver's reason.
  static Result<std::unique_ptr<KernelPort>> open(Driver& driver, int gpu, std::uint64_t places, std::uint64_t bytes);
  ~KernelPort();
  KernelPort(const KernelPort&) = delete;
  KernelPort& operator=(const KernelPort&) = delete;

  const ck_kernel_port& handle() const { return handle_; }
  int gpu() const;

  /// Calls take(std::span<const std::byte>) for each message that has come, in their order, `most` of them. The bytes
  /// are there until it returns. Returns how many.
  template <class Take>
  int take(int most, Take&& take) {
    int taken = 0;
    for (; taken < most; ++taken) {
      const std::optional<std::span<const std::byte>> message = next();
      if (!message) break;
      take(*message);
      ++next_;
    }
    if (taken != 0) give_places();
    return taken;
  }
  /// So many bytes were to be sent by a kernel, which are more than a message has; 0: none were.
  std::uint64_t too_long() const;

  /// From soon on kernels are told that it is closed. A failure is the driver's.
  Status begin_close(std::uint64_t now_ns);
  /// To be called, after take(), until it is not under way any more. given_up: a message that was begun has not come,
  /// the counts were written over, or the GPU is lost.
  Closing close_on(std::uint64_t now_ns);
  /// Why it is given up: the driver's reason, or what was written over. None: it is a message that does not come.
  const Status& failure() const { return failure_; }

 private:
  struct Ring;
  struct Kept;
  explicit KernelPort(std::unique_ptr<Ring> ring, std::uint64_t bytes);
  static Result<std::unique_ptr<Ring>> obtain(Driver& driver, int gpu, std::uint64_t places, std::uint64_t place_bytes);
  static Result<std::unique_ptr<Ring>> make(Driver& driver, int gpu, std::uint64_t places, std::uint64_t place_bytes);
  static Kept& kept();
  Status open_counts();
  Status ask_next();
  std::optional<std::span<const std::byte>> next() const;
  void give_places();

  std::unique_ptr<Ring> ring_;
  ck_kernel_port handle_{};
  std::uint64_t next_ = 1;                          ///< message
  std::uint64_t awaited_ = 0, still_since_ns_ = 0;  ///< the message that is awaited, and since which look
  std::uint64_t asked_ns_ = 0;
  std::optional<std::uint64_t> asked_before_;  ///< what was the next one when it was asked last
  bool has_come_ = false;                      ///< the port may be used anew
  Status failure_;
};

/// A number in pinned memory that kernels of one GPU raise. Its memory is used anew, and never freed.
class KernelCounter {
 public:
  static Result<std::unique_ptr<KernelCounter>> make(Driver& driver, int gpu);
  ~KernelCounter();
  KernelCounter(const KernelCounter&) = delete;
  KernelCounter& operator=(const KernelCounter&) = delete;

  ck_kernel_counter handle() const { return {word_}; }
  /// acquire: its partner is ck_device_signal().
  std::uint64_t value() const;

 private:
  KernelCounter(Driver& driver, ck_device_word* word) : driver_(driver), word_(word) {}

  Driver& driver_;
  ck_device_word* const word_;
};

}  // namespace periapt::gpu
