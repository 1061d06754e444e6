// Calls of entries by their numbers, without a proxy, as old programs and libraries make them:
// CkSendMsgBranch(CkIndex_G::poke(nullptr), message, pe, group). What a call is made with is the runtime's afterwards.
// C++17: reached from charm.h.
#pragma once
#include "runtime/registry/ids.h"

class CkArrayIndex;
class CkSectionID;
struct CmiGroup;

// Objects by the numbers of their class and constructor. The chare's handle comes in *chare, unless that is null. A
// class of another kind, or an entry of another class, ends the run.
void CkCreateChare(int type, int constructor, void* message, CkChareID* chare, int pe);
CkGroupID CkCreateGroup(int type, int constructor, void* message);
CkGroupID CkCreateNodeGroup(int type, int constructor, void* message);
void CkSendMsg(int entry, void* message, const CkChareID* chare, int opts = 0);
void CkSendMsgBranch(int entry, void* message, int pe, CkGroupID group, int opts = 0);
void CkSendMsgNodeBranch(int entry, void* message, int node, CkGroupID group, int opts = 0);
void CkBroadcastMsgBranch(int entry, void* message, CkGroupID group, int opts = 0);
void CkBroadcastMsgNodeBranch(int entry, void* message, CkGroupID group, int opts = 0);
void CkSendMsgArray(int entry, void* message, CkArrayID array, const CkArrayIndex& index, int opts = 0);
void CkBroadcastMsgArray(int entry, void* message, CkArrayID array, int opts = 0);
// Where the receiver is on this PE its entry runs now, and has when the call returns.
void CkSendMsgInline(int entry, void* message, const CkChareID* chare, int opts = 0);
void CkSendMsgBranchInline(int entry, void* message, int pe, CkGroupID group, int opts = 0);
void CkSendMsgNodeBranchInline(int entry, void* message, int node, CkGroupID group, int opts = 0);
void CkSendMsgArrayInline(int entry, void* message, CkArrayID array, const CkArrayIndex& index, int opts = 0);
// The entry of an object that is here, now. The first owns the message; of the second the caller keeps it, and the
// entry gets a copy. A message of a class whose pack() and unpack() leave it at another address cannot be kept so.
void CkDeliverMessageFree(int entry, void* message, void* object);
void CkDeliverMessageReadonly(int entry, const void* message, void* object);
// To the elements of a section, and to the members of a group on some PEs.
void CkBroadcastMsgSection(int entry, void* message, CkSectionID section, int opts = 0);
void CkSendMsgBranchMulti(int entry, void* message, CkGroupID group, int count, const int* pes, int opts = 0);
void CkSendMsgBranchGroup(int entry, void* message, CkGroupID group, CmiGroup pes, int opts = 0);
void CkSendMsgNodeBranchMulti(int entry, void* message, CkGroupID group, int count, const int* nodes, int opts = 0);
// To the members of a group on the PEs of this process. Where the entry is [nokeep] they get one message, which none of
// them owns.
void CkBroadcastWithinNode(int entry, void* message, CkGroupID group, int opts = 0);
