// The C face: libucp's functions over our engine, for programs that were written for UCX. This header is what its files
// share: the objects behind UCX's handles, and requests.
//
// It is compiled against UCX's own headers, so types and constants are theirs; nothing of theirs is linked. What a
// handle is here:
//
//   ucp_context_h   what ucp_init() was given; the engine's Context is made for each worker, which has an id of its own
//   ucp_worker_h    one Worker of the engine, with the listeners and half-made connections that it makes progress on
//   ucp_ep_h        one Endpoint of the engine, once it is known: one made from a socket address waits for the answer
//   ucp_mem_h       memory, registered with each worker of the context when its key is packed
//   a request       Request, with the user's area behind it: a pointer to that area is what the user holds
//
// All of a worker is used by one thread at a time (ucp_worker_query() says UCS_THREAD_MODE_SINGLE).
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "machine/ucx-like/worker.h"

struct ucp_config {
  std::map<std::string, std::string> values;  ///< "TLS" -> "tcp,self"
};

struct ucp_context {
  std::uint64_t features = 0;
  std::size_t request_size = 0;
  ucp_request_init_callback_t request_init = nullptr;
  ucp_request_cleanup_callback_t request_cleanup = nullptr;
  std::string name;
  ucp_config config;
  std::vector<ucp_worker*> workers;
};

namespace periapt::face {

/// The bytes that a buffer, a count and a datatype stand for: where they lie, or packed.
class Bytes {
 public:
  /// Of something to be sent.
  static Bytes to_send(const void* buffer, std::size_t count, ucp_datatype_t type);
  /// Room for something to be received; unpack() puts what came where it belongs.
  static Bytes to_receive(void* buffer, std::size_t count, ucp_datatype_t type);

  std::span<std::byte> span() const { return packed_ ? std::span(*packed_) : direct_; }
  ucs_status_t unpack(std::size_t received);
  /// Nothing came: a datatype of the user's is told that it is not used any more, as it is at the end of unpack().
  void let_go() { unpacking_.reset(); }

 private:
  std::span<std::byte> direct_;
  std::shared_ptr<std::vector<std::byte>> packed_;  ///< when it does not lie in one piece
  void* buffer_ = nullptr;
  std::size_t count_ = 0;
  ucp_datatype_t type_ = 0;
  std::shared_ptr<void>
      unpacking_;  ///< state of a generic datatype, from start_unpack to finish: once for each receive
};

struct alignas(16) Request {
  enum class Told : std::uint8_t { none, send, send_nbx, tag, tag_nbx, stream, stream_nbx, data_nbx };

  ucp_worker* worker = nullptr;
  ucx::RequestPtr engine;
  ucs_status_t status = UCS_INPROGRESS;
  Told told = Told::none;
  bool released = false;     ///< the user has freed it
  bool of_the_user = false;  ///< its memory is the user's
  bool telling = false;
  ucx::MemoryKind kind = ucx::MemoryKind::host;  ///< of the user's memory
  union {
    ucp_send_callback_t send = nullptr;
    ucp_send_nbx_callback_t send_nbx;
    ucp_tag_recv_callback_t tag;
    ucp_tag_recv_nbx_callback_t tag_nbx;
    ucp_stream_recv_callback_t stream;
    ucp_stream_recv_nbx_callback_t stream_nbx;
    ucp_am_recv_data_nbx_callback_t data_nbx;
  };
  void* user_data = nullptr;
  ucp_tag_recv_info_t info = {};
  Bytes bytes;
  std::vector<std::byte> extra;   ///< header of an active message
  std::function<void()> finally;  ///< before the user is told

  void* user() { return this + 1; }
  static Request* of(void* user) { return static_cast<Request*>(user) - 1; }
};

/// A request of the worker's; `param` may ask for its memory, its call-back (told how) and its data.
Request* take_request(ucp_worker* worker, const ucp_request_param_t* param = nullptr,
                      Request::Told told = Request::Told::none);
void give_back(Request* request);
/// It has ended: tells the user, and gives it back if the user has freed it.
void end(Request* request, ucs_status_t status);
/// The engine's call-backs, with a Request as context.
void sent(void* request, ucx::Outcome outcome);
void received(void* request, const ucx::Received& got);
/// What a call returns whose operation the engine has begun: nothing left to do, or the request.
ucs_status_ptr_t begun(Request* request, ucx::RequestPtr engine, const ucp_request_param_t* param = nullptr);
/// For the blocking calls: makes progress until it has ended.
ucs_status_t wait_for(ucp_worker* worker, ucs_status_ptr_t request);

ucs_status_t status_of(ucx::Outcome outcome);
ucp_datatype_t type_of(const ucp_request_param_t* param);
/// Kinds of memory, as UCX and as the engine call them. What is not said, and what is not known, is the host's.
ucx::MemoryKind kind_of(ucs_memory_type_t type);
ucx::MemoryKind kind_of(const ucp_request_param_t* param);
ucs_memory_type_t type_of(ucx::MemoryKind kind);
/// Those that can be used in this process, as bits.
std::uint64_t memory_types();
/// Memory that is not the host's is sent and received in one piece only.
bool is_reachable(const ucp_request_param_t* param);

using Operation = std::function<ucx::RequestPtr(ucx::Endpoint&)>;
/// Does it when the endpoint is connected; not, when it has failed.
ucs_status_ptr_t run_later(ucp_ep* ep, Request* request, Operation operation);
/// Does it now, or later.
template <class F>
ucs_status_ptr_t run(ucp_ep* ep, Request* request, const ucp_request_param_t* param, F&& operation);

/// Two workers that get to know each other over a socket: each sends its address.
struct Meeting {
  ~Meeting();
  int fd = -1;
  std::vector<std::byte> out, in;
  std::size_t written = 0;
  bool broken = false;
  bool flush_output();
  /// False: nothing whole has come yet.
  bool read_message(std::uint8_t& answer, std::vector<std::byte>& address);
  static void append_message(std::vector<std::byte>& to, std::uint8_t answer, std::span<const std::byte> address);
};

int progress_meetings(ucp_worker* worker);
void watch(ucp_worker* worker, int fd);
ucp_ep* endpoint_for(ucp_worker* worker, ucx::PeerId peer);
void connected(ucp_ep* ep, ucx::Endpoint& engine);
void failed(ucp_ep* ep, ucs_status_t status);

/// The handler of stream data, among the engine's active messages.
inline constexpr std::uint16_t kStreamHandler = 65535;
void start_streams(ucp_worker* worker);

}  // namespace periapt::face

