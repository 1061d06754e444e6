// Kernels that send messages to chares of all kinds, and raise counters. On a GPU of this machine; on the fake driver
// threads of the host run what a kernel would.
//
//   gpu_kernel_sends              each PE has ports to a chare, an element and a member of a group, with few places
//   gpu_kernel_sends standstill   nothing moves but that a kernel will send, once the watchdog has said so
//   gpu_kernel_sends standstills  the same, and when that has come nothing moves for good, which is told too
//   gpu_kernel_sends busy         a PE that always has an entry to run looks at its ports all the same
//   gpu_kernel_sends WRONG        makes that mistake: see Player::wrong()
#include "tests/gpu/kernel_sends.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "ckkernelport.h"
#include "kernel_sends.decl.h"
#include "machine/gpu/vendors.h"
#include "tests/gpu/driver_function.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Player players;
/*readonly*/ CProxy_Cell cells;

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d: this does not hold: %s", __LINE__, #condition)

namespace {

constexpr int rounds = 3, ports_of_pe = 3, places = 16;
constexpr unsigned threads_on_host = 3, messages_on_host = 200, threads_on_gpu = 600, messages_on_gpu = 50;

bool is_fake() { return getenv("PERIAPT_LIBCUDA") != nullptr || getenv("PERIAPT_LIBAMDHIP64") != nullptr; }
unsigned threads_of_kernel() { return is_fake() ? threads_on_host : threads_on_gpu; }
unsigned messages_of_thread() { return is_fake() ? messages_on_host : messages_on_gpu; }

/// The port as a thread of the host may use it.
ck_kernel_port on_host(ck_kernel_port port) {
  auto* const bytes_of = driver_function<void*(const void*)>("periapt_fake_gpu_bytes");
  port.counts = static_cast<ck_port_counts*>(bytes_of(port.counts));
  return port;
}

void start(const KernelOrders& orders) {
  if (!is_fake()) {
    const char* const error = start_on_gpu(0, orders);
    if (error) CkAbort("the kernel cannot be launched: %s", error);
    return;
  }
  KernelOrders there = orders;
  there.port = on_host(orders.port);
  for (unsigned thread = 0; thread < orders.threads; ++thread)
    std::thread([there, thread] {
      send_all(there, thread, [](ck_kernel_port port, const void* data, unsigned bytes) {
        while (ck_device_send(port, data, bytes) == ck_device_full) std::this_thread::yield();
      });
    }).detach();
}

std::atomic<bool> has_been_told{false};

/// What the process says, which still goes where it went.
class Told {
 public:
  Told() {
    int ends[2];
    DEMAND(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    from_ = ends[0];
  }
  void wait_for(const std::string& text) {
    while (said_.find(text) == std::string::npos) {
      char some[512];
      const auto bytes = read(from_, some, sizeof some);
      if (bytes <= 0 || write(terminal_, some, static_cast<std::size_t>(bytes)) != bytes) _exit(3);
      said_.append(some, static_cast<std::size_t>(bytes));
    }
  }
  void end() { dup2(terminal_, 2); }

 private:
  std::string said_;
  int terminal_ = dup(2), from_ = -1;
};

/// What one receiver has got.
class Got {
 public:
  void take(CkDataMsg* message) {
    SentByKernel sent = {};
    const std::size_t bytes = message->getSize();
    DEMAND(bytes == sizeof sent || bytes == 3 * sizeof(unsigned));
    memcpy(&sent, message->getData(), bytes);
    delete message;
    DEMAND(sent.number % 2 == (bytes == sizeof sent ? 0 : 1));
    for (unsigned k = 0; bytes == sizeof sent && k < 7; ++k) DEMAND(sent.rest[k] == sent.number * 7 + k);
    unsigned& next = next_[{sent.port, sent.thread}];
    DEMAND(sent.number == next++);
    ++count_;
  }
  int count() const { return count_; }

 private:
  std::map<std::pair<unsigned, unsigned>, unsigned> next_;  // message of a port and a thread
  int count_ = 0;
};

}  // namespace

class Main : public CBase_Main {
  Got got_;
  int counts_ = 0, of_others_ = 0;

 public:
  explicit Main(CkArgMsg* args) {
    mainProxy = thisProxy;
    const std::string how = args->argc > 1 ? args->argv[1] : "";
    delete args;
    if (!is_fake() && !periapt::gpu::first_driver()) {
      CkPrintf("SKIP: the program is on no GPU\n");
      CkExit();
      return;
    }
    players = CProxy_Player::ckNew(rounds);
    if (!how.empty()) {
      players[0].wrong(how);
      return;
    }
    cells = CProxy_Cell::ckNew(2 * CkNumPes() + 1);
    players.play();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void take(CkDataMsg* sent) { got_.take(sent); }
  void came(CkDataMsg* sent) {
    DEMAND(sent->getSize() == 4);
    delete sent;
    CkPrintf("it has come\n");
    CkExit();
  }
  // All that was sent has come: a port that is being closed is waited for.
  void quiet() {
    players.count();
    cells.count();
  }
  void counted(int, int* of_receivers) {
    of_others_ += of_receivers[0];
    if (++counts_ < 2) return;
    const int sent = rounds * CkNumPes() * static_cast<int>(threads_of_kernel() * messages_of_thread());
    DEMAND(got_.count() == sent);
    DEMAND(of_others_ == 2 * sent);
    CkPrintf("all that kernels have sent has come, %d messages\n", ports_of_pe * sent);
    CkExit();
  }
};

class Player : public CBase_Player {
  Got got_;
  int rounds_left_;
  CkKernelPort ports_[ports_of_pe];
  CkKernelCounter counter_;
  int entries_ = 0;  // of a busy PE

