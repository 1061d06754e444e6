// Reductions of memory of GPUs, of all kinds: by all members of arrays, groups, node groups and sections, to a GPU's
// memory and to the host's, while streams still write what is contributed and elements migrate. It runs on the GPUs of
// the process's driver, which in ./check is a fake one; without any, all memory is the host's.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu_reductions.decl.h"
#include "machine/gpu/folds.h"
#include "runtime/scheduler/pe.h"
#include "runtime/zero_copy/device_sums.h"
#include "tests/gpu/driver_function.h"
#include "tests/gpu/fake/faults.h"
#include "tests/zero-copy/device_memory.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {

using namespace device_memory;
using Type = CkReduction::reducerType;

constexpr int cell_count = 11;
constexpr int types_of_numbers = CkReduction::product_char - CkReduction::sum_char;

// What contributor number `giver` of a reduction gives. Products of eleven are whole in each type.
int value(int giver, int i) { return 1 + (giver + i) % 3; }

template <class T>
T expected(Type type, int contributors, int i) {
  long long all = value(0, i);
  for (int giver = 1; giver < contributors; ++giver) {
    const long long one = value(giver, i);
    switch ((type - CkReduction::sum_char) / types_of_numbers) {
      case 0:
        all += one;
        break;
      case 1:
        all *= one;
        break;
      case 2:
        all = std::max(all, one);
        break;
      default:
        all = std::min(all, one);
    }
  }
  return static_cast<T>(all);
}
template <class T>
bool holds(const T* x, int n, Type type, int contributors) {
  for (int i = 0; i < n; ++i)
    if (x[i] != expected<T>(type, contributors, i)) return false;
  return true;
}

// Calls function(T()) with the type that the reducer is for.
template <class Function>
decltype(auto) with_type(Type type, Function function) {
  switch ((type - CkReduction::sum_char) % types_of_numbers) {
    case 0:
      return function(char());
    case 1:
      return function(short());
    case 2:
      return function(int());
    case 3:
      return function(long());
    case 4:
      return function(0LL);
    case 5:
      return function(static_cast<unsigned char>(0));
    case 6:
      return function(static_cast<unsigned short>(0));
    case 7:
      return function(0U);
    case 8:
      return function(0UL);
    case 9:
      return function(0ULL);
    case 10:
      return function(0.0F);
    default:
      return function(0.0);
  }
}

bool began_here = false;  // not from a checkpoint

// An array of one element is on PE 0, and so is what it contributes: the branch there writes over it when it has the
// result.
std::atomic<Memory*> given_alone{nullptr};
std::atomic<std::thread::id> giving_thread;  // PEs may share one
std::atomic<bool> is_overwritten{false};

thread_local bool contributes = false;  // an element does

// Memory that is contributed stays until the end: an element may have gone by the time that it is read.
Memory& make(MemoryType kind, std::size_t bytes) {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<Memory>>;
  auto made = std::make_unique<Memory>(kind, bytes);
  std::lock_guard lock(mutex);
  all.push_back(std::move(made));
  return *all.back();
}

