// A Converse program that checks what few programs need: reductions with numbers, over lists, groups and processes;
// futures, tables, seeds, quiescence, persistent channels, strategies of threads, memory at fixed addresses, calls by
// Cpm, threads of POSIX, timers of idle PEs. In parts (converse_parts.h).
#include <converse.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "converse_parts.h"
#include "converse_rest.h"

struct Plain {
  char head[CmiMsgHeaderSizeBytes];
  int number;
  CmiGroup group;
  int ids[6];
};

static Plain* make(int handler, int number = 0) {
  auto* m = static_cast<Plain*>(CmiAlloc(sizeof(Plain)));
  CmiInitMsgHeader(m, sizeof(Plain));
  CmiSetHandler(m, handler);
  m->number = number;
  return m;
}

// --- reductions ------------------------------------------------------------------------------------------------------
CpvDeclare(int, reduce_index);
CpvDeclare(int, reduced_index);
CpvDeclare(int, reduced_first_index);
CpvDeclare(int, id_index);
CpvDeclare(int, ids);  // CmiReductionIDs, as CmiGetGlobalReduction gave them: the first and the last
CpvDeclare(int, last_id);
CpvDeclare(int, node_id);

static int sum_of_pes() { return CmiNumPes() * (CmiNumPes() + 1) / 2; }
// Answers another message than its own, whose handler it doesn't set.
static void* merge_anew(int* bytes, void* mine, void** others, int count) {
  CHECK(*bytes == sizeof(Plain));
  Plain* sum = make(0, static_cast<Plain*>(mine)->number);
  CmiFree(mine);
  for (int i = 0; i < count; ++i) sum->number += static_cast<Plain*>(others[i])->number;
  return sum;
}
static void* merge_numbers(int* bytes, void* mine, void** others, int count) {
  CHECK(*bytes == 0);
  for (int i = 0; i < count; ++i) *static_cast<int*>(mine) += *static_cast<int*>(others[i]);
  return mine;
}
static void pup_number(pup_er p, void* data) { pup_int(p, static_cast<int*>(data)); }
static void delete_number(void* data) { delete static_cast<int*>(data); }
static void reduced(void* message) {
  CHECK(CmiMyPe() == 0 && static_cast<Plain*>(message)->number == sum_of_pes());
  CmiFree(message);
  ack();
}
static void reduced_number(void* data) {
  CHECK(CmiMyPe() == 0 && *static_cast<int*>(data) == sum_of_pes());
  delete_number(data);
  ack();
}
static void reduced_nodes(void* data) {
  CHECK(CmiMyNode() == 0 && *static_cast<int*>(data) == CmiNumNodes() * (CmiNumNodes() + 1) / 2);
  delete_number(data);
  ack();
}
// Over the PEs from the last to the first that is not 0, unless there is one alone.
static std::vector<int> backwards() {
  std::vector<int> pes;
  for (int pe = CmiNumPes() - 1; pe > 0; --pe) pes.push_back(pe);
  if (pes.empty()) pes.push_back(0);
  return pes;
}
static int sum_of_list() {
  int sum = 0;
  for (const int pe : backwards()) sum += pe + 1;
  return sum;
}
static void reduced_at_first(void* message) {
  CHECK(CmiMyPe() == CmiNumPes() - 1 && static_cast<Plain*>(message)->number == sum_of_list());
  CmiFree(message);
  ack();
}
static void reduced_number_at_first(void* data) {
  CHECK(CmiMyPe() == CmiNumPes() - 1 && *static_cast<int*>(data) == sum_of_list());
  delete_number(data);
  ack();
}
static void reduce(void* message) {
  const Plain task = *static_cast<Plain*>(message);
  CmiFree(message);
  const int mine = CmiMyPe() + 1;
  // In an order of its own on each PE.
  std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7};
  std::rotate(order.begin(), order.begin() + CmiMyPe() % 8, order.end());
  std::vector<int> list = backwards();
  const int listed = static_cast<int>(list.size());
  const bool in_list = std::find(list.begin(), list.end(), CmiMyPe()) != list.end();
  for (const int which : order) {
    if (which == 0) CmiReduceID(make(CpvAccess(reduced_index), mine), sizeof(Plain), merge_anew, CpvAccess(ids));
    if (which == 1)
      CmiReduceStructID(new int(mine), pup_number, merge_numbers, reduced_number, delete_number, task.ids[0]);
    if (which == 2 && in_list)
      CmiListReduce(listed, list.data(), make(CpvAccess(reduced_first_index), mine), sizeof(Plain), merge_anew,
                    task.ids[1]);
    if (which == 3 && in_list)
      CmiListReduceStruct(listed, list.data(), new int(mine), pup_number, merge_numbers, reduced_number_at_first,
                          delete_number, task.ids[2]);
    if (which == 4 && in_list)
      CmiGroupReduce(task.group, make(CpvAccess(reduced_first_index), mine), sizeof(Plain), merge_anew, task.ids[3]);
    if (which == 5 && in_list)
      CmiGroupReduceStruct(task.group, new int(mine), pup_number, merge_numbers, reduced_number_at_first, delete_number,
                           task.ids[4]);
    // Over processes: another PE of each begins it.
    if (which == 6 && CmiMyRank() == CmiMyNodeSize() - 1)
      CmiNodeReduceStruct(new int(CmiMyNode() + 1), pup_number, merge_numbers, reduced_nodes, delete_number);
    if (which == 7 && CmiMyRank() == 0)
      CmiNodeReduceStructID(new int(CmiMyNode() + 1), pup_number, merge_numbers, reduced_nodes, delete_number,
                            CpvAccess(node_id));
  }
}
static int reduce_start() {
  std::vector<int> list = backwards();
  Plain* m = make(CpvAccess(reduce_index));
  m->group = CmiEstablishGroup(static_cast<int>(list.size()), list.data());
  for (int& id : m->ids) id = CmiGetDynamicReduction();
  CHECK(m->ids[0] != m->ids[1] && m->ids[0] != CpvAccess(ids));
  // One by one: they may be there before the group is.
  for (int pe = 0; pe < CmiNumPes(); ++pe) CmiSyncSend(pe, sizeof(Plain), m);
  CmiFree(m);
  return 8;
}

