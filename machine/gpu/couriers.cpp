#include "machine/gpu/couriers.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "base/clock.h"
#include "base/hexadecimal.h"
#include "base/log.h"

namespace periapt::gpu {
namespace {

constexpr unsigned kRounds = 8;                      // of a comparison, of which the best counts
constexpr std::uint64_t kBytes = 8, kScratch = 128;  // of a message there
constexpr std::uint64_t kBusy_ns = 2'000'000;        // the copy engines of a GPU that is not busy are faster than that

// Binds the name of the process that came to that GPU as number `which`. -1: it is taken. An abstract name: it goes
// with the process.
int take_name(const Gpu& gpu, int which) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  char* const text = name.sun_path + 1;
  const int length =
      std::snprintf(text, sizeof(name.sun_path) - 1, "periapt-gpu-%s-%d", hexadecimal(gpu.uuid).c_str(), which);
  const int taken = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  if (taken >= 0 && ::bind(taken, reinterpret_cast<const sockaddr*>(&name), size) == 0) return taken;
  if (taken >= 0) ::close(taken);
  return -1;
}

std::string in_us(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f us", static_cast<double>(ns) / 1000);
  return text;
}

}  // namespace

Couriers::Couriers(Driver& driver, const CourierSettings& settings) : driver_(driver), settings_(settings) {
  for (std::size_t i = 0; i < driver.gpus().size(); ++i) gpus_.push_back(std::make_unique<OfGpu>());
}

Couriers::~Couriers() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    OfGpu& of = *gpus_[i];
    if (of.presence >= 0) ::close(of.presence);
    if (of.scratch != nullptr) static_cast<void>(driver_.free(static_cast<int>(i), MemoryType::device, of.scratch));
  }
}

// Until the process ends: static destructors run when the driver may be gone.
Couriers& Couriers::of(Driver& driver) {
  static std::mutex mutex;
  static auto& all = *new std::map<Driver*, std::unique_ptr<Couriers>>;
  std::lock_guard lock(mutex);
  std::unique_ptr<Couriers>& couriers = all[&driver];
  if (couriers == nullptr) couriers = std::make_unique<Couriers>(driver);
  return *couriers;
}

Courier* Couriers::at(int gpu, CourierUse use) {
  if (use == CourierUse::off) return nullptr;
  OfGpu& of = *gpus_[static_cast<std::size_t>(gpu)];
  if (!of.is_settled.load(std::memory_order_acquire)) {
    const unsigned asked = of.asked.fetch_add(1, std::memory_order_relaxed);
    const bool is_many = asked + 1 >= of.enough.load(std::memory_order_relaxed);
    if (asked == 0 || is_many || use == CourierUse::on) settle(of, gpu, use, is_many);
  }
  return of.serves.load(std::memory_order_acquire);
}

// One thread does, the others' messages go another way meanwhile.
void Couriers::settle(OfGpu& of, int gpu, CourierUse use, bool is_many) {
  std::unique_lock lock(of.mutex, std::try_to_lock);
  if (!lock || of.is_settled.load(std::memory_order_relaxed)) return;
  appear(of, gpu);
  Verdict verdict;
  if (use == CourierUse::on) {
    const Status made = make(of, gpu, 1);  // the first message is enough
    verdict = {made.ok(), made.ok() ? "as the command line says" : made.message()};
  } else if (!is_many) {
    return;
  } else if (!judge(of, gpu, verdict)) {
    of.asked.store(1, std::memory_order_relaxed);
    of.enough.store(of.enough.load(std::memory_order_relaxed) * 4, std::memory_order_relaxed);
    return;
  }
  const std::string whose = "small messages of GPU " + std::to_string(gpu) + " go by ";
  if (verdict.is_used) {
    log::detail(whose + "the courier: " + verdict.why);
  } else if (use == CourierUse::on) {
    log::warn(whose + "its copy engines, whatever +gpu-courier says: " + verdict.why);
  } else {
    log::detail(whose + "its copy engines: " + verdict.why);
  }
  if (!verdict.is_used) of.courier.reset();
  of.serves.store(of.courier.get(), std::memory_order_release);
  of.is_settled.store(true, std::memory_order_release);
}

