// The functions of libibverbs that the transport loads. They are what a program sees; device.h is what they do.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>
#include <random>

#include "tests/verbs/fake/device.h"

namespace periapt::fake_verbs {
namespace {

constexpr int kDevicesMost = Faults::kDevicesMost;
constexpr std::uint32_t kMessageMost = 1 << 20;

ibv_device* device_number(int number) {
  static ibv_device devices[kDevicesMost];
  ibv_device& device = devices[number];
  std::snprintf(device.name, sizeof device.name, "fake%d", number);
  std::snprintf(device.dev_name, sizeof device.dev_name, "uverbs%d", number);
  std::snprintf(device.ibdev_path, sizeof device.ibdev_path, "%s",
                faults().folder[static_cast<std::size_t>(number)].c_str());
  device.node_type = IBV_NODE_CA;
  device.transport_type = faults().iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  return &device;
}

int number_of(const ibv_device* device) { return device->name[4] - '0'; }

Context& of(ibv_context* context) { return *static_cast<Context*>(context); }
std::vector<Context*>& contexts() {
  static std::vector<Context*> all;
  return all;
}

// ---- what is alive

/// What has been made and not destroyed, and how many others need it. A device keeps what is needed, and so it leaks;
/// here that ends the test, as does destroying what is not there.
std::mutex alive_lock;
std::map<const void*, int>& alive() {
  static std::map<const void*, int> all;
  return all;
}
using Needs = std::initializer_list<const void*>;
/// nullptr, that is needed, is nothing.
template <class T>
T* born(T* object, Needs needs) {
  const std::lock_guard lock(alive_lock);
  alive().emplace(object, 0);
  for (const void* one : needs)
    if (one != nullptr) ++alive()[one];
  return object;
}
void died(const void* object, const char* what, Needs needs) {
  const std::lock_guard lock(alive_lock);
  const auto known = alive().find(object);
  if (known == alive().end() || known->second != 0) {
    std::fprintf(stderr, "the fake libibverbs: %s of what %s\n", what,
                 known == alive().end() ? "is not there" : "others need");
    std::abort();
  }
  alive().erase(known);
  for (const void* one : needs)
    if (one != nullptr) --alive()[one];
}

// ---- what goes by the table of the device

int poll_cq(ibv_cq* queue, int count, ibv_wc* to) {
  if (const int error = faults().hit("ibv_poll_cq"); error != 0) return -error;
  auto& completions = *static_cast<CompletionQueue*>(queue);
  completions.owner().pump();
  static thread_local std::minstd_rand random;
  static thread_local unsigned seeded = 0;
  if (seeded != faults().seed) random.seed(seeded = faults().seed);
  int taken = 0;
  for (; taken < count && !completions.entries.empty(); ++taken) {
    auto entry = completions.entries.begin();
    if (seeded != 0) {
      // Any queue may be next; within one the order stays.
      const CompletionQueue::Entry& any = completions.entries[random() % completions.entries.size()];
      entry = std::find_if(completions.entries.begin(), completions.entries.end(), [&](const auto& one) {
        return one.wc.qp_num == any.wc.qp_num && one.receives == any.receives;
      });
    }
    to[taken] = entry->wc;
    auto pair = completions.owner().pairs.find(entry->wc.qp_num);
    if (!entry->receives && pair != completions.owner().pairs.end())
      pair->second->retired = std::max(pair->second->retired, entry->retires);
    completions.entries.erase(entry);
  }
  return taken;
}

int request_notification(ibv_cq* queue, int) {
  if (const int error = faults().hit("ibv_req_notify_cq"); error != 0) return error;
  static_cast<CompletionQueue*>(queue)->armed = true;
  return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  auto& receives = *static_cast<SharedReceives*>(srq);
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (const int error = faults().hit("ibv_post_srq_recv"); error != 0) return error;
    if (receives.waiting.size() >= receives.most) return ENOMEM;
    const Region* region = of(srq->context).region(request->sg_list->lkey);
    if (region == nullptr || !region->covers(request->sg_list->addr, request->sg_list->length, IBV_ACCESS_LOCAL_WRITE))
      return EINVAL;
    receives.waiting.push_back({request->wr_id, *request->sg_list});
  }
  return 0;
}

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (const int error = faults().hit("ibv_post_send"); error != 0) return error;
    if (const int error = static_cast<Pair*>(qp)->post(*request); error != 0) return error;
  }
  return 0;
}

/// nullptr, with errno, when the call is to fail.
template <class Make>
auto unless_broken(const char* call, Make&& make) -> decltype(make()) {
  if (const int error = faults().hit(call); error != 0) return errno = error, nullptr;
  return make();
}