// Numbers that are asked for from afar, used at once.
struct WithId {
  char head[CmiMsgHeaderSizeBytes];
  int id, bytes;
  char data[8];
};
static void random_arrived(void* message) {
  CHECK(CmiMyPe() == 0 && static_cast<Plain*>(message)->number == 1);  // PE 0's own part
  CmiFree(message);
  ack();
}
CpvDeclare(int, random_index);
CpvDeclare(int, ask_index);
static void id_for_random(void* message) {
  auto* m = static_cast<WithId*>(message);
  CHECK(m->bytes == 8 && std::strcmp(m->data, "seven!!") == 0);
  const auto id = static_cast<CmiReductionID>(m->id);
  CmiFree(m);
  CmiReduceID(make(CpvAccess(random_index), CmiMyPe() + 1), sizeof(Plain), CmiReduceMergeFn_random, id);
}
static void ask(void* message) {
  CmiFree(message);
  char data[8] = "seven!!";
  CmiGetDynamicReductionRemote(CpvAccess(id_index), -1, 8, data);
}
static int id_start() {
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), make(CpvAccess(ask_index)));
  return 1;
}

// --- asynchronous names, numbers of handlers -------------------------------------------------------------------------
CpvDeclare(int, count_index);
CpvDeclare(int, local_index);
CpvDeclare(int, name_index);
CpvDeclare(int, named_index);
static void count_arrived(void* message) {
  CHECK(static_cast<Plain*>(message)->number == 7 && CmiGetInfo(message) == 4711);
  CmiFree(message);
  ack();
}
static void local_arrived(void* message) {
  CmiFree(message);
  ack();
}
static void name_arrived(void* message) {  // a number that PE 0 gave out
  CmiNumberHandler(static_cast<Plain*>(message)->number, local_arrived);
  CmiSetHandler(message, static_cast<Plain*>(message)->number);
  CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), sizeof(Plain), message);
}
static int async_start() {
  Plain* m = make(CpvAccess(count_index), 7);
  CmiSetInfo(m, 4711);
  int all[2] = {0, CmiNumPes() - 1};
  const CmiGroup group = CmiEstablishGroup(2, all);
  const int last_node = CmiNumNodes() - 1;
  bool sent = false;
  CHECK(CmiAsyncMsgSent((sent = true, CmiAsyncSend(CmiNumPes() - 1, sizeof(Plain), m))) && sent);
  CmiReleaseCommHandle(CmiAsyncNodeSend(last_node, sizeof(Plain), m));
  CHECK(!CmiAsyncBroadcast(sizeof(Plain), m) && !CmiAsyncBroadcastAll(sizeof(Plain), m));
  CHECK(!CmiAsyncNodeBroadcast(sizeof(Plain), m) && !CmiAsyncNodeBroadcastAll(sizeof(Plain), m));
  CHECK(!CmiAsyncListSend(2, all, sizeof(Plain), m) && !CmiAsyncMulticast(group, sizeof(Plain), m));
  char* pieces[2] = {reinterpret_cast<char*>(m), reinterpret_cast<char*>(m) + 60};
  int bytes[2] = {60, sizeof(Plain) - 60};
  CHECK(!CmiAsyncVectorSend(0, 2, bytes, pieces));
  CHECK(m->number == 7);
  CmiFree(m);
  const int pes = CmiNumPes(), nodes = CmiNumNodes();
  return 1 + 1 + (pes - 1) + pes + (nodes - 1) + nodes + 2 + 2 + 1;
}
static int handler_start() {
  int to[8];
  CHECK(HypercubeGetBcastDestinations(0, 8, 2, to) == 3 && to[0] == 4 && to[1] == 2 && to[2] == 1);
  CHECK(HypercubeGetBcastDestinations(1, 3, 1, to) == 2 && to[0] == 2 && to[1] == 0);
  const int number = CmiRegisterHandlerGlobal(local_arrived);
  CHECK(number != CpvAccess(local_index));
  CmiSyncSendAndFree(0, sizeof(Plain), make(CpvAccess(local_index)));
  if (CmiNumPes() == 1) return 1;
  // Round the PEs, so that each knows the number before a message with it comes.
  for (int pe = 1; pe + 1 < CmiNumPes(); ++pe)
    CmiSyncSendAndFree(pe, sizeof(Plain), make(CpvAccess(named_index), number));
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), make(CpvAccess(name_index), number));
  return 1 + (CmiNumPes() - 2) + 1;
}
static void named_arrived(void* message) {
  CmiNumberHandler(static_cast<Plain*>(message)->number, local_arrived);
  CmiFree(message);
  ack();
}