// What contributor `giver` gives, still being written by its stream.
Memory& make_contribution(int giver, int size, Type type) {
  return with_type(type, [&](auto zero) -> Memory& {
    std::vector<decltype(zero)> values(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) values[static_cast<std::size_t>(i)] = static_cast<decltype(zero)>(value(giver, i));
    Memory& memory = make(kinds[giver % 5], values.size() * sizeof zero);
    memory.write(values);
    return memory;
  });
}
std::size_t bytes_of(int size, Type type) {
  return static_cast<std::size_t>(size) * with_type(type, [](auto zero) { return sizeof zero; });
}
// Numbers whose sum depends on the order in which they are added, as a thousand of them do.
double rounded_value(int giver, int i) { return (giver * 7919 + i * 31) % 10007 / 3.0 * (giver % 2 != 0 ? 1 : 1e6); }
Memory& make_rounded(int giver, int size, MemoryType kind) {
  std::vector<double> values(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) values[static_cast<std::size_t>(i)] = rounded_value(giver, i);
  Memory& memory = make(kind, values.size() * sizeof values[0]);
  memory.write(values);
  return memory;
}
// What a PE of a tree reports: its own, then what others report to it.
double reported_value(int giver, int i, int contributors) {
  double sum = rounded_value(giver, i);
  for (int child = 4 * giver + 1; child <= 4 * giver + 4 && child < contributors; ++child)
    sum += reported_value(child, i, contributors);
  return sum;
}
// The sums of so many, the first `n` of `size`. They are added one after the other where one PE has all of them, or
// slices of them; else along the tree: of many PEs or several hosts, and large ones of the host's memory.
void check_rounded(const Memory& memory, const double* x, int n, int size, int contributors) {
  const std::vector<double> there = memory.read(x, static_cast<std::size_t>(n));
  const bool along_tree = CkNumPes() > 16 || CmiNumPhysicalNodes() > 1 || (!driver() && size > 512);
  for (int i = 0; i < n; ++i) {
    double sum = along_tree ? reported_value(0, i, contributors) : rounded_value(0, i);
    for (int giver = 1; giver < contributors && !along_tree; ++giver) sum += rounded_value(giver, i);
    DEMAND(there[static_cast<std::size_t>(i)] == sum);
  }
}
CkDeviceBuffer to_give(const Memory& memory) { return memory.to_send(CkCallback(CkIndex_Main::one(), mainProxy)); }

// To its stream: one that does nothing, when it begins.
void put_kernel(const Memory& memory) {
  const int gpu = CkMyPe() % static_cast<int>(driver()->gpus().size());
  periapt::gpu::FoldOrders nothing{};
  void* arguments[] = {&nothing};
  must(driver()->launch({memory.stream(), gpu}, must(periapt::gpu::Folder::kernel(*driver(), gpu)), 1, 1, arguments));
}

// Does it stand in what the watchdog would say here?
bool is_described(const char* sentence) {
  return periapt::zero_copy::describe_gathers(*periapt::Pe::current()).find(sentence) != std::string::npos;
}

// Where a member gives from, and gets the result.
class Member {
  Memory* mine_ = nullptr;

 public:
  CkDeviceBuffer give(int giver, int size, Type type) {
    mine_ = &make_contribution(giver, size, type);
    return to_give(*mine_);
  }
  void put_kernel_behind() const { put_kernel(*mine_); }
  void take(double*& x, CkDeviceBufferPost* post) const {
    x = mine_->at<double>();
    post[0].cuda_stream = mine_->stream();
  }
  void check(const double* x, int n, int contributors) const {
    DEMAND(x == mine_->at<double>());
    DEMAND(holds(mine_->read(x, static_cast<std::size_t>(n)).data(), n, CkReduction::sum_double, contributors));
    mainProxy.one();
  }
};

}  // namespace

class GiveMsg : public CkMcastBaseMsg, public CMessage_GiveMsg {
 public:
  int size;
};

class Main : public CBase_Main {
  int left_ = 0;
  CthThread thread_ = nullptr;
  std::vector<Memory*> in_;
  int contributors_ = 0;

  // Each of the calls that are made meanwhile tells one() when all is well.
  void wait_for(int count) {
    left_ += count;
    while (left_ != 0) {
      thread_ = CthSelf();
      CthSuspend();
      thread_ = nullptr;
    }
  }
  void wait(int count) {
    wait_for(count);
    CkWaitQD();  // nothing comes twice
    DEMAND(left_ == 0);
  }
  template <class Collection>
  void to_message(Collection collection, int contributors, int size, Type type, int flag = -1) {
    const CkCallback done(CkCallback::resumeThread);
    collection.give(size, type, done);
    auto* const result = static_cast<CkReductionMsg*>(done.thread_delay());
    DEMAND(result->getReducer() == type && result->getGcount() == contributors);
    DEMAND(result->getUserFlag() == static_cast<CMK_REFNUM_TYPE>(flag));
    DEMAND(static_cast<std::size_t>(result->getSize()) == bytes_of(size, type));
    DEMAND(with_type(type, [&](auto zero) {
      return holds(static_cast<decltype(zero)*>(result->getData()), size, type, contributors);
    }));
    delete result;
    wait(contributors);
  }

