#include "machine/nccl-net/worker.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "machine/gpu/device_memory.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/stand_alone.h"

namespace periapt::nccl_net {
namespace {

constexpr std::uint16_t kControl = 1;
std::atomic<Logger> logger_of_nccl{nullptr};

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

}  // namespace

void set_logger(Logger logger) { logger_of_nccl = logger; }

void say(LogLevel level, const std::string& text) {
  const Logger logger = logger_of_nccl;
  if (logger != nullptr) logger(level, kLogInit | kLogNet, __FILE__, __LINE__, "NET/Periapt : %s", text.c_str());
}

Answer failed(Answer answer, const std::string& why) {
  say(LogLevel::warn, why);
  return answer;
}

// ---- the process

Process& Process::self() {
  static Process& process = *new Process;  // threads of NCCL's may be at work when the program ends
  return process;
}

std::string Process::devices() const { return variable("PERIAPT_NCCL_DEVICES"); }

Result<ucx::Context*> Process::context() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) return context_.get();
  ucx::ContextRequest request;
  request.factories = machine::transports();
  request.transports = variable("PERIAPT_NCCL_TRANSPORTS");
  ucx::stand_alone(request, "PERIAPT_NCCL_SECRET", "a program for NCCL, without a secret of its own");
  request.device_memory = gpu::device_memory_maker({.for_devices = false});
  // A connection may be closed with operations under way, and its memory freed then: so no peer writes into it by
  // itself (large messages are read by their receiver), and one in this process reads it through the kernel, which
  // answers where nothing is any more.
  request.option = [devices = devices()](const std::string& name) -> std::string {
    if (name == "+net-devices") return devices;
    if (name == "+rendezvous") return "get";
    return name == "+shm-direct" ? "off" : "";
  };
  Status checked = ucx::check_request(request);
  if (!checked) return checked;
  Result<std::unique_ptr<ucx::Context>> made = ucx::Context::create(std::move(request));
  if (!made) return made.status();
  context_ = std::move(*made);
  return context_.get();
}

// ---- connections

bool NcclRequest::has_ended() const {
  return std::all_of(parts.begin(), parts.begin() + count,
                     [](const ucx::RequestPtr& part) { return part == nullptr || part->ended(); });
}

unsigned& Comm::granted(int tag) {
  const auto known =
      std::find_if(grants.begin(), grants.end(), [tag](const auto& grant) { return grant.first == tag; });
  return known != grants.end() ? known->second : grants.emplace_back(tag, 0).second;
}

NcclRequest& Comm::begin() {
  if (spare.empty()) spare.emplace_back();
  live.splice(live.end(), spare, spare.begin());
  NcclRequest& operation = live.back();
  operation.comm = this;
  operation.count = 0;
  operation.at = std::prev(live.end());
  return operation;
}

void Comm::end(NcclRequest& operation) {
  for (ucx::RequestPtr& part : operation.parts) part.reset();
  spare.splice(spare.begin(), live, operation.at);
}

Answer Comm::refuse(Answer answer, const std::string& why) {
  return std::exchange(said, true) ? answer : failed(answer, why);
}

// ---- workers