// --- futures ---------------------------------------------------------------------------------------------------------
CpvDeclare(int, set_index);
struct WithFuture {
  char head[CmiMsgHeaderSizeBytes];
  Cfuture future;
};
static void set_arrived(void* message) {
  const Cfuture f = static_cast<WithFuture*>(message)->future;
  CmiFree(message);
  CHECK(CfuturePE(f) == 0);
  int pe = CmiMyPe();
  if (pe % 2) return CfutureSet(f, &pe, sizeof pe);
  CfutureDestroyBuffer(CfutureCreateBuffer(10));
  void* buffer = CfutureCreateBuffer(sizeof pe);
  std::memcpy(buffer, &pe, sizeof pe);
  CfutureStoreBuffer(f, buffer);
}
static void wait_for_all(void*) {
  std::vector<Cfuture> futures;
  for (int pe = 0; pe < CmiNumPes(); ++pe) {
    futures.push_back(CfutureCreate());
    auto* m = static_cast<WithFuture*>(CmiAlloc(sizeof(WithFuture)));
    CmiSetHandler(m, CpvAccess(set_index));
    m->future = futures.back();
    CmiSyncSendAndFree(pe, sizeof(WithFuture), m);
  }
  for (int pe = 0; pe < CmiNumPes(); ++pe) {
    CHECK(*static_cast<int*>(CfutureWait(futures[pe])) == pe);
    CHECK(*static_cast<int*>(CfutureWait(futures[pe])) == pe);
    CfutureDestroy(futures[pe]);
  }
  ack();
}
static int future_start() {
  CthAwaken(CthCreate(wait_for_all, nullptr, 0));
  return 1;
}

// --- tables, random numbers, memory and clocks: on PE 0 alone --------------------------------------------------------
static void pup_text(pup_er p, void** text) {
  if (pup_isUnpacking(p)) *text = CmiAlloc(8);
  pup_bytes(p, *text, 8);
  if (pup_isDeleting(p)) CmiFree(*text);
}
static int table_start() {
  CmmTable t = CmmNew();
  char* texts[3];
  for (int i = 0; i < 3; ++i) {
    texts[i] = static_cast<char*>(CmiAlloc(8));
    std::snprintf(texts[i], 8, "text %d", i);
    int tags[2] = {i, i == 2 ? CmmWildCard : 10};
    CmmPut(t, 2, tags, texts[i]);
  }
  int wanted[2] = {CmmWildCard, 10}, found[2] = {0, 0}, one[1] = {1};
  CHECK(CmmEntries(t) == 3 && CmmProbe(t, 2, wanted, found) == texts[0] && found[0] == 0 && found[1] == 10);
  CHECK(CmmGet(t, 2, wanted, found) == texts[0] && CmmGet(t, 2, wanted, nullptr) == texts[1]);
  CHECK(CmmGet(t, 1, one, nullptr) == nullptr && CmmEntries(t) == 1);
  int third[2] = {2, 99};
  CHECK(CmmProbe(t, 2, third, found) == texts[2] && found[1] == CmmWildCard && CmmGetLastTag(t, 1, third) == -1);
  CmiFree(texts[0]);
  CmiFree(texts[1]);
  const pup_er sizer = pup_new_sizer();
  CHECK(CmmPup(sizer, t, pup_text) == t);
  std::vector<char> packed(pup_size(sizer));
  pup_destroy(sizer);
  const pup_er packer = pup_new_toMem(packed.data());
  CmmPup(packer, t, pup_text);
  pup_destroy(packer);
  const pup_er unpacker = pup_new_fromMem(packed.data());
  CmmTable again = CmmPup(unpacker, nullptr, pup_text);
  pup_destroy(unpacker);
  auto* text = static_cast<char*>(CmmProbe(again, 2, third, nullptr));
  CHECK(text && text != texts[2] && std::strcmp(text, "text 2") == 0);
  CmmFree(again);
  CmmFree(t);

  CdsFifo q = CdsFifo_Create();
  int items[3];
  CdsFifo_Enqueue(q, &items[1]);
  CdsFifo_Enqueue(q, &items[2]);
  CdsFifo_Push(q, &items[0]);
  void** all = CdsFifo_Enumerate(q);
  CHECK(CdsFifo_Length(q) == 3 && all[0] == &items[0] && all[2] == &items[2] && CdsFifo_Peek(q) == &items[0]);
  std::free(all);
  CHECK(CdsFifo_Pop(q) == &items[0] && CdsFifo_Dequeue(q) == &items[1] && !CdsFifo_Empty(q));
  CHECK(CdsFifo_Dequeue(q) == &items[2] && CdsFifo_Empty(q) && CdsFifo_Dequeue(q) == nullptr &&
        CdsFifo_Peek(q) == nullptr);
  CdsFifo_Destroy(q);

  CrnStream a, b, c;
  CrnInitStream(&a, 5, 0);
  CrnInitStream(&b, 5, 0);
  CrnInitStream(&c, 6, 0);
  double sum = 0;
  int same = 0;
  for (int i = 0; i < 10000; ++i) {
    const int number = CrnInt(&a);
    CHECK(number >= 0 && number == CrnInt(&b));
    same += number == CrnInt(&c);
    const double x = CrnDouble(&a);
    CHECK(x >= 0 && x < 1);
    CHECK(static_cast<float>(x) == CrnFloat(&b));
    sum += x;
    CrnInt(&c);
  }
  CHECK(same < 3 && sum > 4800 && sum < 5200);

  CHECK(CcdSetResolution(0.001) == 0.005 && CcdIncreaseResolution(0.002) == 0.001 &&
        CcdIncreaseResolution(0.0005) == 0.001);
  CHECK(CcdResetResolution() == 0.0005 && CcdSetResolution(1) == 0.005 && CcdResetResolution() == 0.005);
  const int timers = CcdNumTimerCBs();
  CcdCallFnAfter([](void*, double) { ack(); }, nullptr, 1);
  CHECK(CcdNumTimerCBs() == timers + 1);
  CmiResetMinMemory();
  CHECK(CmiMinMemoryUsage() > 0 && CmiMaxMemoryUsageR() > 0);
  CHECK(std::string(CmiPrintDate()).size() > 10 && CmiMemoryIs(CMI_MEMORY_IS_OS) &&
        !CmiMemoryIs(CMI_MEMORY_IS_PARANOID));
  return 1;
}

