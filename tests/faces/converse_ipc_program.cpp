// A Converse program in which processes of a host give each other blocks of memory (cmishmem.h): each PE sends numbers
// to every process, which some PE of it takes by polling; messages in blocks; the limit. With a mistake as argument, it
// makes it. And the names of grid queues, which are a table.
#include <cmishmem.h>
#include <converse.h>

#include <cstring>
#include <string>
#include <vector>

#define CHECK(what) CmiEnforceMsg(what, "on PE %d", CmiMyPe())

namespace {
constexpr int blocks_n = 50;
std::string mistake;

struct Numbered {
  char head[CmiMsgHeaderSizeBytes];
  int from, number;
};
}  // namespace

CpvDeclare(int, greeting_index);
CpvDeclare(int, done_index);
CpvDeclare(int, ended_index);
CpvDeclare(int, greetings);  // messages that came by blocks
CpvDeclare(int, done_count);
CpvDeclare(CmiIpcManager*, manager);
CpvDeclare(CmiIpcManager*, other);
CsvDeclare(CmiNodeLock, lock);
CsvDeclare(std::vector<int>, next);  // by PE: the next number that is expected of it

static void tell_done() {
  auto* m = static_cast<Numbered*>(CmiAlloc(sizeof(Numbered)));
  CmiSetHandler(m, CpvAccess(done_index));
  CmiSyncSendAndFree(0, sizeof(Numbered), m);
}
static void ended(void*) { ConverseExit(); }
static void done(void* m) {
  if (++CpvAccess(done_count) < CmiNumPes()) return CmiFree(m);
  CmiPrintf("all right\n");
  CmiSetHandler(m, CpvAccess(ended_index));
  CmiSyncBroadcastAllAndFree(sizeof(Numbered), m);
}
static void greeted(void* m) {
  CHECK(static_cast<Numbered*>(m)->number == 7);
  ++CpvAccess(greetings);
  CmiFree(m);
}

static bool reaches(int node) {
  const auto [block, status] = CmiAllocIpcBlock(CpvAccess(manager), node, 16);
  CHECK((block != nullptr) == (status == CMI_IPC_SUCCESS));
  if (block) {
    CHECK(block->src == node && block->dst == CmiMyNode() && block->size >= 16);
    CHECK(CmiIsIpcBlock(CpvAccess(manager), block + 1, node) == block);
    CHECK(node == CmiMyNode() || !CmiIsIpcBlock(CpvAccess(manager), block + 1, CmiMyNode()));
    CmiFreeIpcBlock(CpvAccess(manager), block);
  } else {
    CHECK(status == CMI_IPC_REMOTE_DESTINATION);
  }
  return block;
}

// Takes what is there. Blocks of one PE come in their order.
static int take_some() {
  int taken = 0;
  CmiLock(CsvAccess(lock));
  while (CmiIpcBlock* block = CmiPopIpcBlock(CpvAccess(manager))) {
    CHECK(block->src == CmiMyNode());
    int numbers[2];
    std::memcpy(numbers, static_cast<void*>(block + 1), sizeof numbers);
    CHECK(numbers[1] == CsvAccess(next)[static_cast<std::size_t>(numbers[0])]++);
    CmiFreeIpcBlock(CpvAccess(manager), block);
    ++taken;
  }
  CmiUnlock(CsvAccess(lock));
  return taken;
}
static bool all_taken(int partners) {
  CmiLock(CsvAccess(lock));
  int pes = 0;
  for (int next : CsvAccess(next)) pes += next == blocks_n;
  CmiUnlock(CsvAccess(lock));
  return pes == partners * CmiNodeSize(0);
}

