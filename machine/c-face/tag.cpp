// Tagged messages.
#include "machine/c-face/face.h"

using namespace periapt;
using face::Request;

namespace {

enum class How { plain, sync };

ucs_status_ptr_t send(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, ucp_tag_t tag, How how) {
  return face::run(ep, request, param, [request, tag, how](ucx::Endpoint& engine) {
    std::span<const std::byte> bytes = request->bytes.span();
    if (request->kind != ucx::MemoryKind::host) {
      return engine.tag_send_from(request->kind, bytes, tag, face::sent, request, how == How::sync);
    }
    return how == How::sync ? engine.tag_send_sync(bytes, tag, face::sent, request)
                            : engine.tag_send(bytes, tag, face::sent, request);
  });
}

ucs_status_ptr_t send_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                         ucp_send_callback_t cb, How how) {
  Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::send;
  request->send = cb;
  request->bytes = face::Bytes::to_send(buffer, count, type);
  return send(ep, request, nullptr, tag, how);
}

ucs_status_ptr_t send_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                          const ucp_request_param_t* param, How how) {
  if (!face::is_reachable(param)) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  request->bytes = face::Bytes::to_send(buffer, count, face::type_of(param));
  return send(ep, request, param, tag, how);
}

// A request whose memory the caller brought (the _nbr calls).
ucp_request_param_t in_memory(void* request) {
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST;
  param.request = request;
  return param;
}

ucs_status_ptr_t receive(ucp_worker_h worker, Request* request, void* buffer, size_t count, ucp_datatype_t type,
                         ucp_tag_t tag, ucp_tag_t mask) {
  request->bytes = face::Bytes::to_receive(buffer, count, type);
  request->engine =
      worker->engine->tag_receive_into(request->kind, request->bytes.span(), tag, mask, face::received, request);
  return request->user();
}

ucx::Probed taken(ucp_tag_message_h message) {
  ucx::Probed found;
  found.message = message;
  return found;
}

}  // namespace

extern "C" {

ucs_status_ptr_t ucp_tag_send_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                                 ucp_send_callback_t cb) {
  return send_nb(ep, buffer, count, type, tag, cb, How::plain);
}

ucs_status_ptr_t ucp_tag_send_sync_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                                      ucp_send_callback_t cb) {
  return send_nb(ep, buffer, count, type, tag, cb, How::sync);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t* param) {
  return send_nbx(ep, buffer, count, tag, param, How::plain);
}

ucs_status_ptr_t ucp_tag_send_sync_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                                       const ucp_request_param_t* param) {
  return send_nbx(ep, buffer, count, tag, param, How::sync);
}

ucs_status_t ucp_tag_send_nbr(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                              void* request) {
  ucp_request_param_t param = in_memory(request);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = type;
  ucs_status_ptr_t status = ucp_tag_send_nbx(ep, buffer, count, tag, &param);
  return UCS_PTR_IS_PTR(status) ? UCS_INPROGRESS : UCS_PTR_STATUS(status);
}

ucs_status_ptr_t ucp_tag_recv_nb(ucp_worker_h worker, void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                                 ucp_tag_t mask, ucp_tag_recv_callback_t cb) {
  Request* request = face::take_request(worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::tag;
  request->tag = cb;
  return receive(worker, request, buffer, count, type, tag, mask);
}

ucs_status_t ucp_tag_recv_nbr(ucp_worker_h worker, void* buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag,
                              ucp_tag_t mask, void* memory) {
  ucp_request_param_t param = in_memory(memory);
  receive(worker, face::take_request(worker, &param), buffer, count, type, tag, mask);
  return UCS_OK;
}

// Never complete at once: the call-back, if there is one, comes from the next progress.
ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h worker, void* buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,
                                  const ucp_request_param_t* param) {
  if (!face::is_reachable(param)) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(worker, param, Request::Told::tag_nbx);
  return receive(worker, request, buffer, count, face::type_of(param), tag, mask);
}

ucp_tag_message_h ucp_tag_probe_nb(ucp_worker_h worker, ucp_tag_t tag, ucp_tag_t mask, int remove,
                                   ucp_tag_recv_info_t* info) {
  ucx::Probed found = worker->engine->tag_probe(tag, mask, remove != 0);
  if (!found) return nullptr;
  *info = {found.tag, found.size};
  return static_cast<ucp_tag_message_h>(found.message);
}

ucs_status_ptr_t ucp_tag_msg_recv_nbx(ucp_worker_h worker, void* buffer, size_t count, ucp_tag_message_h message,
                                      const ucp_request_param_t* param) {
  if (!face::is_reachable(param)) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(worker, param, Request::Told::tag_nbx);
  request->bytes = face::Bytes::to_receive(buffer, count, face::type_of(param));
  request->engine =
      worker->engine->receive_probed(taken(message), request->bytes.span(), face::received, request, request->kind);
  return request->user();
}

ucs_status_ptr_t ucp_tag_msg_recv_nb(ucp_worker_h worker, void* buffer, size_t count, ucp_datatype_t type,
                                     ucp_tag_message_h message, ucp_tag_recv_callback_t cb) {
  Request* request = face::take_request(worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::tag;
  request->tag = cb;
  request->bytes = face::Bytes::to_receive(buffer, count, type);
  request->engine = worker->engine->receive_probed(taken(message), request->bytes.span(), face::received, request);
  return request->user();
}

}  // extern "C"
