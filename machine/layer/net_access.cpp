#include "machine/layer/net_access.h"

#include <string>
#include <utility>

namespace periapt::machine {
namespace {

// An access that the engine has begun.
struct Running {
  NetAccess access;
  ucx::Endpoint* endpoint;
  host::Port* const& driver;
  ucx::RkeyPtr key;

  void end(Status status) {
    access.ended(access.context, std::move(status), driver != nullptr ? driver->pe() : -1);
    delete this;
  }
};

void complete(void* context, ucx::Outcome outcome) {
  auto* running = static_cast<Running*>(context);
  const std::string peer = "process " + std::to_string(running->access.process);
  switch (outcome) {
    case ucx::Outcome::ok:
      return running->end(Status());
    case ucx::Outcome::bad_key:
      return running->end(Status::failure("that memory of " + peer + " is not registered (any more)"));
    case ucx::Outcome::peer_lost:
      return running->end(Status::failure(peer + " has gone: " + running->endpoint->failure()));
    default:
      return running->end(Status::failure(std::string("access to memory of ") + peer + ": " + ucx::describe(outcome)));
  }
}

void moved(void* context, ucx::Outcome outcome) {
  auto* running = static_cast<Running*>(context);
  if (!running->access.is_put || outcome != ucx::Outcome::ok) return complete(running, outcome);
  // Of a put this says only that our bytes were read.
  if (running->endpoint->flush(complete, running) == nullptr) complete(running, ucx::Outcome::ok);
}

}  // namespace

void begin_access(NetAccess access, std::span<const std::byte> key, ucx::Endpoint& endpoint,
                  host::Port* const& driver) {
  Result<ucx::RkeyPtr> unpacked = endpoint.unpack(key);
  auto* running = new Running{std::move(access), &endpoint, driver, nullptr};
  if (!unpacked) return running->end(unpacked.status());
  running->key = std::move(*unpacked);
  const NetAccess& asked = running->access;
  ucx::RequestPtr request = asked.is_put
                                ? endpoint.put(asked.local, asked.remote, running->key, moved, running, asked.kind)
                                : endpoint.get(asked.local, asked.remote, running->key, moved, running, asked.kind);
  if (request == nullptr) moved(running, ucx::Outcome::ok);
}

}  // namespace periapt::machine
