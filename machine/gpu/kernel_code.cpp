#include "machine/gpu/kernel_code.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/log.h"

namespace periapt::gpu {

// Written by embed.cmake. Texts end with a zero; an image is that zero alone where the build had no compiler for it.
namespace embedded {
extern const unsigned char items[], board[], kernel[], cuda_source[], hip_source[], cuda_image[], hip_image[];
extern const unsigned long cuda_image_size, hip_image_size;
extern const unsigned char fold_orders[], fold_kernel[], fold_source[], cuda_fold_image[], hip_fold_image[];
extern const unsigned long cuda_fold_image_size, hip_fold_image_size;
extern const unsigned char pack_orders[], pack_kernel[], pack_source[], cuda_pack_image[], hip_pack_image[];
extern const unsigned long cuda_pack_image_size, hip_pack_image_size;
}  // namespace embedded

namespace {
const char* text(const unsigned char* bytes) { return reinterpret_cast<const char*>(bytes); }

using Image = std::span<const unsigned char>;

// Of a kernel with one source for both vendors (items_on_gpu.inc).
KernelCode code_over_items(Image cuda, Image hip, std::string_view vendor, KernelCode::Text source,
                           KernelCode::Text orders, KernelCode::Text kernel) {
  return {
      vendor == "cuda" ? cuda : hip, source, {{"machine/gpu/items_on_gpu.inc", text(embedded::items)}, orders, kernel}};
}
}  // namespace

KernelCode courier_code(std::string_view vendor) {
  const bool is_cuda = vendor == "cuda";
  KernelCode code;
  code.image = is_cuda ? std::span(embedded::cuda_image, embedded::cuda_image_size)
                       : std::span(embedded::hip_image, embedded::hip_image_size);
  code.source = is_cuda ? KernelCode::Text{"courier.cu", text(embedded::cuda_source)}
                        : KernelCode::Text{"courier.hip", text(embedded::hip_source)};
  code.headers = {{"machine/gpu/courier_board.h", text(embedded::board)},
                  {"machine/gpu/courier_kernel.inc", text(embedded::kernel)}};
  return code;
}

KernelCode fold_code(std::string_view vendor) {
  return code_over_items({embedded::cuda_fold_image, embedded::cuda_fold_image_size},
                         {embedded::hip_fold_image, embedded::hip_fold_image_size}, vendor,
                         {"fold.cu", text(embedded::fold_source)},
                         {"machine/gpu/fold_orders.h", text(embedded::fold_orders)},
                         {"machine/gpu/fold_kernel.inc", text(embedded::fold_kernel)});
}

KernelCode pack_code(std::string_view vendor) {
  return code_over_items({embedded::cuda_pack_image, embedded::cuda_pack_image_size},
                         {embedded::hip_pack_image, embedded::hip_pack_image_size}, vendor,
                         {"pack.cu", text(embedded::pack_source)},
                         {"machine/gpu/pack_orders.h", text(embedded::pack_orders)},
                         {"machine/gpu/pack_kernel.inc", text(embedded::pack_kernel)});
}

// Until the process ends: static destructors run when the driver may be gone.
const Result<Kernel>& kernel_of(Driver& driver, int gpu, KernelCode (*code)(std::string_view), const char* name) {
  using Name = std::tuple<Driver*, int, std::string>;
  static std::mutex mutex;
  static auto& kernels = *new std::map<Name, Result<Kernel>>;
  std::lock_guard lock(mutex);
  const Name wanted{&driver, gpu, name};
  if (const auto known = kernels.find(wanted); known != kernels.end()) return known->second;
  Result<Kernel> loaded = driver.load_kernel(gpu, code(driver.vendor()), name);
  log::detail(std::string("the kernel ") + name + " of GPU " + std::to_string(gpu) +
              (loaded ? " is loaded" : " is not used: " + loaded.message()));
  return kernels.emplace(wanted, std::move(loaded)).first->second;
}

}  // namespace periapt::gpu
