/* What own_names.cpp calls a C library of its own: variables with names that the runtime has functions of. */
/* clang-format off */
#define NAMES(X) \
  X(checksum_initial) X(checksum_update) X(crc32_initial) X(crc32_update) X(CfutureCreate) \
  X(CfutureCreateBuffer) X(CfutureDestroy) X(CfutureDestroyBuffer) X(CfutureInit) X(CfutureModuleInit) \
  X(CfutureSet) X(CfutureStoreBuffer) X(CfutureWait) X(CmsAwaitResponses) X(CmsExit) X(CmsFireTask) \
  X(CmsGetResponse) X(CmsInit) X(CmsProcessResponses) X(CQdCreate) X(CQdGetCreated) X(CQdGetProcessed) \
  X(CQdInit) X(CQdProcess) X(CQdRegisterCallback) X(CmiStartQD) X(CPathMakeArray) X(CPathMakeThread) \
  X(CPathMsgFree) X(CPathRecv) X(CPathReduce) X(CPathSend) X(CpmEnqueue) X(CpmMakeThread) \
  X(CpmMakeThreadSize) X(CpmModuleInit) X(CpmSend) X(Cpthread_create) X(Cpthread_exit) X(Cpthread_join) \
  X(Cpthread_mutex_lock) X(Cpthread_once) X(Cpthread_self) X(CrnDouble) X(CrnFloat) X(CrnInitStream) \
  X(CrnInt) X(CthAutoYield) X(CthAutoYieldBlock) X(CthAutoYieldFreq) X(CthAutoYieldUnblock) \
  X(CthPrintThdStack) X(CmiGridQueueDeregister) X(CmiGridQueueLookup) X(CmiGridQueueRegister) \
  X(mempool_destroy) X(mempool_free) X(mempool_init) X(mempool_large_malloc) X(mempool_malloc) \
  X(CmiGetNodeGlobal) X(CmiGetPeGlobal) X(CmiMyPartition) X(CmiNumPartitions) X(CmiPartitionSize) \
  X(CmiCreatePersistent) X(CmiDestroyPersistent) X(CmiUsePersistentHandle) X(CmmEntries) X(CmmFind) \
  X(CmmFree) X(CmmFreeAll) X(CmmGetLastTag) X(CmmNew) X(CmmPup) X(CmmPut) X(CmiGet) X(CmiPut) \
  X(CmiRegisterMemory) X(CmiUnRegisterMemory) X(CmiWaitTest) X(CmiAsyncVectorSend)
/* clang-format on */

#define DEFINED(name) int name = 1;
NAMES(DEFINED)

#define ADDED(name) +name
int own_names_sum(void);
int own_names_sum(void) { return 0 NAMES(ADDED); }
