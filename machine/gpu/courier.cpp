#include "machine/gpu/courier.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "machine/gpu/kernel_code.h"

namespace periapt::gpu {
namespace {

// Looks in vain between two looks at the clock.
constexpr std::uint64_t kLooks = 64;

}  // namespace

Result<std::unique_ptr<Courier>> Courier::make(Driver& driver, int gpu, const CourierSettings& settings) {
  const Result<Kernel> kernel = driver.load_kernel(gpu, courier_code(driver.vendor()), kCourierName);
  if (!kernel) return kernel.status();
  const Result<Stream> stream = driver.make_urgent_stream(gpu);
  if (!stream) return stream.status();
  const Result<std::byte*> board = driver.allocate(gpu, MemoryType::pinned, sizeof(CourierBoard));
  if (!board) {
    driver.destroy(*stream);
    return board.status();
  }
  return std::unique_ptr<Courier>(new Courier(driver, gpu, settings, *kernel, *stream, *board));
}

Courier::Courier(Driver& driver, int gpu, const CourierSettings& settings, Kernel kernel, Stream stream,
                 std::byte* board)
    : driver_(driver),
      gpu_(gpu),
      settings_(settings),
      kernel_(kernel),
      stream_(stream),
      board_(new (board) CourierBoard{}) {
  board_->next = 1;
}

Courier::~Courier() {
  static_cast<void>(driver_.finish(stream_));
  driver_.destroy(stream_);
  static_cast<void>(driver_.free(gpu_, MemoryType::pinned, reinterpret_cast<std::byte*>(board_)));
}

bool Courier::takes(const void* to, const void* from, std::uint64_t bytes) {
  const bool askew = ((reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from)) & 3) != 0;
  return bytes <= (askew ? kMostAskew : kMost);
}

std::uint64_t Courier::post(void* to, const void* from, std::uint64_t bytes, bool near) {
  const Word how = near ? CourierCommand::kNear : 0;
  return post({reinterpret_cast<Word>(to), reinterpret_cast<Word>(from), bytes | how, 0, {}}, nullptr);
}

std::uint64_t Courier::send(void* to, const void* from, std::uint64_t bytes, bool near) {
  const Word how = CourierCommand::kSent | (near ? CourierCommand::kNear : 0);
  CourierCommand command{reinterpret_cast<Word>(to), 0, bytes | how, 0, {}};
  std::memcpy(command.sent, from, bytes);
  return post(command, nullptr);
}

std::uint64_t Courier::tell(void* to, const void* from, std::uint64_t bytes) {
  return post({0, reinterpret_cast<Word>(from), bytes | CourierCommand::kTold, 0, {}}, to);
}

std::uint64_t Courier::post(CourierCommand command, void* told) {
  if (rests_.load(std::memory_order_acquire) && !end_rest()) return 0;
  std::uint64_t number = next_.load(std::memory_order_relaxed);
  do {
    // acquire: partner is the release in forget(); that command's place is read no more.
    if (taken_[number % CourierBoard::kPlaces].load(std::memory_order_acquire)) return 0;
  } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  taken_[number % CourierBoard::kPlaces].store(true, std::memory_order_relaxed);
  told_[number % CourierBoard::kPlaces] = {static_cast<std::byte*>(told),
                                           told != nullptr ? static_cast<unsigned>(command.bytes) : 0};
  command.check = courier_check(command, number);
  CourierCommand& place = board_->places[number % CourierBoard::kPlaces].command;
  word(place.to).store(command.to, std::memory_order_relaxed);
  word(place.from).store(command.from, std::memory_order_relaxed);
  word(place.bytes).store(command.bytes, std::memory_order_relaxed);
  for (unsigned i = 0; i < CourierCommand::kWords; ++i)
    word(place.sent[i]).store(command.sent[i], std::memory_order_relaxed);
  // release: what this thread has written into the bytes themselves is there before.
  word(place.check).store(command.check, std::memory_order_release);
  static_cast<void>(is_soon());
  if (has_ended()) wake();
  return number;
}

// A message has come: are more likely to?
bool Courier::is_soon() {
  const std::uint64_t now = clock::now_ns(), last = last_.exchange(now, std::memory_order_relaxed);
  if (now - last > settings_.idle_ns) soon_.store(0, std::memory_order_relaxed);
  return soon_.fetch_add(1, std::memory_order_relaxed) + 1 >= settings_.likely;
}

