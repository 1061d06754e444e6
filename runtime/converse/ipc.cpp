// See ipc.h. A process's queue is a stack that others push to; what it takes off at once it keeps, turned round.
#include "runtime/converse/ipc.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/fatal.h"
#include "machine/host/heap.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
constexpr std::size_t ipc_pool_bytes = std::size_t{8} << 20;
constexpr std::size_t ipc_cutoff = std::size_t{256} << 10;

// In shared memory.
struct BlockQueue {
  // Release by the pusher, acquire by the taker: the taker sees what was written to the blocks.
  std::atomic<CmiIpcBlock*> top{nullptr};
  std::atomic<std::size_t> bytes{0};  // of blocks for this process that are not freed; relaxed: a limit, and no more
};
BlockQueue* home(const CmiIpcBlock* block) { return reinterpret_cast<BlockQueue*>(block->orig); }

// The word that a process has made a manager, and, within the process, that all have.
struct IpcWord {
  std::uint32_t manager;
  int node;  // -1: all have
  BlockQueue* queue;
};
}  // namespace

}  // namespace periapt

struct CmiIpcManager {
  std::uint32_t number = 0;
  std::mutex mutex;
  std::vector<periapt::BlockQueue*> queues;  // by process; null: not heard of, or it shares no memory with this one
  int awaited = 0;                           // processes that are not heard of
  std::vector<CthThread> sleepers;           // by rank
  std::deque<CmiIpcBlock*> taken;            // of this process's queue, the first to be popped first
};

