// What NCCL asks of a network plug-in, declared by us: its numbers, and for each version of the interface the table of
// functions that it looks for under the name ncclNetPlugin_v8, _v9 and so on. The newest that NCCL knows is taken.
//
// Source: the interface as NVIDIA documents it for plug-ins (github.com/NVIDIA/nccl, plugins/net/README.md). NCCL 2.20
// knows v8, 2.24 v9, 2.26 v10, 2.28 v11, 2.30 v12. Here is said what changed; what each function does
// stands in net.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace periapt::nccl_net {

/// ncclResult_t.
enum class Answer : int {
  success = 0,
  system_error = 2,      ///< a call to the system or to a driver has failed
  internal_error = 3,    ///< what must not happen
  invalid_argument = 4,  ///< NCCL has named something that is not there
  invalid_usage = 5,     ///< the program has: two sides that do not fit together
  remote_error = 6       ///< the other process has gone, or has closed
};

enum class LogLevel : int { none = 0, version = 1, warn = 2, info = 3 };
inline constexpr unsigned long kLogInit = 1, kLogNet = 16;
/// NCCL's printf.
using Logger = void (*)(LogLevel level, unsigned long subsystems, const char* file, int line, const char* format, ...);
/// NCCL's ear for profilers; not used.
using Profiler = Answer (*)(void** event, int type, void* parent, std::int64_t plugin, void* data);

inline constexpr std::size_t kHandleBytes = 128;
inline constexpr int kPointsToHost = 1, kPointsToDevice = 2;
inline constexpr std::size_t kMostBytes = std::size_t{1} << 40;  ///< the most that NCCL accepts as a largest message
inline constexpr std::int16_t kUndefined = -1;

struct OffloadHandle;  // of networks that a kernel drives: never made here
struct CommConfig {
  int traffic_class;
};

/// Devices that are used as one.
template <int kMost>
struct Merged {
  int count;
  int devices[kMost];
};

struct PropertiesV8 {
  char* name;
  char* pci_path;  ///< nullptr: none; NCCL takes it for a device of the first processor
  std::uint64_t guid;
  int pointers;       ///< kPointsToHost | kPointsToDevice
  int global_memory;  ///< what is registered for one connection can be used for all
  int speed;          ///< Mb/s
  int port;
  float latency;  ///< us; 0: NCCL's guess
  int most_comms;
  int most_receives;  ///< in one group
  int offload_type;   ///< 0: the host drives it
  int offload_version;
};

struct PropertiesV9 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers;
  int global_memory;
  int force_flush;  ///< new: even where NCCL thinks that no flush is needed
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int offload_type;
  int offload_version;
  Merged<4> merged;         ///< new
  std::size_t most_bytes;   ///< new: of a message between two
  std::size_t most_shared;  ///< new: of a collective that the network does itself
};

struct PropertiesV11 : PropertiesV9 {
  int most_requests;  ///< new: in one call
};

struct PropertiesV12 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointers;
  int global_memory;
  int force_flush;
  int speed;
  int port;
  float latency;
  int most_comms;
  int most_receives;
  int offload_type;
  int offload_version;
  Merged<8> merged;  ///< more
  std::size_t most_bytes;
  std::size_t most_shared;
  int most_requests;
  std::int16_t rail;   ///< new
  std::int16_t plane;  ///< new
};

/// What all versions have alike, in their order: from accept() to deregMr(), and from iflush() to irecvConsumed().
struct Memory {
  Answer (*accept)(void* listen, void** receive, OffloadHandle** offload);
  Answer (*register_memory)(void* comm, void* memory, std::size_t bytes, int type, void** registered);
  Answer (*register_dmabuf)(void* comm, void* memory, std::size_t bytes, int type, std::uint64_t offset, int file,
                            void** registered);
  Answer (*deregister)(void* comm, void* registered);
};
struct Ends {
  Answer (*flush)(void* receive, int count, void** memory, int* bytes, void** registered, void** request);
  Answer (*test)(void* request, int* done, int* bytes);
  Answer (*close_send)(void* send);
  Answer (*close_receive)(void* receive);
  Answer (*close_listen)(void* listen);
  Answer (*device_memory)(void* comm, void* registered, void** pointer);  ///< may be nullptr
  Answer (*receive_consumed)(void* receive, int count, void* request);    ///< may be nullptr
};

