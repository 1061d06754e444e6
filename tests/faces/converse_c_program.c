/* A Converse program in C with variables of PEs and of threads, some of them shared with converse_c_shared.cpp. Each PE
 * has values of its own, and so has each of its threads; PE 0 says when all have found theirs. */
#include <conv-trace.h>
#include <converse.h>

struct plain {
  char head[CmiMsgHeaderSizeBytes];
};
struct pair {
  double first;
  int second;
};
struct turn { /* larger than what threads have for the smallest variable */
  double weights[2];
  int count;
};
CpvDeclare(int, stop_index);
CpvDeclare(int, ready_index);
CpvDeclare(struct pair, of_c);
CpvExtern(int, of_cpp);
CpvStaticDeclare(char*, name);
CpvExtern(int, ended); /* declared before it is there, as headers do */
CpvDeclare(int, ended);
CtvDeclare(struct turn, turn);
CtvExtern(double, weight);
CsvDeclare(int, ready);
void shared_initialize(void);
int shared_of_c(void);
int shared_turn(void);

static void ask(int right, const char* what) {
  if (!right) CmiAbort("PE %d: %s", CmiMyPe(), what);
}
static void send(int pe, int handler) {
  struct plain* m = (struct plain*)CmiAlloc(sizeof(struct plain));
  CmiSetHandler(m, handler);
  CmiSyncSendAndFree(pe, sizeof(struct plain), (char*)m);
}
static void stop(void* message) {
  CmiFree(message);
  CsdExitScheduler();
}
static void ready(void* message) {
  int pe;
  CmiFree(message);
  if (++CsvAccess(ready) < CmiNumPes()) return;
  CmiPrintf("all as expected\n");
  for (pe = CmiNumPes() - 1; pe >= 0; --pe) send(pe, CpvAccess(stop_index));
}
/* Two of them take turns. */
static void thread(void* argument) {
  const int number = *(int*)argument;
  int i;
  ask(CtvAccess(turn).count == 0 && CtvAccess(weight) == 0, "a thread begins with zeros");
  for (i = 0; i < 5; ++i) {
    CtvAccess(turn).count += number;
    CtvAccess(weight) += 0.5 * number;
    CthYield();
    ask(CtvAccess(turn).count == (i + 1) * number, "a thread has its own variable");
    ask(CtvAccess(weight) == 0.5 * (i + 1) * number, "and one of the part in C++");
    ask(shared_turn() == CtvAccess(turn).count, "which has the one of C");
  }
  if (++CpvAccess(ended) == 2) send(0, CpvAccess(ready_index));
}

static void start(int argc, char** argv) {
  static int numbers[2] = {1, 10};
  int event = traceRegisterUserEvent("started", -1);
  int rank;
  ask(!CpvInitialized(of_c), "a variable is not there before CpvInitialize");
  CpvInitialize(int, stop_index);
  CpvInitialize(int, ready_index);
  CpvInitialize(struct pair, of_c);
  CpvInitialize(char*, name);
  CpvInitialize(int, ended);
  CtvInitialize(struct turn, turn);
  shared_initialize();
  ask(CpvInitialized(of_c) && CtvInitialized(turn) && CtvInitialized(weight), "variables are there");
  ask(CpvAccess(of_c).first == 0 && CpvAccess(name) == NULL && CpvAccess(ended) == 0, "variables begin as zeros");
  CpvAccess(stop_index) = CmiRegisterHandler(stop);
  CpvAccess(ready_index) = CmiRegisterHandler(ready);
  CpvAccess(of_c).second = 100 + CmiMyPe();
  CpvAccess(name) = argc > 0 ? argv[0] : NULL;
  ask(CpvAccess(of_cpp) == 200 + CmiMyPe(), "the part in C++ has set its variable");
  ask(shared_of_c() == 100 + CmiMyPe(), "the part in C++ sees that of C");
  CmiNodeBarrier();
  for (rank = 0; rank < CmiMyNodeSize(); ++rank) {
    const int pe = CmiNodeFirst(CmiMyNode()) + rank;
    ask(CpvAccessOther(of_c, rank).second == 100 + pe, "another PE's variable");
    ask(CpvAccessOther(of_cpp, rank) == 200 + pe, "another PE's variable of C++");
  }
  traceBegin();
  traceUserEvent(event);
  traceUserBracketEvent(event, CmiWallTimer(), CmiWallTimer());
  traceEnd();
  CthAwaken(CthCreate(thread, &numbers[0], 0));
  CthAwaken(CthCreate(thread, &numbers[1], 0));
}

int main(int argc, char** argv) {
  ConverseInit(argc, argv, start, 0, 0);
  return 9;
}
