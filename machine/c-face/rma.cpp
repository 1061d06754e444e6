// Memory, keys, put, get and atomics.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/bits.h"
#include "base/platform.h"
#include "machine/c-face/face.h"

using namespace periapt;
using face::Request;

namespace {

// A key for peers: that of each worker of the context, since a peer's endpoint leads to one of them.
//   count, then for each: the worker's id, length, the engine's key
void put_number(std::vector<std::byte>& to, const void* number, std::size_t size) {
  auto* bytes = static_cast<const std::byte*>(number);
  to.insert(to.end(), bytes, bytes + size);
}

ucs_status_t register_with(ucp_mem& memory, ucp_worker* worker) {
  if (memory.registered.contains(worker)) return UCS_OK;
  auto registered = worker->engine->register_memory({memory.address, memory.length}, memory.kind);
  if (!registered.ok()) return UCS_ERR_NO_MEMORY;
  memory.registered[worker] = *registered;
  return UCS_OK;
}

// Memory that processes of this host reach by loads and stores, whole pages of zeros as the system gives them. False:
// there is no worker yet that could offer any, or it has not so much.
bool allocate_by_engine(ucp_mem& memory) {
  if (memory.context->workers.empty()) return false;
  memory.offered = memory.context->workers.front()->engine->allocate(memory.length + platform::kPage);
  if (!memory.offered) return false;
  auto begin = round_up(reinterpret_cast<std::uintptr_t>(memory.offered.data()), platform::kPage);
  memory.address = reinterpret_cast<std::byte*>(begin);
  std::memset(memory.address, 0, memory.length);
  return true;
}

Request* one_sided(ucp_ep_h ep, ucp_send_callback_t cb) {
  Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::send;
  request->send = cb;
  return request;
}

ucs_status_ptr_t put(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, uint64_t remote,
                     ucp_rkey_h rkey) {
  return face::run(ep, request, param, [request, remote, rkey](ucx::Endpoint& engine) {
    return engine.put(request->bytes.span(), remote, rkey->key, face::sent, request, request->kind);
  });
}

ucs_status_ptr_t get(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, uint64_t remote,
                     ucp_rkey_h rkey) {
  request->finally = [request] { request->bytes.unpack(request->bytes.span().size()); };
  return face::run(ep, request, param, [request, remote, rkey](ucx::Endpoint& engine) {
    return engine.get(request->bytes.span(), remote, rkey->key, face::sent, request, request->kind);
  });
}

ucs_status_ptr_t atomic(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, ucx::AtomicOp op,
                        std::size_t width, uint64_t operand, uint64_t compare, uint64_t remote, ucp_rkey_h rkey,
                        void* result) {
  return face::run(ep, request, param, [=](ucx::Endpoint& engine) {
    return engine.fetch_op(op, width, operand, compare, remote, rkey->key, result, face::sent, request);
  });
}

ucs_status_t without_request(ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request);
  ucp_request_free(request);
  return UCS_INPROGRESS;
}

uint64_t read_width(const void* from, std::size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, from, width);
  return value;
}

constexpr std::size_t kUnknownWidth = 0;
std::size_t width_of(const ucp_request_param_t* param) {
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) == 0) return kUnknownWidth;
  return param->datatype >> UCP_DATATYPE_SHIFT;
}

ucs_status_t blocking_atomic(ucp_ep_h ep, ucx::AtomicOp op, std::size_t width, uint64_t operand, uint64_t compare,
                             uint64_t remote, ucp_rkey_h rkey, void* result) {
  Request* request = one_sided(ep, nullptr);
  return face::wait_for(ep->worker, atomic(ep, request, nullptr, op, width, operand, compare, remote, rkey, result));
}

}  // namespace

