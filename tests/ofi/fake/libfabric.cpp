// A libfabric with one provider, "fake/fake0", between the endpoints of this process: as an adapter's, without one. It
// checks what it is given as a provider would (addresses, keys, ranges, that what is closed is not needed any more),
// reads exactly what it is told to, and all that it does it does within calls, so that a run can be stepped.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/ofi/fake/faults.h"

namespace periapt::fake_fabric {
namespace {

Faults faults;

// ---- descriptions: what an fi_info points to lies behind it

struct Description : fi_info {
  fi_tx_attr tx{};
  fi_rx_attr rx{};
  fi_ep_attr ep{};
  fi_domain_attr domain{};
  fi_fabric_attr fabric{};
  std::string provider, fabric_name, domain_name;

  Description() : fi_info{} { point(); }
  explicit Description(const fi_info& other) : fi_info(other) {
    tx = *other.tx_attr, rx = *other.rx_attr, ep = *other.ep_attr, domain = *other.domain_attr;
    fabric = *other.fabric_attr;
    const auto text = [](const char* from) { return std::string(from == nullptr ? "" : from); };
    provider = text(fabric.prov_name), fabric_name = text(fabric.name), domain_name = text(domain.name);
    next = nullptr;
    point();
  }
  void point() {
    tx_attr = &tx, rx_attr = &rx, ep_attr = &ep, domain_attr = &domain, fabric_attr = &fabric;
    fabric.prov_name = provider.data(), fabric.name = fabric_name.data(), domain.name = domain_name.data();
  }
};

// ---- what is made, and what needs it

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "the fake libfabric: %s\n", what);
  std::abort();
}

int objects = 0;