// --- timers of no delay ----------------------------------------------------------------------------------------------
CpvDeclare(int, count_turns_index);
CpvDeclare(int, run_timers_index);
static int turns_counted, timers_left;
static std::thread::id timers_thread;
static void next_timer(void*, double) {
  if (--timers_left > 0) return CcdCallFnAfter(next_timer, nullptr, 0);
  // A PE that looks at its timers in some of its turns only is late for each.
  CHECK(turns_counted < 10 * 1000);
  ack();
}
static void run_timers(void* message) {
  CmiFree(message);
  next_timer(nullptr, 0);
}
static void count_turn(void*) {
  ++turns_counted;
  if (timers_left > 0) CcdCallOnCondition(CcdPROCESSOR_STILL_IDLE, count_turn, nullptr);
}
// Turns are counted by another PE of the timers' thread, if there is one: one that counts its own gets each of them.
static void count_turns(void* message) {
  if (std::this_thread::get_id() != timers_thread) return CmiSyncSendAndFree(0, sizeof(Plain), message);
  CmiFree(message);
  count_turn(nullptr);
  CmiSyncSendAndFree(0, sizeof(Plain), make(CpvAccess(run_timers_index)));
}
static int timers_start() {
  timers_left = 1000;
  turns_counted = 0;
  timers_thread = std::this_thread::get_id();
  CmiSyncSendAndFree(CmiMyNodeSize() > 1 ? 1 : 0, sizeof(Plain), make(CpvAccess(count_turns_index)));
  return 1;
}

// --- timers that end the scheduler: of an idle PE, and of one that was about to sleep --------------------------------
static int stops_start() {
  for (int i = 0; i < 2000; ++i) {
    CcdCallFnAfter([](void*, double) { CsdExitScheduler(); }, nullptr, 0.03 + 0.0001 * i);
    CsdScheduler(-1);
  }
  ack();
  return 1;
}

// --- seeds -----------------------------------------------------------------------------------------------------------
CpvDeclare(int, seed_index);
CpvDeclare(int, seed_info);
CpvDeclare(int, seeds_packed);
static void pack_seed(void* message) {
  auto* m = *static_cast<Plain**>(message);
  m->number |= 0x100;  // packed
}
static void about_seed(void* message, CldPackFn* pack, int* bytes, int* strategy, int* bits, unsigned** priority) {
  *pack = static_cast<Plain*>(message)->number & 0x100 ? nullptr : pack_seed;
  *bytes = sizeof(Plain);
  *strategy = CQS_QUEUEING_IFIFO;
  *bits = 32;
  *priority = reinterpret_cast<unsigned*>(&static_cast<Plain*>(message)->number);
}
static void seed_arrived(void* message) {
  CHECK((static_cast<Plain*>(message)->number & 0xff) == 7 && CmiGetHandler(message) == CpvAccess(seed_index));
  CmiFree(message);
  ack();
}
static int seed_start() {
  const auto seed = [] { return make(CpvAccess(seed_index), 7); };
  const int info = CpvAccess(seed_info), pes = CmiNumPes(), nodes = CmiNumNodes();
  for (int i = 0; i < 20; ++i) CldEnqueue(CLD_ANYWHERE, seed(), info);
  for (int pe = 0; pe < pes; ++pe) CldEnqueue(pe, seed(), info);
  CldEnqueue(CLD_BROADCAST, seed(), info);
  CldEnqueue(CLD_BROADCAST_ALL, seed(), info);
  CldNodeEnqueue(CLD_ANYWHERE, seed(), info);
  CldNodeEnqueue(nodes - 1, seed(), info);
  CldNodeEnqueue(CLD_BROADCAST, seed(), info);
  CldNodeEnqueue(CLD_BROADCAST_ALL, seed(), info);
  int list[2] = {pes - 1, 0};
  CldEnqueueMulti(2, list, seed(), info);
  CldEnqueueGroup(CmiEstablishGroup(2, list), seed(), info);
  CldEnqueueWithinNode(seed(), info);
  CHECK(CldLoad() > 0 && CldEstimate() == CldLoad() && std::strcmp(CldGetStrategy(), "rand") == 0);
  return 20 + pes + (pes - 1) + pes + 1 + 1 + (nodes - 1) + nodes + 2 + 2 + CmiMyNodeSize();
}