static void in_thread(void*) {
  CpvAccess(manager) = CmiMakeIpcManager(CthSelf());
  CthSuspend();
  CpvAccess(other) = CmiMakeIpcManager(CthSelf());
  CthSuspend();
  CHECK(CpvAccess(manager) != CpvAccess(other));
  std::vector<int> partners;
  for (int node = 0; node < CmiNumNodes(); ++node)
    if (reaches(node)) partners.push_back(node);
  CHECK(!reaches(CmiMyNode()));
  if (mistake == "nowhere") CmiAllocIpcBlock(CpvAccess(manager), CmiNumNodes(), 8);

  for (int number = 0; number < blocks_n; ++number) {
    for (int node : partners) {
      CmiIpcBlock* block = CmiAllocIpcBlock(CpvAccess(manager), node, 2 * sizeof(int)).first;
      const int numbers[] = {CmiMyPe(), number};
      std::memcpy(static_cast<void*>(block + 1), numbers, sizeof numbers);
      while (!CmiPushIpcBlock(CpvAccess(manager), block)) CthYield();
    }
    take_some();
    CthYield();
  }
  while (!all_taken(static_cast<int>(partners.size()))) {
    take_some();
    CthYield();
  }

  // Another manager's blocks are its own. Messages: one to each PE of each partner, and one to any of its PEs.
  for (int node : partners) {
    for (int rank = -1; rank < CmiNodeSize(node); ++rank) {
      auto* m = static_cast<Numbered*>(CmiAlloc(sizeof(Numbered)));
      CmiSetHandler(m, CpvAccess(greeting_index));
      m->number = 7;
      // A process's blocks have one limit for all that send to it, and PE 0 may be trying it already.
      CmiIpcBlock* block = nullptr;
      while (!(block = CmiMsgToIpcBlock(CpvAccess(other), reinterpret_cast<char*>(m), sizeof(Numbered), node,
                                        rank < 0 ? static_cast<int>(cmi::ipc::nodeDatagram) : rank)))
        CthYield();
      CHECK(CmiMsgToIpcBlock(CpvAccess(other), static_cast<char*>(CmiIpcBlockToMsg(block)), sizeof(Numbered), node,
                             block->rank) == block);
      CmiPushIpcBlock(CpvAccess(other), block);
    }
    CHECK(!CmiPopIpcBlock(CpvAccess(manager)));
  }
  const int wanted = static_cast<int>(partners.size()) * CmiNodeSize(0);
  while (CpvAccess(greetings) < wanted) {
    if (CmiIpcBlock* block = CmiPopIpcBlock(CpvAccess(other))) {
      CHECK(CmiMsgToIpcBlock(CpvAccess(other), CmiIpcBlockToMsg(block)) == block);
      CmiDeliverIpcBlockMsg(block);
    }
    CthYield();
  }

  // The limit, and that freeing makes room.
  if (CmiMyPe() == 0 && !partners.empty()) {
    CHECK(CmiRecommendedIpcBlockCutoff() > 0);
    std::vector<CmiIpcBlock*> blocks;
    std::pair<CmiIpcBlock*, CmiIpcAllocStatus> one;
    while ((one = CmiAllocIpcBlock(CpvAccess(other), partners[0], 1 << 20)).first) {
      CHECK(blocks.size() < 1000);
      std::memset(CmiIpcBlockToMsg(one.first, true), 1, 1 << 10);
      blocks.push_back(one.first);
    }
    CHECK(one.second == CMI_IPC_OUT_OF_MEMORY && !blocks.empty());
    for (CmiIpcBlock* block : blocks) CmiFreeIpcBlock(CpvAccess(other), block);
    one = CmiAllocIpcBlock(CpvAccess(other), partners[0], 1 << 20);
    CHECK(one.second == CMI_IPC_SUCCESS);
    CmiFreeIpcBlock(CpvAccess(other), one.first);
  }
  tell_done();
}

static void grid() {
  CmiGridQueueRegister(3, 2, 5, CmiMyPe(), 0);
  CmiGridQueueRegister(3, 1, 5, 0, 0);
  CmiGridQueueRegister(3, 1, 5, 0, 0);
  CHECK(CmiGridQueueLookup(3, 2, 5, CmiMyPe(), 0) && !CmiGridQueueLookup(3, 2, 5, CmiMyPe() + 1, 0));
  CmiGridQueueDeregister(3, 1, 5, 0, 0);
  CHECK(!CmiGridQueueLookup(3, 1, 5, 0, 0) && CmiGridQueueLookup(3, 2, 5, CmiMyPe(), 0));
  CmiGridQueueDeregisterAll();
  CHECK(!CmiGridQueueLookup(3, 2, 5, CmiMyPe(), 0));
  CHECK(CmiGridQueueGetInterval() == 0 && CmiGridQueueGetThreshold() == 0);
}

static void start(int argc, char** argv) {
  if (argc > 1) mistake = argv[1];
  CpvInitialize(int, greeting_index);
  CpvInitialize(int, done_index);
  CpvInitialize(int, ended_index);
  CpvInitialize(int, greetings);
  CpvInitialize(int, done_count);
  CpvInitialize(CmiIpcManager*, manager);
  CpvInitialize(CmiIpcManager*, other);
  CpvAccess(greetings) = CpvAccess(done_count) = 0;
  CpvAccess(greeting_index) = CmiRegisterHandler(greeted);
  CpvAccess(done_index) = CmiRegisterHandler(done);
  CpvAccess(ended_index) = CmiRegisterHandler(ended);
  if (CmiMyRank() == 0) {
    CsvAccess(lock) = CmiCreateLock();
    CsvAccess(next).assign(static_cast<std::size_t>(CmiNumPes()), 0);
  }
  CmiNodeBarrier();
  grid();
  CthAwaken(CthCreate(in_thread, nullptr, 0));
}

int main(int argc, char** argv) { ConverseInit(argc, argv, start, 0, 0); }
