// Arrays in the memory of GPUs, of all kinds, to receivers of all kinds, while streams still write them and elements
// migrate; buffers that two elements read and write by hand. It runs on the GPUs of the process's driver, which in
// ./check is a fake one; without any, all memory is the host's.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "device_arrays.decl.h"
#include "tests/gpu/driver_function.h"
#include "tests/host/amount.h"
#include "tests/zero-copy/device_memory.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {

using namespace device_memory;

constexpr int cell_count = 11;
constexpr int sizes[] = {0, 1, 700, 150'001, periapt::tests::amount(900'001)};
// Of the largest arrays, which go in several pieces, a few show what there is to see; of large ones one for each kind
// of memory, and one more. Elements lie in blocks: those whose neighbours are on other PEs, of three or four, are among
// them.
constexpr bool sends(int size, int i) {
  if (i == 3 || i == 5 || i == cell_count - 1) return true;
  return size <= 100'000 || (size <= 200'000 && i % 2 == 1);
}
constexpr int senders_of(int size) {
  int count = 0;
  for (int i = 0; i < cell_count; ++i) count += sends(size, i);
  return count;
}

// Memory of one object, by the arrays that lie in it.
class Memories {
 public:
  Memory& make(MemoryType kind, std::size_t bytes) {
    all_.push_back(std::make_unique<Memory>(kind, bytes));
    return *all_.back();
  }
  // Of the next kind, for an array that arrives: a post entry method does this.
  void take(int*& x, int n, CkDeviceBufferPost* post) {
    const Memory& memory = make(kinds[all_.size() % 5], static_cast<std::size_t>(n) * sizeof(int));
    x = memory.at<int>();
    post[0].cuda_stream = memory.stream();
  }
  bool holds(const int* x, int n, int seed) const {
    for (const auto& memory : all_)
      if (memory->at<int>() == x) return memory->holds(x, static_cast<std::size_t>(n), seed);
    return false;
  }

 private:
  std::vector<std::unique_ptr<Memory>> all_;
};

// Of CUDA's driver, in a context that is not the GPU's primary one.
int* make_in_other_context(std::size_t bytes) {
  void* context = nullptr;
  int* made = nullptr;
  DEMAND(driver_function<int(void**, unsigned, int)>("cuCtxCreate_v2")(&context, 0, 0) == 0);
  DEMAND(driver_function<int(int**, std::size_t)>("cuMemAlloc_v2")(&made, bytes) == 0);
  DEMAND(driver_function<int(void**)>("cuCtxPopCurrent_v2")(&context) == 0);
  return made;
}

// To send, with a callback that tells the main chare that it has been read.
CkDeviceBuffer to_send(const Memory& memory) { return memory.to_send(CkCallback(CkIndex_Main::one(), mainProxy)); }

}  // namespace

class Main : public CBase_Main {
  int left_ = 0;
  CthThread thread_ = nullptr;
  Memories in_;

  // Each of the calls that are made meanwhile tells one() when all is well.
  void wait(int count) {
    left_ += count;
    while (left_ != 0) {
      thread_ = CthSelf();
      CthSuspend();
      thread_ = nullptr;
    }
    CkWaitQD();  // nothing comes twice
    DEMAND(left_ == 0);
  }

 public:
  explicit Main(CkArgMsg* args) {
    const std::string wrong = args->argc > 1 ? args->argv[1] : "";
    const std::string file = args->argc > 2 ? args->argv[2] : "";
    delete args;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    branches = CProxy_Branch::ckNew();
    nodes = CProxy_NodeBranch::ckNew();
    if (wrong.empty())
      thisProxy.run();
    else
      cells[0].wrong(wrong, file);
  }
  void one() {
    --left_;
    if (left_ == 0 && thread_) CthAwaken(thread_);
  }
  void toMain(int*& x, int n, int, CkDeviceBufferPost* post) { in_.take(x, n, post); }
  void toMain(int* x, int n, int seed) {
    DEMAND(in_.holds(x, n, seed));
    one();
  }

  void reached(CkDataMsg* message) {
    DEMAND(message->getSize() == 1);
    delete message;
    one();
  }

