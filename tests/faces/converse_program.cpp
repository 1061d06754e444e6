// A Converse program that checks Converse, in parts (converse_parts.h). Run with several layouts (+p, +ppn).
#include <converse.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "converse_parts.h"

#define CHECK(what) CmiEnforceMsg(what, "in part %s", CpvAccess(part_name))

struct Plain {
  char head[CmiMsgHeaderSizeBytes];
  int number;
  int value[25];
};
static void send_to(int pe, int handler, int number = 0) {
  Plain* m = static_cast<Plain*>(CmiAlloc(sizeof(Plain)));
  CmiSetHandler(m, handler);
  m->number = number;
  for (int i = 0; i < 25; ++i) m->value[i] = i * number;
  CmiSyncSendAndFree(pe, sizeof(Plain), m);
}
static bool intact(const Plain* m) {
  for (int i = 0; i < 25; ++i)
    if (m->value[i] != i * m->number) return false;
  return true;
}

// --- ring: a message passed on again and again ----------------------------------------------------------------------
CpvDeclare(int, ring_index);
static void ring_hop(void* message) {
  Plain* m = static_cast<Plain*>(message);
  CHECK(intact(m));
  const int left = m->number - 1;
  if (left == 0) {
    CmiFree(m);
    return ack();
  }
  m->number = left;
  for (int i = 0; i < 25; ++i) m->value[i] = i * left;
  CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), sizeof(Plain), m);
}
static int ring_start() {
  for (int i = 0; i < 10; ++i) send_to(i % CmiNumPes(), CpvAccess(ring_index), 1000);
  return 10;
}