 public:
  explicit Main(CkArgMsg* args) {
    const std::string wrong = args->argc > 1 ? args->argv[1] : "";
    const std::string file = args->argc > 2 ? args->argv[2] : "";
    delete args;
    began_here = true;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    branches = CProxy_Branch::ckNew();
    nodes = CProxy_NodeBranch::ckNew();
    if (wrong.empty())
      thisProxy.run();
    else if (wrong == "behind")
      thisProxy.behind();
    else if (wrong == "apart")
      thisProxy.apart();
    else if (wrong == "early")
      thisProxy.early();
    else if (wrong == "brought")
      thisProxy.brought();
    else if (wrong == "expected")
      thisProxy.expected();
    else if (wrong == "border")
      thisProxy.border();
    else if (wrong == "waiting")
      thisProxy.waiting();
    else
      (wrong == "many" ? CProxy_Cell(CProxy_Cell::ckNew(1)) : cells).wrong(wrong, file);
  }
  explicit Main(CkMigrateMessage* message) : CBase_Main(message) {}
  void pup(PUP::er&) override {}
  void one() {
    --left_;
    if (left_ == 0 && thread_) CthAwaken(thread_);
  }
  void onDevice(int& n, double*& x, CkDeviceBufferPost* post) {
    in_.push_back(&make(kinds[n % 5], static_cast<std::size_t>(n) * sizeof(double)));
    x = in_.back()->at<double>();
    post[0].cuda_stream = in_.back()->stream();
  }
  void onDevice(int n, double* x) {
    const auto in = std::find_if(in_.begin(), in_.end(), [x](const Memory* one) { return one->at<double>() == x; });
    DEMAND(in != in_.end());
    onHost(n, (*in)->read(x, static_cast<std::size_t>(n)).data());
  }
  void onHost(int n, double* x) {
    DEMAND(holds(x, n, CkReduction::sum_double, contributors_));
    one();
  }
  void onComplex(std::complex<double>*& x, int& n, CkDeviceBufferPost* post) {
    double* numbers = nullptr;
    int count = 2 * n;
    onDevice(count, numbers, post);
    x = reinterpret_cast<std::complex<double>*>(numbers);
  }
  void onComplex(std::complex<double>* x, int n) { onDevice(2 * n, reinterpret_cast<double*>(x)); }
  void onChars(int&, char*&, CkDeviceBufferPost*) {}
  void onChars(int, char*) {}
  void notTarget(int&, double*&, CkDeviceBufferPost*) {}
  void notTarget(int, double*) {}

