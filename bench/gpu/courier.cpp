// gpu_courier: what the courier (machine/gpu/courier.h) brings on this machine, by itself: from the command to its end
// seen, beside the driver's own copy with its event. Every byte is checked. Then with other numbers of carriers and
// threads, and what it costs to wake it.
//
//   gpu_courier [ROUNDS]     on all vendors' GPUs that are here; half a minute for 2000 rounds
#include "machine/gpu/courier.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "machine/gpu/vendors.h"

namespace {

using namespace periapt;
using gpu::Courier;
using gpu::MemoryType;

constexpr std::uint64_t kRoom = 1 << 20;
constexpr unsigned kWarm = 50;
unsigned rounds = 2000;

[[noreturn]] void give_up(const std::string& why) {
  std::printf("gpu_courier: %s\n", why.c_str());
  std::exit(1);
}
template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.message());
  return *result;
}
void must(const Status& status) {
  if (!status) give_up(status.message());
}

struct Times {
  double median, late;  ///< us; late: 99 of 100 are faster
};
Times of(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

class Bench {
 public:
  explicit Bench(gpu::Driver& driver) : driver_(driver), last_(static_cast<int>(driver.gpus().size()) - 1) {
    staging_ = must(driver.allocate(0, MemoryType::pinned, kRoom));
    pinned_ = must(driver.allocate(0, MemoryType::pinned, kRoom));
    here_ = must(driver.allocate(last_, MemoryType::device, kRoom));
    there_ = must(driver.allocate(0, MemoryType::device, kRoom));
    near_ = must(driver.allocate(last_, MemoryType::device, kRoom));
    if (last_ != 0) must(driver.reach(last_, 0)), must(driver.reach(0, last_));
    for (const int gpu : {0, last_}) streams_[gpu != 0] = must(driver.make_stream(gpu));
    event_ = must(driver.make_event(last_));
  }

  int run() {
    std::printf("%s, %d GPUs; us, median of %u (99 of 100 are below the second)\n", driver_.gpus()[0].name.c_str(),
                last_ + 1, rounds);
    table();
    counts();
    waking();
    stream_of_messages();
    std::printf(wrong_ == 0 ? "all bytes right\n" : "%u WRONG\n", wrong_);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  struct Way {
    const char* name;
    std::byte *to, *from;
    int gpu;  ///< whose courier
  };

  void move(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    must(driver_.copy(streams_[last_ != 0], to, from, bytes));
    must(driver_.finish(streams_[last_ != 0]));
  }
  void fill(std::byte* memory, unsigned seed) {
    std::uint64_t state = seed * 0x9E37'79B9u + 1;
    for (std::uint64_t i = 0; i < kRoom; ++i)
      staging_[i] = static_cast<std::byte>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    move(memory, staging_, kRoom);
  }
  bool same(const std::byte* one, const std::byte* other, std::uint64_t bytes) {
    std::vector<std::byte> first(kRoom), second(kRoom);
    for (auto [from, to] : {std::pair{one, &first}, std::pair{other, &second}}) {
      move(staging_, from, kRoom);
      std::memcpy(to->data(), staging_, kRoom);
    }
    return std::memcmp(first.data(), second.data(), bytes) == 0 &&
           (bytes == kRoom || std::memcmp(first.data() + bytes, second.data() + bytes, kRoom - bytes) != 0);
  }

  void carry(Courier& courier, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    const std::uint64_t number = courier.post(to, from, bytes);
    if (number == 0) give_up("the courier takes nothing: " + courier.failure());
    Courier::State state = Courier::State::under_way;
    while (state == Courier::State::under_way) state = courier.look(number);
    if (state != Courier::State::done) give_up("a message came back: " + courier.failure());
  }
  Times carried(Courier& courier, const Way& way, std::uint64_t bytes) {
    std::vector<double> times;
    for (unsigned round = 0; round < rounds + kWarm; ++round) {
      const std::uint64_t began = clock::now_ns();
      carry(courier, way.to, way.from, bytes);
      if (round >= kWarm) times.push_back(static_cast<double>(clock::now_ns() - began) / 1000);
    }
    return of(times);
  }
  /// And looks whether all has come, and nothing else.
  Times checked(Courier& courier, const Way& way, std::uint64_t bytes) {
    fill(way.from, ++seed_);
    fill(way.to, ++seed_);
    const Times times = carried(courier, way, bytes);
    if (!same(way.to, way.from, bytes)) ++wrong_, std::printf("WRONG: %s, %lu bytes\n", way.name, bytes);
    return times;
  }
  Times bare(const Way& way, std::uint64_t bytes) {
    std::vector<double> times;
    for (unsigned round = 0; round < rounds / 4 + kWarm; ++round) {
      const std::uint64_t began = clock::now_ns();
      must(driver_.copy(streams_[last_ != 0], way.to, way.from, bytes));
      must(driver_.record(event_, streams_[last_ != 0]));
      while (!must(driver_.reached(event_))) {
      }
      if (round >= kWarm) times.push_back(static_cast<double>(clock::now_ns() - began) / 1000);
    }
    return of(times);
  }

  std::vector<Way> ways() const {
    return {{"to another GPU, read", here_, there_, last_},
            {"to another GPU, written", here_, there_, 0},
            {"within a GPU", here_, near_, last_},
            {"from pinned memory", here_, pinned_, last_},
            {"to pinned memory", pinned_, here_, last_}};
  }
  std::unique_ptr<Courier> courier(int gpu, gpu::CourierSettings settings = {}) {
    settings.patience_ns = 10'000'000'000;  // nothing else is on the GPUs
    Result<std::unique_ptr<Courier>> made = Courier::make(driver_, gpu, settings);
    if (!made) give_up("no courier: " + made.message());
    return std::move(*made);
  }

  void table() {
    std::unique_ptr<Courier> couriers[] = {courier(0), last_ != 0 ? courier(last_) : nullptr};
    std::printf("%-26s", "bytes");
    const std::vector<std::uint64_t> sizes = {8, 64, 512, 2048, 8192, 32768, 65536, 131072, 1 << 20};
    for (const std::uint64_t size : sizes) std::printf("%16lu", size);
    std::printf("\n");
    for (const Way& way : ways()) {
      std::printf("%-26s", way.name);
      for (const std::uint64_t size : sizes) {
        const Times times = checked(*couriers[way.gpu != 0 && last_ != 0], way, size);
        std::printf("%9.2f %6.2f", times.median, times.late);
      }
      std::printf("\n%-26s", "  copy engine");
      for (const std::uint64_t size : sizes) {
        const Times times = bare(way, size);
        std::printf("%9.2f %6.2f", times.median, times.late);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    // Ends that are not aligned, sides that are not alike.
    for (const std::uint64_t size : {1, 5, 17, 100, 3001, 40'001}) {
      for (const auto& [to, from] : {std::pair{0, 0}, {1, 1}, {8, 0}, {5, 9}, {3, 0}, {15, 15}}) {
        fill(there_, ++seed_);
        fill(here_, ++seed_);
        move(staging_, here_, kRoom);
        std::vector<std::byte> expected(staging_, staging_ + kRoom);
        move(staging_, there_, kRoom);
        std::copy_n(staging_ + from, size, expected.begin() + to);
        carry(*couriers[last_ != 0], here_ + to, there_ + from, size);
        move(staging_, here_, kRoom);
        if (std::memcmp(staging_, expected.data(), kRoom) != 0)
          ++wrong_, std::printf("WRONG: %d bytes from %d to %d\n", static_cast<int>(size), from, to);
      }
    }
  }

  void counts() {
    const Way way = ways().front();
    std::printf("\n%-26s%10s%10s%10s%10s%10s\n", "carriers of threads", "8", "2048", "8192", "65536", "131072");
    for (const unsigned threads : {256u, 512u, 1024u}) {
      for (const unsigned carriers : {1u, 2u, 4u, 6u}) {
        const std::unique_ptr<Courier> one = courier(way.gpu, {.threads = threads, .carriers = carriers});
        std::printf("%-26s", (std::to_string(carriers) + " of " + std::to_string(threads)).c_str());
        for (const std::uint64_t size : {8, 2048, 8192, 65536, 131072})
          std::printf("%10.2f", checked(*one, way, size).median);
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }

  void waking() {
    const Way way = ways().front();
    const std::unique_ptr<Courier> one = courier(way.gpu);
    carry(*one, way.to, way.from, 8);
    std::vector<double> times, posts, syncs;
    for (unsigned round = 0; round < rounds / 10; ++round) {
      const std::uint64_t slept = clock::now_ns();
      while (clock::now_ns() - slept < 500'000) {
      }
      const std::uint64_t began = clock::now_ns();
      const std::uint64_t number = one->post(way.to, way.from, 8);
      posts.push_back(static_cast<double>(clock::now_ns() - began) / 1000);
      while (one->look(number) == Courier::State::under_way) {
      }
      times.push_back(static_cast<double>(clock::now_ns() - began) / 1000);
      const std::uint64_t wait = clock::now_ns();
      must(driver_.finish_all(way.gpu));
      syncs.push_back(static_cast<double>(clock::now_ns() - wait) / 1000);
    }
    const Times asleep = of(times), posted = of(posts), synced = of(syncs);
    std::printf("\nit sleeps: %.2f %.2f, of these the launch %.2f %.2f; then cudaDeviceSynchronize() waits %.0f %.0f\n",
                asleep.median, asleep.late, posted.median, posted.late, synced.median, synced.late);
    // Messages that do not stop: it ends from time to time all the same.
    std::atomic<bool> stop{false};
    std::thread messages([&] {
      while (!stop.load()) carry(*one, way.to, way.from, 8);
    });
    syncs.clear();
    for (unsigned round = 0; round < rounds / 20; ++round) {
      const std::uint64_t wait = clock::now_ns();
      must(driver_.finish_all(way.gpu));
      syncs.push_back(static_cast<double>(clock::now_ns() - wait) / 1000);
    }
    stop.store(true);
    messages.join();
    const Times busy = of(syncs);
    std::printf("under messages that do not stop cudaDeviceSynchronize() waits %.0f %.0f; %lu launches\n", busy.median,
                busy.late, one->launches());
  }

  void stream_of_messages() {
    const Way way = ways().front();
    const std::unique_ptr<Courier> one = courier(way.gpu);
    std::printf("%u messages under way, us a message:", 16u);
    for (const std::uint64_t size : {8, 2048, 8192, 65536}) {
      std::vector<std::uint64_t> numbers(16, 0);
      const std::uint64_t began = clock::now_ns();
      for (unsigned i = 0; i < 4 * rounds; ++i) {
        std::uint64_t& number = numbers[i % 16];
        while (number != 0 && one->look(number) == Courier::State::under_way) {
        }
        number = one->post(way.to, way.from, size);
        if (number == 0) give_up("the courier takes nothing");
      }
      for (const std::uint64_t number : numbers)
        while (one->look(number) == Courier::State::under_way) {
        }
      std::printf("  %d B %.2f", static_cast<int>(size), static_cast<double>(clock::now_ns() - began) / 4000 / rounds);
    }
    std::printf("\n");
  }

  gpu::Driver& driver_;
  const int last_;
  std::byte *staging_, *pinned_, *here_, *there_, *near_;
  gpu::Stream streams_[2];
  gpu::Event event_;
  unsigned seed_ = 0, wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) rounds = static_cast<unsigned>(std::atoi(argv[1]));
  int status = 77;
  for (const gpu::Vendor& vendor : gpu::vendors()) {
    if (!vendor.driver()) {
      std::printf("%s: %s\n", vendor.title, vendor.driver().message().c_str());
      continue;
    }
    status = Bench(*vendor.driver().value()).run();
  }
  return status;
}
