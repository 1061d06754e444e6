// Converse's messages to CLD_ANYWHERE, under each seed balancer: trees of them, from PE 0, each of which makes two more
// where it runs; and many at once, more than a PE takes from its inbox while they are queued.
//
//   converse_seeds spread|stay|priorities|pairs [+seed-balancer NAME]
//
// All have run, each once and as it was sent, when CmiStartQD tells. `spread`: after some trees every PE has had one;
// `stay`: PE 0 has had all; `priorities`: those with a priority that have stayed on PE 0 ran by it, the last one first;
// `pairs`: no tree, but two seeds again and again, and two PEs that have nothing else to do: each gets one.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "converse_seeds.decl.h"

namespace {
constexpr int depth = 8, many = 20000, ranked_count = 30, trees_max = 200, pairs = 10;
constexpr int tree_seeds = (2 << depth) - 1;

struct Seed {
  char header[CmiMsgHeaderSizeBytes];
  int packed;    // how often
  int below;     // levels of the tree below it
  int number;    // of one that has a priority; otherwise -1
  int priority;  // read by Cld
  int check;     // what the rest adds up to
  void seal() { check = below + 3 * number + 5 * priority; }
  bool is_whole() const { return check == below + 3 * number + 5 * priority; }
};
struct Count {
  char header[CmiMsgHeaderSizeBytes];
  int seeds;
  int least;  // that a PE has had
  unsigned long long pes;
};

std::string mode;
int expected = 0, trees = 0, last_ranked = ranked_count;
}  // namespace

CpvStaticDeclare(int, seed_handler);
CpvStaticDeclare(int, ask_handler);
CpvStaticDeclare(int, sum_handler);
CpvStaticDeclare(int, info);
CpvStaticDeclare(int, seeds);  // that have run here

namespace {
[[noreturn]] void fail(const char* what) {
  CmiAbort("converse_seeds: %s\n", what);
  std::abort();
}

void pack(void* message) { ++(*static_cast<Seed**>(message))->packed; }
void about(void* message, CldPackFn* pack_function, int* bytes, int* strategy, int* bits, unsigned** priority) {
  auto* seed = static_cast<Seed*>(message);
  *pack_function = pack;
  *bytes = sizeof(Seed);
  *strategy = seed->number < 0 ? CQS_QUEUEING_FIFO : CQS_QUEUEING_IFIFO;
  *bits = seed->number < 0 ? 0 : 32;
  *priority = reinterpret_cast<unsigned*>(&seed->priority);
}
void plant(int below, int number) {
  auto* seed = static_cast<Seed*>(CmiAlloc(sizeof(Seed)));
  seed->packed = 0;
  seed->below = below;
  seed->number = number;
  seed->priority = -number;
  seed->seal();
  CmiSetHandler(seed, CpvAccess(seed_handler));
  // For a process it may be any PE of it, too.
  if (CpvAccess(seeds) % 2 == 0)
    CldEnqueue(CLD_ANYWHERE, seed, CpvAccess(info));
  else
    CldNodeEnqueue(CLD_ANYWHERE, seed, CpvAccess(info));
}

void work() {
  volatile unsigned x = 1;  // some 5 us
  for (int i = 0; i < 2500; ++i) x = x * 1664525 + 1013904223;
}
void seed_runs(void* message) {
  auto* seed = static_cast<Seed*>(message);
  if (!seed->is_whole() || CmiGetHandler(seed) != CpvAccess(seed_handler)) fail("a seed isn't what was sent");
  if (CmiNumNodes() == 1 && seed->packed > 0) fail("a seed was packed that has not left its process");
  ++CpvAccess(seeds);
  work();
  for (int i = 0; i < 2 && seed->below > 0; ++i) plant(seed->below - 1, -1);
  if (seed->number >= 0 && CmiMyPe() == 0 && mode != "spread") {
    if (seed->number > last_ranked) fail("seeds have lost their priorities");
    last_ranked = seed->number;
  }
  CmiFree(message);
}

void* add_up(int*, void* mine, void** others, int count) {
  auto* sum = static_cast<Count*>(mine);
  for (int i = 0; i < count; ++i) {
    const auto* other = static_cast<const Count*>(others[i]);
    sum->seeds += other->seeds;
    sum->least = std::min(sum->least, other->least);
    sum->pes |= other->pes;
  }
  return mine;
}
void ask(void* message) {
  CmiFree(message);
  auto* count = static_cast<Count*>(CmiAlloc(sizeof(Count)));
  count->seeds = count->least = CpvAccess(seeds);
  count->pes = CpvAccess(seeds) > 0 ? 1ull << CmiMyPe() : 0;
  CmiSetHandler(count, CpvAccess(sum_handler));
  CmiReduce(count, sizeof(Count), add_up);
}

void quiet(void*) {
  void* question = CmiAlloc(CmiMsgHeaderSizeBytes);
  CmiSetHandler(question, CpvAccess(ask_handler));
  CmiSyncBroadcastAllAndFree(CmiMsgHeaderSizeBytes, question);
}
void grow() {
  if (++trees > trees_max) fail("some PE has never got a seed");
  if (mode == "pairs") {
    for (int i = 0; i < 2; ++i) plant(0, -1);
    expected += 2;
    return CmiStartQD(quiet, nullptr);
  }
  plant(depth, -1);
  expected += tree_seeds;
  if (trees == 1) {
    for (int i = 0; i < many; ++i) plant(0, -1);
    for (int i = 0; i < ranked_count; ++i) plant(0, i);
    expected += many + ranked_count;
    if (CldLoad() < (mode == "stay" ? many : 1)) fail("CldLoad() counts no seeds that wait");
  }
  CmiStartQD(quiet, nullptr);
}
void counted(void* message) {
  const auto* sum = static_cast<Count*>(message);
  if (sum->seeds != expected) fail("quiescence has come before each seed has run, or one has run twice");
  const unsigned long long all = ~0ull >> (64 - CmiNumPes());
  if (mode == "stay" && sum->pes != 1) fail("a seed has left the PE that made it");
  if (mode == "pairs" && sum->least != trees) fail("one PE has got both seeds, and the other none");
  const bool again = mode == "pairs" ? trees < pairs : mode == "spread" && sum->pes != all;
  CmiFree(message);
  if (again) return grow();
  CmiPrintf("all checks passed: %s\n", CldGetStrategy());
  CkExit();
}
}  // namespace

static void register_handlers() {
  CpvInitialize(int, seed_handler);
  CpvInitialize(int, ask_handler);
  CpvInitialize(int, sum_handler);
  CpvInitialize(int, info);
  CpvInitialize(int, seeds);
  CpvAccess(seed_handler) = CmiRegisterHandler(seed_runs);
  CpvAccess(ask_handler) = CmiRegisterHandler(ask);
  CpvAccess(sum_handler) = CmiRegisterHandler(counted);
  CpvAccess(info) = CldRegisterInfoFn(about);
  CpvAccess(seeds) = 0;
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    mode = m->argc > 1 ? m->argv[1] : "";
    delete m;
    grow();
  }
};

#include "converse_seeds.def.h"
