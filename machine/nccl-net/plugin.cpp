// The tables, one a version: what differs between them is adapted here, and nothing is done.
#include <array>

#include "machine/nccl-net/net.h"

namespace periapt::nccl_net {
namespace {

char name_of_device[] = "periapt";

template <class P>
Answer fill(int device, P* out) {
  Properties found;
  const Answer answer = properties(device, &found);
  if (answer != Answer::success) return answer;
  *out = {};
  out->name = name_of_device;
  out->guid = found.guid;
  out->pointers = found.pointers;
  out->global_memory = 1;
  out->speed = found.speed;
  out->port = 1;
  out->latency = found.latency;
  out->most_comms = kMostComms;
  out->most_receives = kMostReceives;
  if constexpr (requires { out->merged; }) {
    out->merged.count = 1;
    out->most_bytes = out->most_shared = kMostBytes;
  }
  if constexpr (requires { out->most_requests; }) out->most_requests = 1;
  if constexpr (requires { out->rail; }) out->rail = out->plane = kUndefined;
  return Answer::success;
}

Answer accept_plain(void* listen, void** receive, OffloadHandle**) { return accept(listen, receive); }
Answer register_dmabuf(void*, void*, std::size_t, int, std::uint64_t, int, void** registered) {
  *registered = nullptr;
  return refuse_dmabuf();
}
Answer deregister(void*, void*) { return Answer::success; }
Answer flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return Answer::success;
}
constexpr Memory kMemory = {accept_plain, register_memory, register_dmabuf, deregister};
constexpr Ends kEnds = {flush, test, close_send, close_receive, close_listen, nullptr, nullptr};

// v8: lengths are int.
Answer send_v8(void* comm, void* memory, int bytes, int tag, void* registered, void** request) {
  return send(comm, memory, static_cast<std::size_t>(bytes), tag, registered, request);
}
Answer receive_v8(void* comm, int count, void** memory, int* bytes, int* tags, void** registered, void** request) {
  std::array<std::size_t, kMostReceives> wide{};
  for (std::size_t i = 0; i < wide.size() && static_cast<int>(i) < count; ++i) {
    wide[i] = static_cast<std::size_t>(bytes[i]);
  }
  return receive(comm, count, memory, wide.data(), tags, registered, request);
}

// v8, v9: nothing but what is needed.
Answer connect_v8(int device, void* handle, void** send, OffloadHandle**) { return connect(device, handle, send); }
Answer receive_v9(void* comm, int count, void** memory, std::size_t* bytes, int* tags, void** registered,
                  void** request) {
  return receive(comm, count, memory, bytes, tags, registered, request);
}

// v10
Answer init_v10(Logger logger, Profiler) { return init(logger); }
Answer connect_v10(int device, CommConfig*, void* handle, void** send, OffloadHandle**) {
  return connect(device, handle, send);
}
Answer send_v10(void* comm, void* memory, std::size_t bytes, int tag, void* registered, void*, void** request) {
  return send(comm, memory, bytes, tag, registered, request);
}
Answer receive_v10(void* comm, int count, void** memory, std::size_t* bytes, int* tags, void** registered, void**,
                   void** request) {
  return receive(comm, count, memory, bytes, tags, registered, request);
}

// v11, v12: a context, of which nothing is kept.
Answer init_v11(void** context, std::uint64_t, CommConfig*, Logger logger, Profiler) {
  *context = nullptr;
  return init(logger);
}
Answer listen_v11(void*, int device, void* handle, void** made) { return listen(device, handle, made); }
Answer connect_v11(void*, int device, void* handle, void** send, OffloadHandle**) {
  return connect(device, handle, send);
}
Answer finalize(void*) { return Answer::success; }

constexpr const char* kName = "Periapt";

template <class P, int kMostMerged>
constexpr TableOfContexts<P, kMostMerged> table_of_contexts() {
  return {kName,    init_v11,    count_devices, fill<P>, listen_v11, connect_v11, kMemory,
          send_v10, receive_v10, kEnds,         nullptr, finalize,   nullptr};
}

}  // namespace
}  // namespace periapt::nccl_net

using namespace periapt::nccl_net;

// What NCCL looks for by name. It writes to none of them.
extern "C" {
extern const TableV8 ncclNetPlugin_v8;
extern const TableV9 ncclNetPlugin_v9;
extern const TableV10 ncclNetPlugin_v10;
extern const TableV11 ncclNetPlugin_v11;
extern const TableV12 ncclNetPlugin_v12;
const TableV8 ncclNetPlugin_v8 = {kName,      init,    count_devices, fill<PropertiesV8>, listen,
                                  connect_v8, kMemory, send_v8,       receive_v8,         kEnds};
const TableV9 ncclNetPlugin_v9 = {
    kName, init, count_devices, fill<PropertiesV9>, listen, connect_v8, kMemory, send, receive_v9, kEnds, nullptr};
const TableV10 ncclNetPlugin_v10 = {kName,       init_v10,    count_devices, fill<PropertiesV9>,
                                    listen,      connect_v10, kMemory,       send_v10,
                                    receive_v10, kEnds,       nullptr};
const TableV11 ncclNetPlugin_v11 = table_of_contexts<PropertiesV11, 4>();
const TableV12 ncclNetPlugin_v12 = table_of_contexts<PropertiesV12, 8>();
}
