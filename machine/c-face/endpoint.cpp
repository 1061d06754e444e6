// Endpoints, made from a worker's address or over a socket, and listeners.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "machine/c-face/face.h"

namespace periapt::face {
namespace {

constexpr std::uint64_t kMeetingMagic = 0x31'50'43'55'54'50'52'50;
constexpr std::uint32_t kAddressMost = 64 << 10;
enum MeetingAnswer : std::uint8_t { hello = 1, accepted = 2, rejected = 3 };

struct MeetingHead {
  std::uint64_t magic = kMeetingMagic;
  std::uint32_t length = 0;
  std::uint32_t answer = 0;
};

int nonblocking_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// The answer to a process that wants to connect. The worker that takes it may be another than the one that listens.
void answer_meeting(ucp_conn_request* request, MeetingAnswer answer, ucp_worker* taker) {
  std::vector<std::byte> address = answer == accepted ? taker->engine->address() : std::vector<std::byte>();
  Meeting::append_message(request->meeting->out, answer, address);
  request->meeting->flush_output();  // some hundred bytes into an empty socket: they fit
}

void drop_request(ucp_conn_request* request) {
  std::erase_if(request->worker->conn_requests, [&](auto& held) { return held.get() == request; });
}

}  // namespace

// ---- meetings

Meeting::~Meeting() {
  if (fd >= 0) ::close(fd);
}

void Meeting::append_message(std::vector<std::byte>& to, std::uint8_t answer, std::span<const std::byte> address) {
  MeetingHead head;
  head.length = static_cast<std::uint32_t>(address.size());
  head.answer = answer;
  auto* bytes = reinterpret_cast<const std::byte*>(&head);
  to.insert(to.end(), bytes, bytes + sizeof(head));
  to.insert(to.end(), address.begin(), address.end());
}

bool Meeting::flush_output() {
  while (written < out.size()) {
    ssize_t count = ::send(fd, out.data() + written, out.size() - written, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) broken = true;
      return false;
    }
    written += static_cast<std::size_t>(count);
  }
  return true;
}

bool Meeting::read_message(std::uint8_t& answer, std::vector<std::byte>& address) {
  std::byte some[4096];
  MeetingHead head;
  while (!broken) {
    std::size_t wanted = sizeof(head);
    if (in.size() >= sizeof(head)) {
      std::memcpy(&head, in.data(), sizeof(head));
      if (head.magic != kMeetingMagic || head.length > kAddressMost) {
        broken = true;
        return false;
      }
      wanted += head.length;
    }
    if (in.size() >= sizeof(head) && in.size() == wanted) break;
    ssize_t count = ::recv(fd, some, std::min(sizeof(some), wanted - in.size()), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return false;
    if (count <= 0) {
      broken = true;
      return false;
    }
    in.insert(in.end(), some, some + count);
  }
  if (broken) return false;
  answer = static_cast<std::uint8_t>(head.answer);
  address.assign(in.begin() + sizeof(head), in.end());
  return true;
}

// ---- progress of those that are being made

namespace {

int progress_listener(ucp_listener& listener) {
  int moved = 0;
  for (;;) {
    int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) break;
    auto meeting = std::make_unique<Meeting>();
    meeting->fd = fd;
    watch(listener.worker, fd);
    listener.arriving.push_back(std::move(meeting));
  }
  ucp_worker* worker = listener.worker;
  for (std::size_t i = 0; i < listener.arriving.size();) {
    std::uint8_t answer = 0;
    std::vector<std::byte> address;
    if (!listener.arriving[i]->read_message(answer, address)) {
      if (!listener.arriving[i]->broken) {
        ++i;
      } else {
        listener.arriving.erase(listener.arriving.begin() + static_cast<std::ptrdiff_t>(i));
      }
      continue;
    }
    auto request = std::make_unique<ucp_conn_request>();
    request->listener = &listener;
    request->worker = worker;
    request->meeting = std::move(listener.arriving[i]);
    request->address = std::move(address);
    socklen_t length = sizeof(request->client);
    ::getpeername(request->meeting->fd, reinterpret_cast<sockaddr*>(&request->client), &length);
    listener.arriving.erase(listener.arriving.begin() + static_cast<std::ptrdiff_t>(i));
    ucp_conn_request* given = request.get();
    worker->conn_requests.push_back(std::move(request));
    ++moved;
    if (listener.conn.cb != nullptr) {
      listener.conn.cb(given, listener.conn.arg);
    } else if (listener.accept.cb != nullptr) {
      ucp_ep_params_t params = {};
      params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
      params.conn_request = given;
      ucp_ep_h ep = nullptr;
      if (ucp_ep_create(worker, &params, &ep) == UCS_OK) listener.accept.cb(ep, listener.accept.arg);
    }
  }
  return moved;
}

int progress_connecting(ucp_ep& ep) {
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(ep.meeting->fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    failed(&ep, error == ECONNREFUSED ? UCS_ERR_NOT_CONNECTED : UCS_ERR_UNREACHABLE);
    return 1;
  }
  ep.meeting->flush_output();
  std::uint8_t answer = 0;
  std::vector<std::byte> address;
  if (!ep.meeting->read_message(answer, address)) {
    if (!ep.meeting->broken) return 0;
    failed(&ep, UCS_ERR_CONNECTION_RESET);
    return 1;
  }
  if (answer != accepted) {
    failed(&ep, UCS_ERR_REJECTED);
    return 1;
  }
  auto engine = ep.worker->engine->connect(address);
  if (engine.ok()) {
    connected(&ep, **engine);
  } else {
    failed(&ep, UCS_ERR_UNREACHABLE);
  }
  return 1;
}

}  // namespace

