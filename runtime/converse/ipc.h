// Blocks of memory that one process of a host writes and another one takes, without a message: for libraries that poll.
// C++17: reached from cmishmem.h.
//
//   CmiIpcManager* manager = CmiMakeIpcManager(CthSelf());   // on every PE, in the same order
//   CthSuspend();                                            // until all processes of the host have theirs
//   auto [block, status] = CmiAllocIpcBlock(manager, node, bytes);
//   ... write to CmiIpcBlockToMsg(block), then
//   CmiPushIpcBlock(manager, block);          // it is that process's now, which gets it of
//   CmiPopIpcBlock(manager);                  // on any of its PEs, and gives it back with
//   CmiFreeIpcBlock(manager, block);
//
// Blocks lie in the heap of the PE that asks for them, which all processes of a host have at the same addresses. A
// process is waited for with at most ipc_pool_bytes of them. There are none where processes share no memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/converse/converse.h"

namespace cmi {
namespace ipc {
constexpr auto nil = std::uintptr_t{0};
constexpr auto max = std::numeric_limits<std::uintptr_t>::max();
constexpr auto nodeDatagram = std::numeric_limits<std::uint16_t>::max();  // for any PE of the process
constexpr auto defaultTimeout = 4;                                        // attempts; the first one succeeds or fails
}  // namespace ipc
}  // namespace cmi

struct alignas(16) CmiIpcBlock {
  int src;                            // the process that it is for
  int dst;                            // the process that asked for it
  std::uintptr_t orig;                // the queue of `src`
  std::uintptr_t next;                // the block behind it in a queue
  std::size_t size;                   // bytes that were asked for
  int rank = cmi::ipc::nodeDatagram;  // of the PE that its message is for
};

struct CmiIpcManager;

enum CmiIpcAllocStatus {
  CMI_IPC_OUT_OF_MEMORY,       // the process is to take blocks first
  CMI_IPC_REMOTE_DESTINATION,  // this process itself, or one with which it shares no memory
  CMI_IPC_SUCCESS,
  CMI_IPC_TIMEOUT  // never
};

// Nothing is to be initialised.
inline void CmiIpcInit(char**) {}
// On every PE, in the same order; all PEs of a process get the same one. The thread is awakened when all processes of
// the host have called; null: none is.
CmiIpcManager* CmiMakeIpcManager(CthThread thread);

std::pair<CmiIpcBlock*, CmiIpcAllocStatus> CmiAllocIpcBlock(CmiIpcManager* manager, int node, std::size_t bytes);
// To the process that it was asked for; true. Blocks are taken in the order in which they came.
bool CmiPushIpcBlock(CmiIpcManager* manager, CmiIpcBlock* block);
// The next one for this process; null when there is none.
CmiIpcBlock* CmiPopIpcBlock(CmiIpcManager* manager);
// By any process of the host, once.
void CmiFreeIpcBlock(CmiIpcManager* manager, CmiIpcBlock* block);
inline void CmiCacheIpcBlock(CmiIpcBlock*) {}
// The block that begins before `bytes`, if it is one for that process; else null.
CmiIpcBlock* CmiIsIpcBlock(CmiIpcManager* manager, void* bytes, int node);

// Where a message lies in a block: size - CmiChunkHeaderSize bytes, at least. It is freed with its block, never alone.
inline void* CmiIpcBlockToMsg(CmiIpcBlock* block) {
  return reinterpret_cast<char*>(block) + sizeof(CmiIpcBlock) + CmiChunkHeaderSize;
}
// init: as CmiAlloc makes it.
inline void* CmiIpcBlockToMsg(CmiIpcBlock* block, bool init) {
  void* message = CmiIpcBlockToMsg(block);
  if (init) CmiInitMsgHeader(message, static_cast<int>(block->size - CmiChunkHeaderSize));
  return message;
}
inline CmiIpcBlock* CmiMsgToIpcBlock(CmiIpcManager* manager, void* message) {
  return CmiIsIpcBlock(manager, static_cast<char*>(message) - CmiChunkHeaderSize, CmiMyNode());
}
// A message in a block for a process: copied and freed, but where it lies in such a block already. Null when there is
// no block.
CmiIpcBlock* CmiMsgToIpcBlock(CmiIpcManager* manager, char* message, std::size_t bytes, int node,
                              int rank = cmi::ipc::nodeDatagram, int timeout = cmi::ipc::defaultTimeout);
// Has the message of a block that was taken delivered in this process; the block is gone.
void CmiDeliverIpcBlockMsg(CmiIpcBlock* block);

// Up to this size blocks are worth while.
const std::size_t& CmiRecommendedIpcBlockCutoff();
