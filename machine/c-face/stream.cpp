// Streams: bytes between two endpoints, without borders. They travel as active messages with a number, because a large
// one may be overtaken by a small one; the receiver puts them in order.
#include <algorithm>
#include <cstring>

#include "machine/c-face/face.h"

using namespace periapt;
using face::Request;

namespace {

// Gives what has come to the receives that wait, in order.
void serve(ucp_ep& ep) {
  while (!ep.stream_waits.empty() && !ep.stream_data.empty()) {
    ucp_ep::StreamWait& wait = ep.stream_waits.front();
    std::span<std::byte> room = wait.request->bytes.span();
    while (wait.filled < room.size() && !ep.stream_data.empty()) {
      ucx::Buffer& data = ep.stream_data.front();
      std::size_t part = std::min(room.size() - wait.filled, data.size() - ep.stream_offset);
      std::memcpy(room.data() + wait.filled, data.data() + ep.stream_offset, part);
      wait.filled += part;
      ep.stream_offset += part;
      if (ep.stream_offset != data.size()) continue;
      ep.stream_data.pop_front();
      ep.stream_offset = 0;
    }
    bool enough = wait.all ? wait.filled == room.size() : wait.filled != 0 && wait.filled % wait.unit == 0;
    if (!enough && wait.filled != room.size()) return;
    Request* request = wait.request;
    request->info.length = wait.filled;
    request->bytes.unpack(wait.filled);
    ep.stream_waits.pop_front();
    face::end(request, UCS_OK);
  }
}

void stream_arrived(void* context, ucx::Endpoint& from, std::span<const std::byte> header, ucx::Buffer payload) {
  std::uint64_t number = 0;
  if (header.size() != sizeof(number)) return;
  std::memcpy(&number, header.data(), sizeof(number));
  ucp_ep* ep = face::endpoint_for(static_cast<ucp_worker*>(context), from.peer());
  if (number < ep->stream_next) return;
  ep->stream_early[number] = std::move(payload);
  for (auto next = ep->stream_early.find(ep->stream_next); next != ep->stream_early.end();
       next = ep->stream_early.find(ep->stream_next)) {
    if (next->second.size() != 0) ep->stream_data.push_back(std::move(next->second));
    ep->stream_early.erase(next);
    ++ep->stream_next;
  }
  serve(*ep);
}

ucs_status_ptr_t send(ucp_ep_h ep, Request* request, const ucp_request_param_t* param) {
  request->extra.resize(sizeof(std::uint64_t));
  std::memcpy(request->extra.data(), &ep->stream_sent, sizeof(std::uint64_t));
  ++ep->stream_sent;
  return face::run(ep, request, param, [request](ucx::Endpoint& engine) {
    return engine.active_send(face::kStreamHandler, request->extra, request->bytes.span(), face::sent, request);
  });
}

// A receive that finds what it wants is complete at once; `length` says how much.
ucs_status_ptr_t receive(ucp_ep_h ep, Request* request, void* buffer, size_t count, ucp_datatype_t type, bool all,
                         size_t* length) {
  if (ep->failure != UCS_OK && ep->stream_data.empty()) {
    face::give_back(request);
    return UCS_STATUS_PTR(ep->failure);
  }
  request->bytes = face::Bytes::to_receive(buffer, count, type);
  std::size_t unit = (type & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG ? type >> UCP_DATATYPE_SHIFT : 1;
  // No call-back is made from inside the call.
  Request::Told told = request->told;
  request->told = Request::Told::none;
  ep->stream_waits.push_back({request, 0, std::max<std::size_t>(unit, 1), all});
  serve(*ep);
  if (request->status == UCS_INPROGRESS) {
    request->told = told;
    return request->user();
  }
  if (length != nullptr) *length = request->info.length;
  face::give_back(request);
  return nullptr;
}

}  // namespace

namespace periapt::face {

void start_streams(ucp_worker* worker) { worker->engine->on_active(kStreamHandler, {worker, nullptr, stream_arrived}); }

}  // namespace periapt::face

extern "C" {

ucs_status_ptr_t ucp_stream_send_nbx(ucp_ep_h ep, const void* buffer, size_t count, const ucp_request_param_t* param) {
  if (face::kind_of(param) != ucx::MemoryKind::host) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(ep->worker, param, Request::Told::send_nbx);
  request->bytes = face::Bytes::to_send(buffer, count, face::type_of(param));
  return send(ep, request, param);
}

ucs_status_ptr_t ucp_stream_send_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t type,
                                    ucp_send_callback_t cb, unsigned) {
  Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::send;
  request->send = cb;
  request->bytes = face::Bytes::to_send(buffer, count, type);
  return send(ep, request, nullptr);
}

ucs_status_ptr_t ucp_stream_recv_nbx(ucp_ep_h ep, void* buffer, size_t count, size_t* length,
                                     const ucp_request_param_t* param) {
  if (face::kind_of(param) != ucx::MemoryKind::host) return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
  Request* request = face::take_request(ep->worker, param, Request::Told::stream_nbx);
  bool all = (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) != 0 && (param->flags & UCP_STREAM_RECV_FLAG_WAITALL) != 0;
  return receive(ep, request, buffer, count, face::type_of(param), all, length);
}

ucs_status_ptr_t ucp_stream_recv_nb(ucp_ep_h ep, void* buffer, size_t count, ucp_datatype_t type,
                                    ucp_stream_recv_callback_t cb, size_t* length, unsigned flags) {
  Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? Request::Told::none : Request::Told::stream;
  request->stream = cb;
  return receive(ep, request, buffer, count, type, (flags & UCP_STREAM_RECV_FLAG_WAITALL) != 0, length);
}

ucs_status_ptr_t ucp_stream_recv_data_nb(ucp_ep_h ep, size_t* length) {
  if (ep->stream_data.empty()) return ep->failure == UCS_OK ? nullptr : UCS_STATUS_PTR(ep->failure);
  ucx::Buffer buffer = std::move(ep->stream_data.front());
  ep->stream_data.pop_front();
  void* data = buffer.data() + ep->stream_offset;
  *length = buffer.size() - ep->stream_offset;
  ep->stream_offset = 0;
  ep->stream_held[data] = std::move(buffer);
  return data;
}

void ucp_stream_data_release(ucp_ep_h ep, void* data) { ep->stream_held.erase(data); }

ssize_t ucp_stream_worker_poll(ucp_worker_h worker, ucp_stream_poll_ep_t* ready, size_t most, unsigned) {
  std::size_t found = 0;
  for (auto& ep : worker->eps) {
    if (found == most) break;
    if (ep->stream_data.empty()) continue;
    ready[found].ep = ep.get();
    ready[found].user_data = ep->on_error.arg;
    ready[found].flags = 0;
    ++found;
  }
  return static_cast<ssize_t>(found);
}

}  // extern "C"