// --- quiescence: no message is left when it is told ------------------------------------------------------------------
CpvDeclare(int, spread_index);
CpvDeclare(int, spread_seen);
static void spread_arrived(void* message) {
  auto* m = static_cast<Plain*>(message);
  const int left = m->number;
  CmiFree(m);
  ++CpvAccess(spread_seen);
  for (int i = 0; i < 2 && left > 0; ++i)
    CmiSyncSendAndFree((CmiMyPe() + 1 + i) % CmiNumPes(), sizeof(Plain), make(CpvAccess(spread_index), left - 1));
}
static void* add_up(int*, void* mine, void** others, int count) {
  for (int i = 0; i < count; ++i) static_cast<Plain*>(mine)->number += static_cast<Plain*>(others[i])->number;
  return mine;
}
CpvDeclare(int, spread_sum_index);
CpvDeclare(int, spread_counted_index);
static void spread_counted(void* message) {
  CHECK(static_cast<Plain*>(message)->number == 4 * 1023);
  CmiFree(message);
  ack();
}
static void spread_sum(void* message) {
  CmiFree(message);
  CmiReduce(make(CpvAccess(spread_counted_index), CpvAccess(spread_seen)), sizeof(Plain), add_up);
}
static int quiet_calls;
static void on_quiet(void* which) {
  quiet_calls += static_cast<int>(reinterpret_cast<std::intptr_t>(which));
  if (quiet_calls < 11) return;
  CHECK(quiet_calls == 11);
  CHECK(CQdGetCreated(CpvAccess(cQdState)) > 0 && CQdGetProcessed(CpvAccess(cQdState)) > 0);
  CmiSyncBroadcastAllAndFree(sizeof(Plain), make(CpvAccess(spread_sum_index)));
}
static void end_work(void*, double) {
  for (int i = 0; i < 2; ++i) CmiSyncSendAndFree(0, sizeof(Plain), make(CpvAccess(spread_index), 9));
  CQdProcess(CpvAccess(cQdState), 1);
}
static int quiet_start() {
  quiet_calls = 0;
  for (int i = 0; i < 2; ++i) CmiSyncSendAndFree(0, sizeof(Plain), make(CpvAccess(spread_index), 9));
  // Work that no message stands for, and begins some of its own at its end.
  CQdCreate(CpvAccess(cQdState), 1);
  CcdCallFnAfter(end_work, nullptr, 200);
  CmiStartQD(on_quiet, reinterpret_cast<void*>(1));
  CQdRegisterCallback(on_quiet, reinterpret_cast<void*>(10));
  return 1;
}

// --- persistent channels ---------------------------------------------------------------------------------------------
CpvDeclare(int, offer_index);
CpvDeclare(int, offered_index);
struct WithRequest {
  char head[CmiMsgHeaderSizeBytes];
  PersistentReq request;
};
static void offer(void* message) {
  CmiFree(message);
  auto* m = static_cast<WithRequest*>(CmiAlloc(sizeof(WithRequest)));
  CmiSetHandler(m, CpvAccess(offered_index));
  m->request = CmiCreateReceiverPersistent(sizeof(Plain));
  CmiSyncSendAndFree(0, sizeof(WithRequest), m);
}
static void offered(void* message) {
  PersistentHandle h = CmiRegisterReceivePersistent(static_cast<WithRequest*>(message)->request);
  CmiFree(message);
  CmiUsePersistentHandle(&h, 1);
  for (int i = 0; i < 100; ++i) CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), make(CpvAccess(local_index)));
  CmiUsePersistentHandle(nullptr, 0);
  CmiDestroyPersistent(h);
}
static int persistent_start() {
  CHECK(CMK_PERSISTENT_COMM);
  std::vector<int> pes;
  std::vector<PersistentHandle> handles;
  for (int pe = 0; pe < CmiNumPes(); ++pe) {
    pes.push_back(pe);
    handles.push_back(CmiCreatePersistent(pe, sizeof(Plain)));
  }
  CmiUsePersistentHandle(handles.data(), CmiNumPes());
  Plain* m = make(CpvAccess(local_index));
  CmiSyncListSend(CmiNumPes(), pes.data(), sizeof(Plain), m);
  CmiFree(m);
  CmiUsePersistentHandle(nullptr, 0);
  CmiDestroyAllPersistent();
  PersistentHandle node = CmiCreateNodePersistent(CmiNumNodes() - 1, 4096);
  CmiUsePersistentHandle(&node, 1);
  CmiSyncNodeSendAndFree(CmiNumNodes() - 1, sizeof(Plain), make(CpvAccess(local_index)));
  CmiUsePersistentHandle(nullptr, 0);
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), make(CpvAccess(offer_index)));
  return CmiNumPes() + 1 + 100;
}