int progress_meetings(ucp_worker* worker) {
  int moved = 0;
  for (std::size_t i = 0; i < worker->listeners.size(); ++i) moved += progress_listener(*worker->listeners[i]);
  for (std::size_t i = 0; i < worker->eps.size(); ++i) {
    if (worker->eps[i]->meeting != nullptr) moved += progress_connecting(*worker->eps[i]);
  }
  return moved;
}

ucp_ep* endpoint_for(ucp_worker* worker, ucx::PeerId peer) {
  auto known = worker->by_peer.find(peer);
  if (known != worker->by_peer.end()) return known->second;
  worker->eps.push_back(std::make_unique<ucp_ep>());
  ucp_ep* ep = worker->eps.back().get();
  ep->worker = worker;
  ep->engine = worker->engine->endpoint(peer);
  worker->by_peer[peer] = ep;
  return ep;
}

// What came for the peer before its endpoint was made (stream data) goes over to it.
void connected(ucp_ep* ep, ucx::Endpoint& engine) {
  ep->meeting.reset();
  ep->engine = &engine;
  auto [known, is_new] = ep->worker->by_peer.try_emplace(engine.peer(), ep);
  if (!is_new && known->second != ep) {
    ucp_ep* before = known->second;
    if (before->on_error.cb == nullptr) {
      std::swap(ep->stream_early, before->stream_early);
      std::swap(ep->stream_data, before->stream_data);
      ep->stream_next = before->stream_next;
    }
    known->second = ep;
  }
  std::deque<std::function<void(ucs_status_t)>> waiting = std::move(ep->waiting);
  ep->waiting.clear();
  for (auto& task : waiting) task(UCS_OK);
}

void failed(ucp_ep* ep, ucs_status_t status) {
  if (ep->failure != UCS_OK) return;
  ep->failure = status;
  ep->meeting.reset();
  std::deque<std::function<void(ucs_status_t)>> waiting = std::move(ep->waiting);
  ep->waiting.clear();
  for (auto& task : waiting) task(status);
  std::deque<ucp_ep::StreamWait> streams = std::move(ep->stream_waits);
  ep->stream_waits.clear();
  for (auto& wait : streams) end(wait.request, status);
  if (ep->told || ep->closed || ep->on_error.cb == nullptr) return;
  ep->told = true;
  ep->on_error.cb(ep->on_error.arg, ep, status);
}

}  // namespace periapt::face

using namespace periapt;

