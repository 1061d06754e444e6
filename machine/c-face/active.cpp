// Active messages. The engine fetches a payload before its handler is called, so a handler always gets the data itself.
#include <algorithm>
#include <cstring>

#include "machine/c-face/face.h"

using namespace periapt;
using face::Request;

namespace {

// In front of the user's header.
struct Head {
  std::uint32_t wants_reply = 0;
};

void arrived(void* context, ucx::Endpoint& from, std::span<const std::byte> header, ucx::Buffer payload) {
  auto* handler = static_cast<ucp_worker::Handler*>(context);
  Head head;
  if (header.size() < sizeof(head)) return;
  std::memcpy(&head, header.data(), sizeof(head));
  header = header.subspan(sizeof(head));
  ucp_ep* reply = head.wants_reply != 0 ? face::endpoint_for(handler->worker, from.peer()) : nullptr;
  void* data = payload.data();
  std::size_t length = payload.size();
  const void* first = header.empty() ? nullptr : header.data();
  // The user may give it back from inside the call.
  ucp_worker* worker = handler->worker;
  worker->held[data] = std::move(payload);
  ucs_status_t status = UCS_OK;
  if (handler->cb != nullptr) {
    ucp_am_recv_param_t param = {};
    param.recv_attr = UCP_AM_RECV_ATTR_FLAG_DATA | (reply != nullptr ? UCP_AM_RECV_ATTR_FIELD_REPLY_EP : 0);
    param.reply_ep = reply;
    status = handler->cb(handler->arg, first, header.size(), data, length, &param);
  } else {
    status = handler->old(handler->arg, data, length, reply, UCP_CB_PARAM_FLAG_DATA);
  }
  if (status != UCS_INPROGRESS) worker->held.erase(data);
}

ucs_status_t set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t cb, ucp_am_callback_t old,
                         void* arg) {
  if (id >= face::kStreamHandler) return UCS_ERR_INVALID_PARAM;
  auto& handler = worker->handlers[id];
  if (handler == nullptr) handler = std::make_unique<ucp_worker::Handler>();
  *handler = {worker, cb, old, arg};
  bool none = cb == nullptr && old == nullptr;
  worker->engine->on_active(static_cast<std::uint16_t>(id), {handler.get(), nullptr, none ? nullptr : arrived});
  return UCS_OK;
}

ucs_status_ptr_t send(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, unsigned id, const void* header,
                      size_t header_length, bool wants_reply) {
  Head head;
  head.wants_reply = wants_reply ? 1 : 0;
  request->extra.resize(sizeof(head) + header_length);
  std::memcpy(request->extra.data(), &head, sizeof(head));
  if (header_length != 0) std::memcpy(request->extra.data() + sizeof(head), header, header_length);
  return face::run(ep, request, param, [request, id](ucx::Endpoint& engine) {
    return engine.active_send(static_cast<std::uint16_t>(id), request->extra, request->bytes.span(), face::sent,
                              request);
  });
}

}  // namespace

extern "C" {

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker, const ucp_am_handler_param_t* param) {
  std::uint64_t given = param->field_mask;
  if ((given & UCP_AM_HANDLER_PARAM_FIELD_ID) == 0) return UCS_ERR_INVALID_PARAM;
  return set_handler(worker, param->id, (given & UCP_AM_HANDLER_PARAM_FIELD_CB) != 0 ? param->cb : nullptr, nullptr,
                     (given & UCP_AM_HANDLER_PARAM_FIELD_ARG) != 0 ? param->arg : nullptr);
}

ucs_status_t ucp_worker_set_am_handler(ucp_worker_h worker, uint16_t id, ucp_am_callback_t cb, void* arg, uint32_t) {
  return set_handler(worker, id, nullptr, cb, arg);
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void* header, size_t header_length, const void* buffer,
                                 size_t count, const ucp_request_param_t* param) {
  if (id >= face::kStreamHandler || header_length > 1024) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  request->bytes = face::Bytes::to_send(buffer, count, face::type_of(param));
  bool reply = (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) != 0 && (param->flags & UCP_AM_SEND_FLAG_REPLY) != 0;
  return send(ep, request, param, id, header, header_length, reply);
}

ucs_status_ptr_t ucp_am_send_nb(ucp_ep_h ep, uint16_t id, const void* buffer, size_t count, ucp_datatype_t type,
                                ucp_send_callback_t cb, unsigned flags) {
  Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::send;
  request->send = cb;
  request->bytes = face::Bytes::to_send(buffer, count, type);
  return send(ep, request, nullptr, id, nullptr, 0, (flags & UCP_AM_SEND_FLAG_REPLY) != 0);
}

// The data is here already: it is copied to where the user wants it.
ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void* data, void* buffer, size_t count,
                                      const ucp_request_param_t* param) {
  auto held = worker->held.find(data);
  if (held == worker->held.end()) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
  Request* request = face::take_request(worker, param, Request::Told::data_nbx);
  request->bytes = face::Bytes::to_receive(buffer, count, face::type_of(param));
  std::span<std::byte> room = request->bytes.span();
  std::size_t length = std::min(room.size(), held->second.size());
  if (length != 0) std::memcpy(room.data(), held->second.data(), length);
  request->info.length = length;
  request->bytes.unpack(length);
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_RECV_INFO) != 0) *param->recv_info.length = length;
  return face::begun(request, nullptr, param);
}

void ucp_am_data_release(ucp_worker_h worker, void* data) { worker->held.erase(data); }

}  // extern "C"