// --- strategies of threads: a stack of threads that are ready, last in first out -------------------------------------
static std::vector<CthThread> ready;
static std::string told;
static CthThread manager;
static void push_ready(CthThreadToken* token, int, int, unsigned*) { ready.push_back(token->thread); }
static CthThread last_ready() {
  if (ready.empty()) return manager;
  const CthThread t = ready.back();
  ready.pop_back();
  return t;
}
static void strategic(void* name) {
  told += *static_cast<const char*>(name);
  CthYield();
  told += *static_cast<const char*>(name);
  CthYield();
}
static void manage(void*) {
  manager = CthSelf();
  CthThread first = nullptr;
  for (const char* name : {"a", "b", "c"}) {
    CthThread t = CthCreate(strategic, const_cast<char*>(name), 0);
    CthSetStrategy(t, push_ready, last_ready);
    CthSetThreadID(t, 1, 2, *name);
    CHECK(CthGetThreadID(t)->id[2] == *name && CthGetNext(t) == nullptr);
    CthSetNext(t, first);
    CHECK(CthGetNext(t) == first);
    first = t;
    CthAwaken(t);
  }
  CHECK(ready.size() == 3 && told.empty());
  CthSetStrategy(manager, CthEnqueueNormalThread, last_ready);
  CthSuspend();  // the three run to their ends, each goes on at once as it is the last that got ready
  while (told.size() < 6) CthYield();
  CHECK(told == "ccbbaa");
  CthSetStrategyDefault(manager);
  ack();
}
// Strategies that queue the token as the message it is, with a priority.
static std::vector<int> turns;
static void by_priority(CthThreadToken* token, int, int, unsigned*) {
  int priority = -token->serialNo;
  CsdEnqueueGeneral(token, CQS_QUEUEING_IFIFO, 32, reinterpret_cast<unsigned*>(&priority));
}
static CthThread scheduler() { return nullptr; }
static void take_turn(void* number) {
  turns.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
  CthYield();
  turns.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
  if (turns.size() < 6) return;
  CHECK((turns == std::vector<int>{3, 3, 2, 2, 1, 1}));
  ack();
}
static int strategy_start() {
  ready.clear();
  told.clear();
  turns.clear();
  CthAwaken(CthCreate(manage, nullptr, 0));
  for (std::intptr_t i = 1; i <= 3; ++i) {
    CthThread t = CthCreate(take_turn, reinterpret_cast<void*>(i), 0);
    CthSetStrategy(t, by_priority, scheduler);
    CthSetSerialNo(t, static_cast<int>(i));
    CthAwaken(t);
  }
  CthThread never = CthCreate(manage, nullptr, 0);
  CHECK(CthStackOffset(never, CthPointer(never, 100)) == 100 && !CthMigratable() && CthAutoYieldFreq(never) == 0);
  CthFree(never);
  return 2;
}

