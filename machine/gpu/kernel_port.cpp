#include "machine/gpu/kernel_port.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace periapt::gpu {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kAskAgain_ns = 1'000'000;
// So negative that no thread ever counts it up to a place.
constexpr ck_device_word kNoPlaces = ck_device_word{1} << 63 | ck_device_word{1} << 62;
constexpr std::uint64_t kWordsOfPage = 4096 / kLine;

std::atomic_ref<ck_device_word> word(ck_device_word& at) { return std::atomic_ref<ck_device_word>(at); }

Status has_gpu(const Driver& driver, int gpu) {
  if (gpu >= 0 && static_cast<std::size_t>(gpu) < driver.gpus().size()) return {};
  return Status::failure("there is no GPU " + std::to_string(gpu) + " in this process, which has " +
                         std::to_string(driver.gpus().size()));
}

}  // namespace

// Memory of a port, which outlives it: numbers of messages go on where they were, so that what lies in a place is never
// taken for a new one.
struct KernelPort::Ring {
  // In pinned memory, before the places. `written` and `read` are what the counts are copied from and to.
  struct Pinned {
    alignas(kLine) ck_port_head head;
    alignas(kLine) ck_port_counts written, read;
  };
  static_assert(sizeof(ck_port_place) == 16 && sizeof(Pinned) % kLine == 0, "places are aligned to 16 bytes");
  static_assert(offsetof(ck_port_head, too_long) == kLine,
                "the host's word and the kernels' are on lines of their own");

  Driver& driver;
  const int gpu;
  const std::uint64_t places, place_bytes;
  std::byte* counts = nullptr;
  std::byte* pinned_bytes = nullptr;
  Stream stream;
  Event event;
  std::uint64_t next = 1, openings = 0;

  Ring(Driver& its, int on, std::uint64_t count, std::uint64_t bytes)
      : driver(its), gpu(on), places(count), place_bytes(bytes) {}
  // Waits for kernels: Kept says when it may.
  ~Ring() {
    if (event.native != nullptr) driver.destroy(event);
    if (stream.native != nullptr) driver.destroy(stream);
    if (counts != nullptr) static_cast<void>(driver.free(gpu, MemoryType::device, counts));
    if (pinned_bytes != nullptr) static_cast<void>(driver.free(gpu, MemoryType::pinned, pinned_bytes));
  }
  std::uint64_t pinned_size() const { return sizeof(Pinned) + places * place_bytes; }
  Pinned& pinned() const { return *reinterpret_cast<Pinned*>(pinned_bytes); }
  ck_port_place& place(std::uint64_t number) const {
    return *reinterpret_cast<ck_port_place*>(pinned_bytes + sizeof(Pinned) + (number & (places - 1)) * place_bytes);
  }
};

// Rings of ports that are closed, for the next ones, the oldest first. A program that opens ports of ever other sizes
// gets memory back when it opens one. To free is to wait for all kernels of the GPU: not where one of them may wait
// until a PE takes messages, which may be this thread's, nor where one stands still.
struct KernelPort::Kept {
  static constexpr std::size_t kMost = 16;
  static constexpr std::uint64_t kMostBytes = 256 << 20;  ///< pinned
  std::mutex mutex;
  std::vector<std::unique_ptr<Ring>> rings;
  std::vector<std::unique_ptr<Ring>> given_up;  ///< kernels may still write there
  std::size_t ports = 0;                        ///< of the process, those being closed too

  /// All but so much, if it may be: no port is there but those that ask. With the mutex, so that none is opened
  /// meanwhile.
  void free_all_but(std::size_t most, std::uint64_t most_bytes, std::size_t asking) {
    if (ports != asking || !given_up.empty()) return;
    std::uint64_t bytes = 0;
    for (const auto& ring : rings) bytes += ring->pinned_size();
    auto end = rings.begin();
    for (auto left = rings.size(); left > most || bytes > most_bytes; --left, ++end) bytes -= (*end)->pinned_size();
    rings.erase(rings.begin(), end);
  }
  std::unique_ptr<Ring> take(const Driver& driver, int gpu, std::uint64_t places, std::uint64_t place_bytes) {
    const auto found = std::find_if(rings.begin(), rings.end(), [&](const auto& ring) {
      return &ring->driver == &driver && ring->gpu == gpu && ring->places == places && ring->place_bytes == place_bytes;
    });
    if (found == rings.end()) return nullptr;
    std::unique_ptr<Ring> ring = std::move(*found);
    rings.erase(found);
    return ring;
  }
};

// Until the process ends: static destructors run when the driver may be gone.
KernelPort::Kept& KernelPort::kept() {
  static Kept& all = *new Kept;
  return all;
}