extern "C" {

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t* params, ucp_mem_h* made) {
  std::uint64_t given = params->field_mask;
  if ((given & UCP_MEM_MAP_PARAM_FIELD_LENGTH) == 0) return UCS_ERR_INVALID_PARAM;
  auto memory = std::make_unique<ucp_mem>();
  memory->context = context;
  memory->length = params->length;
  if ((given & UCP_MEM_MAP_PARAM_FIELD_ADDRESS) != 0) memory->address = static_cast<std::byte*>(params->address);
  bool allocate = (given & UCP_MEM_MAP_PARAM_FIELD_FLAGS) != 0 && (params->flags & UCP_MEM_MAP_ALLOCATE) != 0;
  if ((given & UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE) != 0) memory->kind = face::kind_of(params->memory_type);
  // What lies on a GPU is the program's.
  const bool usable =
      memory->kind == ucx::MemoryKind::host ||
      (memory->address != nullptr && (face::memory_types() & UCS_BIT(face::type_of(memory->kind))) != 0);
  if (!usable) return UCS_ERR_UNSUPPORTED;
  if (allocate && memory->address == nullptr && memory->length != 0 && !allocate_by_engine(*memory)) {
    void* mapped = ::mmap(nullptr, memory->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return UCS_ERR_NO_MEMORY;
    memory->address = static_cast<std::byte*>(mapped);
    memory->allocated = true;
  }
  for (ucp_worker* worker : context->workers) {
    ucs_status_t status = register_with(*memory, worker);
    if (status != UCS_OK) return status;
  }
  *made = memory.release();
  return UCS_OK;
}

ucs_status_t ucp_mem_unmap(ucp_context_h, ucp_mem_h memory) {
  memory->registered.clear();
  if (memory->allocated) ::munmap(memory->address, memory->length);
  delete memory;
  return UCS_OK;
}

ucs_status_t ucp_mem_query(const ucp_mem_h memory, ucp_mem_attr_t* attr) {
  if ((attr->field_mask & UCP_MEM_ATTR_FIELD_ADDRESS) != 0) attr->address = memory->address;
  if ((attr->field_mask & UCP_MEM_ATTR_FIELD_LENGTH) != 0) attr->length = memory->length;
  if ((attr->field_mask & UCP_MEM_ATTR_FIELD_MEM_TYPE) != 0) attr->mem_type = face::type_of(memory->kind);
  return UCS_OK;
}

ucs_status_t ucp_mem_advise(ucp_context_h, ucp_mem_h, ucp_mem_advise_params_t*) { return UCS_OK; }

ucs_status_t ucp_rkey_pack(ucp_context_h context, ucp_mem_h memory, void** packed, size_t* size) {
  std::vector<std::byte> bytes;
  auto count = static_cast<std::uint32_t>(context->workers.size());
  put_number(bytes, &count, sizeof(count));
  for (ucp_worker* worker : context->workers) {
    ucs_status_t status = register_with(*memory, worker);
    if (status != UCS_OK) return status;
    std::vector<std::byte> key = worker->engine->pack_key(memory->registered[worker]);
    ucx::PeerId peer = worker->engine->self();
    auto length = static_cast<std::uint32_t>(key.size());
    put_number(bytes, &peer, sizeof(peer));
    put_number(bytes, &length, sizeof(length));
    bytes.insert(bytes.end(), key.begin(), key.end());
  }
  *packed = std::malloc(bytes.size());
  if (*packed == nullptr) return UCS_ERR_NO_MEMORY;
  std::memcpy(*packed, bytes.data(), bytes.size());
  *size = bytes.size();
  return UCS_OK;
}

void ucp_rkey_buffer_release(void* packed) { std::free(packed); }

ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h ep, const void* packed, ucp_rkey_h* made) {
  if (ep->engine == nullptr) return ep->failure == UCS_OK ? UCS_ERR_NOT_CONNECTED : ep->failure;
  auto* at = static_cast<const std::byte*>(packed);
  std::uint32_t count = 0;
  std::memcpy(&count, at, sizeof(count));
  at += sizeof(count);
  for (; count > 0; --count) {
    ucx::PeerId peer = 0;
    std::uint32_t length = 0;
    std::memcpy(&peer, at, sizeof(peer));
    std::memcpy(&length, at + sizeof(peer), sizeof(length));
    at += sizeof(peer) + sizeof(length);
    if (peer != ep->engine->peer()) {
      at += length;
      continue;
    }
    auto key = ep->engine->unpack({at, length});
    if (!key.ok()) return UCS_ERR_INVALID_PARAM;
    *made = new (std::nothrow) ucp_rkey{*key, ep};
    return *made == nullptr ? UCS_ERR_NO_MEMORY : UCS_OK;
  }
  return UCS_ERR_UNREACHABLE;
}

