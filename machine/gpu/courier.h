// The courier: a kernel of one block that waits on a GPU for small messages and copies them, from and to all memory
// that kernels there may touch. A copy that the host starts costs 8 us by itself; a command to the courier a store,
// which the kernel reads over the bus, and its end a load.
//
//   post()  writes a command into pinned memory (courier_board.h) and launches the kernel, if it has ended
//   send()  the same of a few bytes of the host's, which stand in the command
//   tell()  the same of a few bytes that go to the host's memory: they stand in the answer
//   look()  reads there whether it is done
//
// No program waits for it long. The kernel ends by itself: soon after the last command, and from time to time in any
// case, since cudaDeviceSynchronize() and cudaFree() of the program wait for it. A kernel that does not begin because
// the program's own have taken all of the GPU is called off: its commands are given back, to go another way, and the
// courier rests for a while. So they are when it cannot be launched, or the GPU is lost; then it rests for good.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "machine/gpu/courier_board.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

struct CourierSettings {
  std::uint64_t idle_ns = 150'000;      ///< the kernel ends when it has had nothing to do for so long,
  std::uint64_t whole_ns = 2'000'000;   ///< and has lived for so long
  std::uint64_t patience_ns = 200'000;  ///< a launch that has not begun after so long is called off,
  std::uint64_t rest_ns = 10'000'000;   ///< and there is no other one for so long
  std::uint64_t doubt_ns =
      2'000'000;  ///< between questions to the driver, when nothing gets done, whether the GPU lives
  unsigned threads = 512;
  unsigned carriers = 2;  ///< warps of these that look for commands
  unsigned likely = 3;    ///< after so many messages, each within idle_ns of the one before, more are likely
};

/// One a process and GPU. Any thread may call it.
class Courier {
 public:
  static constexpr std::uint64_t kMost = 256 << 10;  ///< bytes of a message; the copy engines are as fast beyond,
  static constexpr std::uint64_t kMostAskew = 4096;  ///< and where the two addresses differ in their last two bits
  static constexpr std::uint64_t kFew = CourierCommand::kMost;  ///< bytes for send() and tell()
  enum class State { under_way, done, given_back };

  /// Loads the kernel. A failure says why there can be no courier.
  static Result<std::unique_ptr<Courier>> make(Driver& driver, int gpu, const CourierSettings& settings = {});
  ~Courier();

  static bool takes(const void* to, const void* from, std::uint64_t bytes);
  /// Copies, at once: what is written there before is done. The bytes are lent until look() says something else than
  /// under_way. Returns the command's number; 0: it was not taken, since too many are under way or it rests.
  /// `near`: `to` is memory of this GPU, not of another one that it has mapped.
  std::uint64_t post(void* to, const void* from, std::uint64_t bytes, bool near = false);
  /// The same of at most kFew bytes. `from`: memory of the host, pageable too, that is read within the call.
  std::uint64_t send(void* to, const void* from, std::uint64_t bytes, bool near = false);
  /// And with `to` such memory, which look() writes; at least one byte.
  std::uint64_t tell(void* to, const void* from, std::uint64_t bytes);
  /// Would a command find its kernel on the GPU? What does not had better go another way, and be told to missed().
  bool is_awake() const {
    return !rests_.load(std::memory_order_acquire) && launched_.load(std::memory_order_relaxed) != 0 && !has_ended();
  }
  /// A message went another way since it slept. Launches it where more are likely before it would sleep again.
  void missed();
  /// done and given_back are said once, then the number is forgotten. given_back: nothing is touched any more, and
  /// some of it may have been copied.
  State look(std::uint64_t number);
  /// Of a command that is under way: if it is a tell(), look() does not write its bytes any more.
  void forget_told(std::uint64_t number) { told_[number % CourierBoard::kPlaces].to = nullptr; }

  std::uint64_t launches() const { return launched_.load(std::memory_order_relaxed); }
  /// Why it rests for good; "": it does not.
  std::string failure() const;

 private:
  Courier(Driver& driver, int gpu, const CourierSettings& settings, Kernel kernel, Stream stream, std::byte* board);

  // What both sides write.
  static std::atomic_ref<Word> word(Word& at) { return std::atomic_ref<Word>(at); }
  bool has_ended() const {
    // acquire: partner is the kernel's fence before it, so that all it has done is seen.
    return word(board_->ended).load(std::memory_order_acquire) == launched_.load(std::memory_order_acquire);
  }
  bool is_done(std::uint64_t number) const {
    const std::size_t place = number % CourierBoard::kPlaces;
    if (told_[place].bytes != 0) return is_told(number);
    return word(board_->done[place]).load(std::memory_order_acquire) == number;
  }
  bool is_told(std::uint64_t number) const;
  std::uint64_t post(CourierCommand command, void* told);
  State forget(std::uint64_t number, State state);
  bool end_rest();
  void wake();
  bool is_soon();
  void rest_for_good(const std::string& why);
  void doubt();
  bool call_off(std::uint64_t now);

  Driver& driver_;
  const int gpu_;
  const CourierSettings settings_;
  const Kernel kernel_;
  const Stream stream_;
  CourierBoard* const board_;

  std::atomic<std::uint64_t> next_{1};                            // command
  std::array<std::atomic<bool>, CourierBoard::kPlaces> taken_{};  // places, until their commands are forgotten
  struct Told {
    std::byte* to;        // nullptr: it is forgotten
    std::uint64_t bytes;  // 0: of another command
  };
  std::array<Told, CourierBoard::kPlaces> told_{};                  // by place; of the thread that has taken it
  std::atomic<std::uint64_t> launched_{0};                          // how often
  std::atomic<bool> rests_{false};                                  // no kernel will touch a command
  std::atomic<std::uint64_t> given_back_below_{0};                  // commands that no kernel will touch any more
  std::atomic<std::uint64_t> last_{0};                              // ns, when a message came
  std::atomic<unsigned> soon_{0};                                   // messages that came soon after another one
  std::atomic<std::uint64_t> looks_{0};                             // in vain
  mutable std::mutex mutex_;                                        // of launches, and of what follows
  std::uint64_t launched_at_ = 0, rests_until_ = 0, asked_at_ = 0;  // ns
  bool for_good_ = false;
  std::string failure_;
};

}  // namespace periapt::gpu