 public:
  explicit Player(int rounds) : rounds_left_(rounds) {}
  void play() {
    counter_ = CkKernelCounter::make();
    const CkCallback to[] = {
        CkCallback(CkIndex_Main::take(nullptr), mainProxy),
        CkCallback(CkIndex_Cell::take(nullptr), cells[(7 * CkMyPe() + rounds_left_) % (2 * CkNumPes() + 1)]),
        CkCallback(CkIndex_Player::take(nullptr), thisProxy[(CkMyPe() + 1) % CkNumPes()])};
    for (int i = 0; i < ports_of_pe; ++i) {
      ports_[i] = CkKernelPort::open(to[i], places, sizeof(SentByKernel));
      DEMAND(ports_[i]);
      const int number = (rounds_left_ * CkNumPes() + CkMyPe()) * ports_of_pe + i;
      start({ports_[i].handle(), counter_.handle(), static_cast<unsigned>(number), threads_of_kernel(),
             messages_of_thread()});
    }
    counter_.when(ports_of_pe * threads_of_kernel(), CkCallback(CkIndex_Player::raised(), thisProxy[CkMyPe()]));
  }
  void raised() {
    DEMAND(counter_.value() == ports_of_pe * threads_of_kernel());
    counter_.close();
    for (CkKernelPort& port : ports_) port.close();
    if (--rounds_left_ > 0) play();
  }
  void take(CkDataMsg* sent) { got_.take(sent); }
  void count() {
    const int count = got_.count();
    contribute(sizeof count, &count, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }

  // On PE 0.
  void wrong(std::string how) {
    const CkCallback came(CkIndex_Main::came(nullptr), mainProxy);
    if (how == "gpu") CkKernelPort::open(came, 4, 4, 17);
    if (how == "places") CkKernelPort::open(came, 0, 4);
    if (how == "bytes") CkKernelPort::open(came, 4, 1 << 21);
    if (how == "unmade") CkKernelPort().close();
    if (how == "elsewhere") {
      ports_[0] = CkKernelPort::open(came, 4, 4);
      std::vector<char> bytes(sizeof ports_[0]);
      memcpy(bytes.data(), static_cast<const void*>(&ports_[0]), bytes.size());
      return thisProxy[1].wrong("close " + std::string(bytes.begin(), bytes.end()));
    }
    if (how.compare(0, 6, "close ") == 0) {
      memcpy(static_cast<void*>(&ports_[0]), how.data() + 6, sizeof ports_[0]);
      ports_[0].close();
    }
    if (how == "twice") {
      ports_[0] = CkKernelPort::open(came, 4, 4);
      ports_[1] = ports_[0];
      ports_[0].close();
      ports_[1].close();
    }
    if (how == "awaited") {
      counter_ = CkKernelCounter::make();
      counter_.when(2, came);
      counter_.close();
    }
    if (how == "too_long") {
      const ck_kernel_port port = on_host(CkKernelPort::open(came, 4, 4).handle());
      const char bytes[5] = {};
      DEMAND(ck_device_send(port, bytes, sizeof bytes) == ck_device_too_long);
    }
    if (how == "standstill") send_when_told();
    if (how == "standstills") raise_when_told();
    if (how == "busy") be_busy();
  }

 private:
  // Sends when the watchdog has said that something may still come.
  void send_when_told() {
    const CkCallback came(CkIndex_Main::came(nullptr), mainProxy);
    const ck_kernel_port port = on_host(CkKernelPort::open(came, 4, 4).handle());
    counter_ = CkKernelCounter::make();
    counter_.when(2, CkCallback(CkCallback::ignore));
    std::thread([port, told = Told()]() mutable {
      told.wait_for("it is at 0");
      told.end();
      ck_device_send(port, "told", 4);
    }).detach();
  }
  // By entries of 20 us, without end until Main has what was sent before the first.
  void be_busy() {
    if (entries_++ == 0) {
      const ck_kernel_port port =
          on_host(CkKernelPort::open(CkCallback(CkIndex_Main::came(nullptr), mainProxy), 4, 4).handle());
      DEMAND(ck_device_send(port, "busy", 4) == ck_device_sent);
    }
    DEMAND(entries_ < 100);
    for (const double until = CkWallTimer() + 20e-6; CkWallTimer() < until;) {
    }
    thisProxy[0].wrong("busy");
  }
  // The same with a counter alone, and ends the run when the watchdog has spoken again.
  void raise_when_told() {
    counter_ = CkKernelCounter::make();
    counter_.when(2, CkCallback(CkCallback::ignore));
    std::thread([counter = counter_.handle(), told = Told()]() mutable {
      told.wait_for("it is at 0");
      ck_device_signal(counter, 2);
      told.wait_for("CkExit() was not called");
      told.end();
      has_been_told = true;
    }).detach();
    CcdCallOnConditionKeep(
        CcdPROCESSOR_STILL_IDLE,
        [](void*) {
          if (has_been_told) CkExit();
        },
        nullptr);
  }
};

class Cell : public CBase_Cell {
  Got got_;

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void take(CkDataMsg* sent) { got_.take(sent); }
  void count() {
    const int count = got_.count();
    contribute(sizeof count, &count, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};

#include "kernel_sends.def.h"