ucs_status_t ucp_rkey_ptr(ucp_rkey_h, uint64_t, void**) { return UCS_ERR_UNREACHABLE; }
void ucp_rkey_destroy(ucp_rkey_h rkey) { delete rkey; }

// ---- put and get

ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void* buffer, size_t count, uint64_t remote, ucp_rkey_h rkey,
                             const ucp_request_param_t* param) {
  if (!face::is_reachable(param)) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  request->bytes = face::Bytes::to_send(buffer, count, face::type_of(param));
  return put(ep, request, param, remote, rkey);
}

ucs_status_ptr_t ucp_put_nb(ucp_ep_h ep, const void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey,
                            ucp_send_callback_t cb) {
  Request* request = one_sided(ep, cb);
  request->bytes = face::Bytes::to_send(buffer, length, ucp_dt_make_contig(1));
  return put(ep, request, nullptr, remote, rkey);
}

ucs_status_t ucp_put_nbi(ucp_ep_h ep, const void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey) {
  return without_request(ucp_put_nb(ep, buffer, length, remote, rkey, nullptr));
}

ucs_status_t ucp_put(ucp_ep_h ep, const void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey) {
  return face::wait_for(ep->worker, ucp_put_nb(ep, buffer, length, remote, rkey, nullptr));
}

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void* buffer, size_t count, uint64_t remote, ucp_rkey_h rkey,
                             const ucp_request_param_t* param) {
  if (!face::is_reachable(param)) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  request->bytes = face::Bytes::to_receive(buffer, count, face::type_of(param));
  return get(ep, request, param, remote, rkey);
}

ucs_status_ptr_t ucp_get_nb(ucp_ep_h ep, void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey,
                            ucp_send_callback_t cb) {
  Request* request = one_sided(ep, cb);
  request->bytes = face::Bytes::to_receive(buffer, length, ucp_dt_make_contig(1));
  return get(ep, request, nullptr, remote, rkey);
}

ucs_status_t ucp_get_nbi(ucp_ep_h ep, void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey) {
  return without_request(ucp_get_nb(ep, buffer, length, remote, rkey, nullptr));
}

ucs_status_t ucp_get(ucp_ep_h ep, void* buffer, size_t length, uint64_t remote, ucp_rkey_h rkey) {
  return face::wait_for(ep->worker, ucp_get_nb(ep, buffer, length, remote, rkey, nullptr));
}

// ---- atomics

ucs_status_ptr_t ucp_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode, const void* buffer, size_t count,
                                   uint64_t remote, ucp_rkey_h rkey, const ucp_request_param_t* param) {
  std::size_t width = width_of(param);
  if (count != 1 || (width != 4 && width != 8)) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
  bool fetches = (param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) != 0;
  void* result = fetches ? param->reply_buffer : nullptr;
  uint64_t operand = read_width(buffer, width), compare = 0;
  ucx::AtomicOp op = ucx::AtomicOp::add;
  switch (opcode) {
    case UCP_ATOMIC_OP_ADD:
      break;
    case UCP_ATOMIC_OP_AND:
      op = ucx::AtomicOp::bit_and;
      break;
    case UCP_ATOMIC_OP_OR:
      op = ucx::AtomicOp::bit_or;
      break;
    case UCP_ATOMIC_OP_XOR:
      op = ucx::AtomicOp::bit_xor;
      break;
    case UCP_ATOMIC_OP_SWAP:
      op = ucx::AtomicOp::swap;
      break;
    case UCP_ATOMIC_OP_CSWAP:
      // The value to compare with is in the buffer, the one to write in the reply buffer.
      if (!fetches) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
      op = ucx::AtomicOp::compare_swap;
      compare = operand;
      operand = read_width(result, width);
      break;
    default:
      return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  }
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  return atomic(ep, request, param, op, width, operand, compare, remote, rkey, result);
}

