// Start and end of a program, and the calls of charm.h that are about the whole run. C++17: reached from charm++.h.
#pragma once
#include "runtime/api/callback.h"
#include "runtime/face/part.h"
#include "runtime/registry/c_calls.h"

#define CkExitAfterQuiescence() CkStartQD(CkCallback(CkCallback::ckExit))

// Calls back when no message is left anywhere; CkWaitQD waits for that in a threaded entry.
void CkStartQD(const CkCallback& callback);
void CkStartQD(int ep, const CkChareID* chare);
void CkWaitQD();

void* CkLocalBranch(CkGroupID group);
// The same of another PE of this process; null where that has not made it yet. What both use at the same time, they
// lock.
void* CkLocalBranchOther(CkGroupID group, int rank);
void* CkLocalNodeBranch(CkGroupID group);
void* CkLocalChare(const CkChareID* chare);

namespace periapt {
class Pe;
// Asks PE 0 to end the run; returns.
void request_exit(int code);
// The same where the run goes on in another start of the program (MachineLayer::resize()): what the program wants done
// at its end is not.
void request_end_of_start();
// Runs the constructors of the mainchares, on PE 0. StartGate::announce() tells the others what they made.
void make_mainchares(Pe& pe);
int run_program(int argc, char** argv, void (*register_main_module)(), std::vector<Part> parts);
}  // namespace periapt