Couriers::Verdict Couriers::judge(int gpu) {
  OfGpu& of = *gpus_[static_cast<std::size_t>(gpu)];
  std::lock_guard lock(of.mutex);
  appear(of, gpu);
  Verdict verdict;
  if (judge(of, gpu, verdict)) return verdict;
  return {false, "the GPU is too busy to compare it with the copy engines"};
}

bool Couriers::judge(OfGpu& of, int gpu, Verdict& verdict) {
  if (!driver_.runs_processes_together(gpu) && !is_alone(of, gpu)) {
    verdict = {false, "other processes use this GPU too, and without MPS their kernels take turns"};
    return true;
  }
  if (const Status made = make(of, gpu, settings_.likely); !made) {
    verdict = {false, made.message()};
    return true;
  }
  return compare(of, gpu, verdict);
}

Status Couriers::make(OfGpu& of, int gpu, unsigned likely) {
  if (of.courier != nullptr) return {};
  CourierSettings settings = settings_;
  settings.likely = likely;
  Result<std::unique_ptr<Courier>> made = Courier::make(driver_, gpu, settings);
  if (!made) return made.status();
  of.courier = std::move(*made);
  return {};
}

// ---- which is faster

bool Couriers::compare(OfGpu& of, int gpu, Verdict& verdict) {
  if (of.scratch == nullptr) {
    const Result<std::byte*> scratch = driver_.allocate(gpu, MemoryType::device, kScratch);
    if (!scratch) {
      verdict = {false, scratch.message()};
      return true;
    }
    of.scratch = *scratch;
  }
  const std::uint64_t engine = time_of_engine(of, gpu), courier = time_of_courier(of);
  if (engine == 0 || (courier == 0 && of.courier->failure().empty())) return false;
  if (courier == 0) {
    verdict = {false, of.courier->failure()};
  } else {
    verdict = {courier < engine, "8 bytes take it " + in_us(courier) + ", and a copy engine " + in_us(engine)};
  }
  return true;
}

// 0: it was not to be known.
std::uint64_t Couriers::time_of_engine(OfGpu& of, int gpu) {
  const Result<Stream> stream = driver_.make_stream(gpu);
  const Result<Event> event = stream ? driver_.make_event(gpu) : Result<Event>(stream.status());
  std::uint64_t best = ~std::uint64_t{0};
  bool is_known = event.ok();
  for (unsigned round = 0; is_known && round < kRounds; ++round) {
    const std::uint64_t began = clock::now_ns();
    is_known = driver_.copy(*stream, of.scratch + kScratch / 2, of.scratch, kBytes) && driver_.record(*event, *stream);
    Result<bool> there = false;
    while (is_known && there && !*there) {
      there = driver_.reached(*event);
      is_known = there && clock::now_ns() - began < kBusy_ns;
    }
    best = std::min(best, clock::now_ns() - began);
  }
  if (event) driver_.destroy(*event);
  if (stream) driver_.destroy(*stream);
  return is_known ? best : 0;
}

std::uint64_t Couriers::time_of_courier(OfGpu& of) {
  Courier& courier = *of.courier;
  std::uint64_t best = ~std::uint64_t{0};
  for (unsigned round = 0; round < kRounds; ++round) {
    const std::uint64_t began = clock::now_ns(), number = courier.post(of.scratch + kScratch / 2, of.scratch, kBytes);
    if (number == 0) return 0;
    Courier::State state = Courier::State::under_way;
    while (state == Courier::State::under_way) state = courier.look(number);
    if (state != Courier::State::done) return 0;
    best = std::min(best, clock::now_ns() - began);
  }
  return best;
}

// ---- other processes

void Couriers::appear(OfGpu& of, int gpu) {
  constexpr int kMost = 64;
  const Gpu& which = driver_.gpus()[static_cast<std::size_t>(gpu)];
  for (int number = 0; of.presence < 0 && number < kMost; ++number) {
    of.presence = take_name(which, number);
    of.is_first = number == 0;
  }
}

bool Couriers::is_alone(const OfGpu& of, int gpu) const {
  const int next = of.is_first ? take_name(driver_.gpus()[static_cast<std::size_t>(gpu)], 1) : -1;
  if (next >= 0) ::close(next);
  return next >= 0;
}

}  // namespace periapt::gpu