namespace periapt {

namespace {
// Managers are made in the same order everywhere, so their numbers say which is meant.
struct Managers {
  std::mutex mutex;
  std::vector<std::unique_ptr<CmiIpcManager>> all;
};
Managers& managers_of(Pe& pe) {
  static std::mutex mutex;
  static std::map<int, Managers> of_process;  // more than one where the machine is simulated
  std::lock_guard lock(mutex);
  return of_process[pe.process.process_of(pe.index)];
}
bool shares_memory(Pe& pe, int node) {
  return pe.process.layer().route(CmiNodeFirst(node)) == machine::Route::same_host;
}

void say(Pe& pe, int to, const IpcWord& word) {
  Message message = converse_system_message(handler_ipc, sizeof word);
  std::memcpy(message.payload(), &word, sizeof word);
  converse_send(pe, to, std::move(message));
}

CmiIpcManager& manager_of(Pe& pe, std::uint32_t number) {
  Managers& managers = managers_of(pe);
  std::lock_guard lock(managers.mutex);
  while (managers.all.size() <= number) {
    auto manager = std::make_unique<CmiIpcManager>();
    manager->number = static_cast<std::uint32_t>(managers.all.size());
    manager->queues.resize(static_cast<std::size_t>(CmiNumNodes()));
    manager->sleepers.resize(static_cast<std::size_t>(CmiMyNodeSize()));
    for (int node = 0; node < CmiNumNodes(); ++node) manager->awaited += shares_memory(pe, node);
    auto* queue = new (pe.heap.allocate(sizeof(BlockQueue))) BlockQueue;
    manager->queues[static_cast<std::size_t>(CmiMyNode())] = queue;
    for (int node = 0; node < CmiNumNodes(); ++node)
      if (shares_memory(pe, node)) say(pe, CmiNodeFirst(node), {manager->number, CmiMyNode(), queue});
    managers.all.push_back(std::move(manager));
  }
  return *managers.all[number];
}

void ipc_arrived(Pe& pe, Message message) {
  IpcWord word;
  std::memcpy(&word, message.payload(), sizeof word);
  CmiIpcManager& manager = manager_of(pe, word.manager);
  std::unique_lock lock(manager.mutex);
  if (word.node >= 0) {
    manager.queues[static_cast<std::size_t>(word.node)] = word.queue;
    if (--manager.awaited > 0) return;
    for (int rank = 0; rank < CmiMyNodeSize(); ++rank)
      if (rank != CmiMyRank()) say(pe, CmiNodeFirst(CmiMyNode()) + rank, {word.manager, -1, nullptr});
  }
  const CthThread sleeper = std::exchange(manager.sleepers[static_cast<std::size_t>(CmiMyRank())], nullptr);
  lock.unlock();
  if (sleeper) CthAwaken(sleeper);
}
const ConverseArrival ipc_arrives(handler_ipc, ipc_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

CmiIpcManager* CmiMakeIpcManager(CthThread thread) {
  Pe& pe = require_pe("CmiMakeIpcManager");
  CmiIpcManager& manager = manager_of(pe, ConverseState::of(pe).next_ipc_manager++);
  std::unique_lock lock(manager.mutex);
  if (manager.awaited > 0) {
    manager.sleepers[static_cast<std::size_t>(CmiMyRank())] = thread;
  } else {
    lock.unlock();
    if (thread) CthAwaken(thread);
  }
  return &manager;
}

std::pair<CmiIpcBlock*, CmiIpcAllocStatus> CmiAllocIpcBlock(CmiIpcManager* manager, int node, std::size_t bytes) {
  Pe& pe = require_pe("CmiAllocIpcBlock");
  if (node < 0 || node >= CmiNumNodes())
    fatal("a block for process " + std::to_string(node), "CmiAllocIpcBlock",
          "the run has " + std::to_string(CmiNumNodes()));
  if (!shares_memory(pe, node)) return {nullptr, CMI_IPC_REMOTE_DESTINATION};
  BlockQueue* queue = manager->queues[static_cast<std::size_t>(node)];
  if (!queue)
    fatal("a block for process " + std::to_string(node) + ", whose manager is not known yet", "CmiAllocIpcBlock",
          "its word that it has made one is on its way", "wait for the thread that CmiMakeIpcManager was given");
  if (queue->bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > ipc_pool_bytes) {
    queue->bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return {nullptr, CMI_IPC_OUT_OF_MEMORY};
  }
  auto* block = new (pe.heap.allocate(sizeof(CmiIpcBlock) + CmiChunkHeaderSize + bytes)) CmiIpcBlock;
  block->src = node;
  block->dst = CmiMyNode();
  block->orig = reinterpret_cast<std::uintptr_t>(queue);
  block->next = cmi::ipc::nil;
  block->size = bytes;
  return {block, CMI_IPC_SUCCESS};
}

bool CmiPushIpcBlock(CmiIpcManager*, CmiIpcBlock* block) {
  std::atomic<CmiIpcBlock*>& top = home(block)->top;
  CmiIpcBlock* below = top.load(std::memory_order_relaxed);
  do block->next = reinterpret_cast<std::uintptr_t>(below);
  while (!top.compare_exchange_weak(below, block, std::memory_order_release, std::memory_order_relaxed));
  return true;
}

CmiIpcBlock* CmiPopIpcBlock(CmiIpcManager* manager) {
  std::lock_guard lock(manager->mutex);
  auto& taken = manager->taken;
  if (taken.empty()) {
    BlockQueue& queue = *manager->queues[static_cast<std::size_t>(CmiMyNode())];
    if (!queue.top.load(std::memory_order_relaxed)) return nullptr;
    for (CmiIpcBlock* block = queue.top.exchange(nullptr, std::memory_order_acquire); block;
         block = reinterpret_cast<CmiIpcBlock*>(block->next))
      taken.push_front(block);
  }
  CmiIpcBlock* first = taken.front();
  taken.pop_front();
  first->next = cmi::ipc::nil;
  return first;
}

void CmiFreeIpcBlock(CmiIpcManager*, CmiIpcBlock* block) {
  home(block)->bytes.fetch_sub(block->size, std::memory_order_relaxed);
  require_pe("CmiFreeIpcBlock").heap.release(block);
}

CmiIpcBlock* CmiIsIpcBlock(CmiIpcManager* manager, void* bytes, int node) {
  BlockQueue* queue = manager ? manager->queues[static_cast<std::size_t>(node)] : nullptr;
  auto* block = reinterpret_cast<CmiIpcBlock*>(static_cast<char*>(bytes) - sizeof(CmiIpcBlock));
  return queue && home(block) == queue && block->src == node ? block : nullptr;
}

CmiIpcBlock* CmiMsgToIpcBlock(CmiIpcManager* manager, char* message, std::size_t bytes, int node, int rank, int) {
  CmiIpcBlock* block = CmiIsIpcBlock(manager, message - CmiChunkHeaderSize, node);
  if (!block) {
    block = CmiAllocIpcBlock(manager, node, bytes + CmiChunkHeaderSize).first;
    if (!block) return nullptr;
    std::memcpy(CmiIpcBlockToMsg(block), message, bytes);
    CmiFree(message);
  }
  block->rank = rank;
  return block;
}

void CmiDeliverIpcBlockMsg(CmiIpcBlock* block) {
  Pe& pe = require_pe("CmiDeliverIpcBlockMsg");
  Message message = converse_message(CmiIpcBlockToMsg(block), static_cast<int>(block->size - CmiChunkHeaderSize));
  const int rank = block->rank == cmi::ipc::nodeDatagram ? CmiMyRank() : block->rank;
  CmiFreeIpcBlock(nullptr, block);
  converse_send(pe, CmiNodeFirst(CmiMyNode()) + rank, std::move(message));
}

const std::size_t& CmiRecommendedIpcBlockCutoff() { return ipc_cutoff; }