Result<std::unique_ptr<KernelPort>> KernelPort::open(Driver& driver, int gpu, std::uint64_t places,
                                                     std::uint64_t bytes) {
  if (Status has = has_gpu(driver, gpu); !has) return has;
  if (places == 0 || places > kMostPlaces)
    return Status::failure(std::to_string(places) + " messages on their way: it is a number from 1 to " +
                           std::to_string(kMostPlaces));
  if (bytes > kMostBytes)
    return Status::failure("messages of " + std::to_string(bytes) + " bytes: they have " + std::to_string(kMostBytes) +
                           " at most; what is larger is better sent from the host, as a nocopydevice array");
  places = std::bit_ceil(places);
  const std::uint64_t place_bytes = (sizeof(ck_port_place) + bytes + kLine - 1) / kLine * kLine;
  if (places * place_bytes > kMostMemory)
    return Status::failure(std::to_string(places) + " messages of " + std::to_string(bytes) +
                           " bytes: a port has 1 GiB of pinned memory at most");
  Result<std::unique_ptr<Ring>> ring = obtain(driver, gpu, places, place_bytes);
  if (!ring) return ring.status();
  std::unique_ptr<KernelPort> port(new KernelPort(std::move(*ring), bytes));
  if (Status opened = port->open_counts(); !opened) return opened;
  return port;
}

// Counts the port that it is for. Memory is allocated without the mutex, which may wait for kernels that a PE has to
// take messages from, and that PE may close a port meanwhile.
Result<std::unique_ptr<KernelPort::Ring>> KernelPort::obtain(Driver& driver, int gpu, std::uint64_t places,
                                                             std::uint64_t place_bytes) {
  {
    const std::lock_guard lock(kept().mutex);
    std::unique_ptr<Ring> as_before = kept().take(driver, gpu, places, place_bytes);
    kept().free_all_but(Kept::kMost, Kept::kMostBytes, 0);
    ++kept().ports;
    if (as_before) return as_before;
  }
  Result<std::unique_ptr<Ring>> made = make(driver, gpu, places, place_bytes);
  if (!made) {
    {
      const std::lock_guard lock(kept().mutex);
      kept().free_all_but(0, 0, 1);
    }
    made = make(driver, gpu, places, place_bytes);
  }
  if (!made) {
    const std::lock_guard lock(kept().mutex);
    --kept().ports;
  }
  return made;
}

Result<std::unique_ptr<KernelPort::Ring>> KernelPort::make(Driver& driver, int gpu, std::uint64_t places,
                                                           std::uint64_t place_bytes) {
  auto ring = std::make_unique<Ring>(driver, gpu, places, place_bytes);
  // The largest first: where there is no memory, there is nothing to free then, which would wait.
  const Result<std::byte*> pinned = driver.allocate(gpu, MemoryType::pinned, ring->pinned_size());
  if (!pinned) return pinned.status();
  ring->pinned_bytes = *pinned;
  std::memset(*pinned, 0, ring->pinned_size());
  const Result<std::byte*> counts = driver.allocate(gpu, MemoryType::device, sizeof(ck_port_counts));
  if (!counts) return counts.status();
  ring->counts = *counts;
  const Result<Stream> stream = driver.make_stream(gpu);
  if (!stream) return stream.status();
  ring->stream = *stream;
  const Result<Event> event = driver.make_event(gpu);
  if (!event) return event.status();
  ring->event = *event;
  return ring;
}

KernelPort::KernelPort(std::unique_ptr<Ring> ring, std::uint64_t bytes) : ring_(std::move(ring)) {
  Ring& its = *ring_;
  next_ = its.next;
  handle_ = {reinterpret_cast<ck_port_counts*>(its.counts),
             &its.pinned().head,
             reinterpret_cast<unsigned char*>(its.pinned_bytes + sizeof(Ring::Pinned)),
             ++its.openings,
             static_cast<unsigned>(its.places - 1),
             static_cast<unsigned>(its.place_bytes),
             static_cast<unsigned>(bytes)};
}

Status KernelPort::open_counts() {
  Ring& its = *ring_;
  word(its.pinned().head.taken).store(next_ - 1, std::memory_order_relaxed);
  word(its.pinned().head.too_long).store(0, std::memory_order_relaxed);
  its.pinned().written = {handle_.opening, its.places, next_, next_ - 1, 0};
  Status done = its.driver.copy(its.stream, its.counts, &its.pinned().written, sizeof(ck_port_counts));
  return done ? its.driver.finish(its.stream) : done;
}

KernelPort::~KernelPort() {
  ring_->next = next_;
  const std::lock_guard lock(kept().mutex);
  --kept().ports;
  (has_come_ ? kept().rings : kept().given_up).push_back(std::move(ring_));
}

int KernelPort::gpu() const { return ring_->gpu; }

