#include "machine/verbs/adapter.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error_text.h"
#include "machine/ucx-like/dma_buf.h"
#include "machine/ucx-like/range_key.h"

namespace periapt::verbs {

namespace {
constexpr std::size_t kReceivesAtOnce = 32;
constexpr std::uint32_t kReceivesPosted = 8;  // an eighth of them may be handed up and not posted again
}  // namespace

void Adapter::Unmap::operator()(std::byte* at) const { ::munmap(at, bytes); }

Adapter::~Adapter() {
  if (receives_ != nullptr) verbs.destroy_srq(receives_);
  if (completions_ != nullptr) verbs.destroy_cq(completions_);
  if (channel_ != nullptr) verbs.destroy_comp_channel(channel_);
  if (region_ != nullptr) verbs.dereg_mr(region_);
  if (domain_ != nullptr) verbs.dealloc_pd(domain_);
  if (context_ != nullptr) verbs.close_device(context_);
}

Status Adapter::refused(const char* what) const {
  return Status::failure(port.name() + " gives no " + what + ": " + error_text());
}

Status Adapter::open() {
  ibv_device** devices = verbs.get_device_list(nullptr);
  for (ibv_device** device = devices; device != nullptr && *device != nullptr; ++device) {
    if (port.device == (*device)->name) context_ = verbs.open_device(*device);
  }
  if (devices != nullptr) verbs.free_device_list(devices);
  if (context_ == nullptr) return Status::failure(port.device + " can't be opened any more: " + error_text());
  ibv_device_attr all{};
  if (verbs.query_device(context_, &all) != 0) return refused("description of itself");
  const auto receives = std::min(kReceives, static_cast<std::uint32_t>(std::max(all.max_srq_wr, 1)));
  sends_max = std::min(kSendsMax, all.max_cqe - static_cast<int>(receives) - kLook);
  if (sends_max < kLook)
    return Status::failure(port.name() + " has completion queues of " + std::to_string(all.max_cqe) +
                           " entries, which is too few");
  if ((domain_ = verbs.alloc_pd(context_)) == nullptr) return refused("protection domain");
  if ((channel_ = verbs.create_comp_channel(context_)) == nullptr) return refused("completion channel");
  // Both are looked at without waiting.
  for (int fd : {channel_->fd, context_->async_fd}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int entries = sends_max + static_cast<int>(receives) + kLook;
  if ((completions_ = verbs.create_cq(context_, entries, nullptr, channel_, 0)) == nullptr)
    return refused("completion queue");
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = receives;
  wanted.attr.max_sge = 1;
  if ((receives_ = verbs.create_srq(domain_, &wanted)) == nullptr) return refused("shared receive queue");
  return make_slots(receives);
}

Status Adapter::make_slots(std::uint32_t receives) {
  const std::size_t bytes = (receives + kSendSlots) * kSlotBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::failure("no memory for the messages of " + port.name() + ": " + error_text());
  memory_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  // A child of this process (system(), popen()) must not take the pages from under the device.
  ::madvise(memory, bytes, MADV_DONTFORK);
  bool writable = false;
  Result<ibv_mr*> region = register_memory(memory_.get(), bytes, &writable);
  if (!region) return region.status();
  region_ = *region;
  receive_requests_.resize(receives);
  receive_places_.resize(receives);
  unposted_.resize(receives);
  for (std::uint32_t number = 0; number < receives; ++number) {
    receive_places_[number] = {reinterpret_cast<std::uint64_t>(slot(number)), kSlotBytes, key()};
    receive_requests_[number].wr_id = number;
    receive_requests_[number].sg_list = &receive_places_[number];
    receive_requests_[number].num_sge = 1;
    give_receive(number);
  }
  many_ = std::max<std::size_t>(receives / kReceivesPosted, 1);
  for (std::uint32_t number = 0; number < kSendSlots; ++number) free_slots_.push_back(receives + number);
  return post_receives() ? Status() : refused("room for receives");
}

bool Adapter::take_events() {
  unsigned count = 0;
  ibv_cq* queue = nullptr;
  for (void* ours = nullptr; verbs.get_cq_event(channel_, &queue, &ours) == 0;) ++count;
  if (count > 0) verbs.ack_cq_events(completions_, count);
  return count > 0;
}

Result<ibv_mr*> Adapter::register_memory(std::byte* address, std::uint64_t size, bool* writable) {
  errno = 0;
  ibv_mr* region =
      verbs.reg_mr(domain_, address, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  *writable = region != nullptr;
  if (region == nullptr && (errno == EFAULT || errno == EACCES))
    region = verbs.reg_mr(domain_, address, size, IBV_ACCESS_REMOTE_READ);
  if (region == nullptr) return Status::failure(port.name() + ": " + ucx::registration_fault(size, errno));
  return region;
}

Result<ibv_mr*> Adapter::register_device_memory(std::byte* address, std::uint64_t size, const ucx::DmaBuf* shared) {
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  std::string why;
  if (verbs.reg_dmabuf_mr == nullptr) {
    why = "libibverbs is older than rdma-core 34, and takes no dma-buf; ";
  } else if (shared != nullptr) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    if (ibv_mr* region = verbs.reg_dmabuf_mr(domain_, shared->offset(), size, at, shared->fd(), kAccess)) return region;
    why =
        (errno == EOPNOTSUPP || errno == ENOSYS ? "its driver takes no dma-buf: " : "it does not take the dma-buf: ") +
        error_text() + "; ";
  }
  if (ibv_mr* region = verbs.reg_mr(domain_, address, size, kAccess)) return region;
  return Status::failure(why + "nor does it take the memory by its addresses: " + error_text());
}

ibv_ah_attr Adapter::route_to(std::uint16_t lid, const std::array<std::uint8_t, 16>& to) const {
  constexpr std::uint8_t kHopsMax = 64;
  ibv_ah_attr route{};
  route.port_num = static_cast<std::uint8_t>(port.number);
  route.sl = static_cast<std::uint8_t>(settings.service_level);
  route.dlid = lid;
  route.is_global = port.ethernet ? 1 : 0;
  std::memcpy(route.grh.dgid.raw, to.data(), to.size());
  route.grh.sgid_index = static_cast<std::uint8_t>(gid.index);
  route.grh.hop_limit = kHopsMax;
  route.grh.traffic_class = static_cast<std::uint8_t>(settings.traffic_class);
  return route;
}

ibv_ah* Adapter::way_to(std::uint16_t lid, const std::array<std::uint8_t, 16>& to) {
  ibv_ah_attr route = route_to(lid, to);
  return verbs.create_ah(domain_, &route);
}

bool Adapter::is_port_active() {
  ibv_port_attr now{};
  if (verbs.port_of(context_, port.number, &now) != 0 || now.state != IBV_PORT_ACTIVE) return false;
  lid = now.lid;
  return true;
}

ibv_qp* Adapter::create_queue_pair(ibv_qp_type type, std::uint32_t depth, std::uint32_t* inline_max) {
  // What a device takes within a request differs, and some refuse more than that instead of giving less.
  for (std::uint32_t bytes : {220u, 60u, 0u}) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions_;
    wanted.srq = receives_;
    wanted.qp_type = type;
    wanted.cap.max_send_wr = depth;
    wanted.cap.max_send_sge = 3;
    wanted.cap.max_inline_data = bytes;
    if (ibv_qp* made = verbs.create_qp(domain_, &wanted); made != nullptr)
      return *inline_max = wanted.cap.max_inline_data, made;
    if (errno != EINVAL) break;
  }
  return nullptr;
}

bool Adapter::post_receives() {
  while (unposted_count_ > 0) {
    const std::size_t count = std::min(kReceivesAtOnce, unposted_count_);
    const std::uint32_t* const last = unposted_.data() + unposted_count_ - 1;
    ibv_recv_wr* const first = &receive_requests_[*last];
    ibv_recv_wr* request = first;
    for (std::size_t i = 1; i < count; ++i) request = request->next = &receive_requests_[*(last - i)];
    request->next = nullptr;
    ibv_recv_wr* refused = nullptr;
    errno = ibv_post_srq_recv(receives_, first, &refused);
    std::size_t taken = count;
    if (errno != 0) {
      taken = 0;
      for (request = first; request != refused && request != nullptr; request = request->next) ++taken;
    }
    unposted_count_ -= taken;
    if (errno != 0) return false;
  }
  return true;
}

bool Adapter::take_slot(std::uint32_t* number) {
  if (free_slots_.empty()) return false;
  *number = free_slots_.back();
  free_slots_.pop_back();
  return true;
}

}  // namespace periapt::verbs