// --- memory at fixed addresses ---------------------------------------------------------------------------------------
CpvDeclare(int, context_index);
struct Node {
  Node* next;
  int value;
};
struct WithContext {
  char head[CmiMsgHeaderSizeBytes];
  Node* first;
  int hops;
  long bytes;
};
static void send_context(CmiIsomallocContext context, Node* first, int hops) {
  const pup_er sizer = pup_new_sizer();
  CmiIsomallocContextPup(sizer, &context);
  const std::size_t bytes = pup_size(sizer);
  pup_destroy(sizer);
  auto* m = static_cast<WithContext*>(CmiAlloc(static_cast<int>(sizeof(WithContext) + bytes)));
  CmiSetHandler(m, CpvAccess(context_index));
  m->first = first;
  m->hops = hops;
  m->bytes = static_cast<long>(bytes);
  const pup_er packer = pup_new_toMem(m + 1);
  CmiIsomallocContextPup(packer, &context);
  pup_destroy(packer);
  CmiIsomallocContextDelete(context);
  CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), static_cast<int>(sizeof(WithContext) + bytes), m);
}
static void context_arrived(void* message) {
  auto* m = static_cast<WithContext*>(message);
  CmiIsomallocContext context;
  const pup_er unpacker = pup_new_fromMem(m + 1);
  CmiIsomallocContextPup(unpacker, &context);
  pup_destroy(unpacker);
  Node* first = m->first;
  const int hops = m->hops;
  CmiFree(m);
  int value = 0;
  for (Node* node = first; node; node = node->next) CHECK(node->value == value++ && CmiIsomallocInRange(node));
  CHECK(value == 1000 + hops);
  if (hops == CmiNumPes()) {
    CmiIsomallocContextDelete(context);
    return ack();
  }
  Node* last = first;
  while (last->next) last = last->next;
  last->next = static_cast<Node*>(CmiIsomallocContextMalloc(context, sizeof(Node)));
  *last->next = {nullptr, value};
  send_context(context, first, hops + 1);
}
static int context_start() {
  int on_stack;
  void* const elsewhere = std::malloc(10);
  CHECK(!CmiIsomallocInRange(&on_stack) && !CmiIsomallocInRange(elsewhere));
  std::free(elsewhere);
  const CmiIsomallocContext context = CmiIsomallocContextCreate(3, 8), other = CmiIsomallocContextCreate(4, 8);
  Node* first = nullptr;
  for (int i = 999; i >= 0; --i) {
    auto* node = static_cast<Node*>(CmiIsomallocContextMalloc(context, sizeof(Node)));
    *node = {first, i};
    first = node;
  }
  // What is freed is used again; aligned blocks, too.
  void* const freed = CmiIsomallocContextMalloc(other, 100);
  CmiIsomallocContextFree(other, freed);
  CHECK(CmiIsomallocContextMalloc(other, 101) == freed && CmiIsomallocContextGetLength(other, freed) >= 101);
  char* const aligned = static_cast<char*>(CmiIsomallocContextMallocAlign(other, 4096, 5000));
  CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  std::memset(aligned, 1, 5000);
  CmiIsomallocContextFree(other, aligned);
  CHECK(static_cast<char*>(CmiIsomallocContextMalloc(other, 9000)) <= aligned);
  char* zeros = static_cast<char*>(CmiIsomallocContextCalloc(other, 10, 7));
  CHECK(std::all_of(zeros, zeros + 70, [](char c) { return c == 0; }));
  zeros[69] = 5;
  zeros = static_cast<char*>(CmiIsomallocContextRealloc(other, zeros, 7000));
  CHECK(zeros[69] == 5);
  const CmiIsomallocRegion used = CmiIsomallocContextGetUsedExtent(other);
  CHECK(used.start <= zeros && zeros < used.end);
  CmiIsomallocContextDelete(other);
  send_context(context, first, 0);
  return 1;
}

// --- one-sided -------------------------------------------------------------------------------------------------------
CpvDeclare(int, window_index);
CpvDeclare(int, window_told_index);
CpvDeclare(int*, window);
struct WithAddress {
  char head[CmiMsgHeaderSizeBytes];
  void* address;
  int pe;
};
static int put_from[3], get_to[3];
static void* pending[2];
static int callbacks;
static void poll_transfers(void*, double) {
  for (void*& transfer : pending)
    if (transfer && CmiWaitTest(transfer)) transfer = nullptr;
  if (pending[0] || pending[1]) return CcdCallFnAfter(poll_transfers, nullptr, 1);
  ack();
}
static void window_read(void*) {
  CHECK(get_to[0] == 5 && get_to[1] == 6 && get_to[2] == 7);
  ++callbacks;
  ack();
}
static void window_written(void* where) {
  ++callbacks;
  CmiGetCb(0, CmiNumPes() - 1, get_to, where, sizeof get_to, window_read, nullptr);
}
static void window_told(void* message) {
  auto* m = static_cast<WithAddress*>(message);
  const unsigned there = m->pe;
  int* const address = static_cast<int*>(m->address);
  CmiFree(m);
  for (int i = 0; i < 3; ++i) put_from[i] = 5 + i;
  CHECK(CmiRegisterMemory(put_from, sizeof put_from) && CmiUnRegisterMemory(put_from, sizeof put_from));
  CmiPutCb(0, there, put_from, address, sizeof put_from, window_written, address);
  pending[0] = CmiPut(0, there, put_from, address + 3, sizeof put_from);
  pending[1] = CmiGet(0, there, get_to, address + 6, 0);
  poll_transfers(nullptr, 0);
}
static void window(void* message) {
  CmiFree(message);
  CpvAccess(window) = new int[9]();
  auto* m = static_cast<WithAddress*>(CmiAlloc(sizeof(WithAddress)));
  CmiSetHandler(m, CpvAccess(window_told_index));
  m->address = CpvAccess(window);
  m->pe = CmiMyPe();
  CmiSyncSendAndFree(0, sizeof(WithAddress), m);
}
static int window_start() {
  callbacks = 0;
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), make(CpvAccess(window_index)));
  return 2;
}

// --- conditions that are looked for when a program listens; +longIdleThresh is short ---------------------------------
static void on_long_idle(void* name) {
  CHECK(std::strcmp(static_cast<char*>(name), "idle") == 0);
  ack();
}
static int rare_start() {
  static char name[] = "idle";
  CcdCallOnCondition(CcdPROCESSOR_LONG_IDLE, on_long_idle, name);
  CcdCallOnCondition(
      CcdSIGUSR1, [](void*) { ack(); }, nullptr);
  CcdCallOnConditionKeep(
      CcdSIGUSR2, [](void*) { CHECK(false); }, nullptr);
  CHECK(::raise(SIGUSR1) == 0);
  return 2;
}