// acquire: its partner is the store of the number in ck_device_send(), so that the bytes are there.
std::optional<std::span<const std::byte>> KernelPort::next() const {
  ck_port_place& place = ring_->place(next_);
  if (word(place.number).load(std::memory_order_acquire) != next_) return std::nullopt;
  // Read once: a kernel of the program that is wrong may write there at any time.
  const std::uint64_t bytes = word(place.bytes).load(std::memory_order_relaxed);
  return std::span(reinterpret_cast<const std::byte*>(&place + 1), std::min<std::uint64_t>(bytes, handle_.most));
}

// release: its partner is ck_port_take_place(); the places have been read.
void KernelPort::give_places() { word(ring_->pinned().head.taken).store(next_ - 1, std::memory_order_release); }

std::uint64_t KernelPort::too_long() const {
  return word(ring_->pinned().head.too_long).load(std::memory_order_relaxed);
}

// ---- its end

// The first two of the counts: a place that is taken at the same time is one that was there, or none.
Status KernelPort::begin_close(std::uint64_t now_ns) {
  Ring& its = *ring_;
  awaited_ = 0;  // the first look begins
  its.pinned().written = {0, kNoPlaces, 0, 0, 0};
  static_assert(offsetof(ck_port_counts, next) == 2 * sizeof(ck_device_word));
  if (Status closed = its.driver.copy(its.stream, its.counts, &its.pinned().written, offsetof(ck_port_counts, next));
      !closed)
    return closed;
  asked_ns_ = now_ns;
  return ask_next();
}

Status KernelPort::ask_next() {
  Ring& its = *ring_;
  Status asked = its.driver.copy(its.stream, &its.pinned().read, its.counts, sizeof(ck_port_counts));
  return asked ? its.driver.record(its.event, its.stream) : asked;
}

// All have come when the numbers end at the one that is awaited, and do so a little later too: a thread that has just
// got a place may not have its number yet.
KernelPort::Closing KernelPort::close_on(std::uint64_t now_ns) {
  if (std::exchange(awaited_, next_) != next_) still_since_ns_ = now_ns;
  const Result<bool> answered = ring_->driver.reached(ring_->event);
  if (!answered) {
    failure_ = answered.status();
    return Closing::given_up;
  }
  const auto not_since = [now_ns](std::uint64_t since_ns) {
    return now_ns - since_ns > kPatience_ns ? Closing::given_up : Closing::under_way;
  };
  // Whatever passed before it was asked, which may be a long entry.
  if (!*answered) return not_since(std::max(asked_ns_, still_since_ns_));
  const std::uint64_t ends_at = ring_->pinned().read.next;
  if (ends_at > next_) return not_since(still_since_ns_);
  if (ends_at == next_ && asked_before_ == ends_at) {
    has_come_ = true;
    return Closing::done;
  }
  if (now_ns - asked_ns_ < kAskAgain_ns) return Closing::under_way;
  const bool is_older = asked_ns_ <= still_since_ns_;  // than what has come since
  asked_before_ = ends_at;
  asked_ns_ = now_ns;
  failure_ = ask_next();
  if (!failure_) return Closing::given_up;
  if (ends_at >= next_ || is_older || not_since(still_since_ns_) == Closing::under_way) return Closing::under_way;
  failure_ = Status::failure("a kernel has written over the counts of the port");
  return Closing::given_up;
}

// ---- counters

namespace {

// Words that no counter has, by driver. Lines of their own, as kernels write them and PEs read them often.
struct FreeWords {
  std::mutex mutex;
  std::map<Driver*, std::vector<ck_device_word*>> words;
};
FreeWords& free_words() {
  static FreeWords& all = *new FreeWords;
  return all;
}

}  // namespace

Result<std::unique_ptr<KernelCounter>> KernelCounter::make(Driver& driver, int gpu) {
  if (Status has = has_gpu(driver, gpu); !has) return has;
  const std::lock_guard lock(free_words().mutex);
  std::vector<ck_device_word*>& words = free_words().words[&driver];
  if (words.empty()) {
    const Result<std::byte*> page = driver.allocate(gpu, MemoryType::pinned, kWordsOfPage * kLine);
    if (!page) return page.status();
    for (std::uint64_t i = kWordsOfPage; i-- > 0;)
      words.push_back(reinterpret_cast<ck_device_word*>(*page + i * kLine));
  }
  ck_device_word* const its = words.back();
  words.pop_back();
  word(*its).store(0, std::memory_order_relaxed);
  return std::unique_ptr<KernelCounter>(new KernelCounter(driver, its));
}

KernelCounter::~KernelCounter() {
  const std::lock_guard lock(free_words().mutex);
  free_words().words[&driver_].push_back(word_);
}

std::uint64_t KernelCounter::value() const { return word(*word_).load(std::memory_order_acquire); }

}  // namespace periapt::gpu
