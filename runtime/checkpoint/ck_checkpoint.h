// The calls of Charm++ programs that are about checkpoints. C++17: reached from charm++.h.
#pragma once
#include "runtime/api/callback.h"
#include "runtime/registry/messages.h"

// Writes a checkpoint into the folder when all is quiet; the callback gets called then, and again where a later run
// begins from it with +restart. `requestStatus`: it gets a CkCheckpointStatusMsg. `writersPerNode`: so many PEs of a
// process write at once; 0: as many as the last time, all at first. While one is being written another is not begun.
void CkStartCheckpoint(const char* dirname, const CkCallback& cb, bool requestStatus = false, int writersPerNode = 0);

// Keeps a checkpoint in memory when all is quiet, in place of the one before; the callback gets called then. When a
// process is killed later, all processes begin again from there, and the callback gets called again. Where the run
// has no such memory it warns, and calls the callback.
void CkStartMemCheckpoint(const CkCallback& cb);
// Whether there is one.
int CkHasCheckpoints();
// Whether objects are being made again from a checkpoint.
extern "C" int CkInRestarting();
// Kills this process as kill -9 does.
void CkDieNow();

extern bool _inrestart;      // objects are being made again
extern bool _restarted;      // this run began from a checkpoint
extern int _oldNumPes;       // ... which so many PEs wrote
extern bool _chareRestored;  // ... on as many as this run has: singleton chares are there again

enum { CK_CHECKPOINT_SUCCESS, CK_CHECKPOINT_FAILURE };

class CMessage_CkCheckpointStatusMsg {
 public:
  static int __idx;
};

class CkCheckpointStatusMsg : public CkMessage {
 public:
  int status;
  explicit CkCheckpointStatusMsg(int status) : status(status) {}
  void* operator new(std::size_t size) { return CkAllocMsg(CMessage_CkCheckpointStatusMsg::__idx, size, 0); }
  void operator delete(void* message) { CkFreeMsg(message); }
};