namespace {

ucs_status_t connect_by_address(ucp_ep& ep, const ucp_address_t* address) {
  struct {
    std::uint32_t magic, length;
    std::uint64_t peer;
  } head;
  std::memcpy(&head, address, sizeof(head));
  if (head.magic != 0x50'43'55'50) return UCS_ERR_INVALID_ADDR;
  auto* bytes = reinterpret_cast<const std::byte*>(address) + sizeof(head);
  auto engine = ep.worker->engine->connect({bytes, head.length});
  if (!engine.ok()) return UCS_ERR_UNREACHABLE;
  face::connected(&ep, **engine);
  return UCS_OK;
}

ucs_status_t connect_by_socket(ucp_ep& ep, const ucs_sock_addr_t& to, const ucs_sock_addr_t* from) {
  ep.by_socket = true;
  ep.meeting = std::make_unique<face::Meeting>();
  ep.meeting->fd = face::nonblocking_socket(to.addr->sa_family);
  if (ep.meeting->fd < 0) return UCS_ERR_IO_ERROR;
  if (from != nullptr && ::bind(ep.meeting->fd, from->addr, from->addrlen) != 0) return UCS_ERR_INVALID_ADDR;
  if (::connect(ep.meeting->fd, to.addr, to.addrlen) != 0 && errno != EINPROGRESS) return UCS_ERR_UNREACHABLE;
  face::Meeting::append_message(ep.meeting->out, face::hello, ep.worker->engine->address());
  face::watch(ep.worker, ep.meeting->fd);
  return UCS_OK;
}

ucs_status_t accept_request(ucp_ep& ep, ucp_conn_request* request) {
  ep.by_socket = true;
  auto engine = ep.worker->engine->connect(request->address);
  if (!engine.ok()) {
    face::answer_meeting(request, face::rejected, nullptr);
    face::drop_request(request);
    return UCS_ERR_UNREACHABLE;
  }
  face::answer_meeting(request, face::accepted, ep.worker);
  face::drop_request(request);
  face::connected(&ep, **engine);
  return UCS_OK;
}

}  // namespace

extern "C" {

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t* params, ucp_ep_h* made) {
  auto owned = std::make_unique<ucp_ep>();
  ucp_ep& ep = *owned;
  ep.worker = worker;
  std::uint64_t given = params->field_mask;
  if ((given & UCP_EP_PARAM_FIELD_ERR_HANDLER) != 0) ep.on_error = params->err_handler;
  if ((given & UCP_EP_PARAM_FIELD_USER_DATA) != 0) ep.on_error.arg = params->user_data;
  if ((given & UCP_EP_PARAM_FIELD_NAME) != 0) ep.name = params->name;
  ucs_status_t status = UCS_ERR_INVALID_PARAM;
  if ((given & UCP_EP_PARAM_FIELD_CONN_REQUEST) != 0) {
    status = accept_request(ep, params->conn_request);
  } else if ((given & UCP_EP_PARAM_FIELD_SOCK_ADDR) != 0) {
    bool bound = (given & UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR) != 0;
    status = connect_by_socket(ep, params->sockaddr, bound ? &params->local_sockaddr : nullptr);
  } else if ((given & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) != 0) {
    status = connect_by_address(ep, params->address);
  }
  if (status != UCS_OK) return status;
  worker->eps.push_back(std::move(owned));
  *made = &ep;
  return UCS_OK;
}

ucs_status_t ucp_ep_query(ucp_ep_h ep, ucp_ep_attr_t* attr) {
  if ((attr->field_mask & UCP_EP_ATTR_FIELD_NAME) != 0) {
    std::snprintf(attr->name, sizeof(attr->name), "%s", ep->name.c_str());
  }
  if ((attr->field_mask & (UCP_EP_ATTR_FIELD_LOCAL_SOCKADDR | UCP_EP_ATTR_FIELD_REMOTE_SOCKADDR)) != 0) {
    return UCS_ERR_NOT_CONNECTED;
  }
  return UCS_OK;
}

void ucp_ep_print_info(ucp_ep_h ep, FILE* stream) {
  if (ep->engine != nullptr) std::fprintf(stream, "%s", ep->worker->engine->explain(ep->engine).c_str());
}

// An endpoint from a worker's address ends here when puts are done and sends have left: the peer may be making no
// progress any more (MPI_Finalize), and goes on sending to us if it likes. One over a socket ends at both sides.
ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t* param) {
  std::uint64_t given = param->op_attr_mask;
  bool force = (given & UCP_OP_ATTR_FIELD_FLAGS) != 0 && (param->flags & UCP_EP_CLOSE_FLAG_FORCE) != 0;
  ep->closed = true;
  if (ep->meeting != nullptr) face::failed(ep, UCS_ERR_CANCELED);
  if (ep->failure != UCS_OK || ep->engine == nullptr || !ep->engine->failure().empty()) return nullptr;
  if (force && !ep->by_socket) return nullptr;
  face::Request* request = face::take_request(ep->worker, param, face::Request::Told::send_nbx);
  if (!ep->by_socket)
    return face::begun(request, ep->engine->flush(face::sent, request, ucx::FlushScope::local), param);
  return face::begun(request, ep->engine->close(force, face::sent, request), param);
}

