// What hapi.h offers, through CUDA's runtime library, on a GPU of this machine: callbacks behind streams, pinned memory
// that is kept, work requests, an array in the GPU's memory. Says SKIP where there is no GPU.
#include "hapi.h"

#include "hapi_calls.decl.h"

/*readonly*/ CProxy_Main mainProxy;

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d: this does not hold: %s", __LINE__, #condition)

namespace {
constexpr std::size_t bytes = 4 << 20;
}

class Main : public CBase_Main {
  char *device_ = nullptr, *in_ = nullptr;
  void* host_ = nullptr;
  int told_ = 0, told_with_ = 0, halos_ = 0;
  char out_[1000];

  static void run(hapiWorkRequest* request, cudaStream_t stream, void** buffers) {
    DEMAND(*static_cast<int*>(request->getUserData()) == 42);
    hapiCheck(cudaMemcpyAsync(buffers[1], buffers[0], 1000, cudaMemcpyDeviceToDevice, stream));
  }

 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
      CkPrintf("SKIP: CUDA's runtime library finds no GPU\n");
      CkExit(77);
      return;
    }
    DEMAND(hapiCreateStreams() >= 1);
    const cudaStream_t stream = hapiGetStream();
    hapiCheck(hapiMalloc(reinterpret_cast<void**>(&device_), bytes));
    hapiCheck(hapiMalloc(reinterpret_cast<void**>(&in_), bytes));
    hapiCheck(hapiPoolMalloc(&host_, bytes));
    void* const first = host_;
    hapiCheck(hapiPoolFree(host_));
    hapiCheck(hapiPoolMalloc(&host_, bytes));
    DEMAND(host_ == first);
    for (int i = 0; i < 50; ++i) hapiCheck(cudaMemsetAsync(device_, i, bytes, stream));
    hapiCheck(hapiMemcpyAsync(host_, device_, bytes, cudaMemcpyDeviceToHost, stream));
    hapiAddCallback(stream, CkCallback(CkIndex_Main::told(), thisProxy));
    int number = 7;
    CkCallback with(CkIndex_Main::toldWith(nullptr), thisProxy);
    hapiAddCallback(stream, &with, CkDataMsg::buildNew(sizeof number, &number));
    thisProxy.halo(static_cast<int>(bytes / sizeof(int)), CkDeviceBuffer(device_, stream));

    std::memset(out_, 0, sizeof out_);
    hapiWorkRequest* request = hapiCreateWorkRequest();
    request->addBuffer(host_, 1000, true, false, true);
    request->addBuffer(out_, sizeof out_, false, true, true);
    const int user = 42;
    request->copyUserData(const_cast<int*>(&user), sizeof user);
    request->setRunKernel(run);
    request->setCallback(CkCallback(CkIndex_Main::told(), thisProxy));
    request->setStream(stream);
    hapiEnqueue(request);
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void told() {
    ++told_;
    for (std::size_t i = 0; i < bytes; i += 1001) DEMAND(static_cast<char*>(host_)[i] == 49);
  }
  void toldWith(CkDataMsg* message) {
    DEMAND(*static_cast<int*>(message->getData()) == 7);
    delete message;
    ++told_with_;
  }
  void halo(int, int*& x, CkDeviceBufferPost* post) {
    x = reinterpret_cast<int*>(in_);
    post[0].cuda_stream = hapiGetStream();
  }
  void halo(int n, int* x) {
    std::vector<int> values(static_cast<std::size_t>(n));
    hapiCheck(cudaMemcpy(values.data(), x, bytes, cudaMemcpyDeviceToHost));
    for (int value : values) DEMAND(value == 0x31313131);
    ++halos_;
  }
  // The callbacks and the array have come before all was quiet.
  void quiet() {
    DEMAND(told_ == 2 && told_with_ == 1 && halos_ == 1);
    for (char c : out_) DEMAND(c == 49);
    hapiCheck(hapiPoolFree(host_));
    hapiCheck(hapiFree(device_));
    hapiCheck(hapiFree(in_));
    CkPrintf("all calls of hapi.h are right\n");
    CkExit();
  }
};

#include "hapi_calls.def.h"
