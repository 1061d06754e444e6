// CkKernelPort and CkKernelCounter: looks at the ports and counters of a PE while it is idle, as work for idle times
// (CcdPROCESSOR_STILL_IDLE), and by a timer while it is busy. Neither is there while nothing is to be looked at.
#include "runtime/face/kernel_ports.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "machine/gpu/kernel_port.h"
#include "machine/gpu/vendors.h"
#include "runtime/api/kernel_port.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

namespace periapt {
namespace {

constexpr std::uint64_t look_interval_ns = 10'000;  // of a busy PE, at least: it looks between two entries
constexpr int messages_at_once = 64;                // of a port; then it is others' turn

struct OpenPort {
  std::uint32_t number;
  std::unique_ptr<gpu::KernelPort> ring;  // null: it is closed
  CkCallback to;
  std::uint64_t brought = 0;
  bool closing = false;
};
struct RaisedCounter {
  std::uint32_t number;
  std::unique_ptr<gpu::KernelCounter> its;  // null: it is closed
  std::size_t waits = 0;
};
struct Wait {
  RaisedCounter* counter;
  std::uint64_t value;
  CkCallback cb;
  void* message;
};

[[noreturn]] void refuse(const Pe& pe, const std::string& what, const std::string& why, const std::string& next) {
  fatal(what, describe_running(pe), why, next);
}

class KernelPorts {
 public:
  explicit KernelPorts(Pe& pe) : pe_(pe) {}
  static KernelPorts& of(Pe& pe) {
    KernelPorts*& its = find(pe);
    if (!its) its = new KernelPorts(pe);  // until the process ends, as the PE
    return *its;
  }
  static KernelPorts* if_any(const Pe& pe) { return find(pe); }

  OpenPort& add_port(const CkCallback& to, std::size_t messages, std::size_t bytes, int gpu);
  RaisedCounter& add_counter(int gpu);
  OpenPort& port(std::uint32_t number, const char* call);
  RaisedCounter& counter(std::uint32_t number, const char* call);
  void close(OpenPort& port);
  void close(RaisedCounter& counter);
  void wait(RaisedCounter& counter, std::uint64_t value, const CkCallback& cb, void* message);

  std::size_t that_may_send() const { return open_ + waits_.size(); }
  std::size_t timers() const { return has_timer_ ? 1 : 0; }
  std::string describe() const;

 private:
  static KernelPorts*& find(const Pe& pe) {
    static std::mutex mutex;
    static auto& all = *new std::map<const Pe*, KernelPorts*>;
    const std::lock_guard lock(mutex);
    return all[&pe];
  }
  gpu::OnGpu gpu_of(int gpu, const char* call) const;
  void begin_looking();
  void look();
  void look_at_ports();
  void look_at_waits();
  void go_on_closing(OpenPort& port);
  void set_timer();

