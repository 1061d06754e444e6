// Requests, datatypes and status codes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "machine/c-face/face.h"
#include "machine/gpu/vendors.h"

namespace periapt::face {
namespace {

struct GenericType {
  ucp_generic_dt_ops_t ops;
  void* context;
};
GenericType* generic(ucp_datatype_t type) {
  return reinterpret_cast<GenericType*>(type & ~static_cast<ucp_datatype_t>(UCP_DATATYPE_CLASS_MASK));
}
ucp_datatype_t class_of(ucp_datatype_t type) { return type & UCP_DATATYPE_CLASS_MASK; }

// The size of an element is in the bits above the class.
std::size_t contig_size(ucp_datatype_t type) { return type >> UCP_DATATYPE_SHIFT; }

std::size_t length_of(const ucp_dt_iov_t* pieces, std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += pieces[i].length;
  return sum;
}

}  // namespace

Bytes Bytes::to_send(const void* buffer, std::size_t count, ucp_datatype_t type) {
  Bytes bytes;
  if (class_of(type) == UCP_DATATYPE_CONTIG) {
    bytes.direct_ = {static_cast<std::byte*>(const_cast<void*>(buffer)), contig_size(type) * count};
  } else if (class_of(type) == UCP_DATATYPE_IOV) {
    auto* pieces = static_cast<const ucp_dt_iov_t*>(buffer);
    bytes.packed_ = std::make_shared<std::vector<std::byte>>();
    for (std::size_t i = 0; i < count; ++i) {
      auto* from = static_cast<const std::byte*>(pieces[i].buffer);
      bytes.packed_->insert(bytes.packed_->end(), from, from + pieces[i].length);
    }
  } else {
    GenericType* own = generic(type);
    void* state = own->ops.start_pack(own->context, buffer, count);
    bytes.packed_ = std::make_shared<std::vector<std::byte>>(own->ops.packed_size(state));
    for (std::size_t at = 0; at < bytes.packed_->size();) {
      std::size_t packed = own->ops.pack(state, at, bytes.packed_->data() + at, bytes.packed_->size() - at);
      if (packed == 0) break;
      at += packed;
    }
    own->ops.finish(state);
  }
  return bytes;
}

Bytes Bytes::to_receive(void* buffer, std::size_t count, ucp_datatype_t type) {
  Bytes bytes;
  bytes.buffer_ = buffer;
  bytes.count_ = count;
  bytes.type_ = type;
  if (class_of(type) == UCP_DATATYPE_CONTIG) {
    bytes.direct_ = {static_cast<std::byte*>(buffer), contig_size(type) * count};
  } else if (class_of(type) == UCP_DATATYPE_IOV) {
    bytes.packed_ = std::make_shared<std::vector<std::byte>>(length_of(static_cast<ucp_dt_iov_t*>(buffer), count));
  } else {
    // finish() may release what the type stands for, so there is one start and one finish.
    GenericType* own = generic(type);
    bytes.unpacking_ = {own->ops.start_unpack(own->context, buffer, count), own->ops.finish};
    bytes.packed_ = std::make_shared<std::vector<std::byte>>(own->ops.packed_size(bytes.unpacking_.get()));
  }
  return bytes;
}

ucs_status_t Bytes::unpack(std::size_t received) {
  if (!packed_ || buffer_ == nullptr) return UCS_OK;
  received = std::min(received, packed_->size());
  if (class_of(type_) == UCP_DATATYPE_IOV) {
    auto* pieces = static_cast<ucp_dt_iov_t*>(buffer_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count_ && at < received; ++i) {
      std::size_t part = std::min(pieces[i].length, received - at);
      std::memcpy(pieces[i].buffer, packed_->data() + at, part);
      at += part;
    }
    return UCS_OK;
  }
  ucs_status_t status = generic(type_)->ops.unpack(unpacking_.get(), 0, packed_->data(), received);
  let_go();
  return status;
}

// ---- requests

Request* take_request(ucp_worker* worker, const ucp_request_param_t* param, Request::Told told) {
  ucp_context* context = worker->context;
  std::uint64_t given = param == nullptr ? 0 : param->op_attr_mask;
  Request* request = nullptr;
  if ((given & UCP_OP_ATTR_FIELD_REQUEST) != 0) {
    request = new (Request::of(param->request)) Request();
    request->of_the_user = true;
  } else if (!worker->free_requests.empty()) {
    request = new (worker->free_requests.back()) Request();
    worker->free_requests.pop_back();
  } else {
    void* memory = std::aligned_alloc(alignof(Request), (sizeof(Request) + context->request_size + 15) / 16 * 16);
    if (memory == nullptr) return nullptr;
    request = new (memory) Request();
    if (context->request_init != nullptr) context->request_init(request->user());
  }
  request->worker = worker;
  if ((given & UCP_OP_ATTR_FIELD_CALLBACK) != 0) {
    request->told = told;
    switch (told) {
      case Request::Told::tag_nbx:
        request->tag_nbx = param->cb.recv;
        break;
      case Request::Told::stream_nbx:
        request->stream_nbx = param->cb.recv_stream;
        break;
      case Request::Told::data_nbx:
        request->data_nbx = param->cb.recv_am;
        break;
      default:
        request->send_nbx = param->cb.send;
    }
  }
  if ((given & UCP_OP_ATTR_FIELD_USER_DATA) != 0) request->user_data = param->user_data;
  request->kind = kind_of(param);
  return request;
}

void give_back(Request* request) {
  ucp_worker* worker = request->worker;
  bool keep = !request->of_the_user;
  request->~Request();
  if (keep) worker->free_requests.push_back(request);
}

void end(Request* request, ucs_status_t status) {
  request->status = status;
  if (request->finally) request->finally();
  request->telling = true;
  switch (request->told) {
    case Request::Told::none:
      break;
    case Request::Told::send:
      request->send(request->user(), request->status);
      break;
    case Request::Told::send_nbx:
      request->send_nbx(request->user(), request->status, request->user_data);
      break;
    case Request::Told::tag:
      request->tag(request->user(), request->status, &request->info);
      break;
    case Request::Told::tag_nbx:
      request->tag_nbx(request->user(), request->status, &request->info, request->user_data);
      break;
    case Request::Told::stream:
      request->stream(request->user(), request->status, request->info.length);
      break;
    case Request::Told::stream_nbx:
      request->stream_nbx(request->user(), request->status, request->info.length, request->user_data);
      break;
    case Request::Told::data_nbx:
      request->data_nbx(request->user(), request->status, request->info.length, request->user_data);
      break;
  }
  request->telling = false;
  if (request->released) give_back(request);
}

void sent(void* request, ucx::Outcome outcome) { end(static_cast<Request*>(request), status_of(outcome)); }

void received(void* context, const ucx::Received& got) {
  auto* request = static_cast<Request*>(context);
  request->info = {got.tag, got.size};
  ucs_status_t status = status_of(got.outcome);
  if (status == UCS_OK) {
    status = request->bytes.unpack(got.size);
  } else {
    request->bytes.let_go();
  }
  end(request, status);
}

ucs_status_ptr_t begun(Request* request, ucx::RequestPtr engine, const ucp_request_param_t* param) {
  if (engine == nullptr) {
    std::uint64_t given = param == nullptr ? 0 : param->op_attr_mask;
    request->status = UCS_OK;
    if (request->finally) request->finally();
    if ((given & UCP_OP_ATTR_FLAG_NO_IMM_CMPL) == 0) {
      give_back(request);
      return nullptr;
    }
    request->finally = nullptr;
    request->status = UCS_INPROGRESS;
    request->worker->later.push_back([request] { end(request, UCS_OK); });
    return request->user();
  }
  request->engine = std::move(engine);
  return request->user();
}

ucs_status_ptr_t run_later(ucp_ep* ep, Request* request, Operation operation) {
  if (ep->failure != UCS_OK) {
    ucs_status_t status = ep->failure;
    give_back(request);
    return UCS_STATUS_PTR(status);
  }
  ep->waiting.push_back([ep, request, operation = std::move(operation)](ucs_status_t status) {
    if (status != UCS_OK) return end(request, status);
    ucx::RequestPtr engine = operation(*ep->engine);
    if (engine == nullptr) return end(request, UCS_OK);
    request->engine = std::move(engine);
  });
  return request->user();
}

ucs_status_t wait_for(ucp_worker* worker, ucs_status_ptr_t request) {
  if (request == nullptr) return UCS_OK;
  if (UCS_PTR_IS_ERR(request)) return UCS_PTR_STATUS(request);
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucs_status_t status = ucp_request_check_status(request);
  ucp_request_free(request);
  return status;
}

ucs_status_t status_of(ucx::Outcome outcome) {
  switch (outcome) {
    case ucx::Outcome::ok:
      return UCS_OK;
    case ucx::Outcome::cancelled:
      return UCS_ERR_CANCELED;
    case ucx::Outcome::peer_lost:
      return UCS_ERR_CONNECTION_RESET;
    case ucx::Outcome::too_long:
      return UCS_ERR_MESSAGE_TRUNCATED;
    case ucx::Outcome::no_memory:
      return UCS_ERR_NO_MEMORY;
    case ucx::Outcome::bad_key:
      return UCS_ERR_INVALID_PARAM;
    case ucx::Outcome::unsupported:
      return UCS_ERR_UNSUPPORTED;
    case ucx::Outcome::failed:
      break;
  }
  return UCS_ERR_IO_ERROR;
}

ucx::MemoryKind kind_of(ucs_memory_type_t type) {
  return type < UCS_MEMORY_TYPE_LAST ? static_cast<ucx::MemoryKind>(type) : ucx::MemoryKind::host;
}
static_assert(static_cast<int>(ucx::MemoryKind::hip_managed) == UCS_MEMORY_TYPE_ROCM_MANAGED &&
              static_cast<int>(ucx::MemoryKind::cuda) == UCS_MEMORY_TYPE_CUDA);

ucx::MemoryKind kind_of(const ucp_request_param_t* param) {
  const bool said = param != nullptr && (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) != 0;
  return said ? kind_of(param->memory_type) : ucx::MemoryKind::host;
}

ucs_memory_type_t type_of(ucx::MemoryKind kind) { return static_cast<ucs_memory_type_t>(kind); }

std::uint64_t memory_types() {
  std::uint64_t types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
  for (const gpu::Vendor& vendor : gpu::vendors()) {
    if (vendor.driver().ok()) types |= UCS_BIT(type_of(vendor.on_device)) | UCS_BIT(type_of(vendor.managed));
  }
  return types;
}

bool is_reachable(const ucp_request_param_t* param) {
  const bool in_one_piece = (type_of(param) & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG;
  return kind_of(param) == ucx::MemoryKind::host || in_one_piece;
}

ucp_datatype_t type_of(const ucp_request_param_t* param) {
  return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) != 0 ? param->datatype : ucp_dt_make_contig(1);
}

}  // namespace periapt::face