ucs_status_t ucp_atomic_post(ucp_ep_h ep, ucp_atomic_post_op_t opcode, uint64_t value, size_t width, uint64_t remote,
                             ucp_rkey_h rkey) {
  ucx::AtomicOp op = opcode == UCP_ATOMIC_POST_OP_ADD   ? ucx::AtomicOp::add
                     : opcode == UCP_ATOMIC_POST_OP_AND ? ucx::AtomicOp::bit_and
                     : opcode == UCP_ATOMIC_POST_OP_OR  ? ucx::AtomicOp::bit_or
                                                        : ucx::AtomicOp::bit_xor;
  ucs_status_t status =
      without_request(atomic(ep, one_sided(ep, nullptr), nullptr, op, width, value, 0, remote, rkey, nullptr));
  return status == UCS_INPROGRESS ? UCS_OK : status;
}

ucs_status_ptr_t ucp_atomic_fetch_nb(ucp_ep_h ep, ucp_atomic_fetch_op_t opcode, uint64_t value, void* result,
                                     size_t width, uint64_t remote, ucp_rkey_h rkey, ucp_send_callback_t cb) {
  ucx::AtomicOp op = ucx::AtomicOp::add;
  uint64_t operand = value, compare = 0;
  switch (opcode) {
    case UCP_ATOMIC_FETCH_OP_FADD:
      break;
    case UCP_ATOMIC_FETCH_OP_SWAP:
      op = ucx::AtomicOp::swap;
      break;
    case UCP_ATOMIC_FETCH_OP_CSWAP:
      op = ucx::AtomicOp::compare_swap;
      compare = value;
      operand = read_width(result, width);
      break;
    case UCP_ATOMIC_FETCH_OP_FAND:
      op = ucx::AtomicOp::bit_and;
      break;
    case UCP_ATOMIC_FETCH_OP_FOR:
      op = ucx::AtomicOp::bit_or;
      break;
    case UCP_ATOMIC_FETCH_OP_FXOR:
      op = ucx::AtomicOp::bit_xor;
      break;
    default:
      return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  }
  return atomic(ep, one_sided(ep, cb), nullptr, op, width, operand, compare, remote, rkey, result);
}

ucs_status_t ucp_atomic_add32(ucp_ep_h ep, uint32_t add, uint64_t remote, ucp_rkey_h rkey) {
  return blocking_atomic(ep, ucx::AtomicOp::add, 4, add, 0, remote, rkey, nullptr);
}
ucs_status_t ucp_atomic_add64(ucp_ep_h ep, uint64_t add, uint64_t remote, ucp_rkey_h rkey) {
  return blocking_atomic(ep, ucx::AtomicOp::add, 8, add, 0, remote, rkey, nullptr);
}
ucs_status_t ucp_atomic_fadd32(ucp_ep_h ep, uint32_t add, uint64_t remote, ucp_rkey_h rkey, uint32_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::add, 4, add, 0, remote, rkey, result);
}
ucs_status_t ucp_atomic_fadd64(ucp_ep_h ep, uint64_t add, uint64_t remote, ucp_rkey_h rkey, uint64_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::add, 8, add, 0, remote, rkey, result);
}
ucs_status_t ucp_atomic_swap32(ucp_ep_h ep, uint32_t swap, uint64_t remote, ucp_rkey_h rkey, uint32_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::swap, 4, swap, 0, remote, rkey, result);
}
ucs_status_t ucp_atomic_swap64(ucp_ep_h ep, uint64_t swap, uint64_t remote, ucp_rkey_h rkey, uint64_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::swap, 8, swap, 0, remote, rkey, result);
}
ucs_status_t ucp_atomic_cswap32(ucp_ep_h ep, uint32_t compare, uint32_t swap, uint64_t remote, ucp_rkey_h rkey,
                                uint32_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::compare_swap, 4, swap, compare, remote, rkey, result);
}
ucs_status_t ucp_atomic_cswap64(ucp_ep_h ep, uint64_t compare, uint64_t swap, uint64_t remote, ucp_rkey_h rkey,
                                uint64_t* result) {
  return blocking_atomic(ep, ucx::AtomicOp::compare_swap, 8, swap, compare, remote, rkey, result);
}

}  // extern "C"