// --- sizes: what a block was asked for, and a message sent as
// ---------------------------------------------------------
CpvDeclare(int, size_index);
static void size_arrived(void* message) {
  CHECK(CmiSize(message) == static_cast<Plain*>(message)->number);
  CmiFree(message);
  ack();
}
static int size_start() {
  int sent = 0;
  for (int bytes : {52, 53, 64, 100, 1000, 1001, 5000, 100'001, 3'000'000})
    for (int pe = 0; pe < CmiNumPes(); ++pe, sent += 2) {
      auto* m = static_cast<Plain*>(CmiAlloc(bytes));
      CHECK(CmiSize(m) == bytes);
      CmiSetHandler(m, CpvAccess(size_index));
      m->number = bytes;
      CmiSyncSend(pe, bytes, m);
      CmiSyncSendAndFree(pe, bytes, m);
    }
  return sent;
}

// --- broadcasts: every receiver owns what it gets --------------------------------------------------------------------
CpvDeclare(int, cast_index);
CpvDeclare(int, cast_other_index);
static void cast_arrived(void* message) {
  Plain* m = static_cast<Plain*>(message);
  CHECK(intact(m) && m->number == 7);
  m->number = CmiMyPe();  // must not be seen elsewhere
  m->value[3] = -1;
  CmiFree(m);
  ack();
}
static void cast_other(void* message) {
  CHECK(CmiMyPe() != 0);
  cast_arrived(message);
}
static int cast_start() {
  Plain on_stack;
  CmiInitMsgHeader(&on_stack, sizeof on_stack);
  on_stack.number = 7;
  for (int i = 0; i < 25; ++i) on_stack.value[i] = 7 * i;
  CmiSetHandler(&on_stack, CpvAccess(cast_index));
  CmiSyncBroadcastAll(sizeof on_stack, &on_stack);
  CmiSyncBroadcastAllAndFree(sizeof on_stack, CmiCopyMsg(reinterpret_cast<char*>(&on_stack), sizeof on_stack));
  CmiSetHandler(&on_stack, CpvAccess(cast_other_index));
  CmiSyncBroadcast(sizeof on_stack, &on_stack);
  CmiSyncBroadcastAndFree(sizeof on_stack, CmiCopyMsg(reinterpret_cast<char*>(&on_stack), sizeof on_stack));
  CHECK(intact(&on_stack));
  return 2 * CmiNumPes() + 2 * (CmiNumPes() - 1);
}

// --- lists and groups; a group is used on a PE that did not make it
// ----------------------------------------------------
CpvDeclare(int, list_index);
CpvDeclare(int, group_user_index);
struct GroupMessage {
  char head[CmiMsgHeaderSizeBytes];
  CmiGroup group;
};
static void list_arrived(void* message) { cast_arrived(message); }
static Plain* seven(int handler) {
  Plain* m = static_cast<Plain*>(CmiAlloc(sizeof(Plain)));
  CmiSetHandler(m, handler);
  m->number = 7;
  for (int i = 0; i < 25; ++i) m->value[i] = 7 * i;
  return m;
}
static void group_user(void* message) {
  const CmiGroup group = static_cast<GroupMessage*>(message)->group;
  CmiFree(message);
  CmiSyncMulticastAndFree(group, sizeof(Plain), seven(CpvAccess(list_index)));
  Plain* m = seven(CpvAccess(list_index));
  CmiSyncMulticast(group, sizeof(Plain), m);
  CHECK(intact(m));
  CmiFree(m);
}
static int list_start() {
  std::vector<int> odd;
  for (int pe = CmiNumPes() - 1; pe >= 0; pe -= 2) odd.push_back(pe);
  const int count = static_cast<int>(odd.size());
  CmiSyncListSendAndFree(count, odd.data(), sizeof(Plain), seven(CpvAccess(list_index)));
  Plain* m = seven(CpvAccess(list_index));
  CmiSyncListSend(count, odd.data(), sizeof(Plain), m);
  CmiFree(m);
  const CmiGroup group = CmiEstablishGroup(count, odd.data());
  int known;
  int* pes;
  CmiLookupGroup(group, &known, &pes);
  CHECK(known == count && std::equal(odd.begin(), odd.end(), pes));
  GroupMessage* g = static_cast<GroupMessage*>(CmiAlloc(sizeof(GroupMessage)));
  g->group = group;
  CmiSetHandler(g, CpvAccess(group_user_index));
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(GroupMessage), g);
  return 4 * count;
}

// --- a message of pieces, one of any size, many at once
// ---------------------------------------------------------------
CpvDeclare(int, vector_index);
CpvDeclare(int*, numbered_index);
static void vector_arrived(void* message) {
  const int* words = static_cast<int*>(message);
  for (int i = CmiMsgHeaderSizeBytes / 4; i < 60000; ++i) CHECK(words[i] == i);
  CmiFree(message);
  ack();
}
static void numbered_arrived(void* message, void* user) {
  CHECK(static_cast<Plain*>(message)->number == static_cast<int>(reinterpret_cast<std::intptr_t>(user)));
  CmiFree(message);
  ack();
}
static int vector_start() {
  const int lengths[4] = {1000, 500, 58000, 500};
  int* sizes = static_cast<int*>(CmiAlloc(4 * sizeof(int)));
  char** pieces = static_cast<char**>(CmiAlloc(4 * sizeof(char*)));
  for (int p = 0, next = 0; p < 4; ++p) {
    sizes[p] = lengths[p] * 4;
    pieces[p] = static_cast<char*>(CmiAlloc(sizes[p]));
    for (int i = 0; i < lengths[p]; ++i, ++next)
      if (next >= CmiMsgHeaderSizeBytes / 4) reinterpret_cast<int*>(pieces[p])[i] = next;
  }
  CmiSetHandler(pieces[0], CpvAccess(vector_index));
  CmiSyncVectorSend(CmiNumPes() / 2, 4, sizes, pieces);
  CmiSyncVectorSendAndFree(CmiNumPes() - 1, 4, sizes, pieces);
  Plain many[8];
  int bytes[8];
  char* addresses[8];
  for (int i = 0; i < 8; ++i) {
    CmiInitMsgHeader(&many[i], sizeof(Plain));
    CmiSetHandler(&many[i], CpvAccess(numbered_index)[i]);
    many[i].number = i;
    bytes[i] = sizeof(Plain);
    addresses[i] = reinterpret_cast<char*>(&many[i]);
  }
  CmiMultipleSend(1 % CmiNumPes(), 8, bytes, addresses);
  return 2 + 8;
}

// --- processes -------------------------------------------------------------------------------------------------------
CpvDeclare(int, node_index);
CpvDeclare(int, within_start_index);
static void within_start(void* message) {
  CmiFree(message);
  CmiWithinNodeBroadcast(sizeof(Plain), seven(CpvAccess(cast_index)));
}
static int node_start() {
  int pes = 0;
  for (int node = 0; node < CmiNumNodes(); ++node) {
    CHECK(CmiNodeOf(CmiNodeFirst(node)) == node && CmiRankOf(CmiNodeFirst(node)) == 0);
    CHECK(CmiNodeFirst(node) == pes);
    pes += CmiNodeSize(node);
    CmiSyncNodeSendAndFree(node, sizeof(Plain), seven(CpvAccess(cast_index)));
    send_to(CmiNodeFirst(node), CpvAccess(within_start_index));
  }
  CHECK(pes == CmiNumPes());
  CmiSyncNodeBroadcastAllAndFree(sizeof(Plain), seven(CpvAccess(cast_index)));
  CmiSyncNodeBroadcastAndFree(sizeof(Plain), seven(CpvAccess(cast_other_index)));
  return CmiNumNodes() + CmiNumPes() + CmiNumNodes() + CmiNumNodes() - 1;
}

// --- threads ---------------------------------------------------------------------------------------------------------
CtvDeclare(int, mine);
static std::vector<int> order;  // PE 0 alone writes
static void thread_main(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  CHECK(CtvAccess(mine) == 0);
  CtvAccess(mine) = number;
  CHECK(!CthIsMainThread(CthSelf()));
  CthSuspend();
  CHECK(CtvAccess(mine) == number);
  for (int i = 0; i < 20; ++i) {
    CthYield();
    CHECK(CtvAccess(mine) == number);
  }
  int priority = number;
  CthYieldPrio(CQS_QUEUEING_IFIFO, 32, reinterpret_cast<unsigned*>(&priority));
  order.push_back(number);
  if (number == 3) {
    CHECK((order == std::vector<int>{-2, 1, 2, 3}));
    ack();
  }
  if (number == 2) {  // ends here, without returning
    CthFree(CthSelf());
    CthSuspend();
    CHECK(false);
  }
}
static int thread_start() {
  CHECK(CthSelf() == nullptr && CthIsMainThread(CthSelf()));
  order.clear();
  for (int number : {3, 1, -2, 2}) {
    CthThread t = CthCreate(thread_main, reinterpret_cast<void*>(static_cast<std::intptr_t>(number)), 0);
    CthSetStrategyDefault(t);
    CHECK(CthIsSuspendable(t));
    CthResume(t);
    CHECK(CtvAccessOther(t, mine) == number);
    CthAwaken(t);
  }
  CthThread never = CthCreate(thread_main, nullptr, 65536);
  CthFree(never);
  return 1;
}

// --- the queue: priorities, nested schedulers
// --------------------------------------------------------------------------
CpvDeclare(int, prio_index);
CpvDeclare(int, nest_index);
CpvDeclare(int, unnest_index);
CpvDeclare(int, plain_index);
static std::vector<int> prio_order;
static void prio_arrived(void* message) {
  prio_order.push_back(static_cast<Plain*>(message)->number);
  CmiFree(message);
  if (prio_order.size() == 8) {
    CHECK((prio_order == std::vector<int>{-30, -5, 100, 101, 1, 2, 3, 40}));
    ack();
  }
}
static int prio_start() {
  prio_order.clear();
  for (int p : {40, 3, -5, 2, -30, 1}) {
    Plain* m = seven(CpvAccess(prio_index));
    m->number = p;
    CsdEnqueueGeneral(m, CQS_QUEUEING_IFIFO, 32, reinterpret_cast<unsigned*>(&p));
  }
  for (int p : {101, 100}) {
    Plain* m = seven(CpvAccess(prio_index));
    m->number = p;
    CsdEnqueueLifo(m);
  }
  CHECK(!CsdEmpty() && CsdLength() == 8);
  return 1;
}
static int depth;
static void nest(void* message) {
  const int levels = static_cast<Plain*>(message)->number;
  CmiFree(message);
  ++depth;
  if (levels) {
    send_to(CmiMyPe(), CpvAccess(nest_index), levels - 1);
  } else {
    CHECK(depth == 6);
    for (int i = 0; i < 6; ++i) send_to((CmiMyPe() + 1) % CmiNumPes(), CpvAccess(unnest_index), CmiMyPe());
  }
  CsdScheduler(-1);
  if (--depth == 0) ack();
}
static void unnest(void* message) {
  Plain* m = static_cast<Plain*>(message);
  if (m->number != CmiMyPe()) {
    CmiSyncSendAndFree(m->number, sizeof(Plain), m);
    return;
  }
  CmiFree(m);
  CsdExitScheduler();
}
static int nest_start() {
  send_to(0, CpvAccess(nest_index), 5);
  return 1;
}
static int plain_count;
static void plain_arrived(void* message) {
  CmiFree(message);
  ++plain_count;
}
static int count_start() {
  plain_count = 0;
  for (int i = 0; i < 10; ++i) send_to(0, CpvAccess(plain_index));
  CHECK(CsdScheduler(4) == 0 && plain_count == 4);
  CHECK(CsdScheduler(0) == 0 && plain_count == 10);
  for (int i = 0; i < 3; ++i) send_to(0, CpvAccess(plain_index));
  send_to(0, CpvAccess(prio_index), 1);
  prio_order.clear();
  CmiDeliverSpecificMsg(CpvAccess(prio_index));
  CHECK(prio_order.size() == 1 && plain_count == 10);
  int taken = 0;
  while (taken < 3)
    if (void* m = CmiGetNonLocal()) {
      CHECK(CmiGetHandler(m) == CpvAccess(plain_index));
      CmiHandleMessage(m);
      ++taken;
    }
  CHECK(plain_count == 13 && CmiGetNonLocal() == nullptr);
  ack();
  return 1;
}

// --- conditions and timers -------------------------------------------------------------------------------------------
static std::vector<int> fired;
static double asked_at;
static int raised, idles;
static void on_timer(void* argument, double) {
  fired.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(argument)));
  CHECK(CmiWallTimer() - asked_at >= 1e-3 * fired.back() - 1e-6);
  if (fired.size() < 3) return;
  CHECK((fired == std::vector<int>{2, 10, 30}));
  CHECK(idles > 0);
  ack();
}
static void on_raise(void*) { ++raised; }
static void on_idle(void*) { ++idles; }
static int timer_start() {
  fired.clear();
  raised = idles = 0;
  asked_at = CmiWallTimer();
  for (int ms : {30, 2, 10}) CcdCallFnAfter(on_timer, reinterpret_cast<void*>(static_cast<std::intptr_t>(ms)), ms);
  CcdCallOnCondition(CcdPROCESSOR_BEGIN_IDLE, on_idle, nullptr);
  CcdCallOnCondition(CcdUSER + 1, on_raise, nullptr);
  const int keep = CcdCallOnConditionKeep(CcdUSER + 1, on_raise, nullptr);
  CcdRaiseCondition(CcdUSER + 1);
  CHECK(raised == 2);
  CcdRaiseCondition(CcdUSER + 1);
  CHECK(raised == 3);
  CcdCancelCallOnConditionKeep(CcdUSER + 1, keep);
  CcdRaiseCondition(CcdUSER + 1);
  CHECK(raised == 3);
  return 1;
}