  Pe& pe_;
  // Callbacks that run at once may open and close: nothing moves in memory, and what is closed goes after a look.
  std::vector<std::unique_ptr<OpenPort>> ports_;
  std::vector<std::unique_ptr<RaisedCounter>> counters_;
  std::vector<Wait> waits_;
  std::size_t open_ = 0;  // ports, those being closed too
  std::uint32_t last_number_ = 0;
  int listens_ = -1;  // the registration; -1: none
  bool has_timer_ = false, looking_ = false;
};

gpu::OnGpu KernelPorts::gpu_of(int gpu, const char* call) const {
  if (pe_.process.is_simulated())
    refuse(pe_, std::string(call) + " in a simulated run", "kernels take no virtual time", "run it without +sim");
  if (gpu < 0) {
    if (const auto found = gpu::gpu_of_thread()) return *found;
  } else if (gpu::Driver* const driver = gpu::first_driver()) {
    return {driver, gpu};
  }
  refuse(pe_, std::string(call) + ": no driver of a GPU is in use in this process",
         "there is no GPU, or no driver for it", "periapt-doctor says why");
}

OpenPort& KernelPorts::add_port(const CkCallback& to, std::size_t messages, std::size_t bytes, int gpu) {
  const char* const call = "CkKernelPort::open()";
  const gpu::OnGpu where = gpu_of(gpu, call);
  auto ring = gpu::KernelPort::open(*where.driver, where.gpu, messages, bytes);
  if (!ring)
    refuse(pe_, std::string(call) + ": " + ring.message(), "a number is wrong, or there is no memory left",
           "open(callback, messages on their way, bytes of a message at most, GPU)");
  ports_.push_back(std::make_unique<OpenPort>(OpenPort{++last_number_, std::move(*ring), to}));
  ++open_;
  begin_looking();
  return *ports_.back();
}

RaisedCounter& KernelPorts::add_counter(int gpu) {
  const char* const call = "CkKernelCounter::make()";
  const gpu::OnGpu where = gpu_of(gpu, call);
  auto made = gpu::KernelCounter::make(*where.driver, where.gpu);
  if (!made)
    refuse(pe_, std::string(call) + ": " + made.message(), "the number of the GPU is wrong, or there is no memory left",
           "make(GPU)");
  counters_.push_back(std::make_unique<RaisedCounter>(RaisedCounter{++last_number_, std::move(*made)}));
  return *counters_.back();
}

OpenPort& KernelPorts::port(std::uint32_t number, const char* call) {
  for (const auto& port : ports_)
    if (port->number == number && port->ring && !port->closing) return *port;
  refuse(pe_, std::string(call) + " of a port that is closed", "it was closed before, by way of another copy perhaps",
         "close it once");
}

RaisedCounter& KernelPorts::counter(std::uint32_t number, const char* call) {
  for (const auto& counter : counters_)
    if (counter->number == number && counter->its) return *counter;
  refuse(pe_, std::string(call) + " of a counter that is closed",
         "it was closed before, by way of another copy perhaps", "close it when nothing uses it any more");
}

void KernelPorts::close(OpenPort& port) {
  port.closing = true;
  pe_.begin_pending();
  if (Status begun = port.ring->begin_close(clock::now_ns()); !begun)
    refuse(pe_, "CkKernelPort::close(): " + begun.message(), "the GPU is lost", "periapt-doctor lists what is in use");
}

void KernelPorts::close(RaisedCounter& counter) {
  if (counter.waits != 0)
    refuse(pe_, "CkKernelCounter::close() of a counter that callbacks wait for",
           std::to_string(counter.waits) + " of them, and it is at " + std::to_string(counter.its->value()),
           "close it when they have come");
  counter.its.reset();
  std::erase_if(counters_, [](const auto& one) { return !one->its; });
}

void KernelPorts::wait(RaisedCounter& counter, std::uint64_t value, const CkCallback& cb, void* message) {
  pe_.begin_pending();
  ++counter.waits;
  waits_.push_back({&counter, value, cb, message});
  begin_looking();
}

// ---- looking

void KernelPorts::begin_looking() {
  if (listens_ >= 0) return;
  pe_.look_often();  // else a busy PE looks at its timers every 512 entries
  listens_ = pe_.conditions.call_always(
      scheduler::condition_still_idle, [](void* self) { static_cast<KernelPorts*>(self)->look(); }, this);
  set_timer();
}

void KernelPorts::set_timer() {
  if (has_timer_) return;
  has_timer_ = true;
  pe_.conditions.call_after(
      [](void* argument, double) {
        auto& self = *static_cast<KernelPorts*>(argument);
        self.has_timer_ = false;
        self.look();
        if (self.listens_ >= 0) self.set_timer();
      },
      this, look_interval_ns, clock::now_ns());
}

// A callback that is called at once may have a scheduler run within it, which looks too.
void KernelPorts::look() {
  if (std::exchange(looking_, true)) return;
  look_at_ports();
  look_at_waits();
  looking_ = false;
  if (that_may_send() != 0 || listens_ < 0) return;
  pe_.conditions.cancel(scheduler::condition_still_idle, std::exchange(listens_, -1));
}

void KernelPorts::look_at_ports() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    OpenPort& port = *ports_[i];
    port.brought +=
        static_cast<std::uint64_t>(port.ring->take(messages_at_once, [&port](std::span<const std::byte> message) {
          port.to.send(static_cast<int>(message.size()), message.data());
        }));
    if (const std::uint64_t bytes = port.ring->too_long(); bytes != 0) [[unlikely]]
      refuse(pe_,
             "a kernel sends " + std::to_string(bytes) + " bytes by a port for messages of at most " +
                 std::to_string(port.ring->handle().most),
             "ck_device_send() has answered ck_device_too_long",
             "open the port for longer messages, or send fewer bytes");
    if (port.closing) go_on_closing(port);
  }
  std::erase_if(ports_, [](const auto& port) { return !port->ring; });
}