  void run() {
    CkPrintf("on %s\n", driver() ? driver()->vendor() : "no GPU");
    for (int size : sizes) {
      for (int kind = 0; kind < 5; ++kind) {
        cells.sendAll(size, kind);
        // x and y are read and arrive; then one to a branch, a node's branch, the main chare, a thread
        wait(senders_of(size) * (3 + 2 * 4));
      }
    }
    // To collections: the elements go along.
    for (int size : {0, 1, 5000, 150'001}) {
      Memories sent;
      for (int kind = 0; kind < 5; ++kind) {
        Memory& memory = sent.make(kinds[kind], static_cast<std::size_t>(size) * sizeof(int));
        memory.fill<int>(static_cast<std::size_t>(size), size + kind);
        cells.all(to_send(memory), size, size + kind);
        branches.all(to_send(memory), size, size + kind);
        nodes.all(to_send(memory), size, size + kind);
      }
      wait(5 * (cell_count + CkNumPes() + CkNumNodes() + 3));
    }
    // Elements that are on the move.
    for (int i = 0; i < cell_count; ++i) cells[i].wander(12);
    {
      Memories sent;
      for (int i = 0; i < cell_count; ++i) {
        Memory& memory = sent.make(MemoryType::device, 30'000 * sizeof(int));
        memory.fill<int>(30'000, i);
        for (int k = 0; k < 4; ++k) cells[i].chased(30'000, to_send(memory), i, k);
      }
      wait(cell_count + cell_count * 4 * 2);
    }
    cells.rounds(9);
    wait(cell_count);
    if (driver()) {  // what hapiAddCallback() is
      Memory& memory = in_.make(MemoryType::managed, 90'000);
      memory.fill<char>(90'000, 5);
      const CkCallback told(CkIndex_Main::reached(nullptr), thisProxy);
      if (std::string(driver()->vendor()) == "cuda")
        periapt::send_when_reached(memory.stream(), told, CkDataMsg::buildNew(1, "x"));
      else
        periapt::send_when_reached(reinterpret_cast<ihipStream_t*>(memory.stream()), told, CkDataMsg::buildNew(1, "x"));
      wait(1);
    }
    cells.read();
    wait(cell_count);
    CkPrintf("all arrays have arrived\n");
    CkExit();
  }
};

class Cell : public CBase_Cell {
  Cell_SDAG_CODE Memories sent_, in_;
  std::unique_ptr<Memory> x_, y_, a_, b_;
  int round = 0;
  CkDevicePersistent from_, to_;
  int ends_ = 0;

  int next() const { return (thisIndex + 1) % cell_count; }

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | round; }

  void sendAll(int size, int kind) {
    if (!sends(size, thisIndex)) return;
    const auto n = static_cast<std::size_t>(size);
    const MemoryType of = kinds[kind];
    const int seed = 100 * size + thisIndex;
    Memory& x = sent_.make(of, n * sizeof(int));
    Memory& y = sent_.make(kinds[(kind + 1) % 5], 2 * n + 1);
    x.fill<int>(n, seed);
    y.fill<char>(2 * n + 1, seed);
    int z[3] = {size, kind, thisIndex};
    cells[next()].take((kind + thisIndex) % 5, size, to_send(x), std::string(static_cast<std::size_t>(thisIndex), 'c'),
                       to_send(y), z, thisIndex);
    cells[next()].inThread(to_send(x), size, thisIndex);
    branches[thisIndex % CkNumPes()].take(to_send(x), size, thisIndex);
    nodes[thisIndex % CkNumNodes()].take(to_send(x), size, thisIndex);
    mainProxy.toMain(to_send(x), size, seed);
  }

  void take(int kind, int n, int*& x, std::string&, char*& y, int* z, int from, CkDeviceBufferPost* post) {
    DEMAND(z[0] == n && z[2] == from);
    x_ = std::make_unique<Memory>(kinds[kind], static_cast<std::size_t>(n) * sizeof(int));
    y_ = std::make_unique<Memory>(kinds[(kind + 2) % 5], 2 * static_cast<std::size_t>(n) + 1);
    // What the stream still does to the memory comes before the elements.
    x_->fill<int>(static_cast<std::size_t>(n), -1);
    x = x_->at<int>();
    y = y_->at<char>();
    post[0].cuda_stream = x_->stream();
    post[1].cuda_stream = y_->stream();
  }
  void take(int, int n, int* x, std::string name, char* y, int* z, int from) {
    const auto size = static_cast<std::size_t>(n);
    DEMAND(x == x_->at<int>() && y == y_->at<char>() && name.size() == static_cast<std::size_t>(from) && z[2] == from);
    DEMAND(x_->holds(x, size, 100 * n + from));
    DEMAND(y_->holds(y, 2 * size + 1, 100 * n + from));
    mainProxy.one();
  }
  // What has to end with a sentence.
  void wrong(const std::string& how, const std::string& file) {
    auto lower = std::make_unique<Memory>(MemoryType::device, 4000);
    x_ = std::make_unique<Memory>(MemoryType::device, 4000);
    lower.reset();  // what is made next takes its place, and not that of what is freed
    const CkDevicePersistent mine(x_->at<int>(), 4000, x_->stream());
    if (how == "freed") {
      int* const freed = x_->at<int>();
      x_.reset();
      return cells[cell_count - 1].small(CkDeviceBuffer(freed), 1000);
    }
    if (how == "freed_later") {
      cells[cell_count - 1].stand(file);
      cells[cell_count - 1].late(CkDeviceBuffer(x_->at<int>()), 1000, how);
      return thisProxy[thisIndex].drop(200, file);
    }
    if (how == "context") return cells[cell_count - 1].late(CkDeviceBuffer(make_in_other_context(4000)), 1000, how);
    if (how == "lost" || how.find("posted") == 0) cells[cell_count - 1].late(CkDeviceBuffer(x_->at<int>()), 1000, how);
    if (how == "unset") cells[cell_count - 1].unset(CkDeviceBuffer(x_->at<int>(), x_->stream()), 1000);
    if (how == "small") cells[cell_count - 1].small(CkDeviceBuffer(x_->at<int>(), x_->stream()), 1000);
    if (how == "foreign") cells[cell_count - 1].misused(mine);
    if (how == "large") {
      CkDevicePersistent whole = mine, part(x_->at<int>(), 3999, x_->stream());
      part.get(whole);
    }
  }
  void unset(int*&, int, CkDeviceBufferPost*) {}
  void unset(int*, int) {}
  void small(int*& x, int, CkDeviceBufferPost* post) {
    x = in_.make(MemoryType::device, 3000).at<int>();
    post[0].cuda_stream = periapt::DeviceStream();
  }
  void small(int*, int) {}
  // Until the sender has freed what it has sent.
  void stand(const std::string& file) {
    while (access(file.c_str(), F_OK) != 0) usleep(1000);
  }
  // When the call has left.
  void drop(int rounds, const std::string& file) {
    if (rounds != 0) return thisProxy[thisIndex].drop(rounds - 1, file);
    x_.reset();
    std::ofstream made(file);
  }
  void late(int*& x, int n, std::string& how, CkDeviceBufferPost* post) {
    if (how == "posted_then_freed") a_ = std::make_unique<Memory>(MemoryType::device, 4000);
    y_ = std::make_unique<Memory>(MemoryType::device, 4000);
    x = y_->at<int>();
    post[0].cuda_stream = y_->stream();
    if (how == "posted_freed") y_.reset();
    if (how != "posted_then_freed") return;
    Memory& other = in_.make(MemoryType::device, 4000);
    other.fill<int>(static_cast<std::size_t>(n), 1);  // it takes a while
    post[0].cuda_stream = other.stream();
    thisProxy[thisIndex].dropPosted();
  }
  void late(int*, int, const std::string&) {
    CkPrintf("it has arrived\n");
    CkExit();
  }
  // What is mapped then takes the first one's place.
  void dropPosted() {
    a_.reset();
    y_.reset();
  }
  void misused(CkDevicePersistent theirs) { theirs.get(theirs); }

  void inThread(int*& x, int n, int, CkDeviceBufferPost* post) { in_.take(x, n, post); }
  void inThread(int* x, int n, int from) {
    CthYield();
    all(x, n, 100 * n + from);
  }

  // Its stream is the thread's default one.
  void all(int*& x, int n, int, CkDeviceBufferPost*) {
    x = in_.make(kinds[thisIndex % 5], static_cast<std::size_t>(n) * sizeof(int)).at<int>();
  }
  void all(int* x, int n, int seed) {
    DEMAND(in_.holds(x, n, seed));
    mainProxy.one();
  }

  void wander(int left) {
    if (left == 0) return mainProxy.one();
    thisProxy[thisIndex].wander(left - 1);
    migrateMe((CkMyPe() + 1 + left % 2) % CkNumPes());
  }
  void chased(int n, int*& x, int, int, CkDeviceBufferPost* post) { in_.take(x, n, post); }
  void chased(int n, int* x, int seed, int) { all(x, n, seed); }

  // Neighbours exchange parts again and again; every second one is cut short by its receiver.
  void sendRound() {
    Memory& out = sent_.make(MemoryType::device, 4000 * sizeof(int));
    out.fill<int>(4000, round);
    cells[next()].halo(round, 4000, CkDeviceBuffer(out.at<int>(), out.stream()), thisIndex);
  }
  void halo(int ref, int& n, int*& x, int, CkDeviceBufferPost* post) {
    in_.take(x, n, post);
    if (ref % 2) n = 123;
  }
  void checkRound(const int* x, int n, int from) {
    DEMAND(from == (thisIndex + cell_count - 1) % cell_count && n == (round % 2 ? 123 : 4000));
    DEMAND(in_.holds(x, n, round));
  }

  // Reads its neighbour's buffer and writes into another one there.
  void read() {
    x_ = std::make_unique<Memory>(MemoryType::device, 50'000 * sizeof(int));
    y_ = std::make_unique<Memory>(kinds[thisIndex % 5], 50'000 * sizeof(int));
    x_->fill<int>(50'000, thisIndex);
    x_->finish();  // the one that reads does not know this stream
    from_ = CkDevicePersistent(x_->at<int>(), 50'000 * sizeof(int),
                               CkCallback(CkIndex_Cell::exchanged(), thisProxy[thisIndex]), x_->stream());
    to_ = CkDevicePersistent(y_->at<int>(), 50'000 * sizeof(int),
                             CkCallback(CkIndex_Cell::exchanged(), thisProxy[thisIndex]), y_->stream());
    if (thisIndex % 2) {
      from_.open();
      to_.open();
    }
    cells[next()].exchange(from_, to_);
  }
  void exchange(CkDevicePersistent from, CkDevicePersistent to) {
    const CkCallback told(CkIndex_Cell::exchanged(), thisProxy[thisIndex]);
    a_ = std::make_unique<Memory>(MemoryType::device, 50'000 * sizeof(int));
    b_ = std::make_unique<Memory>(MemoryType::managed, 50'000 * sizeof(int));
    CkDevicePersistent whole(a_->at<int>(), 50'000 * sizeof(int), told, a_->stream());
    whole.get(from);
    b_->fill<int>(40'000, 7);
    CkDevicePersistent part(b_->at<int>(), 40'000 * sizeof(int), told, b_->stream());
    part.put(to);
  }
  // Two of its own transfers, and two by the one that it has told of its buffers.
  void exchanged() {
    if (++ends_ != 4) return;
    DEMAND(a_->holds(a_->at<int>(), 50'000, (thisIndex + cell_count - 1) % cell_count));
    DEMAND(y_->holds(y_->at<int>(), 40'000, 7));
    from_.close();
    to_.close();
    mainProxy.one();
  }
};

// What a group's branches do, and a node group's.
template <class Base>
class Taking : public Base {
  Memories in_;

 public:
  void take(int*& x, int n, int, CkDeviceBufferPost* post) { in_.take(x, n, post); }
  void take(int* x, int n, int from) { all(x, n, 100 * n + from); }
  void all(int*& x, int n, int, CkDeviceBufferPost* post) { in_.take(x, n, post); }
  void all(int* x, int n, int seed) {
    DEMAND(in_.holds(x, n, seed));
    mainProxy.one();
  }
};
class Branch : public Taking<CBase_Branch> {};
class NodeBranch : public Taking<CBase_NodeBranch> {};

#include "device_arrays.def.h"