// --- locks, barriers, variables
// ----------------------------------------------------------------------------------------
CpvDeclare(int, lock_index);
CpvDeclare(int, own_number);
CsvDeclare(CmiNodeLock, lock);
CsvDeclare(long, counter);
static void lock_arrived(void* message) {
  CmiFree(message);
  CpvAccess(own_number) = 1000 + CmiMyPe();
  if (CmiMyRank() == 0) {
    CsvAccess(lock) = CmiCreateLock();
    CsvAccess(counter) = 0;
  }
  CmiNodeBarrier();
  for (int i = 0; i < 2000; ++i) {
    CmiLock(CsvAccess(lock));
    const long before = CsvAccess(counter);
    if (i % 500 == 0) CsdSchedulePoll();  // other PEs of this OS thread run while it is held
    CsvAccess(counter) = before + 1;
    CmiUnlock(CsvAccess(lock));
  }
  CmiNodeBarrier();
  CHECK(CsvAccess(counter) == 2000L * CmiMyNodeSize());
  for (int rank = 0; rank < CmiMyNodeSize(); ++rank)
    CHECK(CpvAccessOther(own_number, rank) == 1000 + CmiNodeFirst(CmiMyNode()) + rank);
  CHECK(CmiTryLock(CsvAccess(lock)) == 0 || CmiMyNodeSize() > 1);
  CmiNodeBarrier();
  if (CmiMyRank() == 0) CmiDestroyLock(CsvAccess(lock));
  CHECK(CmiBarrier() == 0);
  ack();
}
static int lock_start() {
  CmiSyncBroadcastAllAndFree(sizeof(Plain), seven(CpvAccess(lock_index)));
  return CmiNumPes();
}

