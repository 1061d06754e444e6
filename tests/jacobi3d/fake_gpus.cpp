// GPUs of the fake driver (tests/gpu/fake) as examples/jacobi3d's device: their kernels are the processor's functions,
// called when a stream has got there and not before. So what is not ordered by streams, events and entries is seen in
// the result, or faults.
#include <functional>
#include <utility>

#include "examples/jacobi3d/device.h"
#include "machine/gpu/vendors.h"
#include "tests/gpu/driver_function.h"
#include "tests/gpu/fake/faults.h"

namespace periapt::jacobi3d {
namespace {

using gpu::MemoryType;

template <class T>
T must(Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
void must(const Status& status) {
  if (!status) CkAbort("%s", status.message().c_str());
}
template <class T>
T* bytes_of(T* memory) {
  static auto* const ask = driver_function<void*(const void*)>("periapt_fake_gpu_bytes");
  void* const found = ask(memory);
  if (found == nullptr) CkAbort("a kernel works on memory that is none");
  return static_cast<T*>(found);
}
int& gpu_in_use() {
  static thread_local int gpu = 0;
  return gpu;
}

class FakeGpus : public Device {
  gpu::Driver& driver_;
  const std::unique_ptr<Device> processor_ = make_processor();

  static gpu::Stream of(Stream stream) { return {stream.native(), gpu_in_use()}; }
  void call(Stream stream, std::function<void(Device&)> kernel) {
    static auto* const enqueue = driver_function<int(void*, std::function<void()>*)>("periapt_fake_gpu_call");
    std::function<void()> function = [this, kernel = std::move(kernel)] { kernel(*processor_); };
    if (enqueue(stream.native(), &function) != 0) CkAbort("a kernel is not for the GPU that is the thread's");
  }
  std::byte* make(MemoryType kind, std::size_t bytes) {
    const Result<std::byte*> made = driver_.allocate(gpu_in_use(), kind, bytes);
    if (made) return *made;
    const auto& settings = *driver_function<fake_gpu::Settings*()>("periapt_fake_gpu_settings")();
    too_large(bytes, gpu_in_use(), static_cast<std::size_t>(settings.memory),
              driver_.gpus()[static_cast<std::size_t>(gpu_in_use())].bytes);
  }

 public:
  explicit FakeGpus(gpu::Driver& driver) : driver_(driver) {}
  std::string name() const override { return std::to_string(gpus()) + " fake GPUs"; }
  int gpus() const override { return static_cast<int>(driver_.gpus().size()); }
  void use(int gpu) override {
    void* context = nullptr;
    gpu_in_use() = gpu;
    if (driver_function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, gpu) != 0 ||
        driver_function<int(void*)>("cuCtxSetCurrent")(context) != 0)
      CkAbort("no GPU %d", gpu);
  }
  double* allocate(long count) override {
    return reinterpret_cast<double*>(make(MemoryType::device, static_cast<std::size_t>(count) * sizeof(double)));
  }
  void free(double* memory) override {
    if (memory) must(driver_.free(gpu_in_use(), MemoryType::device, reinterpret_cast<std::byte*>(memory)));
  }
  Largest* allocate_largest() override { return reinterpret_cast<Largest*>(make(MemoryType::pinned, sizeof(Largest))); }
  void free_largest(Largest* memory) override {
    must(driver_.free(gpu_in_use(), MemoryType::pinned, reinterpret_cast<std::byte*>(memory)));
  }
  Stream make_stream(bool) override {
    return static_cast<CUstream_st*>(must(driver_.make_stream(gpu_in_use())).native);
  }
  void destroy(Stream stream) override { driver_.destroy(of(stream)); }

  void begin(Stream stream, const Shape& shape, const Cell& origin, const Solution& start, double* field,
             double* other) override {
    call(stream, [=](Device& on) { on.begin({}, shape, origin, start, bytes_of(field), bytes_of(other)); });
  }
  void update(Stream stream, const Shape& shape, const Boxes& boxes, const double* from, double* to) override {
    call(stream, [=](Device& on) { on.update({}, shape, boxes, bytes_of(from), bytes_of(to)); });
  }
  void pack(Stream stream, const Shape& shape, Neighbours neighbours, const double* field, double* packed) override {
    call(stream, [=](Device& on) { on.pack({}, shape, neighbours, bytes_of(field), bytes_of(packed)); });
  }
  void unpack(Stream stream, const Shape& shape, Neighbours neighbours, const double* packed, double* field) override {
    call(stream, [=](Device& on) { on.unpack({}, shape, neighbours, bytes_of(packed), bytes_of(field)); });
  }
  void compare(Stream stream, const Shape& shape, const Cell& origin, const Solution& solution, const double* field,
               const double* before, double* scratch, Largest* largest) override {
    call(stream, [=](Device& on) {
      on.compare({}, shape, origin, solution, bytes_of(field), bytes_of(before), bytes_of(scratch), bytes_of(largest));
    });
  }
  void follow(Stream later, Stream earlier) override {
    const gpu::Event event = must(driver_.make_event(gpu_in_use()));
    must(driver_.record(event, of(earlier)));
    must(driver_.wait_for(of(later), event));
    driver_.destroy(event);
  }
  void call_back(Stream stream, const CkCallback& cb) override {
    send_when_reached(static_cast<CUstream_st*>(stream), cb, nullptr);
  }
};

}  // namespace

std::unique_ptr<Device> make_gpus(std::string& why_not) {
  const auto& driver = gpu::vendors()[0].driver();  // CUDA's
  if (driver.ok()) return std::make_unique<FakeGpus>(**driver);
  why_not = driver.message();
  return nullptr;
}

}  // namespace periapt::jacobi3d