Region* make_region(ibv_pd* domain, void* address, std::size_t size, int access, std::byte* real) {
  static thread_local std::mt19937 random{std::random_device{}()};
  auto* region = new Region;
  static_cast<ibv_mr&>(*region) = {};
  region->context = domain->context;
  region->pd = domain;
  region->addr = address;
  region->length = size;
  region->access = access;
  region->real = real;
  auto& regions = of(domain->context).regions;
  do region->lkey = region->rkey = static_cast<std::uint32_t>(random());
  while (!regions.emplace(region->rkey, region).second);
  born(static_cast<ibv_mr*>(region), {domain});
  return region;
}

/// Where the bytes at an address are, if a fake GPU of this process has them; nullptr: it has no memory there any more.
std::byte* bytes_of(void* address) {
  for (const char* named : {"PERIAPT_LIBCUDA", "PERIAPT_LIBAMDHIP64"}) {
    const char* file = std::getenv(named);
    void* library = file == nullptr ? nullptr : ::dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const auto find = reinterpret_cast<void* (*)(const void*)>(::dlsym(library, "periapt_fake_gpu_bytes"));
    ::dlclose(library);
    void* const found = find == nullptr ? address : find(address);
    if (found != address) return static_cast<std::byte*>(found);
  }
  return static_cast<std::byte*>(address);
}

}  // namespace

Faults& faults() {
  static Faults all = [] {
    Faults none;
    // For programs, which have no other way to ask for several.
    if (const char* devices = std::getenv("PERIAPT_FAKE_VERBS_DEVICES"); devices != nullptr)
      none.devices = std::atoi(devices);
    return none;
  }();
  return all;
}

}  // namespace periapt::fake_verbs

using namespace periapt::fake_verbs;