// --- reductions ------------------------------------------------------------------------------------------------------
CpvDeclare(int, reduce_begin_index);
CpvDeclare(int, reduce_end_index);
struct Pair {
  int plus, minus;
};
static int pes_sum() { return CmiNumPes() * (CmiNumPes() + 1) / 2; }
static void* merge_messages(int*, void* mine, void** others, int count) {
  for (int i = 0; i < count; ++i) static_cast<Plain*>(mine)->number += static_cast<Plain*>(others[i])->number;
  return mine;
}
static void* merge_pairs(int*, void* mine, void** others, int count) {
  for (int i = 0; i < count; ++i) {
    static_cast<Pair*>(mine)->plus += static_cast<Pair*>(others[i])->plus;
    static_cast<Pair*>(mine)->minus += static_cast<Pair*>(others[i])->minus;
  }
  return mine;
}
static void pup_pair(pup_er p, void* data) {
  pup_int(p, &static_cast<Pair*>(data)->plus);
  pup_int(p, &static_cast<Pair*>(data)->minus);
}
static void delete_pair(void* data) { delete static_cast<Pair*>(data); }
static void reduced_pair(void* data) {
  CHECK(CmiMyPe() == 0 && static_cast<Pair*>(data)->plus == pes_sum() &&
        static_cast<Pair*>(data)->minus == -2 * pes_sum());
  delete_pair(data);
  ack();
}
static void reduce_end(void* message) {
  CHECK(CmiMyPe() == 0 && static_cast<Plain*>(message)->number == pes_sum());
  CmiFree(message);
  ack();
}
static void reduce_begin(void* message) {
  CmiFree(message);
  for (int i = 0; i < 5; ++i) {
    Plain* m = seven(CpvAccess(reduce_end_index));
    m->number = CmiMyPe() + 1;
    CmiReduce(m, sizeof(Plain), merge_messages);
    CmiReduceStruct(new Pair{CmiMyPe() + 1, -2 * (CmiMyPe() + 1)}, pup_pair, merge_pairs, reduced_pair, delete_pair);
  }
}
static int reduce_start() {
  CmiSyncBroadcastAllAndFree(sizeof(Plain), seven(CpvAccess(reduce_begin_index)));
  return 10;
}

