// Tokens: seeds that wait in the scheduler's queue and may be taken back from it, for balancers of seeds that a program
// writes itself. Plain C, and C++17: reached from cldb.h. All of a PE's tokens are its own.
#pragma once
#include "runtime/converse/cld.h"

#ifdef __cplusplus
extern "C" {
#endif
// Takes a message whose CmiSetInfo() names its info function, and queues it as that says.
void CldPutToken(char* message);
// The same; CldGetToken() takes back the most urgent of them first.
void CldPutTokenPrio(char* message);
// *message: the one that has waited longest; null: there is none.
void CldGetToken(char** message);
int CldCountTokens(void);
// Takes back up to `count` messages and sends them to `pe`, whose handler CpvAccess(CldBalanceHandlerIndex) restores
// their own by CldRestoreHandler() and puts them into its queue. `rank` is this PE's.
void CldMultipleSend(int pe, int count, int rank, int immediate);
void CldSimpleMultipleSend(int pe, int count, int rank);
// There is nothing to do: CldModuleInit() of a program's balancer calls it.
void CldModuleGeneralInit(char** argv);
#ifdef __cplusplus
}

// For a balancer, which calls CpvInitialize() for those that it uses. CldMultipleSend() counts messages that it sends
// in CldRelocatedMessages, and times that it sends some in CldMessageChunks.
CpvExtern(int, CldHandlerIndex);
CpvExtern(int, CldBalanceHandlerIndex);
CpvExtern(int, CldRelocatedMessages);
CpvExtern(int, CldLoadBalanceMessages);
CpvExtern(int, CldMessageChunks);
#endif