struct TableV8 {
  const char* name;
  Answer (*init)(Logger logger);
  Answer (*devices)(int* count);
  Answer (*properties)(int device, PropertiesV8* properties);
  Answer (*listen)(int device, void* handle, void** listen);
  Answer (*connect)(int device, void* handle, void** send, OffloadHandle** offload);
  Memory memory;
  Answer (*send)(void* send, void* memory, int bytes, int tag, void* registered, void** request);
  Answer (*receive)(void* receive, int count, void** memory, int* bytes, int* tags, void** registered, void** request);
  Ends ends;
};

/// Lengths have 64 bits, and devices may be merged.
struct TableV9 {
  const char* name;
  Answer (*init)(Logger logger);
  Answer (*devices)(int* count);
  Answer (*properties)(int device, PropertiesV9* properties);
  Answer (*listen)(int device, void* handle, void** listen);
  Answer (*connect)(int device, void* handle, void** send, OffloadHandle** offload);
  Memory memory;
  Answer (*send)(void* send, void* memory, std::size_t bytes, int tag, void* registered, void** request);
  Answer (*receive)(void* receive, int count, void** memory, std::size_t* bytes, int* tags, void** registered,
                    void** request);
  Ends ends;
  Answer (*merge)(int* device, Merged<4>* devices);  ///< may be nullptr
};

/// A traffic class for a connection, and profilers.
struct TableV10 {
  const char* name;
  Answer (*init)(Logger logger, Profiler profiler);
  Answer (*devices)(int* count);
  Answer (*properties)(int device, PropertiesV9* properties);
  Answer (*listen)(int device, void* handle, void** listen);
  Answer (*connect)(int device, CommConfig* config, void* handle, void** send, OffloadHandle** offload);
  Memory memory;
  Answer (*send)(void* send, void* memory, std::size_t bytes, int tag, void* registered, void* event, void** request);
  Answer (*receive)(void* receive, int count, void** memory, std::size_t* bytes, int* tags, void** registered,
                    void** events, void** request);
  Ends ends;
  Answer (*merge)(int* device, Merged<4>* devices);
};

/// A context for each communicator of NCCL.
template <class Properties, int kMostMerged>
struct TableOfContexts {
  const char* name;
  Answer (*init)(void** context, std::uint64_t communicator, CommConfig* config, Logger logger, Profiler profiler);
  Answer (*devices)(int* count);
  Answer (*properties)(int device, Properties* properties);
  Answer (*listen)(void* context, int device, void* handle, void** listen);
  Answer (*connect)(void* context, int device, void* handle, void** send, OffloadHandle** offload);
  Memory memory;
  Answer (*send)(void* send, void* memory, std::size_t bytes, int tag, void* registered, void* event, void** request);
  Answer (*receive)(void* receive, int count, void** memory, std::size_t* bytes, int* tags, void** registered,
                    void** events, void** request);
  Ends ends;
  Answer (*merge)(int* device, Merged<kMostMerged>* devices);
  Answer (*finalize)(void* context);
  Answer (*hint)(void* context, void* attributes);  ///< may be nullptr
};
using TableV11 = TableOfContexts<PropertiesV11, 4>;
using TableV12 = TableOfContexts<PropertiesV12, 8>;

static_assert(sizeof(PropertiesV8) == 64 && sizeof(PropertiesV9) == 104 && offsetof(PropertiesV9, most_bytes) == 88 &&
              sizeof(PropertiesV11) == 112 && offsetof(PropertiesV12, most_bytes) == 104 &&
              offsetof(PropertiesV12, rail) == 124 && sizeof(PropertiesV12) == 128);
static_assert(sizeof(TableV8) == 19 * sizeof(void*) && sizeof(TableV9) == 20 * sizeof(void*) &&
              sizeof(TableV10) == sizeof(TableV9) && sizeof(TableV11) == 22 * sizeof(void*));

}  // namespace periapt::nccl_net