// --- control ---------------------------------------------------------------------------------------------------------
static const Part parts[] = {{"ring", ring_start},     {"size", size_start},     {"cast", cast_start},
                             {"list", list_start},     {"vector", vector_start}, {"node", node_start},
                             {"thread", thread_start}, {"prio", prio_start},     {"nest", nest_start},
                             {"count", count_start},   {"timer", timer_start},   {"lock", lock_start},
                             {"reduce", reduce_start}};

static void start(int argc, char** argv) {
  initialize_parts(argc, argv);
  CpvInitialize(int, own_number);
  CtvInitialize(int, mine);
  CmiEnforce(CpvInitialized(acks) && CtvInitialized(mine) && argc == CmiGetArgc(argv));
  HANDLER(ring_index, ring_hop);
  HANDLER(size_index, size_arrived);
  HANDLER(cast_index, cast_arrived);
  HANDLER(cast_other_index, cast_other);
  HANDLER(list_index, list_arrived);
  HANDLER(group_user_index, group_user);
  HANDLER(vector_index, vector_arrived);
  HANDLER(within_start_index, within_start);
  HANDLER(prio_index, prio_arrived);
  HANDLER(nest_index, nest);
  HANDLER(unnest_index, unnest);
  HANDLER(plain_index, plain_arrived);
  HANDLER(lock_index, lock_arrived);
  HANDLER(reduce_begin_index, reduce_begin);
  HANDLER(reduce_end_index, reduce_end);
  CpvInitialize(int*, numbered_index);
  CpvAccess(numbered_index) = new int[8];
  for (std::intptr_t i = 0; i < 8; ++i)
    CpvAccess(numbered_index)[i] = CmiRegisterHandlerEx(numbered_arrived, reinterpret_cast<void*>(i));
  CmiEnforce(CmiHandlerToFunction(CpvAccess(numbered_index)[0]) == numbered_arrived);
  start_parts(parts);
}

int main(int argc, char** argv) { ConverseInit(argc, argv, start, 0, 0); }
