// The scheduler's queue as one of Cqs, and seeds that wait in it and are taken back. Every PE does each part, and the
// run ends when there is quiescence: what was taken from the queue by hand counts as it should.
#include <cldb.h>
#include <conv-qd.h>
#include <queueing.h>

#include <string>
#include <vector>

#include "converse_parts.h"

struct Numbered {
  char head[CmiMsgHeaderSizeBytes];
  int number;
};
CpvDeclare(int, numbered_index);
CpvDeclare(int, seed_info);
CpvDeclare(int, do_index);
CpvDeclare(std::string, seen);

#define CHECK(what) CmiEnforceMsg(what, "in part %s", CpvAccess(part_name))

static Numbered* numbered(int number) {
  auto* m = static_cast<Numbered*>(CmiAlloc(sizeof(Numbered)));
  CmiInitMsgHeader(m, sizeof *m);
  CmiSetHandler(m, CpvAccess(numbered_index));
  m->number = number;
  return m;
}
static void see(void* message) {
  CpvAccess(seen) += std::to_string(static_cast<Numbered*>(message)->number);
  CmiFree(message);
}
static Queue queue() { return static_cast<Queue>(CpvAccess(CsdSchedQueue)); }
static std::string take_seen() { return std::exchange(CpvAccess(seen), ""); }

// --- the queue -------------------------------------------------------------------------------------------------------
static void take_and_run() {
  void* message = nullptr;
  CqsDequeue(queue(), &message);
  CHECK(message != nullptr);
  CmiHandleMessage(message);
}
// Whatever else has come waits behind it.
static void run_all(const std::string& until) {
  while (CpvAccess(seen).size() < until.size()) take_and_run();
  CHECK(take_seen() == until);
}
static void run_thread(void*) { CpvAccess(seen) += "t"; }

static void use_queue() {
  const unsigned before = CqsLength(queue());
  unsigned early = static_cast<unsigned>(-5), late[2] = {0xffffffffu, 1};
  CqsEnqueueGeneral(queue(), numbered(6), CQS_QUEUEING_BFIFO, 64, late);
  CHECK(CqsLength(queue()) == before + 1 && !CqsEmpty(queue()));
  CqsEnqueueLifo(queue(), numbered(2));
  CqsEnqueueLifo(queue(), numbered(1));
  CqsEnqueueGeneral(queue(), numbered(0), CQS_QUEUEING_IFIFO, 32, &early);
  CHECK(CqsLength(queue()) == before + 4 && CsdLength() == static_cast<int>(before) + 4);
  run_all("012");
  CHECK(queue() == CpvAccessOther(CsdSchedQueue, CmiMyRank()));
  // The handler and the bytes are the program's.
  CqsEnqueueLifo(queue(), numbered(7));
  void* message = nullptr;
  CqsDequeue(queue(), &message);
  CHECK(CmiGetHandler(message) == CpvAccess(numbered_index) && static_cast<Numbered*>(message)->number == 7);
  CqsEnqueueLifo(queue(), message);
  unsigned first = 0x80000000u;
  CqsEnqueueGeneral(queue(), numbered(8), CQS_QUEUEING_IFIFO, 32, &first);
  CqsDequeue(queue(), &message);
  CHECK(static_cast<Numbered*>(message)->number == 8);
  CmiFree(message);
  run_all("7");
  // A thread, and one that waits with a priority, come out as messages; they may go back.
  CthThread thread = CthCreate(run_thread, nullptr, 0);
  CthAwakenPrio(thread, CQS_QUEUEING_IFIFO, 32, &first);
  CqsDequeue(queue(), &message);
  CqsEnqueueLifo(queue(), message);
  run_all("t");
  CthAwaken(CthCreate(run_thread, nullptr, 0));
  CqsEnqueue(queue(), numbered(3));
  CqsEnqueueFifo(queue(), numbered(4));
  while (CpvAccess(seen).size() < 3) take_and_run();
  CHECK(take_seen() == "t34");
  while (!CqsEmpty(queue())) take_and_run();
  CHECK(take_seen() == "6" && CqsLength(queue()) == 0);
  CqsDequeue(queue(), &message);
  CHECK(message == nullptr);
  CqsEnqueue(queue(), numbered(5));  // the scheduler's to run
}