extern "C" {

// ---- for tests

Faults* periapt_fake_verbs_faults() { return &faults(); }
int periapt_fake_verbs_alive() {
  const std::lock_guard lock(alive_lock);
  return static_cast<int>(alive().size());
}
void periapt_fake_verbs_raise(ibv_event_type type, int device) {
  for (Context* context : contexts()) {
    if (device >= 0 && context->number != device) continue;
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = 1;
    context->raise(event);
    if (type != IBV_EVENT_PORT_ERR || !faults().soft_roce) continue;
    for (auto& [number, pair] : context->pairs) pair->silent = pair->state != IBV_QPS_ERR;
  }
}

// ---- devices

ibv_device** ibv_get_device_list(int* count) {
  const int devices = std::min(faults().devices, kDevicesMost);
  if (count != nullptr) *count = devices;
  auto** list = new ibv_device* [static_cast<std::size_t>(devices) + 1] {};
  for (int i = 0; i < devices; ++i) list[i] = device_number(i);
  return born(list, {});
}
void ibv_free_device_list(ibv_device** list) {
  died(list, "ibv_free_device_list()", {});
  delete[] list;
}

ibv_context* ibv_open_device(ibv_device* device) {
  return unless_broken("ibv_open_device", [&]() -> ibv_context* {
    auto* context = new Context(number_of(device));
    context->device = device;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = request_notification;
    context->ops.post_srq_recv = post_srq_recv;
    context->ops.post_send = post_send;
    contexts().push_back(context);
    return born(static_cast<ibv_context*>(context), {});
  });
}
int ibv_close_device(ibv_context* context) {
  died(context, "ibv_close_device()", {});
  std::erase(contexts(), &of(context));
  delete &of(context);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->sys_image_guid = faults().adapter[static_cast<std::size_t>(of(context).number)];
  attributes->vendor_id = faults().soft_roce ? 0xffffff : 1;
  attributes->phys_port_cnt = 1;
  attributes->max_srq = 16;
  attributes->max_srq_wr = faults().receives_most;
  attributes->max_cqe = faults().completions_most;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  return faults().hit("ibv_query_device");
}

int(ibv_query_port)(ibv_context* context, std::uint8_t, _compat_ibv_port_attr* to) {
  ibv_port_attr port{};
  const bool inactive = faults().port_inactive || (faults().ports_inactive >> of(context).number & 1) != 0;
  port.state = inactive ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  port.active_mtu = port.max_mtu = IBV_MTU_4096;
  port.gid_tbl_len = 3;
  port.pkey_tbl_len = static_cast<std::uint16_t>(faults().partitions_of(of(context).number).size());
  port.max_msg_sz = kMessageMost;
  port.active_width = 2;
  port.active_speed = static_cast<std::uint8_t>(faults().speed[static_cast<std::size_t>(of(context).number)]);
  port.lid = 7;
  port.link_layer = faults().infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  std::memcpy(static_cast<void*>(to), &port, offsetof(ibv_port_attr, port_cap_flags2));
  return faults().hit("ibv_query_port");
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
                      std::size_t) {
  if (const int error = faults().hit("ibv_query_gid_ex"); error != 0) return error;
  if (faults().without_gid || index > 2) return ENODATA;
  // As of an interface with 127.0.0.1, and the next address for the next device: a link-local one, and the address as
  // v1 and as v2.
  constexpr std::uint8_t kLocal[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::uint8_t kAddress[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  std::memcpy(entry->gid.raw, index == 0 ? kLocal : kAddress, sizeof kLocal);
  if (faults().infiniband && index == 0)
    entry->gid.raw[7] = faults().subnet[static_cast<std::size_t>(of(context).number)];
  entry->gid.raw[15] = static_cast<std::uint8_t>(1 + of(context).number);
  entry->ndev_ifindex = ::if_nametoindex("lo");
  entry->gid_type = faults().infiniband ? IBV_GID_TYPE_IB : index == 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
  return 0;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t, int index, std::uint16_t* key) {
  if (const int error = faults().hit("ibv_query_pkey"); error != 0) return error;
  const std::vector<std::uint16_t> keys = faults().partitions_of(of(context).number);
  if (index < 0 || static_cast<std::size_t>(index) >= keys.size()) return EINVAL;
  return *key = htons(keys[static_cast<std::size_t>(index)]), 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  std::uint64_t one = 0;
  if (::read(context->async_fd, &one, sizeof one) < 0) return -1;
  *event = of(context).events.front();
  of(context).events.pop_front();
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {}

// ---- memory

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return unless_broken("ibv_alloc_pd", [&] {
    auto* domain = new ibv_pd{};
    domain->context = context;
    return born(domain, {context});
  });
}
int ibv_dealloc_pd(ibv_pd* domain) {
  died(domain, "ibv_dealloc_pd()", {domain->context});
  return delete domain, 0;
}

ibv_mr*(ibv_reg_mr)(ibv_pd* domain, void* address, std::size_t size, int access) {
  return unless_broken("ibv_reg_mr", [&]() -> ibv_mr* {
    std::byte* const real = bytes_of(address);
    const bool on_gpu = real != address;
    if (on_gpu && (real == nullptr || !faults().peer_memory)) return errno = EFAULT, nullptr;
    return make_region(domain, address, size, access, real);
  });
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t size, std::uint64_t address, int fd,
                          int access) {
  return unless_broken("ibv_reg_dmabuf_mr", [&]() -> ibv_mr* {
    constexpr std::uint64_t kPage = 4096;
    if (offset % kPage != address % kPage) return errno = EINVAL, nullptr;
    void* mapped = ::mmap(nullptr, offset + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return nullptr;
    Region* region =
        make_region(domain, reinterpret_cast<void*>(address), size, access, static_cast<std::byte*>(mapped) + offset);
    region->mapped = mapped;
    region->mapped_bytes = offset + size;
    ++faults().dma_bufs;
    return region;
  });
}
int ibv_dereg_mr(ibv_mr* memory) {
  died(memory, "ibv_dereg_mr()", {memory->pd});
  auto* region = static_cast<Region*>(memory);
  of(region->context).regions.erase(region->rkey);
  if (region->mapped != nullptr) {
    ::munmap(region->mapped, region->mapped_bytes);
    --faults().dma_bufs;
  }
  delete region;
  return 0;
}

// ---- completions

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return unless_broken("ibv_create_comp_channel", [&] {
    return born(new ibv_comp_channel{context, of(context).fabric.fd(), 0}, {context});
  });
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  died(channel, "ibv_destroy_comp_channel()", {channel->context});
  return delete channel, 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, ibv_comp_channel* channel, int) {
  return unless_broken("ibv_create_cq", [&]() -> ibv_cq* {
    if (entries > faults().completions_most) return errno = EINVAL, nullptr;
    auto* queue = new CompletionQueue;
    queue->context = context;
    queue->channel = channel;
    queue->cqe = entries;
    return born(static_cast<ibv_cq*>(queue), {context, channel});
  });
}
int ibv_destroy_cq(ibv_cq* queue) {
  died(queue, "ibv_destroy_cq()", {queue->context, queue->channel});
  return delete static_cast<CompletionQueue*>(queue), 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** ours) {
  Context& context = of(channel->context);
  context.pump();
  if (context.told.empty()) return errno = EAGAIN, -1;
  *queue = context.told.front();
  *ours = nullptr;
  context.told.pop_front();
  if (context.told.empty()) context.fabric.signal(false);
  return 0;
}
void ibv_ack_cq_events(ibv_cq*, unsigned) {}

// ---- queues

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* wanted) {
  return unless_broken("ibv_create_srq", [&]() -> ibv_srq* {
    auto* receives = new SharedReceives;
    receives->context = domain->context;
    receives->pd = domain;
    receives->most = wanted->attr.max_wr;
    return born(static_cast<ibv_srq*>(receives), {domain});
  });
}
int ibv_destroy_srq(ibv_srq* receives) {
  died(receives, "ibv_destroy_srq()", {receives->pd});
  return delete static_cast<SharedReceives*>(receives), 0;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  return unless_broken("ibv_create_qp", [&]() -> ibv_qp* {
    if (wanted->cap.max_inline_data > faults().inline_most) return errno = EINVAL, nullptr;
    Context& context = of(domain->context);
    const bool datagrams = wanted->qp_type == IBV_QPT_UD;
    if (datagrams && faults().without_datagrams) return errno = EOPNOTSUPP, nullptr;
    if (!datagrams) __atomic_fetch_add(&faults().pairs_made, 1, __ATOMIC_RELAXED);
    auto* pair = new Pair;
    static_cast<ibv_qp&>(*pair) = {};
    pair->context = &context;
    pair->pd = domain;
    pair->send_cq = wanted->send_cq;
    pair->recv_cq = wanted->recv_cq;
    pair->srq = wanted->srq;
    pair->qp_type = wanted->qp_type;
    pair->depth = wanted->cap.max_send_wr;
    pair->inline_most = wanted->cap.max_inline_data;
    pair->signals_all = wanted->sq_sig_all != 0;
    pair->state = IBV_QPS_RESET;
    constexpr std::uint32_t kPairs = 1u << kPairBits;
    do pair->qp_num = context.fabric.number() << kPairBits | ++context.last_pair % kPairs;
    while (!context.pairs.emplace(pair->qp_num, pair).second);
    return born(static_cast<ibv_qp*>(pair), {domain, pair->send_cq, pair->srq});
  });
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* to, int which) {
  if (const int error = faults().hit("ibv_modify_qp"); error != 0) return error;
  if (which & IBV_QP_AV) {  // the way to the peer is looked for
    if (const int error = faults().hit("ibv_modify_qp, a way"); error != 0) return error;
    if (faults().soft_roce && of(qp->context).is_down()) return ENETUNREACH;
  }
  auto& pair = *static_cast<Pair*>(qp);
  const bool in_order = to->qp_state == IBV_QPS_ERR || (to->qp_state == IBV_QPS_INIT && qp->state == IBV_QPS_RESET) ||
                        (to->qp_state == IBV_QPS_RTR && qp->state == IBV_QPS_INIT) ||
                        (to->qp_state == IBV_QPS_RTS && qp->state == IBV_QPS_RTR);
  if (!in_order) return EINVAL;
  if ((which & IBV_QP_ACCESS_FLAGS) != 0) pair.access = static_cast<int>(to->qp_access_flags);
  if ((which & IBV_QP_PKEY_INDEX) != 0) {
    const std::vector<std::uint16_t> keys = faults().partitions_of(of(qp->context).number);
    if (to->pkey_index >= keys.size()) return EINVAL;
    pair.partition = keys[to->pkey_index];
  }
  if ((which & IBV_QP_PATH_MTU) != 0) std::atomic_ref(faults().path_mtu).store(to->path_mtu, std::memory_order_relaxed);
  if ((which & IBV_QP_DEST_QPN) != 0) pair.destination = to->dest_qp_num;
  if ((which & IBV_QP_QKEY) != 0) pair.key = to->qkey;
  pair.state = to->qp_state;
  if (to->qp_state == IBV_QPS_ERR) pair.fail();
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  died(qp, "ibv_destroy_qp()", {qp->pd, qp->send_cq, qp->srq});
  of(qp->context).pairs.erase(qp->qp_num);
  return delete static_cast<Pair*>(qp), 0;
}

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* route) {
  return unless_broken("ibv_create_ah", [&]() -> ibv_ah* {
    if (route->is_global == 0 && !faults().infiniband) return errno = EINVAL, nullptr;  // RoCE has no LIDs
    auto* way = new Way;
    way->context = domain->context;
    way->pd = domain;
    return born(static_cast<ibv_ah*>(way), {domain});
  });
}
int ibv_destroy_ah(ibv_ah* way) {
  died(way, "ibv_destroy_ah()", {way->pd});
  return delete static_cast<Way*>(way), 0;
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  return status == IBV_WC_REM_OP_ERR ? "remote operation error" : "an error of the fake";
}

}  // extern "C"
