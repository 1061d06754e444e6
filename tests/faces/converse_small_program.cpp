// A Converse program of several small tasks, one a run, named by the first argument:
//
//   return   ConverseInit comes back to main(), which runs the scheduler and ends the run itself, with status 3
//   own      the start function runs the scheduler itself
//   abort    the last PE calls CmiAbort; the others only wait
//   enforce  a CmiEnforce that is not true
//   nohandler, badhandler   messages that have no handler
//   lines    every PE prints 300 lines of one letter
#include <converse.h>

#include <string>

struct Plain {
  char head[CmiMsgHeaderSizeBytes];
  int hops;
};
CpvDeclare(int, hop_index);
CpvDeclare(int, stop_index);

static void stop(void* message) {
  CmiFree(message);
  CsdExitScheduler();
}
static void hop(void* message) {
  Plain* m = static_cast<Plain*>(message);
  if (m->hops-- > 0) {
    CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), sizeof(Plain), m);
    return;
  }
  CmiSetHandler(m, CpvAccess(stop_index));
  CmiSyncBroadcastAllAndFree(sizeof(Plain), m);
}
static void begin_hops() {
  if (CmiMyPe() != 0) return;
  Plain* m = static_cast<Plain*>(CmiAlloc(sizeof(Plain)));
  m->hops = 100;
  CmiSetHandler(m, CpvAccess(hop_index));
  CmiSyncSendAndFree(0, sizeof(Plain), m);
}
static void send_unhandled(int handler) {
  if (CmiMyPe() != 0) return;
  Plain* m = static_cast<Plain*>(CmiAlloc(sizeof(Plain)));
  CmiSetHandler(m, handler);
  CmiSyncSendAndFree(CmiNumPes() - 1, sizeof(Plain), m);
}

static void start(int argc, char** argv) {
  CpvInitialize(int, hop_index);
  CpvInitialize(int, stop_index);
  CpvAccess(hop_index) = CmiRegisterHandler(hop);
  CpvAccess(stop_index) = CmiRegisterHandler(stop);
  const std::string task = argc > 1 ? argv[1] : "";
  const bool last = CmiMyPe() == CmiNumPes() - 1;
  if (task == "abort" && last) CmiAbort("the sky fell on PE %d\n", CmiMyPe());
  if (task == "enforce" && last) CmiEnforceMsg(argc == 17, "argc is %d", argc);
  if (task == "nohandler") send_unhandled(0);
  if (task == "badhandler") send_unhandled(99);
  if (task == "lines") {
    const std::string line(120, static_cast<char>('A' + CmiMyPe()));
    for (int i = 0; i < 300; ++i) CmiPrintf("%s\n", line.c_str());
    begin_hops();
  }
  if (task == "own") {
    begin_hops();
    CsdScheduler(-1);
    CmiPrintf("PE %d is back\n", CmiMyPe());
  }
}

int main(int argc, char** argv) {
  const std::string task = argc > 1 ? argv[1] : "";
  const bool back = task == "return";
  ConverseInit(argc, argv, start, task == "own", back);
  if (!back) return 9;
  // PE 0 of each process: the start function was not called here.
  start(1, argv);
  begin_hops();
  CsdScheduler(-1);
  CmiPrintf("main is back on PE %d of %d\n", CmiMyPe(), CmiNumPes());
  ConverseExit(3);
}