struct ucp_listener {
  ucp_worker* worker = nullptr;
  int fd = -1;
  ucp_listener_conn_handler_t conn = {};
  ucp_listener_accept_handler_t accept = {};
  std::vector<std::unique_ptr<periapt::face::Meeting>> arriving;  ///< connections that have not named their worker
};

struct ucp_conn_request {
  ucp_listener* listener = nullptr;
  ucp_worker* worker = nullptr;
  std::unique_ptr<periapt::face::Meeting> meeting;
  std::vector<std::byte> address;
  sockaddr_storage client = {};
};

struct ucp_ep {
  ucp_worker* worker = nullptr;
  periapt::ucx::Endpoint* engine = nullptr;  ///< null: not connected yet, or failed
  std::unique_ptr<periapt::face::Meeting> meeting;
  bool by_socket = false;  ///< the peer hears of its end
  bool closed = false;     ///< by the user
  ucs_status_t failure = UCS_OK;
  ucp_err_handler_t on_error = {};
  bool told = false;
  std::string name;
  std::deque<std::function<void(ucs_status_t)>> waiting;  ///< for the connection, or its failure
  // Streams: what has come, in order, and the receives that wait for it.
  struct StreamWait {
    periapt::face::Request* request;
    std::size_t filled = 0;
    std::size_t unit = 1;
    bool all = false;
  };
  std::uint64_t stream_sent = 0, stream_next = 0;
  std::map<std::uint64_t, periapt::ucx::Buffer> stream_early;
  std::deque<periapt::ucx::Buffer> stream_data;
  std::size_t stream_offset = 0;  ///< in the first of them
  std::deque<StreamWait> stream_waits;
  std::map<void*, periapt::ucx::Buffer> stream_held;
};

struct ucp_worker {
  ucp_context* context = nullptr;
  std::unique_ptr<periapt::ucx::Context> engine_context;
  std::unique_ptr<periapt::ucx::Worker> engine;
  std::string name;
  void* user_data = nullptr;
  std::vector<std::unique_ptr<ucp_ep>> eps;
  std::map<periapt::ucx::PeerId, ucp_ep*> by_peer;
  std::vector<std::unique_ptr<ucp_listener>> listeners;
  std::vector<std::unique_ptr<ucp_conn_request>> conn_requests;
  std::deque<std::function<void()>> later;  ///< for the next progress
  struct Handler {
    ucp_worker* worker = nullptr;
    ucp_am_recv_callback_t cb = nullptr;
    ucp_am_callback_t old = nullptr;
    void* arg = nullptr;
    bool keeps = false;  ///< it was promised that it may keep the data
  };
  std::map<unsigned, std::unique_ptr<Handler>> handlers;
  std::map<const void*, periapt::ucx::Buffer> held;  ///< payloads that users keep
  std::span<const std::byte> shown;                  ///< payload that a handler is looking at, where it lies
  std::vector<periapt::face::Request*> free_requests;
  unsigned rounds = 0;
  int epoll = -1;
  int wake = -1;
  bool pollable = false;  ///< all of the engine can be waited for
};

struct ucp_rkey {
  periapt::ucx::RkeyPtr key;
  ucp_ep* ep = nullptr;
};

struct ucp_mem {
  ucp_context* context = nullptr;
  std::byte* address = nullptr;
  std::size_t length = 0;
  bool allocated = false;        ///< mapped here
  periapt::ucx::Buffer offered;  ///< or allocated by the engine of a worker
  periapt::ucx::MemoryKind kind = periapt::ucx::MemoryKind::host;
  std::map<ucp_worker*, periapt::ucx::MemoryPtr> registered;
};

template <class F>
ucs_status_ptr_t periapt::face::run(ucp_ep* ep, Request* request, const ucp_request_param_t* param, F&& operation) {
  if (ep->engine == nullptr || ep->failure != UCS_OK) return run_later(ep, request, std::forward<F>(operation));
  return begun(request, operation(*ep->engine), param);
}
