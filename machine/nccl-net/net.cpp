#include "machine/nccl-net/net.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "machine/gpu/device_memory.h"
#include "machine/gpu/vendors.h"
#include "machine/nccl-net/worker.h"

namespace periapt::nccl_net {
namespace {

using ucx::MemoryKind;

struct Listening {
  std::shared_ptr<CommWorker> worker;
  std::unique_ptr<Listener> listener;
  std::deque<std::unique_ptr<Comm>> waiting;  ///< for the sender to be heard over the engine
};

struct Connecting {
  std::shared_ptr<CommWorker> worker;
  std::unique_ptr<Connector> connector;
  std::uint64_t number = 0, token = 0;  ///< of the listener
};

// What connect() has begun, while no call of it is at work there. NCCL keeps which of them it is among the bytes that
// have come from the other process, which may have written anything there: so it is a number that is looked for, and
// belongs to one listener.
class Begun {
 public:
  std::uint64_t put(std::unique_ptr<Connecting> one) {
    const std::lock_guard lock(mutex_);
    all_.emplace(++last_, std::move(one));
    return last_;
  }
  /// nullptr: there is no such one.
  std::unique_ptr<Connecting> take(const Handle& handle) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle.connecting);
    if (found == all_.end() || found->second->number != handle.number || found->second->token != handle.token)
      return nullptr;
    std::unique_ptr<Connecting> one = std::move(found->second);
    all_.erase(found);
    return one;
  }
  static Begun& self() {
    static Begun& begun = *new Begun;  // threads of NCCL's may be at work when the program ends
    return begun;
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Connecting>> all_;
};

// What a registration says is the memory's kind, and nothing else: an address stands for each.
constexpr MemoryKind kKinds[] = {MemoryKind::host, MemoryKind::cuda, MemoryKind::cuda_managed, MemoryKind::hip,
                                 MemoryKind::hip_managed};
void* registration_of(MemoryKind kind) { return const_cast<MemoryKind*>(&kKinds[static_cast<std::size_t>(kind)]); }
MemoryKind kind_of(const void* registered) {
  return registered == nullptr ? MemoryKind::host : *static_cast<const MemoryKind*>(registered);
}

ucx::Tag tag_of(const Comm& comm, int tag) { return ucx::Tag{comm.number} << 32 | static_cast<std::uint32_t>(tag); }

Answer check_device(int device) {
  if (device == 0) return Answer::success;
  return failed(Answer::invalid_argument, "device " + std::to_string(device) + " is not there: there is one, 0");
}

Answer gone(Comm& comm) {
  return comm.refuse(Answer::remote_error, std::string(comm.sends ? "a send" : "a receive") + ": " + comm.failure);
}

// Of an operation that has ended, but not well.
Answer refuse(NcclRequest& operation, ucx::Outcome outcome, std::size_t part) {
  Comm& comm = *operation.comm;
  switch (outcome) {
    case ucx::Outcome::peer_lost:
    case ucx::Outcome::cancelled:
      if (comm.failure.empty()) comm.failure = comm.peer->failure();
      return gone(comm);
    case ucx::Outcome::too_long:
      return comm.refuse(Answer::invalid_usage,
                         "a message of " + std::to_string(operation.parts[part]->received().size) +
                             " bytes has come for a receive of " + std::to_string(operation.bytes[part]) +
                             ": both sides of a call are to name the same count and type");
    case ucx::Outcome::no_memory:
      return comm.refuse(Answer::system_error, "there is no memory for a message");
    case ucx::Outcome::failed:
      if (const ucx::DeviceMemory* const memory = comm.worker->engine->device_memory(); memory != nullptr) {
        if (!memory->failure().empty()) {
          return comm.refuse(Answer::system_error, "memory of a GPU cannot be copied: " + memory->failure());
        }
      }
      [[fallthrough]];
    default:
      return comm.refuse(Answer::internal_error, std::string("a message has ended with: ") + ucx::describe(outcome));
  }
}

Answer close(void* handle) {
  std::unique_ptr<Comm> comm(static_cast<Comm*>(handle));
  const std::shared_ptr<CommWorker> worker = comm->worker;
  const std::lock_guard lock(worker->mutex);
  worker->close(*comm);
  comm.reset();
  return Answer::success;
}

// So that nothing that may wait for a GPU (memory that is pinned, streams that are made) is left for the time when a
// kernel of NCCL's runs there and waits for us.
Status warm_up(CommWorker& worker, std::byte* memory, MemoryKind kind) {
  ucx::DeviceMemory& device = *worker.engine->device_memory();
  std::vector<ucx::Buffer> pieces;
  for (;;) {
    Result<ucx::Buffer> piece = device.piece();
    if (!piece) return piece.status();
    if (!*piece) break;
    pieces.push_back(std::move(*piece));
  }
  if (pieces.empty()) return {};  // all are under way, so they are there
  struct Copied : ucx::Completion {
    bool ended = false, well = false;
  } copied;
  copied.done = [](ucx::Completion& self, ucx::Outcome outcome) {
    auto& copy = static_cast<Copied&>(self);
    copy.ended = true;
    copy.well = outcome == ucx::Outcome::ok;
  };
  Status begun = device.copy({pieces.front().data(), MemoryKind::host}, {memory, kind}, 1, copied);
  if (!begun) return begun;
  while (!copied.ended) worker.engine->progress();
  return copied.well ? Status() : Status::failure(device.failure());
}

}  // namespace