// --- control ---------------------------------------------------------------------------------------------------------
static const Part parts[] = {{"reduce", reduce_start},     {"id", id_start},           {"async", async_start},
                             {"handler", handler_start},   {"future", future_start},   {"table", table_start},
                             {"seed", seed_start},         {"quiet", quiet_start},     {"persistent", persistent_start},
                             {"strategy", strategy_start}, {"context", context_start}, {"window", window_start},
                             {"rare", rare_start},         {"cpm", cpm_start},         {"posix", posix_start},
                             {"timers", timers_start},     {"stops", stops_start}};

// One mistake each: the run ends with a sentence.
static void mistake(const std::string& name) {
  Plain* m = make(CpvAccess(reduced_index));
  PersistentHandle h = CmiCreatePersistent(0, sizeof(Plain));
  int nobody[1] = {CmiNumPes()};
  if (name == "group") CmiGroupReduce({0, 77}, m, sizeof(Plain), merge_anew, CmiGetGlobalReduction());
  if (name == "multicast") CmiSyncMulticastAndFree((CmiGroup{12345, 1}), sizeof(Plain), m);
  if (name == "list") CmiListReduce(1, nobody, m, sizeof(Plain), merge_anew, CmiGetGlobalReduction());
  if (name == "twice") {
    int two[2] = {CmiMyPe(), (CmiMyPe() + 1) % CmiNumPes()};  // its child gives none
    CmiListReduce(2, two, m, sizeof(Plain), merge_anew, 1);
    CmiListReduce(2, two, make(CpvAccess(reduced_index)), sizeof(Plain), merge_anew, 1);
  }
  if (name == "mixed") {
    if (CmiMyPe() == 0)
      CmiReduce(m, sizeof(Plain), merge_anew);
    else
      CmiReduceStruct(new int(1), pup_number, merge_numbers, reduced_number, delete_number);
  }
  if (name == "dynamic") CmiGetDynamicReduction();
  if (name == "global") CmiRegisterHandlerGlobal(reduced);
  if (name == "short") CmiReduce(m, 3, merge_anew);
  if (name == "destroyed") {
    CmiDestroyPersistent(h);
    CmiUsePersistentHandle(&h, 1);
  }
  if (name == "large") {
    CmiUsePersistentHandle(&h, 1);
    CmiSyncSend(0, sizeof(Plain) + 1, m);
  }
  if (name == "channel") CmiCreatePersistent(CmiNumPes(), 100);
  if (name == "future") CfutureWait({CmiMyPe() + 1, nullptr});
  if (name == "seed") CldEnqueue(CmiNumPes(), m, CpvAccess(seed_info));
  if (name == "unit") CmiIsomallocContextCreate(5, 5);
  if (name == "units") {
    CmiIsomallocContextCreate(CmiMyPe(), 16);
    CmiIsomallocContextCreate(CmiMyPe(), 17);
  }
  if (name == "pup") CthPup(nullptr, CthCreate(manage, nullptr, 0));
  if (name == "strategy") CthSetStrategy(CthSelf(), push_ready, last_ready);
  if (name == "transfer") CmiPut(0, CmiNumPes(), nobody, nobody, 4);
  if (name == "type") {
    CrnStream s;
    CrnInitStream(&s, 1, 3);
  }
}

static void start(int argc, char** argv) {
  initialize_parts(argc, argv);
  CpvInitialize(int, ids);
  CpvInitialize(int, node_id);
  CpvInitialize(int*, window);
  CpvInitialize(int, spread_seen);
  HANDLER(reduce_index, reduce);
  HANDLER(reduced_index, reduced);
  HANDLER(reduced_first_index, reduced_at_first);
  HANDLER(random_index, random_arrived);
  HANDLER(ask_index, ask);
  HANDLER(id_index, id_for_random);
  HANDLER(count_index, count_arrived);
  HANDLER(name_index, name_arrived);
  HANDLER(named_index, named_arrived);
  HANDLER(set_index, set_arrived);
  HANDLER(seed_index, seed_arrived);
  HANDLER(spread_index, spread_arrived);
  HANDLER(spread_sum_index, spread_sum);
  HANDLER(spread_counted_index, spread_counted);
  HANDLER(offer_index, offer);
  HANDLER(offered_index, offered);
  HANDLER(context_index, context_arrived);
  HANDLER(window_index, window);
  HANDLER(window_told_index, window_told);
  HANDLER(count_turns_index, count_turns);
  HANDLER(run_timers_index, run_timers);
  CpvInitialize(int, local_index);
  CpvAccess(local_index) = CmiRegisterHandler(local_arrived);
  CpvInitialize(int, seed_info);
  CpvAccess(seed_info) = CldRegisterInfoFn(about_seed);
  CpvAccess(ids) = CmiGetGlobalReduction();
  CmiEnforce(CmiGetGlobalReduction() != CpvAccess(ids));
  if (CmiMyRank() == 0) CpvAccess(node_id) = CmiGetGlobalNodeReduction();
  const int own = CmiRegisterHandlerLocal(local_arrived);
  CmiEnforce(CmiRegisterHandler(local_arrived) < own);
  cpm_initialize();
  if (argc > 2) mistake(argv[2]);
  if (argc < 3) start_parts(parts);
}

int main(int argc, char** argv) { ConverseInit(argc, argv, start, 0, 0); }
