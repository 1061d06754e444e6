// Start of a program, and the calls of charm.h that are about the whole run. C++17: reached from charm++.h.
#pragma once
#include "runtime/api/callback.h"
#include "runtime/face/exit.h"
#include "runtime/face/part.h"
#include "runtime/registry/c_calls.h"

#define CkExitAfterQuiescence() CkStartQD(CkCallback(CkCallback::ckExit))

// Calls back when no message is left anywhere; CkWaitQD waits for that in a threaded entry.
void CkStartQD(const CkCallback& callback);
void CkStartQD(int ep, const CkChareID* chare);
void CkWaitQD();

// Whether the program was started with ++quiet.
extern int quietModeRequested;

// In a program with a main() of its own that begins with ConverseInit(): on every PE, before it uses chares. On PE 0 it
// runs the constructors of the mainchares.
void _initCharm(int argc, char** argv);

void* CkLocalBranch(CkGroupID group);
// The same of another PE of this process; null where that has not made it yet. What both use at the same time, they
// lock.
void* CkLocalBranchOther(CkGroupID group, int rank);
void* CkLocalNodeBranch(CkGroupID group);
void* CkLocalChare(const CkChareID* chare);

namespace periapt {
class Pe;
// Runs the constructors of the mainchares, on PE 0. StartGate::announce() tells the others what they made.
void make_mainchares(Pe& pe);
// On PE 0: both, unless that has been done, or a part has begun the program from a checkpoint.
void begin_program(Pe& pe);
// Of a program with a main() of its own, which `function` has started: it ends with a sentence on a simulated machine.
void refuse_simulation(const Pe& pe, const char* function);
// What a callback that answers a request of CCS does; runtime/ccs sets it.
extern void (*send_ccs_answer)(const CkCallback& callback, void* message);
int run_program(int argc, char** argv, void (*register_main_module)(), std::vector<Part> parts);
}  // namespace periapt