void KernelPorts::go_on_closing(OpenPort& port) {
  const auto closing = port.ring->close_on(clock::now_ns());
  if (closing == gpu::KernelPort::Closing::under_way) return;
  if (closing == gpu::KernelPort::Closing::given_up)
    log::warn("a port of GPU " + std::to_string(port.ring->gpu()) + " is closed, and " +
              (port.ring->failure() ? "a message that a kernel had begun to send has not come: the kernel was ended, "
                                      "or stands still"
                                    : "what kernels had sent last may be lost: " + port.ring->failure().message()) +
              "; the port's memory is not used any more");
  port.ring.reset();
  --open_;
  pe_.end_pending();
}

void KernelPorts::look_at_waits() {
  for (std::size_t i = 0; i < waits_.size();) {
    if (waits_[i].counter->its->value() < waits_[i].value) {
      ++i;
      continue;
    }
    const Wait come = waits_[i];
    waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(i));
    --come.counter->waits;
    come.cb.send(come.message);
    pe_.end_pending();
  }
}

std::string KernelPorts::describe() const {
  std::string text;
  for (const auto& port : ports_) {
    if (!port->ring) continue;
    text += "a port of GPU " + std::to_string(port->ring->gpu()) + " on PE " + std::to_string(pe_.index) +
            (port->closing ? " is being closed" : " is open: a kernel may still send") + "; it has brought " +
            std::to_string(port->brought) + (port->brought == 1 ? " message\n" : " messages\n");
  }
  for (const Wait& wait : waits_)
    text += "a callback on PE " + std::to_string(pe_.index) + " waits until kernels raise a counter to " +
            std::to_string(wait.value) + "; it is at " + std::to_string(wait.counter->its->value()) + "\n";
  return text;
}

// Of the PE that has made it; else the run ends.
KernelPorts& own(int pe, const char* call) {
  Pe& here = *Pe::current();
  if (pe == here.index) return KernelPorts::of(here);
  if (pe < 0)
    refuse(here, std::string(call) + " of one that was default-constructed", "it was never made",
           "CkKernelPort::open(), CkKernelCounter::make()");
  refuse(here,
         std::string(call) + " on PE " + std::to_string(here.index) + " of one that PE " + std::to_string(pe) +
             " has made",
         "its object has migrated, or has been sent",
         "use it on the PE that has made it; kernels may have it anywhere");
}

}  // namespace

std::size_t kernels_that_may_send(const Pe& pe) {
  const KernelPorts* const ports = KernelPorts::if_any(pe);
  return ports ? ports->that_may_send() : 0;
}
std::size_t kernel_port_timers(const Pe& pe) {
  const KernelPorts* const ports = KernelPorts::if_any(pe);
  return ports ? ports->timers() : 0;
}
std::string describe_kernel_ports(const Pe& pe) {
  const KernelPorts* const ports = KernelPorts::if_any(pe);
  return ports ? ports->describe() : "";
}

}  // namespace periapt

using periapt::KernelPorts;
using periapt::Pe;

CkKernelPort CkKernelPort::open(const CkCallback& to, std::size_t messages, std::size_t bytes, int gpu) {
  Pe& here = *Pe::current();
  const periapt::OpenPort& made = KernelPorts::of(here).add_port(to, messages, bytes, gpu);
  CkKernelPort port;
  port.pe_ = here.index;
  port.number_ = made.number;
  port.handle_ = made.ring->handle();
  return port;
}

void CkKernelPort::close() {
  KernelPorts& ports = periapt::own(pe_, "CkKernelPort::close()");
  ports.close(ports.port(number_, "CkKernelPort::close()"));
}

CkKernelCounter CkKernelCounter::make(int gpu) {
  Pe& here = *Pe::current();
  const periapt::RaisedCounter& made = KernelPorts::of(here).add_counter(gpu);
  CkKernelCounter counter;
  counter.pe_ = here.index;
  counter.number_ = made.number;
  counter.handle_ = made.its->handle();
  return counter;
}

std::uint64_t CkKernelCounter::value() const {
  return periapt::own(pe_, "CkKernelCounter::value()").counter(number_, "CkKernelCounter::value()").its->value();
}

void CkKernelCounter::when(std::uint64_t value, const CkCallback& cb, void* message) {
  KernelPorts& ports = periapt::own(pe_, "CkKernelCounter::when()");
  ports.wait(ports.counter(number_, "CkKernelCounter::when()"), value, cb, message);
}

void CkKernelCounter::close() {
  KernelPorts& ports = periapt::own(pe_, "CkKernelCounter::close()");
  ports.close(ports.counter(number_, "CkKernelCounter::close()"));
}