Result<std::shared_ptr<CommWorker>> CommWorker::of_thread() {
  Process& process = Process::self();
  Result<ucx::Context*> context = process.context();
  if (!context) return context.status();
  const std::lock_guard lock(process.mutex_);
  std::erase_if(process.workers_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<CommWorker>& known = process.workers_[std::this_thread::get_id()];
  if (std::shared_ptr<CommWorker> worker = known.lock()) return worker;
  Result<std::unique_ptr<ucx::Worker>> engine = ucx::Worker::create(**context, ucx::random_peer_id());
  if (!engine) return engine.status();
  auto worker = std::make_shared<CommWorker>(std::move(*engine));
  known = worker;
  return worker;
}

CommWorker::CommWorker(std::unique_ptr<ucx::Worker> made) : engine(std::move(made)) {
  ucx::ActiveHandler handler;
  handler.context = this;
  handler.look = heard;
  handler.handler = [](void* context, ucx::Endpoint& from, std::span<const std::byte> header, ucx::Buffer) {
    heard(context, from, header, {});
  };
  engine->on_active(kControl, handler);
  const auto gone = [this](ucx::PeerId peer, const std::string& why) { fail_all(peer, why); };
  engine->on_peer_lost(gone);
  engine->on_peer_disconnected(gone);
}

Result<std::unique_ptr<Comm>> CommWorker::connect(std::uint32_t number, std::span<const std::byte> address,
                                                  std::shared_ptr<CommWorker> self) {
  Result<ucx::Endpoint*> peer = engine->connect(address);
  if (!peer) return peer.status();
  auto comm = std::make_unique<Comm>();
  comm->worker = std::move(self);
  comm->peer = *peer;
  comm->number = number;
  return comm;
}

Result<std::unique_ptr<Comm>> CommWorker::connect_sending(std::uint32_t number, std::span<const std::byte> address,
                                                          std::shared_ptr<CommWorker> self) {
  Result<std::unique_ptr<Comm>> comm = connect(number, address, std::move(self));
  if (!comm) return comm;
  (*comm)->sends = true;
  sending_[{(*comm)->peer->peer(), number}] = comm->get();
  tell(**comm, Word::hello);
  return comm;
}

Result<std::unique_ptr<Comm>> CommWorker::connect_receiving(std::span<const std::byte> address,
                                                            std::shared_ptr<CommWorker> self) {
  Result<std::unique_ptr<Comm>> comm = connect(next_number_, address, std::move(self));
  if (comm) receiving_[next_number_++] = comm->get();
  return comm;
}

void CommWorker::tell(Comm& comm, Word word, int tag) {
  const Control control{word, comm.number, tag};
  comm.peer->active_send(kControl, std::as_bytes(std::span(&control, 1)), {});
}

void CommWorker::grant(Comm& receiving, int tag) { tell(receiving, Word::grant, tag); }

bool CommWorker::heard(void* context, ucx::Endpoint& from, std::span<const std::byte> header,
                       std::span<const std::byte>) {
  Control control;
  if (header.size() != sizeof(control)) return true;
  std::memcpy(&control, header.data(), sizeof(control));
  static_cast<CommWorker*>(context)->take(control, from.peer());
  return true;
}

// Of connections that are closed, and of other workers' nothing is taken.
void CommWorker::take(const Control& control, ucx::PeerId from) {
  if (control.word == Word::hello || control.word == Word::sender_closed) {
    const auto found = receiving_.find(control.number);
    if (found == receiving_.end() || found->second->peer->peer() != from) return;
    if (control.word == Word::hello) {
      found->second->greeted = true;
    } else if (found->second->failure.empty()) {
      found->second->failure = "the sending side has closed the connection";
    }
    return;
  }
  const auto found = sending_.find({from, control.number});
  if (found == sending_.end()) return;
  found->second->stream.reset();
  if (control.word == Word::grant) {
    ++found->second->granted(control.tag);
  } else if (control.word == Word::receiver_closed && found->second->failure.empty()) {
    found->second->failure = "the receiving side has closed the connection";
  }
}

void CommWorker::fail_all(ucx::PeerId peer, const std::string& why) {
  for (const auto& [key, comm] : sending_) {
    if (key.first == peer && comm->failure.empty()) comm->failure = why;
  }
  for (const auto& [number, comm] : receiving_) {
    if (comm->peer->peer() == peer && comm->failure.empty()) comm->failure = why;
  }
}

void CommWorker::close(Comm& comm) {
  if (comm.sends) {
    sending_.erase({comm.peer->peer(), comm.number});
  } else {
    receiving_.erase(comm.number);
  }
  ucx::Endpoint& peer = *comm.peer;
  const auto has_ended = [](const NcclRequest& operation) { return operation.has_ended(); };
  if (std::all_of(comm.live.begin(), comm.live.end(), has_ended)) {
    if (!peer.failure().empty()) return;
    tell(comm, comm.sends ? Word::sender_closed : Word::receiver_closed);
    const ucx::RequestPtr flush = peer.flush(nullptr, nullptr, ucx::FlushScope::local);
    while (flush != nullptr && !flush->ended()) engine->progress();
    return;
  }
  for (const NcclRequest& operation : comm.live) {
    for (const ucx::RequestPtr& part : operation.parts) {
      if (part != nullptr && !part->ended()) part->cancel();
    }
  }
  peer.close(true);
  fail_all(peer.peer(), "this process has closed a connection between the same two workers, with operations under way");
  while (!std::all_of(comm.live.begin(), comm.live.end(), has_ended)) engine->progress();
}

}  // namespace periapt::nccl_net
