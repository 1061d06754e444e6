// CPath: arrays of threads that are spread over the PEs, and send each other messages with tags. Plain C, and C++17:
// reached from conv-cpath.h and converse.h.
//
//   CPathMakeArray(&grid, start, map, 10, 20, 0);    // its sizes; the descriptor may be sent to other PEs
//   CPathSend(CPATH_DEST, &grid, 3, CPATH_ALL, CPATH_TAG, 7, CPATH_BYTES, bytes, data, CPATH_END);
//   void* m = CPathRecv(CPATH_TAG, 7, CPATH_END);    // in a thread of an array: waits
//   CPathReduce(CPATH_OVER, &grid, 3, CPATH_ALL, CPATH_TAG, 8, CPATH_REDUCER, add, CPATH_BYTES, count, sizeof(int),
//   data,
//               CPATH_DEST, &grid, 0, 0, CPATH_END);
//
// An index may be CPATH_ALL. Tags: CPATH_TAG, tag; CPATH_TAGS, n, tag ...; CPATH_TAGVEC, n, pointer; CPATH_WILD
// receives any. A thread begins when the first message for it arrives, or the first part of a reduction over it does.
// Functions are registered on every PE in the same order, as handlers are: start(CPath*, int* indices), map(CPath*,
// int* indices), which answers the PE, and reducers, which put together `count` values.
#pragma once
#include "runtime/converse/converse.h"

typedef struct {
  int seqno, creator;  // name it together
  int startfn, mapfn;
  int nsizes;
  int sizes[13];
} CPath;
typedef unsigned int (*CPathMapFn)(CPath* path, int* indices);
typedef void (*CPathReduceFn)(int count, void* mine, void* other);

#define CPathArrayDimensions(a) ((a)->nsizes)
#define CPathArrayDimension(a, n) ((a)->sizes[n])
#define CPathRegisterMapper(x) CmiRegisterHandler((CmiHandler)(void*)(x))
#define CPathRegisterThreadFn(x) CmiRegisterHandler((CmiHandler)(void*)(x))
#define CPathRegisterReducer(x) CmiRegisterHandler((CmiHandler)(void*)(x))

#define CPATH_WILD (-1)
#define CPATH_ALL (-1)
#define CPATH_END 0
#define CPATH_DEST 1
#define CPATH_TAG 3
#define CPATH_TAGS 4
#define CPATH_TAGVEC 5
#define CPATH_BYTES 6
#define CPATH_OVER 7
#define CPATH_REDUCER 8

#ifdef __cplusplus
extern "C" {
#endif
void CPathMakeArray(CPath* path, int startfn, int mapfn, ...);
void CPathMakeThread(CPath* path, int startfn, int pe);  // an array of one thread, without indices
void CPathSend(int key, ...);
void* CPathRecv(int key, ...);
void CPathReduce(int key, ...);  // every thread that CPATH_OVER names takes part
// Of a message from CPathRecv(): *bytes, a void*, points into it.
void CPathMsgDecodeBytes(void* message, int* length, void* bytes);
void CPathMsgDecodeReduction(void* message, int* count, int* element_bytes, void* bytes);
void CPathMsgFree(void* message);
#ifdef __cplusplus
}
#endif