/// Another one needs it until its end.
struct Counted {
  explicit Counted(Counted* what) : needs(what) {
    ++objects;
    if (needs != nullptr) ++needs->users;
  }
  ~Counted() {
    if (users != 0) wrong("something is closed that is still needed");
    --objects;
    if (needs != nullptr) --needs->users;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Counted* const needs;
  int users = 0;
};

struct Name {
  static constexpr std::uint64_t kMagic = 0x6662'6166'656b'6166;
  std::uint64_t magic = kMagic, number = 0, zero = 0;
};

struct Queue;
struct Endpoint;
std::map<std::uint64_t, Endpoint*> endpoints;  // by number, all of this process
std::uint64_t last_number = 0;

struct Fabric : Counted {
  Fabric() : Counted(nullptr) {}
  fid_fabric face{};
};
struct Region;
struct Domain : Counted {
  explicit Domain(Fabric& of) : Counted(&of) {}
  fid_domain face{};
};
std::map<std::uint64_t, Region*> regions;  // by key, all of this process
struct Region : Counted {
  explicit Region(Domain& of) : Counted(&of) {}
  fid_mr face{};
  std::byte* at = nullptr;
  std::size_t size = 0;
  std::uint64_t access = 0;
  bool holds(std::uint64_t from, std::size_t bytes) const {
    const std::uint64_t offset = from - reinterpret_cast<std::uint64_t>(at);
    return offset <= size && bytes <= size - offset;
  }
};
struct Addresses : Counted {
  explicit Addresses(Domain& of) : Counted(&of) {}
  fid_av face{};
  std::vector<std::uint64_t> numbers;
};
struct Told {
  fi_cq_msg_entry entry{};
  int error = 0;
};
struct Queue : Counted {
  explicit Queue(Domain& of) : Counted(&of) {}
  ~Queue() {
    if (events >= 0) ::close(events);
  }
  void tell(const Told& one) {
    told.push_back(one);
    is_readable(true);
  }
  void is_readable(bool is) const {
    if (events < 0) return;
    std::uint64_t count = 1;
    static_cast<void>((is ? ::write(events, &count, sizeof count) : ::read(events, &count, sizeof count)) < 0);
  }
  fid_cq face{};
  int events = -1;
  std::deque<Told> told;
  std::vector<Told> late;  // one, that is told after the next
};
struct Receive {
  void* to;
  std::size_t room;
  void* context;
};
struct Endpoint : Counted {
  explicit Endpoint(Domain& of) : Counted(&of), number(++last_number) { endpoints[number] = this; }
  ~Endpoint() {
    endpoints.erase(number);
    if (addresses != nullptr) --addresses->users;
    if (queue != nullptr) --queue->users;
  }
  fid_ep face{};
  const std::uint64_t number;
  Addresses* addresses = nullptr;
  Queue* queue = nullptr;
  bool enabled = false;
  std::deque<Receive> receives;
  std::deque<std::vector<std::byte>> waiting;  // for a receive
};

template <class Object, class Face>
Object& of(Face* face) {
  return *static_cast<Object*>(face->fid.context);
}
template <class Object>
int close_it(fid* face) {
  delete static_cast<Object*>(face->context);
  return 0;
}
int bind_nothing(fid*, fid*, std::uint64_t) { return -FI_ENOSYS; }
int control_nothing(fid*, int, void*) { return -FI_ENOSYS; }

template <class Object>
fi_ops& ops_of() {
  static fi_ops ops = {sizeof(fi_ops), close_it<Object>, bind_nothing, control_nothing, nullptr, nullptr, nullptr};
  return ops;
}
/// The object of a face is what its context says.
template <class Object, class Face>
void begin(Object& object, Face& face, fi_ops& ops) {
  face.fid.context = &object;
  face.fid.ops = &ops;
}

bool registered(const void* desc, const void* at, std::size_t size) {
  if (!faults.registers_all) return true;
  const auto known = std::find_if(regions.begin(), regions.end(), [&](const auto& one) { return one.second == desc; });
  return known != regions.end() && known->second->holds(reinterpret_cast<std::uint64_t>(at), size);
}

// ---- messages

int next_of(std::deque<int>& ends) {
  if (ends.empty()) return 0;
  const int error = ends.front();
  ends.pop_front();
  return error;
}

void tell(Queue& queue, void* context, std::uint64_t flags, std::size_t size, int error) {
  queue.tell({{context, flags, size}, error});
}

void deliver(Endpoint& to) {
  while (!to.waiting.empty() && !to.receives.empty()) {
    const Receive receive = to.receives.front();
    to.receives.pop_front();
    const std::vector<std::byte> message = std::move(to.waiting.front());
    to.waiting.pop_front();
    const std::size_t size = std::min(message.size(), receive.room);
    if (size != 0) std::memcpy(receive.to, message.data(), size);
    const Told told{{receive.context, FI_RECV | FI_MSG, size}, message.size() > receive.room ? FI_ETRUNC : 0};
    Queue& queue = *to.queue;
    if (faults.late_one_in != 0 && ++faults.messages % faults.late_one_in == 0 && queue.late.empty()) {
      queue.late.push_back(told);
      queue.is_readable(true);
      continue;
    }
    queue.tell(told);
    if (queue.late.empty()) continue;
    queue.tell(queue.late.front());
    queue.late.clear();
  }
}

Endpoint* at(Endpoint& from, fi_addr_t address) {
  if (address >= from.addresses->numbers.size()) wrong("an address that was never inserted");
  const auto known = endpoints.find(from.addresses->numbers[address]);
  return known == endpoints.end() ? nullptr : known->second;
}

void carry(Endpoint* to, const void* bytes, std::size_t size) {
  if (to == nullptr) return;
  const auto* first = static_cast<const std::byte*>(bytes);
  to->waiting.emplace_back(first, first + size);
  if (std::exchange(faults.next_twice, false)) to->waiting.emplace_back(first, first + size);
  deliver(*to);
}

ssize_t inject(fid_ep* face, const void* bytes, std::size_t size, fi_addr_t address) {
  if (const int error = faults.hit("fi_inject"); error != 0) return -error;
  if (size > 64) wrong("more is injected than fits");
  carry(at(of<Endpoint>(face), address), bytes, size);
  return 0;
}
ssize_t send(fid_ep* face, const void* bytes, std::size_t size, void* desc, fi_addr_t address, void* context) {
  if (const int error = faults.hit("fi_send"); error != 0) return -error;
  auto& from = of<Endpoint>(face);
  if (!registered(desc, bytes, size)) wrong("what is sent is not registered");
  Endpoint* const to = at(from, address);
  int error = next_of(faults.next_sends);
  if (error == 0 && to == nullptr) error = FI_EHOSTUNREACH;
  if (error == 0) carry(to, bytes, size);
  tell(*from.queue, context, FI_SEND | FI_MSG, 0, error);
  return 0;
}
ssize_t receive(fid_ep* face, void* to, std::size_t size, void* desc, fi_addr_t, void* context) {
  if (const int error = faults.hit("fi_recv"); error != 0) return -error;
  if (!registered(desc, to, size)) wrong("what is received into is not registered");
  auto& endpoint = of<Endpoint>(face);
  endpoint.receives.push_back({to, size, context});
  deliver(endpoint);
  return 0;
}

// ---- puts and gets

ssize_t operate(fid_ep* face, const fi_msg_rma* message, bool is_read) {
  if (const int error = faults.hit(is_read ? "fi_readmsg" : "fi_writemsg"); error != 0) return -error;
  auto& from = of<Endpoint>(face);
  Endpoint* const to = at(from, message->addr);
  const iovec local = *message->msg_iov;
  const fi_rma_iov remote = *message->rma_iov;
  if (!registered(message->desc[0], local.iov_base, local.iov_len)) wrong("memory of this side is not registered");
  const auto known = regions.find(remote.key);
  int error = next_of(faults.next_operations);
  if (error == 0 && to == nullptr) error = FI_EHOSTUNREACH;
  if (error == 0 && (known == regions.end() || !known->second->holds(remote.addr, remote.len))) error = FI_EACCES;
  const std::uint64_t right = is_read ? FI_REMOTE_READ : FI_REMOTE_WRITE;
  if (error == 0 && (known->second->access & right) == 0) error = FI_EACCES;
  if (error == 0) {
    auto* const there = reinterpret_cast<void*>(remote.addr);
    std::memcpy(is_read ? local.iov_base : there, is_read ? there : local.iov_base, local.iov_len);
  }
  tell(*from.queue, message->context, FI_RMA | (is_read ? FI_READ : FI_WRITE), 0, error);
  return 0;
}
ssize_t write_message(fid_ep* face, const fi_msg_rma* message, std::uint64_t) { return operate(face, message, false); }
ssize_t read_message(fid_ep* face, const fi_msg_rma* message, std::uint64_t) { return operate(face, message, true); }

// ---- completions

ssize_t read_queue(fid_cq* face, void* buffer, std::size_t most) {
  auto& queue = of<Queue>(face);
  if (const int error = faults.hit("fi_cq_read"); error != 0) return queue.is_readable(true), -error;
  if (queue.told.empty() && !queue.late.empty()) {
    queue.told.push_back(queue.late.front());
    queue.late.clear();
  }
  auto* out = static_cast<fi_cq_msg_entry*>(buffer);
  ssize_t count = 0;
  for (; !queue.told.empty() && queue.told.front().error == 0 && count < static_cast<ssize_t>(most);
       queue.told.pop_front())
    out[count++] = queue.told.front().entry;
  if (queue.told.empty() && queue.late.empty()) queue.is_readable(false);
  if (count > 0) return count;
  return queue.told.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}
ssize_t read_error(fid_cq* face, fi_cq_err_entry* entry, std::uint64_t) {
  if (const int error = faults.hit("fi_cq_readerr"); error != 0) return -error;
  auto& queue = of<Queue>(face);
  if (queue.told.empty()) return -FI_EAGAIN;
  *entry = {};
  entry->op_context = faults.nameless ? nullptr : queue.told.front().entry.op_context;
  entry->err = queue.told.front().error;
  queue.told.pop_front();
  return 1;
}
const char* text_of_queue(fid_cq*, int, const void*, char* room, std::size_t size) {
  std::snprintf(room, size, "an error of the fake");
  return room;
}

// ---- making

int insert(fid_av* face, const void* bytes, std::size_t count, fi_addr_t* addresses, std::uint64_t, void*) {
  if (const int error = faults.hit("fi_av_insert"); error != 0) return -error;
  if (count != 1) wrong("several addresses at a time");
  Name name;
  std::memcpy(&name, bytes, sizeof name);
  if (name.magic != Name::kMagic || name.zero != 0 || name.number > last_number) return 0;
  auto& all = of<Addresses>(face).numbers;
  all.push_back(name.number);
  *addresses = all.size() - 1;
  return 1;
}

int bind_endpoint(fid* face, fid* what, std::uint64_t) {
  if (const int error = faults.hit("fi_ep_bind"); error != 0) return -error;
  auto& endpoint = *static_cast<Endpoint*>(face->context);
  if (what->fclass == FI_CLASS_AV) {
    endpoint.addresses = static_cast<Addresses*>(what->context);
    ++endpoint.addresses->users;
  } else {
    endpoint.queue = static_cast<Queue*>(what->context);
    ++endpoint.queue->users;
  }
  return 0;
}
int enable_endpoint(fid* face, int, void*) {
  if (const int error = faults.hit("fi_enable"); error != 0) return -error;
  auto& endpoint = *static_cast<Endpoint*>(face->context);
  if (endpoint.addresses == nullptr || endpoint.queue == nullptr) wrong("an endpoint is enabled with nothing bound");
  endpoint.enabled = true;
  return 0;
}
int name_of(fid* face, void* to, std::size_t* size) {
  if (const int error = faults.hit("fi_getname"); error != 0) return -error;
  const Name name{Name::kMagic, static_cast<Endpoint*>(face->context)->number, 0};
  if (*size < sizeof name) return -FI_ETOOSMALL;
  std::memcpy(to, &name, *size = sizeof name);
  return 0;
}

int open_endpoint(fid_domain* face, fi_info*, fid_ep** made, void*) {
  if (const int error = faults.hit("fi_endpoint"); error != 0) return -error;
  static fi_ops ops = {sizeof(fi_ops), close_it<Endpoint>, bind_endpoint, enable_endpoint, nullptr, nullptr, nullptr};
  static fi_ops_cm names = [] {
    fi_ops_cm all{};
    all.size = sizeof all, all.getname = name_of;
    return all;
  }();
  static fi_ops_msg messages = [] {
    fi_ops_msg all{};
    all.size = sizeof all, all.recv = receive, all.send = send, all.inject = inject;
    return all;
  }();
  static fi_ops_rma memory = [] {
    fi_ops_rma all{};
    all.size = sizeof all, all.readmsg = read_message, all.writemsg = write_message;
    return all;
  }();
  auto* endpoint = new Endpoint(of<Domain>(face));
  begin(*endpoint, endpoint->face, ops);
  endpoint->face.fid.fclass = FI_CLASS_EP;
  endpoint->face.cm = &names, endpoint->face.msg = &messages, endpoint->face.rma = &memory;
  *made = &endpoint->face;
  return 0;
}

int give_descriptor(fid* face, int command, void* to) {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  return *static_cast<int*>(to) = static_cast<Queue*>(face->context)->events, 0;
}
int open_queue(fid_domain* face, fi_cq_attr* wanted, fid_cq** made, void*) {
  if (const int error = faults.hit("fi_cq_open"); error != 0) return -error;
  if (wanted->wait_obj != FI_WAIT_NONE && !faults.has_descriptor) return -FI_ENOSYS;
  static fi_ops_cq ops = [] {
    fi_ops_cq all{};
    all.size = sizeof all, all.read = read_queue, all.readerr = read_error, all.strerror = text_of_queue;
    return all;
  }();
  auto* queue = new Queue(of<Domain>(face));
  static fi_ops of_queue = {sizeof(fi_ops), close_it<Queue>, bind_nothing, give_descriptor, nullptr, nullptr, nullptr};
  begin(*queue, queue->face, of_queue);
  if (wanted->wait_obj != FI_WAIT_NONE) queue->events = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  queue->face.fid.fclass = FI_CLASS_CQ;
  queue->face.ops = &ops;
  *made = &queue->face;
  return 0;
}

int open_addresses(fid_domain* face, fi_av_attr*, fid_av** made, void*) {
  if (const int error = faults.hit("fi_av_open"); error != 0) return -error;
  static fi_ops_av ops = [] {
    fi_ops_av all{};
    all.size = sizeof all, all.insert = insert;
    return all;
  }();
  auto* addresses = new Addresses(of<Domain>(face));
  begin(*addresses, addresses->face, ops_of<Addresses>());
  addresses->face.fid.fclass = FI_CLASS_AV;
  addresses->face.ops = &ops;
  *made = &addresses->face;
  return 0;
}

int close_region(fid* face) {
  auto* region = static_cast<Region*>(face->context);
  regions.erase(region->face.key);
  delete region;
  return 0;
}
int register_memory(fid* face, const void* bytes, std::size_t size, std::uint64_t access, std::uint64_t, std::uint64_t,
                    std::uint64_t, fid_mr** made, void*) {
  if (const int error = faults.hit("fi_mr_reg"); error != 0) return -error;
  static fi_ops ops = {sizeof(fi_ops), close_region, bind_nothing, control_nothing, nullptr, nullptr, nullptr};
  static std::uint64_t last_key = 0;
  auto* region = new Region(*static_cast<Domain*>(face->context));
  begin(*region, region->face, ops);
  region->face.fid.fclass = FI_CLASS_MR;
  region->face.mem_desc = region;
  region->face.key = ++last_key;
  region->at = static_cast<std::byte*>(const_cast<void*>(bytes)), region->size = size, region->access = access;
  regions[last_key] = region;
  *made = &region->face;
  return 0;
}

int open_domain(fid_fabric* face, fi_info*, fid_domain** made, void*) {
  if (const int error = faults.hit("fi_domain"); error != 0) return -error;
  static fi_ops_domain ops = [] {
    fi_ops_domain all{};
    all.size = sizeof all, all.av_open = open_addresses, all.cq_open = open_queue, all.endpoint = open_endpoint;
    return all;
  }();
  static fi_ops_mr memory = [] {
    fi_ops_mr all{};
    all.size = sizeof all, all.reg = register_memory;
    return all;
  }();
  auto* domain = new Domain(of<Fabric>(face));
  begin(*domain, domain->face, ops_of<Domain>());
  domain->face.fid.fclass = FI_CLASS_DOMAIN;
  domain->face.ops = &ops, domain->face.mr = &memory;
  *made = &domain->face;
  return 0;
}

int try_wait(fid_fabric*, fid** waits, int) {
  const auto& queue = *static_cast<Queue*>((*waits)->context);
  return queue.told.empty() && queue.late.empty() ? 0 : -FI_EAGAIN;
}

}  // namespace
}  // namespace periapt::fake_fabric