ucs_status_ptr_t ucp_ep_close_nb(ucp_ep_h ep, unsigned mode) {
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = mode == UCP_EP_CLOSE_MODE_FORCE ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  return ucp_ep_close_nbx(ep, &param);
}

void ucp_ep_destroy(ucp_ep_h ep) { face::wait_for(ep->worker, ucp_ep_close_nb(ep, UCP_EP_CLOSE_MODE_FLUSH)); }
ucs_status_ptr_t ucp_disconnect_nb(ucp_ep_h ep) { return ucp_ep_close_nb(ep, UCP_EP_CLOSE_MODE_FLUSH); }
ucs_status_ptr_t ucp_ep_modify_nb(ucp_ep_h, const ucp_ep_params_t*) { return UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED); }

ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h ep, const ucp_request_param_t* param) {
  face::Request* request = face::take_request(ep->worker, param, face::Request::Told::send_nbx);
  return face::run(ep, request, param, [request](ucx::Endpoint& engine) {
    return engine.flush(face::sent, request, ucx::FlushScope::local);
  });
}

ucs_status_ptr_t ucp_ep_flush_nb(ucp_ep_h ep, unsigned, ucp_send_callback_t cb) {
  face::Request* request = face::take_request(ep->worker);
  request->told = cb == nullptr ? face::Request::Told::none : face::Request::Told::send;
  request->send = cb;
  return face::run(ep, request, nullptr, [request](ucx::Endpoint& engine) {
    return engine.flush(face::sent, request, ucx::FlushScope::local);
  });
}

ucs_status_t ucp_ep_flush(ucp_ep_h ep) { return face::wait_for(ep->worker, ucp_ep_flush_nb(ep, 0, nullptr)); }

// ---- listeners

ucs_status_t ucp_listener_create(ucp_worker_h worker, const ucp_listener_params_t* params, ucp_listener_h* made) {
  if ((params->field_mask & UCP_LISTENER_PARAM_FIELD_SOCK_ADDR) == 0) return UCS_ERR_INVALID_PARAM;
  auto listener = std::make_unique<ucp_listener>();
  listener->worker = worker;
  if ((params->field_mask & UCP_LISTENER_PARAM_FIELD_CONN_HANDLER) != 0) listener->conn = params->conn_handler;
  if ((params->field_mask & UCP_LISTENER_PARAM_FIELD_ACCEPT_HANDLER) != 0) listener->accept = params->accept_handler;
  const sockaddr* where = params->sockaddr.addr;
  listener->fd = face::nonblocking_socket(where->sa_family);
  int one = 1;
  ::setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (listener->fd < 0 || ::bind(listener->fd, where, params->sockaddr.addrlen) != 0 ||
      ::listen(listener->fd, 128) != 0) {
    int error = errno;
    if (listener->fd >= 0) ::close(listener->fd);
    return error == EADDRINUSE ? UCS_ERR_BUSY : UCS_ERR_INVALID_ADDR;
  }
  face::watch(worker, listener->fd);
  *made = listener.get();
  worker->listeners.push_back(std::move(listener));
  return UCS_OK;
}

void ucp_listener_destroy(ucp_listener_h listener) {
  ::close(listener->fd);
  for (auto& request : listener->worker->conn_requests) request->listener = nullptr;
  std::erase_if(listener->worker->listeners, [&](auto& held) { return held.get() == listener; });
}

ucs_status_t ucp_listener_query(ucp_listener_h listener, ucp_listener_attr_t* attr) {
  socklen_t length = sizeof(attr->sockaddr);
  if ((attr->field_mask & UCP_LISTENER_ATTR_FIELD_SOCKADDR) != 0) {
    ::getsockname(listener->fd, reinterpret_cast<sockaddr*>(&attr->sockaddr), &length);
  }
  return UCS_OK;
}

ucs_status_t ucp_listener_reject(ucp_listener_h, ucp_conn_request_h request) {
  face::answer_meeting(request, face::rejected, nullptr);
  face::drop_request(request);
  return UCS_OK;
}

ucs_status_t ucp_conn_request_query(ucp_conn_request_h request, ucp_conn_request_attr_t* attr) {
  if ((attr->field_mask & UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR) != 0) attr->client_address = request->client;
  if ((attr->field_mask & UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ID) != 0) return UCS_ERR_UNSUPPORTED;
  return UCS_OK;
}

}  // extern "C"