void Courier::missed() {
  if (!is_soon() || (rests_.load(std::memory_order_acquire) && !end_rest())) return;
  if (has_ended()) wake();
}

// All words of its answer are there. Each is looked at by itself: none says anything of another one.
bool Courier::is_told(std::uint64_t number) const {
  const std::size_t place = number % CourierBoard::kPlaces;
  Word words[CourierCommand::kWords];
  for (std::size_t i = 0; i * sizeof(Word) < told_[place].bytes; ++i) {
    CourierAnswer& answer = board_->answers[place][i];
    words[i] = word(answer.word).load(std::memory_order_acquire);
    if (word(answer.seal).load(std::memory_order_acquire) != courier_seal(words[i], number)) return false;
  }
  if (told_[place].to != nullptr) std::memcpy(told_[place].to, words, told_[place].bytes);
  return true;
}

Courier::State Courier::forget(std::uint64_t number, State state) {
  taken_[number % CourierBoard::kPlaces].store(false, std::memory_order_release);
  return state;
}

Courier::State Courier::look(std::uint64_t number) {
  if (is_done(number)) return forget(number, State::done);
  if (rests_.load(std::memory_order_acquire) || number < given_back_below_.load(std::memory_order_acquire)) {
    return forget(number, is_done(number) ? State::done : State::given_back);
  }
  if (has_ended()) {
    if (is_done(number)) return forget(number, State::done);
    wake();
  } else if (looks_.fetch_add(1, std::memory_order_relaxed) % kLooks == kLooks - 1) {
    doubt();
  }
  return State::under_way;
}

// ---- launches

void Courier::wake() {
  std::lock_guard lock(mutex_);
  if (!has_ended() || rests_.load(std::memory_order_relaxed)) return;  // another thread was here
  const std::uint64_t launch = launched_.load(std::memory_order_relaxed) + 1;
  const Word left = word(board_->next).load(std::memory_order_relaxed);
  const Word given_back = given_back_below_.load(std::memory_order_relaxed);
  CourierOrders orders{
      board_, launch, left > given_back ? left : given_back, settings_.idle_ns, settings_.whole_ns, settings_.carriers};
  void* arguments[] = {&orders};
  launched_at_ = asked_at_ = clock::now_ns();
  launched_.store(launch, std::memory_order_release);
  const Status begun = driver_.launch(stream_, kernel_, 1, settings_.threads, arguments);
  if (begun) return;
  launched_.store(launch - 1, std::memory_order_release);
  rest_for_good(begun.message());
}

// With the lock.
void Courier::rest_for_good(const std::string& why) {
  for_good_ = true;
  failure_ = why;
  log::detail("small messages of GPU " + std::to_string(gpu_) + " go by its copy engines from now on: " + why);
  rests_.store(true, std::memory_order_release);
}

// Commands that were given back while it rested stay where they are: the next kernel begins behind them.
bool Courier::end_rest() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (!rests_.load(std::memory_order_relaxed)) return true;
  if (for_good_ || !has_ended() || clock::now_ns() < rests_until_) return false;
  given_back_below_.store(next_.load(std::memory_order_relaxed), std::memory_order_release);
  rests_.store(false, std::memory_order_release);
  return true;
}

// Nothing gets done. It may not have begun, or the GPU may be lost.
void Courier::doubt() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || has_ended() || rests_.load(std::memory_order_relaxed)) return;
  const std::uint64_t now = clock::now_ns();
  if (call_off(now) || now - asked_at_ < settings_.doubt_ns) return;
  asked_at_ = now;
  const Result<bool> idle = driver_.is_idle(stream_);
  if (!idle) return rest_for_good(idle.message());
  if (*idle && !has_ended()) rest_for_good("its kernel has ended and did not say so");
}

// True: the kernel that was launched last touches no command.
bool Courier::call_off(std::uint64_t now) {
  const std::uint64_t launch = launched_.load(std::memory_order_relaxed);
  const auto has_begun = [&] { return word(board_->started).load(std::memory_order_seq_cst) == launch; };
  if (has_begun() || now - launched_at_ < settings_.patience_ns) return false;
  // The kernel writes `started`, then reads `cancelled`; one of both sees what the other has written.
  word(board_->cancelled).store(launch, std::memory_order_seq_cst);
  if (has_begun()) return false;
  rests_until_ = now + settings_.rest_ns;
  rests_.store(true, std::memory_order_release);
  return true;
}

std::string Courier::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace periapt::gpu
