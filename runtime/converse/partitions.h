// Partitions of a run (+partitions), as Converse programs ask for them. Numbers of PEs and nodes are local to a
// partition everywhere else; here "global" ones count through the whole run. Plain C, and C++17: reached from
// converse.h.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int CmiNumPartitions(void);
int CmiMyPartition(void);
int CmiPartitionSize(int partition);  // in nodes
int CmiMyPartitionSize(void);
int CmiNumNodesGlobal(void);
int CmiMyNodeGlobal(void);
int CmiNumPesGlobal(void);
int CmiMyPeGlobal(void);  // -1 on an OS thread that runs no PE
int CmiGetNodeGlobal(int node, int partition);
int CmiGetPeGlobal(int pe, int partition);
// The number in the partition that has it.
int CmiGetNodeLocal(int node);
int CmiGetPeLocal(int pe);

// Messages to PE `pe`, or a PE of node `node`, of a partition; the handler has the same number there. The first of each
// two copies, the second takes the message. Quiescence detection does not count them.
void CmiInterSyncSendFn(int pe, int partition, int bytes, char* message);
void CmiInterFreeSendFn(int pe, int partition, int bytes, char* message);
void CmiInterSyncNodeSendFn(int node, int partition, int bytes, char* message);
void CmiInterFreeNodeSendFn(int node, int partition, int bytes, char* message);

// What a program that is started without such options has: called by setDefaultPartitionParams(), which the program may
// define, extern "C". It is called on every process before there are PEs.
void setDefaultPartitionParams(void);
void CmiSetNumPartitions(int count);
void CmiSetMasterPartition(void);
void CmiSetPartitionSizes(char* sizes);
void CmiSetPartitionScheme(int scheme);  // no effect: partitions are of processes that are near each other
void CmiSetCustomPartitioning(void);

#ifdef __cplusplus
}
#endif

#define CmiInterSyncSend(pe, part, s, m) CmiInterSyncSendFn((pe), (part), (s), (char*)(m))
#define CmiInterSyncSendAndFree(pe, part, s, m) CmiInterFreeSendFn((pe), (part), (s), (char*)(m))
#define CmiInterSyncNodeSend(node, part, s, m) CmiInterSyncNodeSendFn((node), (part), (s), (char*)(m))
#define CmiInterSyncNodeSendAndFree(node, part, s, m) CmiInterFreeNodeSendFn((node), (part), (s), (char*)(m))