// --- tokens ----------------------------------------------------------------------------------------------------------
static void about(void* message, CldPackFn* pack, int* bytes, int* strategy, int* bits, unsigned** priority) {
  auto* m = static_cast<Numbered*>(message);
  *pack = nullptr;
  *bytes = sizeof *m;
  *strategy = m->number < 5 ? CQS_QUEUEING_IFIFO : CQS_QUEUEING_FIFO;
  *bits = m->number < 5 ? 32 : 0;
  *priority = reinterpret_cast<unsigned*>(&m->number);
}
static char* seed(int number) {
  Numbered* m = numbered(number);
  CmiSetInfo(m, CpvAccess(seed_info));
  return reinterpret_cast<char*>(m);
}
static int take_back() {
  char* message = nullptr;
  CldGetToken(&message);
  if (message == nullptr) return -1;
  const int number = reinterpret_cast<Numbered*>(message)->number;
  CHECK(CmiGetHandler(message) == CpvAccess(numbered_index));
  CmiFree(message);
  return number;
}
static void balance_arrived(void* message) {
  CldRestoreHandler(static_cast<char*>(message));
  CldPutToken(static_cast<char*>(message));
}
static void use_tokens() {
  while (!CqsEmpty(queue())) take_and_run();
  take_seen();
  const int before = CldLoad();
  CHECK(CldCountTokens() == 0 && take_back() == -1);
  for (const int number : {7, 2, 8, 1}) CldPutToken(seed(number));
  CHECK(CldCountTokens() == 4 && CldLoad() == before + 4);
  CHECK(take_back() == 7 && take_back() == 2 && CldCountTokens() == 2);
  CHECK(CldLoad() == before + 2 && CsdLength() == CldLoad() + 2);  // their places are still in the queue
  while (!CqsEmpty(queue())) take_and_run();
  CHECK(take_seen() == "81" && CldCountTokens() == 0 && CldLoad() == CsdLength());
  for (const int number : {3, 1, 7, 4, 2}) CldPutTokenPrio(seed(number));
  CHECK(take_back() == 7);  // without a priority: as 0
  CHECK(take_back() == 1 && take_back() == 2 && take_back() == 3);
  while (!CqsEmpty(queue())) take_and_run();
  CHECK(take_seen() == "4");
}
// From PE 0 to the last one: the first two, then the rest, of which there are fewer.
static void send_tokens() {
  const int last = CmiNumPes() - 1;
  for (const int number : {5, 6, 7}) CldPutToken(seed(number));
  CldMultipleSend(last, 2, CmiMyRank(), 0);
  CHECK(CldCountTokens() == 1 && CpvAccess(CldRelocatedMessages) == 2 && CpvAccess(CldMessageChunks) == 1);
  CldSimpleMultipleSend(last, 5, CmiMyRank());
  CldMultipleSend(last, 2, CmiMyRank(), 0);
  CHECK(CldCountTokens() == 0 && CpvAccess(CldMessageChunks) == 1);
}
static void check_sent() {
  CHECK(take_seen() == (CmiMyPe() == CmiNumPes() - 1 ? "567" : "") && CldLoad() == CsdLength());
}

// --- control ---------------------------------------------------------------------------------------------------------
static void do_part(void* message) {
  const int part = static_cast<Numbered*>(message)->number;
  CmiFree(message);
  if (part == 0) use_queue();
  if (part == 1) use_tokens();
  if (part == 2 && CmiMyPe() == 0) send_tokens();
  if (part == 3) check_sent();
}
static int start_on_all(int part) {
  Numbered* m = numbered(part);
  CmiSetHandler(m, CpvAccess(do_index));
  CmiSyncBroadcastAllAndFree(sizeof *m, m);
  CmiStartQD([](void*) { ack(); }, nullptr);
  return 1;
}
static const Part parts[] = {{"queue", [] { return start_on_all(0); }},
                             {"tokens", [] { return start_on_all(1); }},
                             {"send", [] { return start_on_all(2); }},
                             {"sent", [] { return start_on_all(3); }}};

// One mistake each: the run ends with a sentence.
static void mistake(const std::string& name) {
  void** items = nullptr;
  if (name == "delete") CqsDelete(queue());
  if (name == "enumerate") CqsEnumerateQueue(queue(), &items);
  if (name == "other") CqsLength(CpvAccessOther(CsdSchedQueue, CmiMyRank() + 1));
  if (name == "rank") CldMultipleSend(0, 1, CmiMyRank() + 1, 0);
}

static void start(int argc, char** argv) {
  initialize_parts(argc, argv);
  HANDLER(numbered_index, see);
  HANDLER(do_index, do_part);
  HANDLER(CldBalanceHandlerIndex, balance_arrived);
  CpvInitialize(std::string, seen);
  CpvInitialize(int, seed_info);
  CpvInitialize(int, CldRelocatedMessages);
  CpvInitialize(int, CldMessageChunks);
  CpvAccess(seed_info) = CldRegisterInfoFn(about);
  if (argc > 2) mistake(argv[2]);
  if (argc < 3) start_parts(parts);
}

int main(int argc, char** argv) { ConverseInit(argc, argv, start, 0, 0); }