using namespace periapt::fake_fabric;

extern "C" {

Faults* periapt_fake_fabric_faults() { return &faults; }
int periapt_fake_fabric_alive() { return objects; }

fi_info* fi_dupinfo(const fi_info* info) { return info == nullptr ? new Description : new Description(*info); }
void fi_freeinfo(fi_info* info) {
  for (fi_info* next = nullptr; info != nullptr; info = next) {
    next = info->next;
    delete static_cast<Description*>(info);
  }
}

int fi_getinfo(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** info) {
  if (const int error = faults.hit("fi_getinfo"); error != 0) return -error;
  if (faults.without_memory && (hints->caps & FI_RMA) != 0) return -FI_ENODATA;
  auto* found = new Description;
  found->provider = "fake", found->fabric_name = "fake", found->domain_name = "fake0";
  found->caps = hints->caps;
  found->addr_format = FI_SOCKADDR_IN;
  found->ep.type = FI_EP_RDM;
  found->ep.max_msg_size = std::uint64_t{1} << 30;
  found->tx.inject_size = 64;
  found->domain.control_progress = found->domain.data_progress =
      faults.has_descriptor ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  found->domain.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | (faults.registers_all ? FI_MR_LOCAL : 0);
  found->domain.mr_key_size = sizeof(std::uint64_t);
  found->point();
  *info = found;
  return 0;
}

int fi_fabric(fi_fabric_attr*, fid_fabric** made, void*) {
  if (const int error = faults.hit("fi_fabric"); error != 0) return -error;
  static fi_ops_fabric ops = [] {
    fi_ops_fabric all{};
    all.size = sizeof all, all.domain = open_domain, all.trywait = try_wait;
    return all;
  }();
  auto* fabric = new Fabric;
  begin(*fabric, fabric->face, ops_of<Fabric>());
  fabric->face.fid.fclass = FI_CLASS_FABRIC;
  fabric->face.ops = &ops;
  *made = &fabric->face;
  return 0;
}

std::uint32_t fi_version() { return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION); }
const char* fi_strerror(int error) { return std::strerror(error); }

}  // extern "C"
