// Workers: the engine behind them, their addresses, progress and waiting.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/log.h"
#include "machine/c-face/face.h"
#include "machine/gpu/device_memory.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/stand_alone.h"

namespace periapt::face {
namespace {

// UCP's addresses have no length where they are used: it is in them.
struct AddressHead {
  std::uint32_t magic = 0x50'43'55'50;  // "PUCP"
  std::uint32_t length = 0;
  std::uint64_t peer = 0;
};

// UCX's names for what we have.
std::string transports_of(const std::string& tls) {
  std::string wanted;
  auto add = [&](const char* name) {
    if (("," + wanted + ",").find("," + std::string(name) + ",") == std::string::npos) {
      wanted += (wanted.empty() ? "" : ",") + std::string(name);
    }
  };
  for (std::size_t from = 0; from <= tls.size();) {
    std::size_t to = std::min(tls.find(',', from), tls.size());
    std::string name = tls.substr(from, to - from);
    from = to + 1;
    if (name == "all") return {};
    for (const char* shared : {"shm", "sm", "mm", "posix", "sysv", "cma", "xpmem", "knem"}) {
      if (name == shared) add("shm");
    }
    for (const ucx::TransportFactory* factory : machine::transports()) {
      if (name == factory->name) add(factory->name);
    }
  }
  return wanted;
}

std::string value_of(const ucp_config& config, const char* name) {
  auto found = config.values.find(name);
  return found == config.values.end() ? std::string() : found->second;
}

Status start(ucp_worker& worker) {
  ucp_config& config = worker.context->config;
  ucx::ContextRequest request;
  request.factories = machine::transports();
  std::string tls = value_of(config, "TLS");
  request.transports = tls.empty() ? "" : transports_of(tls);
  ucx::stand_alone(request, "PERIAPT_UCP_SECRET", "a program for UCX, without a secret of its own");
  request.device_memory = periapt::gpu::device_memory_maker({.courier = periapt::gpu::CourierUse::automatic});
  std::string devices = value_of(config, "NET_DEVICES");
  request.option = [devices](const std::string& name) {
    return name == "+net-devices" && devices != "all" ? devices : std::string();
  };
  auto context = ucx::Context::create(std::move(request));
  if (!context.ok()) return context.status();
  worker.engine_context = std::move(*context);
  auto engine = ucx::Worker::create(*worker.engine_context);
  if (!engine.ok()) return engine.status();
  worker.engine = std::move(*engine);
  auto lost = [&worker](ucx::PeerId peer, const std::string&) {
    auto known = worker.by_peer.find(peer);
    if (known != worker.by_peer.end()) failed(known->second, UCS_ERR_CONNECTION_RESET);
  };
  worker.engine->on_peer_lost(lost);
  worker.engine->on_peer_disconnected(lost);
  start_streams(&worker);

  worker.epoll = ::epoll_create1(EPOLL_CLOEXEC);
  worker.wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  watch(&worker, worker.wake);
  int engine_fd = worker.engine->wait_fd();
  worker.pollable = engine_fd >= 0;
  if (worker.pollable) watch(&worker, engine_fd);
  return {};
}

}  // namespace

void watch(ucp_worker* worker, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(worker->epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace periapt::face

using namespace periapt;

extern "C" {

ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t* params, ucp_worker_h* made) {
  auto worker = std::make_unique<ucp_worker>();
  worker->context = context;
  if ((params->field_mask & UCP_WORKER_PARAM_FIELD_NAME) != 0) worker->name = params->name;
  if ((params->field_mask & UCP_WORKER_PARAM_FIELD_USER_DATA) != 0) worker->user_data = params->user_data;
  Status started = face::start(*worker);
  if (!started.ok()) {
    log::warn("no worker could be made: " + started.message());
    return UCS_ERR_NO_DEVICE;
  }
  context->workers.push_back(worker.get());
  *made = worker.release();
  return UCS_OK;
}

void ucp_worker_destroy(ucp_worker_h worker) {
  std::erase(worker->context->workers, worker);
  worker->listeners.clear();
  worker->conn_requests.clear();
  worker->eps.clear();
  worker->held.clear();
  worker->engine.reset();
  for (face::Request* request : worker->free_requests) {
    if (worker->context->request_cleanup != nullptr) worker->context->request_cleanup(request->user());
    std::free(request);
  }
  ::close(worker->epoll);
  ::close(worker->wake);
  delete worker;
}

ucs_status_t ucp_worker_query(ucp_worker_h worker, ucp_worker_attr_t* attr) {
  if ((attr->field_mask & UCP_WORKER_ATTR_FIELD_THREAD_MODE) != 0) attr->thread_mode = UCS_THREAD_MODE_SINGLE;
  if ((attr->field_mask & UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER) != 0) attr->max_am_header = 1024;
  if ((attr->field_mask & UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING) != 0) attr->max_debug_string = 64;
  if ((attr->field_mask & UCP_WORKER_ATTR_FIELD_NAME) != 0) {
    std::strncpy(attr->name, worker->name.c_str(), UCP_ENTITY_NAME_MAX - 1);
    attr->name[UCP_ENTITY_NAME_MAX - 1] = '\0';
  }
  if ((attr->field_mask & UCP_WORKER_ATTR_FIELD_ADDRESS) != 0) {
    return ucp_worker_get_address(worker, &attr->address, &attr->address_length);
  }
  return UCS_OK;
}

void ucp_worker_print_info(ucp_worker_h worker, FILE* stream) {
  std::fprintf(stream, "%s", worker->engine->explain().c_str());
}

ucs_status_t ucp_worker_get_address(ucp_worker_h worker, ucp_address_t** address, size_t* length) {
  std::vector<std::byte> bytes = worker->engine->address();
  face::AddressHead head;
  head.length = static_cast<std::uint32_t>(bytes.size());
  head.peer = worker->engine->self();
  auto* memory = static_cast<std::byte*>(std::malloc(sizeof(head) + bytes.size()));
  if (memory == nullptr) return UCS_ERR_NO_MEMORY;
  std::memcpy(memory, &head, sizeof(head));
  std::memcpy(memory + sizeof(head), bytes.data(), bytes.size());
  *address = reinterpret_cast<ucp_address_t*>(memory);
  *length = sizeof(head) + bytes.size();
  return UCS_OK;
}

void ucp_worker_release_address(ucp_worker_h, ucp_address_t* address) { std::free(address); }

ucs_status_t ucp_worker_address_query(ucp_address_t* address, ucp_worker_address_attr_t* attr) {
  face::AddressHead head;
  std::memcpy(static_cast<void*>(&head), static_cast<const void*>(address), sizeof(head));
  if (head.magic != face::AddressHead().magic) return UCS_ERR_INVALID_ADDR;
  if ((attr->field_mask & UCP_WORKER_ADDRESS_ATTR_FIELD_UID) != 0) attr->worker_uid = head.peer;
  return UCS_OK;
}

unsigned ucp_worker_progress(ucp_worker_h worker) {
  int moved = worker->engine->progress();
  while (!worker->later.empty()) {
    auto task = std::move(worker->later.front());
    worker->later.pop_front();
    task();
    ++moved;
  }
  // Sockets that only make connections needn't be asked each time.
  if ((++worker->rounds & 31) == 0) moved += face::progress_meetings(worker);
  return static_cast<unsigned>(moved);
}

ucs_status_t ucp_worker_get_efd(ucp_worker_h worker, int* fd) {
  if (!worker->pollable) return UCS_ERR_UNSUPPORTED;
  *fd = worker->epoll;
  return UCS_OK;
}

ucs_status_t ucp_worker_arm(ucp_worker_h worker) {
  if (!worker->pollable) return UCS_ERR_UNSUPPORTED;
  std::uint64_t count = 0;
  bool signalled = ::read(worker->wake, &count, sizeof(count)) == sizeof(count);
  if (signalled || !worker->later.empty() || face::progress_meetings(worker) != 0) return UCS_ERR_BUSY;
  return worker->engine->arm() ? UCS_OK : UCS_ERR_BUSY;
}

ucs_status_t ucp_worker_wait(ucp_worker_h worker) {
  ucs_status_t armed = ucp_worker_arm(worker);
  if (armed == UCS_ERR_BUSY) return UCS_OK;
  if (armed != UCS_OK) return armed;
  pollfd ready{worker->epoll, POLLIN, 0};
  while (::poll(&ready, 1, -1) < 0) {
    if (errno != EINTR) return UCS_ERR_IO_ERROR;
  }
  return UCS_OK;
}

void ucp_worker_wait_mem(ucp_worker_h worker, void*) { ucp_worker_progress(worker); }

ucs_status_t ucp_worker_signal(ucp_worker_h worker) {
  std::uint64_t one = 1;
  return ::write(worker->wake, &one, sizeof(one)) == sizeof(one) ? UCS_OK : UCS_ERR_IO_ERROR;
}

ucs_status_t ucp_worker_fence(ucp_worker_h worker) {
  for (auto& ep : worker->eps) {
    if (ep->engine != nullptr) ep->engine->fence();
  }
  return UCS_OK;
}

ucs_status_ptr_t ucp_worker_flush_nbx(ucp_worker_h worker, const ucp_request_param_t* param) {
  face::Request* request = face::take_request(worker, param, face::Request::Told::send_nbx);
  return face::begun(request, worker->engine->flush(face::sent, request, ucx::FlushScope::local), param);
}

ucs_status_ptr_t ucp_worker_flush_nb(ucp_worker_h worker, unsigned, ucp_send_callback_t cb) {
  face::Request* request = face::take_request(worker);
  request->told = cb == nullptr ? face::Request::Told::none : face::Request::Told::send;
  request->send = cb;
  return face::begun(request, worker->engine->flush(face::sent, request, ucx::FlushScope::local));
}

ucs_status_t ucp_worker_flush(ucp_worker_h worker) {
  return face::wait_for(worker, ucp_worker_flush_nb(worker, 0, nullptr));
}

}  // extern "C"