  void run() {
    const bool by_kernel = driver() && periapt::gpu::Folder::kernel(*driver(), 0).ok();
    CkPrintf("on %s, combined %s\n", driver() ? driver()->vendor() : "no GPU", by_kernel ? "there" : "by the host");
    for (int type = CkReduction::sum_char; type <= CkReduction::min_double; ++type)
      to_message(cells, cell_count, 33, static_cast<Type>(type));
    constexpr Type usual[] = {CkReduction::sum_int, CkReduction::max_long, CkReduction::product_float,
                              CkReduction::sum_double};
    for (int size : {0, 1, 700, 9001})
      for (Type type : usual) to_message(cells, cell_count, size, type);
    to_message(branches, CkNumPes(), 5000, CkReduction::sum_double, 7);
    to_message(nodes, CkNumNodes(), 5000, CkReduction::min_int);
    // More on a PE than a kernel takes at a time.
    const CProxy_Cell many = CProxy_Cell::ckNew(40);
    to_message(many, 40, 3001, CkReduction::sum_double);
    to_message(many, 40, 20, CkReduction::sum_double);

    // To one receiver.
    contributors_ = cell_count;
    for (int size : {0, 1, 5000, 20'001, 20'002, 20'003, 20'004}) {
      cells.give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
      wait(cell_count + 1);
      cells.give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onHost), mainProxy));
      wait(cell_count + 1);
    }
    cells.give(5000, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onComplex), mainProxy));
    wait(cell_count + 1);
    // To all, in place.
    for (int size : {1, 5000, 20'001}) {
      cells.give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Cell, all), cells));
      wait(2 * cell_count);
      branches.give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Branch, all), branches));
      wait(2 * CkNumPes());
      nodes.give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(NodeBranch, all), nodes));
      wait(2 * CkNumNodes());
    }
    // The same for all, to the last bit; whole, or as much as they want.
    for (int size : {1, 512, 513, 2001, 20'003})
      for (const bool of_all_kinds : {false, true})
        for (const bool wants_half : {false, true}) {
          branches.giveRounded(size, of_all_kinds, wants_half);
          wait(2 * CkNumPes());
        }
    for (int size : {512, 20'003}) {
      nodes.giveRounded(size);
      wait(2 * CkNumNodes());
    }
    // As many bytes again, of which each member expects that the receivers combine them, and the host's message gets
    // them.
    branches.giveRounded(20'003, false, false);
    wait(2 * CkNumPes());
    to_message(branches, CkNumPes(), 20'003, CkReduction::sum_double, 7);
    branches.giveRounded(20'003, true, true);
    wait(2 * CkNumPes());
    // One receiver has written over its part long before the others read that.
    for (int size : {1, 20'003}) {
      branches.giveApart(size);
      wait(2 * CkNumPes());
    }
    const CProxy_Cell alone = CProxy_Cell::ckNew(1);
    alone.giveAlone(5000, CkCallback(CkReductionTarget(Branch, overwrite), branches), false);
    wait(1 + CkNumPes());
    cells.rounds(3);
    wait(3 * 2 * cell_count);
    cells.giveLater(0);
    wait(cell_count + 1);
    // Of a section.
    CProxySection_Cell section = CProxySection_Cell::ckNew(cells.ckGetArrayID(), 0, 2, 1);
    contributors_ = 3;
    for (int round = 0; round < 3; ++round) {
      auto* const message = new GiveMsg;
      message->size = 3000 + round;
      section.giveToSection(message);
      wait(3 + 1);
    }
    cells.give(3000, CkReduction::sum_double, CkCallback(CkReductionTarget(Cell, all), section));
    wait(cell_count + 3);
    // By elements that are on the move.
    contributors_ = cell_count;
    for (int i = 0; i < cell_count; ++i) cells[i].wander(9, 3000);
    wait(cell_count * 9 + 9);
    CkPrintf("all reductions have ended\n");
    CkExit();
  }
  // What the contributor's stream gets after contribute() never ends; the result comes all the same.
  void behind() {
    contributors_ = 1;
    const CProxy_Cell alone = CProxy_Cell::ckNew(1);
    alone.giveAlone(5000, CkCallback(CkReductionTarget(Main, onDevice), mainProxy), true);
    wait(2);
    CkPrintf("the result has come\n");
    CkExit();
  }
  // All is contributed by another process; this one, which has the result, has no memory of a GPU. A fake driver only.
  void apart() {
    contributors_ = 1;
    CProxy_Cell alone = CProxy_Cell::ckNew();
    alone[0].insert(1);
    alone.doneInserting();
    CkWaitQD();
    for (int size : {700, 40'000}) {
      alone[0].give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onHost), mainProxy));
      wait(2);
      const CkCallback done(CkCallback::resumeThread);
      alone[0].give(size, CkReduction::sum_double, done);
      delete static_cast<CkReductionMsg*>(done.thread_delay());
      wait(1);
    }
    const auto opened = driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings")()->opened;
    CkPrintf("GPU 0 is %s here\n", opened & 1 ? "open" : "closed");
    CkExit();
  }
  // One part alone, which this PE's GPU does not read where it is: it is brought to where the sum is to be, and stays
  // there. A fake driver only.
  void brought() {
    contributors_ = 1;
    CProxy_Cell alone = CProxy_Cell::ckNew();
    alone[0].insert(CkNumPes() - 1);
    alone.doneInserting();
    CkWaitQD();
    void* context = nullptr;
    DEMAND(driver_function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0) == 0);
    DEMAND(driver_function<int(void*)>("cuCtxSetCurrent")(context) == 0);
    constexpr int size = 40'001;  // for onDevice(), which takes memory of the host then
    auto* const settings = driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings")();
    settings->memory = 3 * size / 2 * static_cast<std::int64_t>(sizeof(double));
    for (int round = 0; round < 2; ++round) {
      alone[0].give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
      wait(2);
    }
    CkPrintf("%d kernels were launched here, %s\n", static_cast<int>(settings->launched),
             settings->memory < size * static_cast<std::int64_t>(sizeof(double)) ? "on GPU 0 there is a sum" : "none");
    CkExit();
  }
  // A small part has been read when it is on the host: before any other member contributes.
  void early() {
    contributors_ = cell_count;
    const CkCallback to(CkReductionTarget(Main, onDevice), mainProxy);
    cells[0].give(8, CkReduction::sum_double, to);  // a GPU's memory
    wait(1);
    for (int i = 1; i < cell_count; ++i) cells[i].give(8, CkReduction::sum_double, to);
    wait(cell_count);
    CkPrintf("the first part was read first\n");
    CkExit();
  }
  // Contributions that are set aside before they are shared, since the last one of that group was: their memory is
  // given back before the others contribute. Two at most on a PE, and none of another collection.
  void expected() {
    constexpr int size = 20'003;
    constexpr Type type = CkReduction::sum_double;
    const CkCallback to(CkReductionTarget(Main, onDevice), mainProxy);
    const auto demand_early = [this](int count) {
      CkWaitQD();
      DEMAND(-left_ == count);
    };
    for (int round = 0; round < 2; ++round) {
      branches.giveRounded(size, false, false);
      wait(2 * CkNumPes());
    }
    // No PE has what all its elements contribute: none is read.
    contributors_ = cell_count;
    for (int first : {0, 1}) {
      for (int i = first; i < cell_count; i += 2) cells[i].give(size, type, to);
      if (first == 0) demand_early(0);
    }
    wait(cell_count + 1);
    contributors_ = CkNumPes();
    const CProxy_Branch others = CProxy_Branch::ckNew();
    constexpr int several = 4;
    for (const auto& [group, early] : {std::pair(others, 0), {branches, 2}, {branches, 0}}) {
      for (int i = 0; i < several; ++i) group[0].give(size, type, to);
      demand_early(early);  // the last time they were not shared before
      for (int pe = 1; pe < CkNumPes(); ++pe)
        for (int i = 0; i < several; ++i) group[pe].give(size, type, to);
      wait(several * (CkNumPes() + 1));
    }
    CkPrintf("those that were expected came early\n");
    CkExit();
  }
  // Two sums for many receivers, each of which would read both: they are combined in slices. A fake driver only.
  void border() {
    CProxy_Cell two = CProxy_Cell::ckNew();
    for (int pe : {0, 1}) two[10 * pe].insert(pe);  // both give memory of their GPUs
    two.doneInserting();
    CkWaitQD();
    two.give(40'000, CkReduction::sum_double, CkCallback(CkReductionTarget(Branch, ofTwo), branches));
    wait(2 + CkNumPes());
    CkPrintf(
        "%d kernels have combined them\n",
        static_cast<int>(driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings")()->launched));
    CkExit();
  }
  // A stream does not get to what PE 1 contributes.
  void waiting() {
    branches.giveBehind(5000);
    branches.describe();
    wait_for(CkNumPes() + 1);  // PE 0's part is set aside, too
    CkPrintf("all is told that waits\n");
    CkExit();
  }
  // From a checkpoint that was taken while a reduction was under way; in the run that has taken it, that is all.
  void resume() {
    if (began_here) return CkExit();
    for (int i = 0; i < cell_count - 1; ++i)
      cells[i].give(1000, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
  }
};

class Cell : public CBase_Cell {
  Cell_SDAG_CODE Member member_;
  CkSectionInfo cookie_;
  int round = 0;

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er&) override {}

  void give(int size, int type, const CkCallback& to) {
    const auto with = static_cast<Type>(type);
    contribute(bytes_of(size, with), member_.give(thisIndex, size, with), with, to);
  }
  void giveToSection(GiveMsg* message) {
    CkGetSectionInfo(cookie_, message);
    const CkDeviceBuffer mine = member_.give(thisIndex, message->size, CkReduction::sum_double);
    CProxySection_Cell::contribute(bytes_of(message->size, CkReduction::sum_double), mine, CkReduction::sum_double,
                                   cookie_, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
    delete message;
  }
  // Of an array of one element. `goes_on`: its stream gets a kernel behind it.
  void giveAlone(int size, const CkCallback& to, bool goes_on) {
    DEMAND(CkMyPe() == 0);
    Memory& memory = make_contribution(0, size, CkReduction::sum_double);
    given_alone = &memory;
    giving_thread = std::this_thread::get_id();
    contribute(bytes_of(size, CkReduction::sum_double), to_give(memory), CkReduction::sum_double, to);
    if (goes_on) put_kernel(memory);
  }
  // The elements of a PE contribute one after the other; most have been reached when the last one does.
  void giveLater(int waited) {
    if (waited < 20 * thisIndex) return thisProxy[thisIndex].giveLater(waited + 1);
    const Memory& memory = make(MemoryType::host, 8);
    *memory.at<double>() = 1;
    contributes = true;
    contribute(8, memory.to_send(CkCallback(CkIndex_Cell::isRead(), thisProxy[thisIndex])), CkReduction::max_double,
               CkCallback(CkIndex_Main::one(), mainProxy));
    contributes = false;
  }
  void isRead() {
    DEMAND(!contributes);
    mainProxy.one();
  }
  void wander(int left, int size) {
    if (left == 0) return;
    give(size, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
    thisProxy[thisIndex].wander(left - 1, size);
    migrateMe((CkMyPe() + 1 + (left + thisIndex) % 3) % CkNumPes());
  }
  void all(int&, double*& x, CkDeviceBufferPost* post) { member_.take(x, post); }
  void all(int n, double* x) { member_.check(x, n, cell_count); }
  void total(int&, double*& x, CkDeviceBufferPost* post) { member_.take(x, post); }

  // What has to end with a sentence.
  void wrong(const std::string& how, const std::string& file) {
    constexpr int size = 1000;
    const Type type = CkReduction::sum_double;
    const CkCallback to(CkReductionTarget(Main, onDevice), mainProxy);
    const bool last = thisIndex == cell_count - 1;
    if (how == "checkpoint") {  // one contribution is there, and the others come after the restart
      if (last)
        contribute(size * sizeof(double), CkDeviceBuffer(make_contribution(0, size, type).at<double>()), type, to);
      if (thisIndex == 0) CkStartCheckpoint(file.c_str(), CkCallback(CkIndex_Main::resume(), mainProxy));
      return;
    }
    if (how == "short")
      return contribute((size + 1) * sizeof(double), to_give(make_contribution(thisIndex, size + !last, type)), type,
                        to);
    if (how == "untargeted")
      return give(size, type, CkCallback(CkIndex_Main::notTarget(0, CkDeviceBuffer()), mainProxy));
    if (how == "torn") return give(size + 1, type, CkCallback(CkReductionTarget(Main, onComplex), mainProxy));
    if (how == "many") {
      constexpr std::size_t bytes = std::size_t{1} << 31;
      return contribute(bytes, CkDeviceBuffer(make(MemoryType::host, bytes).at<char>()), CkReduction::sum_char,
                        CkCallback(CkReductionTarget(Main, onChars), mainProxy));
    }
    if (how == "unasked") return contribute(std::vector<double>(size), type, to);
    if (how == "nothing") return contribute(to);
    if (!last) return give(size, type, to);
    const Memory& memory = make_contribution(thisIndex, size, type);
    if (how == "sizes") contribute(size * sizeof(double) - 8, to_give(memory), type, to);
    if (how == "types") contribute(size * sizeof(double), to_give(memory), CkReduction::max_double, to);
    if (how == "set") contribute(size * sizeof(double), to_give(memory), CkReduction::set, to);
    if (how == "ragged") contribute(size * sizeof(double) - 1, to_give(memory), type, to);
    if (how == "host") {
      const std::vector<double> values(size);
      contribute(values, type, to);
    }
    if (how == "freed") {
      auto gone = std::make_unique<Memory>(MemoryType::device, size * sizeof(double));
      void* const at = gone->at<double>();
      gone.reset();
      contribute(size * sizeof(double), CkDeviceBuffer(at), type, to);
    }
    if (how == "unknown") contribute(size * sizeof(double), CkDeviceBuffer(reinterpret_cast<void*>(4096)), type, to);
    if (how == "lost" || how == "slice_lost") give(size, type, to);
  }
};

class Branch : public CBase_Branch {
  Member member_;
  Memory* in_ = nullptr;
  int size_ = 0;  // of what is contributed

 public:
  Branch() = default;
  explicit Branch(CkMigrateMessage* message) : CBase_Branch(message) {}
  void give(int size, int type, const CkCallback& to) {
    const auto with = static_cast<Type>(type);
    contribute(bytes_of(size, with), member_.give(thisIndex, size, with), with, to, 7);
  }
  void all(double*& x, int&, CkDeviceBufferPost* post) { member_.take(x, post); }
  void all(double* x, int n) { member_.check(x, n, CkNumPes()); }
  void giveRounded(int size, bool of_all_kinds, bool wants_half) {
    constexpr MemoryType on_gpu[] = {MemoryType::device, MemoryType::pool, MemoryType::managed};
    size_ = size;
    in_ = &make_rounded(thisIndex, size, of_all_kinds ? on_gpu[thisIndex % 3] : MemoryType::device);
    const CkCallback whole(CkReductionTarget(Branch, rounded), thisProxy),
        half(CkReductionTarget(Branch, half), thisProxy);
    const CkCallback again =
        use_again(*in_, static_cast<std::size_t>(size), CkCallback(CkIndex_Main::one(), mainProxy));
    contribute(bytes_of(size, CkReduction::sum_double), wants_half ? in_->to_send(again) : to_give(*in_),
               CkReduction::sum_double, wants_half ? half : whole);
  }
  // PE 0's member has got its result, and written over it, when the others' streams get to where theirs are to go.
  void giveApart(int size) {
    size_ = size;
    in_ = &make_rounded(thisIndex, size, MemoryType::device);
    contribute(bytes_of(size, CkReduction::sum_double), to_give(*in_), CkReduction::sum_double,
               CkCallback(CkReductionTarget(Branch, apart), thisProxy));
  }
  void apart(int& n, double*& x, CkDeviceBufferPost* post) {
    x = in_->at<double>();
    Memory& busy = make(MemoryType::device, static_cast<std::size_t>(n) * sizeof(double));
    for (int i = 0; i < 30 * std::min(thisIndex, 1); ++i) busy.write(std::vector<double>(static_cast<std::size_t>(n)));
    post[0].cuda_stream = busy.stream();
  }
  void apart(int n, double* x) {
    check_rounded(*in_, x, n, size_, CkNumPes());
    in_->write(std::vector<double>(static_cast<std::size_t>(n), -1));
    in_->finish();
    mainProxy.one();
  }
  void ofTwo(int& n, double*& x, CkDeviceBufferPost* post) {
    in_ = &make(MemoryType::device, static_cast<std::size_t>(n) * sizeof(double));
    x = in_->at<double>();
    post[0].cuda_stream = in_->stream();
  }
  void ofTwo(int n, double* x) {
    DEMAND(holds(in_->read(x, static_cast<std::size_t>(n)).data(), n, CkReduction::sum_double, 2));
    mainProxy.one();
  }
  void giveBehind(int size) {
    const CkDeviceBuffer mine = member_.give(0, size, CkReduction::sum_double);
    if (thisIndex == 1) member_.put_kernel_behind();
    contribute(bytes_of(size, CkReduction::sum_double), mine, CkReduction::sum_double,
               CkCallback(CkReductionTarget(Branch, all), thisProxy));
  }
  // What the watchdog would say here, which it does not while streams may still get somewhere.
  void describe() {
    const char* const sums[] = {", of 40000 bytes on PE 0, waits for 2 of 2 receivers to read it\n",
                                ", of 40000 bytes on PE 1, waits for its stream\n"};
    const char* const received[] = {
        ", of 40000 bytes, waits on PE 0, which combines it itself, for 1 of 2 sums, of which a stream may not have",
        ", of 40000 bytes, waits on PE 1, which combines it itself, for 1 of 2 sums, of which a stream may not have"};
    while (!is_described(sums[thisIndex]) || !is_described(received[thisIndex])) CthYield();
    mainProxy.one();
  }
  // Where it was contributed from, and written over when it is there.
  void rounded(int&, double*& x, CkDeviceBufferPost* post) {
    x = in_->at<double>();
    post[0].cuda_stream = in_->stream();
  }
  void rounded(int n, double* x) {
    DEMAND(!is_described("which combines it itself"));
    check_rounded(*in_, x, n, size_, CkNumPes());
    in_->write(std::vector<double>(static_cast<std::size_t>(n), -1));
    mainProxy.one();
  }
  void half(int& n, double*& x, CkDeviceBufferPost* post) {
    n = (n + 1) / 2;
    in_ = &make(MemoryType::device, static_cast<std::size_t>(n) * sizeof(double));
    x = in_->at<double>();
    post[0].cuda_stream = in_->stream();
  }
  void half(int n, double* x) { rounded(n, x); }
  // PE 0 gets it to where it was contributed from. The other threads of its process fetch it when that has been written
  // over.
  void overwrite(int& n, double*& x, CkDeviceBufferPost* post) {
    if (thisIndex == 0) {
      in_ = given_alone;
    } else {
      in_ = &make(kinds[thisIndex % 5], static_cast<std::size_t>(n) * sizeof(double));
      const bool waits = CkNumNodes() == 1 && std::this_thread::get_id() != giving_thread.load();
      while (waits && !is_overwritten) std::this_thread::yield();
    }
    x = in_->at<double>();
    post[0].cuda_stream = in_->stream();
  }
  void overwrite(int n, double* x) {
    DEMAND(holds(in_->read(x, static_cast<std::size_t>(n)).data(), n, CkReduction::sum_double, 1));
    if (thisIndex == 0) {
      in_->write(std::vector<double>(static_cast<std::size_t>(n)));
      in_->finish();
      is_overwritten = true;
    }
    mainProxy.one();
  }
};

class NodeBranch : public CBase_NodeBranch {
  Member member_;
  Memory* in_ = nullptr;

 public:
  NodeBranch() = default;
  explicit NodeBranch(CkMigrateMessage* message) : CBase_NodeBranch(message) {}
  void give(int size, int type, const CkCallback& to) {
    const auto with = static_cast<Type>(type);
    contribute(bytes_of(size, with), member_.give(thisIndex, size, with), with, to);
  }
  void all(int&, double*& x, CkDeviceBufferPost* post) { member_.take(x, post); }
  void all(int n, double* x) { member_.check(x, n, CkNumNodes()); }
  void giveRounded(int size) {
    in_ = &make_rounded(thisIndex, size, MemoryType::device);
    contribute(bytes_of(size, CkReduction::sum_double), to_give(*in_), CkReduction::sum_double,
               CkCallback(CkReductionTarget(NodeBranch, rounded), thisProxy));
  }
  void rounded(int&, double*& x, CkDeviceBufferPost* post) {
    x = in_->at<double>();
    post[0].cuda_stream = in_->stream();
  }
  void rounded(int n, double* x) {
    check_rounded(*in_, x, n, n, CkNumNodes());
    mainProxy.one();
  }
};

#include "gpu_reductions.def.h"
