// One-sided access to memory of a process on another host, by an endpoint of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "machine/host/inbox.h"
#include "machine/ucx-like/worker.h"

namespace periapt::machine {

/// A get, or a put that ends when the bytes are there.
struct NetAccess {
  int process = 0;
  bool is_put = false;
  std::span<std::byte> local;
  ucx::MemoryKind kind = ucx::MemoryKind::host;  ///< of the local memory
  std::uint64_t remote = 0;
  std::vector<std::byte> key;
  void* context = nullptr;
  /// Called once while the PE `driver` (-1: none) uses the worker: only tell.
  void (*ended)(void* context, Status status, int driver) = nullptr;
};

/// Begins it; `key` is the engine's part of the access's key. `driver` is looked at when the access ends, and lives as
/// long as the endpoint.
void begin_access(NetAccess access, std::span<const std::byte> key, ucx::Endpoint& endpoint, host::Port* const& driver);

}  // namespace periapt::machine
