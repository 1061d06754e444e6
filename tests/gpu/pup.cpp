// Elements that own memory of GPUs: they migrate while streams still write it, to PEs that use other GPUs; are kept on
// the disk and in memory, and come back. On the GPUs of the process's driver: in ./check a fake one (fake/).
//
// gpu_pup roam; gpu_pup disk FOLDER, then gpu_pup +restart FOLDER; gpu_pup memory FILE, where the process of the last
// PE is killed once if FILE is there. gpu_pup crowd, gpu_pup freed: what has to end with a sentence.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpu_pup.decl.h"
#include "machine/gpu/vendors.h"
#include "tests/gpu/driver_function.h"
#include "tests/zero-copy/checked.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ bool crowd;

namespace {

using periapt::gpu::Driver;
using periapt::gpu::MemoryType;
using periapt::gpu::Stream;

constexpr int cell_count = 13;
constexpr MemoryType kinds[] = {MemoryType::device, MemoryType::pinned, MemoryType::managed, MemoryType::pool};

template <class T>
T must(periapt::Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
void must(const periapt::Status& status) {
  if (!status) CkAbort("%s", status.message().c_str());
}
Driver& driver() {
  static Driver* const found = must(periapt::gpu::vendors()[0].driver());  // CUDA's
  return *found;
}
int gpu() { return CkMyPe() % static_cast<int>(driver().gpus().size()); }

// What cudaSetDevice() does, by the driver's own functions. Each time: PEs may share a thread.
void use_gpu() {
  void* context = nullptr;
  DEMAND(driver_function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, gpu()) == 0);
  DEMAND(driver_function<int(void*)>("cuCtxSetCurrent")(context) == 0);
}

}  // namespace

class Main : public CBase_Main {
  std::string mode_, where_;

 public:
  explicit Main(CkArgMsg* args) {
    mode_ = args->argc > 1 ? args->argv[1] : "roam";
    where_ = args->argc > 2 ? args->argv[2] : "";
    delete args;
    mainProxy = thisProxy;
    crowd = mode_ == "crowd";
    cells = CProxy_Cell::ckNew(cell_count);
    if (crowd)
      cells.gather();
    else if (mode_ == "freed")
      cells[1].free_and_go();
    else
      cells.roam(10);
  }
  explicit Main(CkMigrateMessage* message) : CBase_Main(message) {}
  void pup(PUP::er& p) {
    p | mode_;
    p | where_;
  }

  void moved() {
    const CkCallback cb(CkIndex_Main::kept(), thisProxy);
    if (mode_ == "disk")
      CkStartCheckpoint(where_.c_str(), cb);
    else if (mode_ == "memory")
      CkStartMemCheckpoint(cb);
    else
      kept();
  }
  // Also after a restart.
  void kept() { cells.check(); }
  void checked() {
    if (mode_ == "memory" && access(where_.c_str(), F_OK) == 0) return cells.spoil_and_die(where_);
    CkPrintf("all elements are whole\n");
    CkExit();
  }
};

class Cell : public CBase_Cell {
  int round_ = 0;
  std::size_t size_ = 0;
  int* own_ = nullptr;   // of a kind of each element's own
  int* made_ = nullptr;  // made by hand, the elements alone are packed
  int* none_ = nullptr;
  Stream stream_;
  std::vector<int> written_;  // stays until the stream has read it

  std::size_t made_size() const { return crowd ? 0 : size_; }
  MemoryType kind() const { return kinds[thisIndex % 4]; }
  std::byte* as_bytes(int* memory) const { return reinterpret_cast<std::byte*>(memory); }
  int seed() const { return 100 * thisIndex + round_; }
  void come() {
    use_gpu();
    stream_ = must(driver().make_stream(gpu()));
  }
  void make_by_hand() {
    if (!crowd) made_ = reinterpret_cast<int*>(must(driver().allocate(gpu(), MemoryType::device, size_ * sizeof(int))));
  }
  // The stream has not done it when this returns.
  void fill() {
    written_.resize(size_);
    checked::fill(written_.data(), size_, seed());
    must(driver().copy(stream_, own_, written_.data(), size_ * sizeof(int)));
    must(driver().copy(stream_, made_, written_.data(), size_ * sizeof(int)));
  }
  void demand_whole() {
    for (int* memory : {own_, made_}) {
      const auto found = must(driver().look(memory));
      DEMAND(found.kind == (memory == own_ ? kind() : MemoryType::device));
      const bool stays =
          found.kind == MemoryType::device || found.kind == MemoryType::pool;  // the driver moves the others
      DEMAND(!stays || found.gpu == gpu());
      std::vector<int> values(size_);
      must(driver().copy(stream_, values.data(), memory, size_ * sizeof(int)));
      must(driver().finish(stream_));
      DEMAND(checked::holds(values.data(), size_, seed()));
    }
    DEMAND(none_ == nullptr);
  }

 public:
  Cell() : size_(thisIndex == 5 ? 2'000'003 : 1000 + static_cast<std::size_t>(thisIndex)) {
    come();
    own_ = reinterpret_cast<int*>(must(driver().allocate(gpu(), kind(), size_ * sizeof(int))));
    make_by_hand();
    if (!crowd) fill();
  }
  explicit Cell(CkMigrateMessage*) { come(); }
  ~Cell() override {
    driver().destroy(stream_);
    if (own_) must(driver().free(gpu(), kind(), as_bytes(own_)));
    if (made_) must(driver().free(gpu(), MemoryType::device, as_bytes(made_)));
  }
  void pup(PUP::er& p) override {
    p | round_;
    p | size_;
    p | PUP::device(own_, size_);
    p | PUP::device(none_, size_);
    if (p.isUnpacking()) make_by_hand();
    p | PUP::device_contents(made_, made_size());
  }

  void roam(int left) {
    demand_whole();
    if (left == 0) return contribute(CkCallback(CkReductionTarget(Main, moved), mainProxy));
    ++round_;
    fill();
    thisProxy[thisIndex].roam(left - 1);
    migrateMe((CkMyPe() + 1 + left % 2) % CkNumPes());
  }
  void check() {
    demand_whole();
    contribute(CkCallback(CkReductionTarget(Main, checked), mainProxy));
  }
  void spoil_and_die(const std::string& file) {
    ++round_;
    fill();
    if (CkMyPe() == CkNumPes() - 1 && unlink(file.c_str()) == 0) CkDieNow();
  }
  void gather() { migrateMe(0); }
  void free_and_go() {
    must(driver().free(gpu(), kind(), as_bytes(own_)));
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
};

#include "gpu_pup.def.h"