using periapt::face::Request;

extern "C" {

ucs_status_t ucp_request_check_status(void* request) { return Request::of(request)->status; }

int ucp_request_is_completed(void* request) { return Request::of(request)->status != UCS_INPROGRESS; }

void ucp_request_free(void* user) {
  Request* request = Request::of(user);
  if (request->status == UCS_INPROGRESS || request->telling) {
    request->released = true;
    return;
  }
  periapt::face::give_back(request);
}

void ucp_request_release(void* request) { ucp_request_free(request); }

void ucp_request_cancel(ucp_worker_h, void* user) {
  Request* request = Request::of(user);
  if (request->status == UCS_INPROGRESS && request->engine != nullptr) request->engine->cancel();
}

ucs_status_t ucp_tag_recv_request_test(void* user, ucp_tag_recv_info_t* info) {
  Request* request = Request::of(user);
  if (request->status != UCS_INPROGRESS && info != nullptr) *info = request->info;
  return request->status;
}

ucs_status_t ucp_request_test(void* request, ucp_tag_recv_info_t* info) {
  return ucp_tag_recv_request_test(request, info);
}

ucs_status_t ucp_stream_recv_request_test(void* user, size_t* length) {
  Request* request = Request::of(user);
  if (request->status != UCS_INPROGRESS) *length = request->info.length;
  return request->status;
}

ucs_status_t ucp_request_query(void* user, ucp_request_attr_t* attr) {
  Request* request = Request::of(user);
  if ((attr->field_mask & UCP_REQUEST_ATTR_FIELD_STATUS) != 0) attr->status = request->status;
  if ((attr->field_mask & UCP_REQUEST_ATTR_FIELD_MEM_TYPE) != 0) attr->mem_type = periapt::face::type_of(request->kind);
  if ((attr->field_mask & UCP_REQUEST_ATTR_FIELD_INFO_STRING) != 0 && attr->debug_string_size != 0) {
    std::strncpy(attr->debug_string, "periapt", attr->debug_string_size - 1);
    attr->debug_string[attr->debug_string_size - 1] = '\0';
  }
  return UCS_OK;
}

ucs_status_t ucp_dt_create_generic(const ucp_generic_dt_ops_t* ops, void* context, ucp_datatype_t* type) {
  auto* made = new (std::nothrow) periapt::face::GenericType{*ops, context};
  if (made == nullptr) return UCS_ERR_NO_MEMORY;
  *type = reinterpret_cast<ucp_datatype_t>(made) | UCP_DATATYPE_GENERIC;
  return UCS_OK;
}

void ucp_dt_destroy(ucp_datatype_t type) {
  if (periapt::face::class_of(type) == UCP_DATATYPE_GENERIC) delete periapt::face::generic(type);
}

}  // extern "C"
