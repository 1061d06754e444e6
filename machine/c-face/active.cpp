// Active messages. The engine fetches a payload before its handler is called, so a handler always gets the data itself.
#include <algorithm>
#include <cstring>

#include "machine/c-face/face.h"

using namespace periapt;
using face::Request;

namespace {

// In front of the user's header.
struct ActiveHeader {
  std::uint32_t wants_reply = 0;
};

// Calls the user's handler. `flag` says whether it may keep the data.
ucs_status_t call(ucp_worker::Handler& handler, ucx::Endpoint& from, std::span<const std::byte> header, void* data,
                  std::size_t length, bool may_keep) {
  ActiveHeader head;
  std::memcpy(&head, header.data(), sizeof(head));
  header = header.subspan(sizeof(head));
  ucp_ep* reply = head.wants_reply != 0 ? face::endpoint_for(handler.worker, from.peer()) : nullptr;
  if (handler.cb == nullptr)
    return handler.old(handler.arg, data, length, reply, may_keep ? UCP_CB_PARAM_FLAG_DATA : 0);
  ucp_am_recv_param_t param = {};
  param.recv_attr =
      (may_keep ? UCP_AM_RECV_ATTR_FLAG_DATA : 0) | (reply != nullptr ? UCP_AM_RECV_ATTR_FIELD_REPLY_EP : 0);
  param.reply_ep = reply;
  return handler.cb(handler.arg, header.empty() ? nullptr : header.data(), header.size(), data, length, &param);
}

void arrived(void* context, ucx::Endpoint& from, std::span<const std::byte> header, ucx::Buffer payload) {
  auto* handler = static_cast<ucp_worker::Handler*>(context);
  if (header.size() < sizeof(ActiveHeader)) return;
  void* data = payload.data();
  std::size_t length = payload.size();
  // The user may give it back from inside the call.
  ucp_worker* worker = handler->worker;
  worker->held[data] = std::move(payload);
  if (call(*handler, from, header, data, length, true) != UCS_INPROGRESS) worker->held.erase(data);
}

// Where it lies: it is not there any more when the handler returns, and so the handler is told.
bool looked_at(void* context, ucx::Endpoint& from, std::span<const std::byte> header,
               std::span<const std::byte> payload) {
  auto* handler = static_cast<ucp_worker::Handler*>(context);
  if (header.size() < sizeof(ActiveHeader)) return true;
  if (handler->keeps) return false;
  ucp_worker* worker = handler->worker;
  worker->shown = payload;
  call(*handler, from, header, const_cast<std::byte*>(payload.data()), payload.size(), false);
  worker->shown = {};
  return true;
}

ucs_status_t set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t cb, ucp_am_callback_t old, void* arg,
                         bool keeps) {
  if (id >= face::kStreamHandler) return UCS_ERR_INVALID_PARAM;
  auto& handler = worker->handlers[id];
  if (handler == nullptr) handler = std::make_unique<ucp_worker::Handler>();
  *handler = {worker, cb, old, arg, keeps};
  bool none = cb == nullptr && old == nullptr;
  worker->engine->on_active(static_cast<std::uint16_t>(id),
                            {handler.get(), nullptr, none ? nullptr : arrived, none ? nullptr : looked_at});
  return UCS_OK;
}

constexpr std::size_t kHeaderMost = 1024;

ucs_status_ptr_t send(ucp_ep_h ep, Request* request, const ucp_request_param_t* param, unsigned id, const void* header,
                      size_t header_length, bool wants_reply) {
  std::byte whole[sizeof(ActiveHeader) + kHeaderMost];
  const ActiveHeader head{wants_reply ? 1u : 0u};
  std::memcpy(whole, &head, sizeof(head));
  if (header_length != 0) std::memcpy(whole + sizeof(head), header, header_length);
  const std::span<const std::byte> both(whole, sizeof(head) + header_length);
  if (ep->engine == nullptr) request->extra.assign(both.begin(), both.end());
  return face::run(ep, request, param, [request, id, both](ucx::Endpoint& engine) {
    // What was put off finds the header in its request.
    const std::span<const std::byte> known = request->extra.empty() ? both : std::span<const std::byte>(request->extra);
    return engine.active_send(static_cast<std::uint16_t>(id), known, request->bytes.span(), face::sent, request);
  });
}

}  // namespace

extern "C" {

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker, const ucp_am_handler_param_t* param) {
  std::uint64_t given = param->field_mask;
  if ((given & UCP_AM_HANDLER_PARAM_FIELD_ID) == 0) return UCS_ERR_INVALID_PARAM;
  bool keeps = (given & UCP_AM_HANDLER_PARAM_FIELD_FLAGS) != 0 && (param->flags & UCP_AM_FLAG_PERSISTENT_DATA) != 0;
  return set_handler(worker, param->id, (given & UCP_AM_HANDLER_PARAM_FIELD_CB) != 0 ? param->cb : nullptr, nullptr,
                     (given & UCP_AM_HANDLER_PARAM_FIELD_ARG) != 0 ? param->arg : nullptr, keeps);
}

ucs_status_t ucp_worker_set_am_handler(ucp_worker_h worker, uint16_t id, ucp_am_callback_t cb, void* arg, uint32_t) {
  return set_handler(worker, id, nullptr, cb, arg, false);
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void* header, size_t header_length, const void* buffer,
                                 size_t count, const ucp_request_param_t* param) {
  if (face::kind_of(param) != ucx::MemoryKind::host) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  if (id >= face::kStreamHandler || header_length > kHeaderMost) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
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
  if (face::kind_of(param) != ucx::MemoryKind::host) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  std::span<const std::byte> payload = worker->shown;
  if (payload.data() != data) {
    auto held = worker->held.find(data);
    if (held == worker->held.end()) return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    payload = held->second.bytes();
  }
  Request* request = face::take_request(worker, param, Request::Told::data_nbx);
  request->bytes = face::Bytes::to_receive(buffer, count, face::type_of(param));
  std::span<std::byte> room = request->bytes.span();
  std::size_t length = std::min(room.size(), payload.size());
  if (length != 0) std::memcpy(room.data(), payload.data(), length);
  request->info.length = length;
  request->bytes.unpack(length);
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_RECV_INFO) != 0) *param->recv_info.length = length;
  return face::begun(request, nullptr, param);
}

void ucp_am_data_release(ucp_worker_h worker, void* data) { worker->held.erase(data); }

}  // extern "C"
