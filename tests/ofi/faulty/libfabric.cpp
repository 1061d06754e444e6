// The system's libfabric with faults of a test's choice: everything goes through to it, but calls may fail, operations
// may end with an error, and what has ended may be told in another order. It copies the tables of functions that
// libfabric's objects carry, and puts its own functions into the copies.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tests/ofi/faulty/faults.h"

namespace periapt::faulty_fabric {
namespace {

Faults faults;

int fault_of(const char* call) {
  const auto found = faults.fails.find(call);
  return found == faults.fails.end() ? 0 : found->second;
}

template <class Function>
Function* real(const char* name) {
  static void* library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

/// The tables that objects had, by object. Objects are few and tests short, so none is taken out again: one that comes
/// to the same address takes its place.
template <class Ops>
std::unordered_map<const void*, Ops*>& originals() {
  static std::unordered_map<const void*, Ops*> all;
  return all;
}
template <class Ops>
Ops& original(const void* object) {
  return *originals<Ops>()[object];
}
/// A copy of the table takes its place, to be changed.
template <class Ops>
std::remove_const_t<Ops>& own_copy(const void* object, Ops*& table) {
  originals<Ops>()[object] = table;
  auto* copy = new std::remove_const_t<Ops>(*table);
  table = copy;
  return *copy;
}

// ---- completions

struct Told {
  fi_cq_msg_entry entry;
  int error;
};
std::unordered_map<fid_cq*, std::deque<Told>> told;

/// A message that is overtaken, and by how many more.
struct Overtaken {
  std::optional<Told> message;
  int by = 0;
};
std::unordered_map<fid_cq*, Overtaken> overtaken;

void tell_arrival(fid_cq* queue, std::deque<Told>& waiting, const Told& message) {
  Overtaken& late = overtaken[queue];
  if (faults.overtaken_by > 0) {
    late = {message, std::exchange(faults.overtaken_by, 0)};
    return;
  }
  waiting.push_back(message);
  if (late.message && --late.by == 0) waiting.push_back(*std::exchange(late.message, std::nullopt));
}

int next_of(std::deque<int>& ends) {
  if (ends.empty()) return 0;
  const int error = ends.front();
  ends.pop_front();
  return error;
}

void refill(fid_cq* queue, std::deque<Told>& waiting) {
  fi_cq_msg_entry room[64];
  const ssize_t count = original<fi_ops_cq>(queue).read(queue, room, std::size(room));
  for (ssize_t i = 0; i < count; ++i) {
    if ((room[i].flags & FI_RECV) != 0) {
      tell_arrival(queue, waiting, {room[i], 0});
      continue;
    }
    const bool operation = (room[i].flags & FI_RMA) != 0, send = (room[i].flags & FI_SEND) != 0;
    waiting.push_back({room[i], operation ? next_of(faults.next_operations) : send ? next_of(faults.next_sends) : 0});
  }
  static std::minstd_rand order;
  if (faults.seed == 0) return;
  order.seed(++faults.seed);
  std::shuffle(waiting.begin(), waiting.end(), order);
}

ssize_t read_queue(fid_cq* queue, void* buffer, std::size_t most) {
  std::deque<Told>& waiting = told[queue];
  if (waiting.empty()) refill(queue, waiting);
  auto* out = static_cast<fi_cq_msg_entry*>(buffer);
  ssize_t count = 0;
  for (; !waiting.empty() && waiting.front().error == 0 && count < static_cast<ssize_t>(most); waiting.pop_front())
    out[count++] = waiting.front().entry;
  if (count > 0) return count;
  if (!waiting.empty()) return -FI_EAVAIL;
  fi_cq_msg_entry none;  // what it says itself, an error perhaps
  return original<fi_ops_cq>(queue).read(queue, &none, 0);
}

ssize_t read_error(fid_cq* queue, fi_cq_err_entry* entry, std::uint64_t flags) {
  std::deque<Told>& waiting = told[queue];
  if (waiting.empty()) return original<fi_ops_cq>(queue).readerr(queue, entry, flags);
  *entry = {};
  entry->op_context = faults.nameless ? nullptr : waiting.front().entry.op_context;
  entry->err = waiting.front().error;
  waiting.pop_front();
  return 1;
}

// ---- what is made

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  if (const int error = fault_of("fi_cq_open"); error != 0) return -error;
  const int error = original<fi_ops_domain>(domain).cq_open(domain, attributes, queue, context);
  if (error != 0) return error;
  told[*queue].clear();
  overtaken.erase(*queue);
  fi_ops_cq& ops = own_copy(*queue, (*queue)->ops);
  ops.read = read_queue;
  ops.readerr = read_error;
  return 0;
}

int open_addresses(fid_domain* domain, fi_av_attr* attributes, fid_av** addresses, void* context) {
  const int error = fault_of("fi_av_open");
  return error != 0 ? -error : original<fi_ops_domain>(domain).av_open(domain, attributes, addresses, context);
}

ssize_t inject(fid_ep* endpoint, const void* bytes, std::size_t size, fi_addr_t to) {
  const int error = fault_of("fi_inject");
  return error != 0 ? -error : original<fi_ops_msg>(endpoint).inject(endpoint, bytes, size, to);
}
ssize_t send(fid_ep* endpoint, const void* bytes, std::size_t size, void* key, fi_addr_t to, void* context) {
  const int error = fault_of("fi_send");
  return error != 0 ? -error : original<fi_ops_msg>(endpoint).send(endpoint, bytes, size, key, to, context);
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  if (const int error = fault_of("fi_endpoint"); error != 0) return -error;
  const int error = original<fi_ops_domain>(domain).endpoint(domain, info, endpoint, context);
  if (error != 0) return error;
  fi_ops_msg& ops = own_copy(*endpoint, (*endpoint)->msg);
  ops.inject = inject;
  ops.send = send;
  return 0;
}

int register_memory(fid* domain, const void* bytes, std::size_t size, std::uint64_t access, std::uint64_t offset,
                    std::uint64_t key, std::uint64_t flags, fid_mr** region, void* context) {
  if (const int error = fault_of("fi_mr_reg"); error != 0) return -error;
  return original<fi_ops_mr>(domain).reg(domain, bytes, size, access, offset, key, flags, region, context);
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  if (const int error = fault_of("fi_domain"); error != 0) return -error;
  const int error = original<fi_ops_fabric>(fabric).domain(fabric, info, domain, context);
  if (error != 0) return error;
  fi_ops_domain& ops = own_copy(*domain, (*domain)->ops);
  ops.cq_open = open_queue;
  ops.av_open = open_addresses;
  ops.endpoint = open_endpoint;
  own_copy(&(*domain)->fid, (*domain)->mr).reg = register_memory;
  return 0;
}

}  // namespace
}  // namespace periapt::faulty_fabric

using namespace periapt::faulty_fabric;

extern "C" {

Faults& periapt_faulty_fabric_faults() { return faults; }

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
               fi_info** info) {
  if (const int error = fault_of("fi_getinfo"); error != 0) return -error;
  return real<decltype(fi_getinfo)>("fi_getinfo")(version, node, service, flags, hints, info);
}
void fi_freeinfo(fi_info* info) { real<decltype(fi_freeinfo)>("fi_freeinfo")(info); }
fi_info* fi_dupinfo(const fi_info* info) { return real<decltype(fi_dupinfo)>("fi_dupinfo")(info); }
int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  if (const int error = fault_of("fi_fabric"); error != 0) return -error;
  const int error = real<decltype(fi_fabric)>("fi_fabric")(attributes, fabric, context);
  // Of one fabric opened twice libfabric may give the same object.
  if (error == 0 && (*fabric)->ops->domain != open_domain) own_copy(*fabric, (*fabric)->ops).domain = open_domain;
  return error;
}
std::uint32_t fi_version() { return faults.version != 0 ? faults.version : real<decltype(fi_version)>("fi_version")(); }
const char* fi_strerror(int error) { return real<decltype(fi_strerror)>("fi_strerror")(error); }

}  // extern "C"