// ---- the device

Answer init(Logger logger) {
  set_logger(logger);
  return Answer::success;
}

Answer count_devices(int* count) {
  const Result<ucx::Context*> context = Process::self().context();
  *count = context ? 1 : 0;
  if (!context) return failed(Answer::system_error, context.message());
  for (const ucx::Device& device : (*context)->devices()) say(LogLevel::info, ucx::describe(device));
  return Answer::success;
}

Answer properties(int device, Properties* properties) {
  if (const Answer answer = check_device(device); answer != Answer::success) return answer;
  const Result<ucx::Context*> context = Process::self().context();
  if (!context) return failed(Answer::system_error, context.message());
  *properties = {.guid = 0x7065'7269'6170'7400};
  const std::vector<gpu::Driver*> drivers = gpu::drivers();
  const bool has_gpu =
      std::any_of(drivers.begin(), drivers.end(), [](const gpu::Driver* one) { return one != nullptr; });
  if (has_gpu) properties->pointers |= kPointsToDevice;
  // What other hosts are reached by, if anything: the ranks of this one seldom need a network.
  const ucx::Device* best = nullptr;
  for (const ucx::Device& one : (*context)->devices()) {
    if (!one.usable || one.can.reach == ucx::Reach::same_process) continue;
    const auto worth = [](const ucx::Device& found) {
      return std::pair(found.can.reach == ucx::Reach::network, found.costs.bytes_per_ns);
    };
    if (best == nullptr || worth(one) > worth(*best)) best = &one;
  }
  if (best == nullptr) return failed(Answer::system_error, "no transport leads to another process");
  properties->speed = std::max(1, static_cast<int>(best->costs.bytes_per_ns * 8000));
  properties->latency = static_cast<float>((best->costs.overhead_ns + best->costs.latency_ns) / 1000);
  return Answer::success;
}

// ---- connections

Answer listen(int device, void* handle, void** listen) {
  *listen = nullptr;
  if (const Answer answer = check_device(device); answer != Answer::success) return answer;
  Result<std::shared_ptr<CommWorker>> worker = CommWorker::of_thread();
  if (!worker) return failed(Answer::system_error, worker.message());
  Result<std::unique_ptr<Listener>> listener = Listener::open(Process::self().devices());
  if (!listener) return failed(Answer::system_error, listener.message());
  std::memset(handle, 0, kHandleBytes);
  std::memcpy(handle, &(*listener)->handle(), sizeof(Handle));
  *listen = new Listening{std::move(*worker), std::move(*listener), {}};
  return Answer::success;
}

Answer connect(int device, void* handle, void** send) {
  *send = nullptr;
  if (const Answer answer = check_device(device); answer != Answer::success) return answer;
  Handle given;
  std::memcpy(&given, handle, sizeof(given));
  if (given.magic != Handle::kMagic) {
    return failed(Answer::invalid_argument, "the other process uses another network plug-in, or another version of it");
  }
  const auto keep = [&](std::uint64_t now) {
    given.connecting = now;
    std::memcpy(handle, &given, sizeof(given));
  };
  std::unique_ptr<Connecting> connecting;
  if (given.connecting != 0) {
    connecting = Begun::self().take(given);
    if (connecting == nullptr)
      return failed(Answer::invalid_argument, "the other process names a connection that this one has not begun");
  } else {
    Result<std::shared_ptr<CommWorker>> made = CommWorker::of_thread();
    if (!made) return failed(Answer::system_error, made.message());
    const std::lock_guard lock((*made)->mutex);
    auto connector = std::make_unique<Connector>(given, (*made)->engine->address());
    connecting = std::make_unique<Connecting>(Connecting{*made, std::move(connector), given.number, given.token});
  }
  const std::shared_ptr<CommWorker> worker = connecting->worker;
  const std::lock_guard lock(worker->mutex);
  worker->engine->progress();
  Result<std::optional<Connector::Answered>> answer = connecting->connector->look();
  if (answer && !*answer) {
    keep(Begun::self().put(std::move(connecting)));
    return Answer::success;
  }
  keep(0);
  if (!answer) return failed(Answer::remote_error, answer.message());
  Result<std::unique_ptr<Comm>> comm =
      worker->connect_sending(static_cast<std::uint32_t>((*answer)->id), (*answer)->address, worker);
  if (!comm) return failed(Answer::system_error, comm.message());
  (*comm)->stream = std::move((*answer)->stream);
  *send = comm->release();
  return Answer::success;
}

Answer accept(void* listen, void** receive) {
  *receive = nullptr;
  auto& listening = *static_cast<Listening*>(listen);
  CommWorker& worker = *listening.worker;
  const std::lock_guard lock(worker.mutex);
  while (std::optional<Listener::Arrived> arrived = listening.listener->look()) {
    Result<std::unique_ptr<Comm>> comm = worker.connect_receiving(arrived->address, listening.worker);
    if (!comm) return failed(Answer::system_error, comm.message());
    arrived->stream->send((*comm)->number, worker.engine->address());
    (*comm)->stream = std::move(arrived->stream);
    listening.waiting.push_back(std::move(*comm));
  }
  worker.engine->progress();
  for (auto at = listening.waiting.begin(); at != listening.waiting.end(); ++at) {
    Comm& comm = **at;
    if (!comm.greeted && comm.failure.empty()) {
      comm.stream->receive();
      if (comm.stream->failure().empty()) continue;
      comm.failure = comm.stream->failure();
    }
    std::unique_ptr<Comm> taken = std::move(*at);
    listening.waiting.erase(at);
    if (!taken->greeted) {
      const std::string why = "a process that was connecting: " + taken->failure;
      worker.close(*taken);
      return failed(Answer::remote_error, why);
    }
    taken->stream.reset();
    *receive = taken.release();
    return Answer::success;
  }
  return Answer::success;
}

Answer close_send(void* send) { return close(send); }
Answer close_receive(void* receive) { return close(receive); }

Answer close_listen(void* listen) {
  std::unique_ptr<Listening> listening(static_cast<Listening*>(listen));
  const std::shared_ptr<CommWorker> worker = listening->worker;
  const std::lock_guard lock(worker->mutex);
  for (const std::unique_ptr<Comm>& comm : listening->waiting) worker->close(*comm);
  listening.reset();
  return Answer::success;
}

// ---- memory

Answer register_memory(void* handle, void* memory, std::size_t bytes, int type, void** registered) {
  *registered = nullptr;
  if (type == kPointsToHost) {
    *registered = registration_of(MemoryKind::host);
    return Answer::success;
  }
  if (type != kPointsToDevice) {
    return failed(Answer::invalid_argument, "memory of type " + std::to_string(type) + " cannot be registered");
  }
  CommWorker& worker = *static_cast<Comm*>(handle)->worker;
  const std::lock_guard lock(worker.mutex);
  if (worker.engine->device_memory() == nullptr) {
    return failed(Answer::system_error,
                  "memory of a GPU cannot be registered: no driver of one is in use in this process");
  }
  const MemoryKind kind = worker.engine->device_memory()->kind_of(memory);
  if (kind == MemoryKind::host) return failed(Answer::system_error, gpu::unknown_memory(memory).message());
  if (bytes != 0) {
    if (Status warm = warm_up(worker, static_cast<std::byte*>(memory), kind); !warm) {
      return failed(Answer::system_error, "memory of a GPU cannot be registered: " + warm.message());
    }
  }
  *registered = registration_of(kind);
  return Answer::success;
}

Answer refuse_dmabuf() {
  return failed(Answer::invalid_usage,
                "memory by a dma-buf is not supported (no device here asks for it): register its address");
}

// ---- messages

Answer send(void* handle, void* memory, std::size_t bytes, int tag, void* registered, void** request) {
  *request = nullptr;
  auto& comm = *static_cast<Comm*>(handle);
  CommWorker& worker = *comm.worker;
  const std::lock_guard lock(worker.mutex);
  unsigned& granted = comm.granted(tag);
  if (granted == 0) worker.engine->progress();
  if (!comm.failure.empty()) return gone(comm);
  if (comm.granted(tag) == 0) return Answer::success;
  --comm.granted(tag);
  NcclRequest& operation = comm.begin();
  operation.count = 1;
  operation.bytes[0] = bytes;
  const std::span<const std::byte> message(static_cast<const std::byte*>(memory), bytes);
  const MemoryKind kind = bytes == 0 ? MemoryKind::host : kind_of(registered);
  operation.parts[0] = kind == MemoryKind::host ? comm.peer->tag_send(message, tag_of(comm, tag))
                                                : comm.peer->tag_send_from(kind, message, tag_of(comm, tag));
  *request = &operation;
  return Answer::success;
}

Answer receive(void* handle, int count, void** memory, const std::size_t* bytes, const int* tags, void** registered,
               void** request) {
  *request = nullptr;
  auto& comm = *static_cast<Comm*>(handle);
  CommWorker& worker = *comm.worker;
  if (count < 1 || count > kMostReceives) {
    return failed(Answer::invalid_argument, "a group of " + std::to_string(count) + " receives: there may be 1 to " +
                                                std::to_string(kMostReceives));
  }
  const std::lock_guard lock(worker.mutex);
  if (!comm.failure.empty()) return gone(comm);
  NcclRequest& operation = comm.begin();
  operation.count = count;
  for (int i = 0; i < count; ++i) {
    const auto part = static_cast<std::size_t>(i);
    const std::span<std::byte> room(static_cast<std::byte*>(memory[i]), bytes[i]);
    const MemoryKind kind = bytes[i] == 0 || registered == nullptr ? MemoryKind::host : kind_of(registered[i]);
    operation.bytes[part] = bytes[i];
    operation.parts[part] = worker.engine->tag_receive_into(kind, room, tag_of(comm, tags[i]));
    worker.grant(comm, tags[i]);
  }
  *request = &operation;
  return Answer::success;
}

Answer test(void* request, int* done, int* bytes) {
  *done = 0;
  auto& operation = *static_cast<NcclRequest*>(request);
  Comm& comm = *operation.comm;
  CommWorker& worker = *comm.worker;
  const std::lock_guard lock(worker.mutex);
  if (!operation.has_ended()) worker.engine->progress();
  if (!operation.has_ended()) {
    if (comm.failure.empty()) return Answer::success;
    // What has found its message ends by itself; for what has not, none comes any more.
    bool taken_back = false;
    for (const ucx::RequestPtr& part : operation.parts) {
      if (!comm.sends && part != nullptr && !part->ended() && part->cancel()) taken_back = true;
    }
    return taken_back ? gone(comm) : Answer::success;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(operation.count); ++i) {
    const ucx::RequestPtr& part = operation.parts[i];
    if (part != nullptr && part->outcome() != ucx::Outcome::ok) return refuse(operation, part->outcome(), i);
    if (bytes != nullptr) bytes[i] = static_cast<int>(comm.sends ? operation.bytes[i] : part->received().size);
  }
  comm.end(operation);
  *done = 1;
  return Answer::success;
}

}  // namespace periapt::nccl_net
