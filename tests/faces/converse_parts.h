// A Converse program of several parts: PE 0 starts one after another, each of which is over with so many
// acknowledgements, and the run ends with status 0 when all are. The first argument names a part that is to run alone.
#pragma once
#include <converse.h>

#include <cstring>

struct Part {
  const char* name;
  int (*start)();  // tells how many acknowledgements end it
};

CpvDeclare(const char*, part_name);
CpvDeclare(const char*, only_part);
CpvDeclare(int, next_part);
CpvDeclare(int, acks);
CpvDeclare(int, acks_expected);
CpvDeclare(int, ack_index);
CpvDeclare(int, stop_index);

static const Part* all_parts;  // of PE 0
static int parts_count;

static void* empty_message(int handler) {
  void* m = CmiAlloc(CmiMsgHeaderSizeBytes);
  CmiInitMsgHeader(m, CmiMsgHeaderSizeBytes);
  CmiSetHandler(m, handler);
  return m;
}

void ack() { CmiSyncSendAndFree(0, CmiMsgHeaderSizeBytes, empty_message(CpvAccess(ack_index))); }

static void start_next_part() {
  while (CpvAccess(next_part) < parts_count) {
    const Part& part = all_parts[CpvAccess(next_part)++];
    if (CpvAccess(only_part) && std::strcmp(part.name, CpvAccess(only_part)) != 0) continue;
    CpvAccess(part_name) = part.name;
    CpvAccess(acks) = 0;
    CpvAccess(acks_expected) = part.start();
    CmiPrintf("%s\n", part.name);
    return;
  }
  CmiSyncBroadcastAllAndFree(CmiMsgHeaderSizeBytes, empty_message(CpvAccess(stop_index)));
}
static void ack_arrived(void* message) {
  CmiFree(message);
  if (++CpvAccess(acks) < CpvAccess(acks_expected)) return;
  CmiEnforceMsg(CpvAccess(acks) == CpvAccess(acks_expected), "in part %s", CpvAccess(part_name));
  start_next_part();
}
static void stop_arrived(void* message) {
  CmiFree(message);
  CsdExitScheduler();
}

#define HANDLER(name, function) \
  CpvInitialize(int, name);     \
  CpvAccess(name) = CmiRegisterHandler(function)

// On every PE, before the program registers handlers of its own.
static void initialize_parts(int argc, char** argv) {
  CpvInitialize(const char*, part_name);
  CpvInitialize(const char*, only_part);
  CpvInitialize(int, next_part);
  CpvInitialize(int, acks);
  CpvInitialize(int, acks_expected);
  CpvAccess(part_name) = "start";
  CpvAccess(only_part) = argc > 1 ? argv[1] : nullptr;
  HANDLER(ack_index, ack_arrived);
  HANDLER(stop_index, stop_arrived);
}

template <int count>
static void start_parts(const Part (&parts)[count]) {
  if (CmiMyPe() != 0) return;
  all_parts = parts;
  parts_count = count;
  start_next_part();
}
