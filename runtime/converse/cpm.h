// Cpm: functions that are called on other PEs, with their arguments in a message. C++17: reached from converse.h.
//
//   #include "ring.cpm.h"                        // charmc -gen-cpm ring.C writes it
//   CpmInvokable hop(int left, CpmDim n, double* values);     // n values
//   ...
//   CpmInitializeThisModule();                   // on every PE, in the start function
//   Cpm_hop(CpmSend(next_pe), left - 1, n, values);
//
// A destination says where a call goes and how it is queued there; it holds until the next one is made on this PE. A
// parameter is of a simple type, `T*` behind its CpmDim (an array), or of a pointer type that the program has declared,
// or an array of those. Arrays and pointers are the message's: the function may change them, and CmiFree(CpmDestroy...)
// is not asked for: the message is freed when the function has returned, with CpmMakeThread when its thread has ended.
#pragma once
#include "runtime/converse/cfuture.h"
#include "runtime/converse/converse.h"

typedef struct CpmDestinationStruct* CpmDestination;
typedef void* (*CpmSender)(CpmDestination destination, int bytes, void* message);
struct CpmDestinationStruct {
  CpmSender sendfn;  // takes the message
  int envsize;       // bytes that it wants in the message, at CpmEnv()
};

#define CpmPE(n) n
#define CpmALL (-1)
#define CpmOTHERS (-2)

#ifdef __cplusplus
extern "C" {
#endif
CpmDestination CpmSend(int pe);  // called when it arrives
CpmDestination CpmEnqueueFIFO(int pe);
CpmDestination CpmEnqueueLIFO(int pe);
CpmDestination CpmEnqueueIFIFO(int pe, int priority);
CpmDestination CpmEnqueueILIFO(int pe, int priority);
// The words of a priority are the caller's until the call is sent.
CpmDestination CpmEnqueueBFIFO(int pe, int priority_bits, unsigned int* priority);
CpmDestination CpmEnqueueBLIFO(int pe, int priority_bits, unsigned int* priority);
CpmDestination CpmEnqueueLFIFO(int pe, int priority_bits, unsigned int* priority);
CpmDestination CpmEnqueueLLIFO(int pe, int priority_bits, unsigned int* priority);
CpmDestination CpmEnqueue(int pe, int strategy, int priority_bits, unsigned int* priority);
// Called in a thread of its own, of so many bytes of stack; 0: the default.
CpmDestination CpmMakeThread(int pe);
CpmDestination CpmMakeThreadSize(int pe, int stack_bytes);
void CpmModuleInit(void);  // nothing is to be initialised
#ifdef __cplusplus
}
#endif

struct CpmHeader {
  char convcore[CmiMsgHeaderSizeBytes];
  int envpos;
};
#define CpmEnv(message) ((char*)(message) + ((struct CpmHeader*)(message))->envpos)
#define CpmAlign(value, type) (((value) + sizeof(type) - 1) & ~(sizeof(type) - 1))

// Declarations that charmc -gen-cpm reads; to a compiler they say next to nothing. What a program declares so comes
// with CpmPack_T and CpmUnpack_T (simple types), or CpmPtrSize_T, CpmPtrPack_T, CpmPtrUnpack_T and CpmPtrFree_T
// (pointers).
typedef void CpmInvokable;
typedef int CpmDeclareSimple1;
typedef int CpmDeclarePointer1;
#define CpmDeclareSimple(c) typedef CpmDeclareSimple1 CpmType_##c
#define CpmDeclarePointer(c) typedef CpmDeclarePointer1 CpmType_##c

typedef int CpmDim;
typedef char* CpmStr;
CpmDeclareSimple(char);
CpmDeclareSimple(short);
CpmDeclareSimple(int);
CpmDeclareSimple(long);
CpmDeclareSimple(float);
CpmDeclareSimple(double);
CpmDeclareSimple(CpmDim);
CpmDeclareSimple(Cfuture);
CpmDeclarePointer(CpmStr);
#define CpmPack_char(v) ((void)0)
#define CpmUnpack_char(v) ((void)0)
#define CpmPack_short(v) ((void)0)
#define CpmUnpack_short(v) ((void)0)
#define CpmPack_int(v) ((void)0)
#define CpmUnpack_int(v) ((void)0)
#define CpmPack_long(v) ((void)0)
#define CpmUnpack_long(v) ((void)0)
#define CpmPack_float(v) ((void)0)
#define CpmUnpack_float(v) ((void)0)
#define CpmPack_double(v) ((void)0)
#define CpmUnpack_double(v) ((void)0)
#define CpmPack_CpmDim(v) ((void)0)
#define CpmUnpack_CpmDim(v) ((void)0)
#define CpmPack_Cfuture(v) ((void)0)
#define CpmUnpack_Cfuture(v) ((void)0)
#define CpmPtrSize_CpmStr(v) (strlen(v) + 1)
#define CpmPtrPack_CpmStr(to, v) (strcpy((to), (v)))
#define CpmPtrUnpack_CpmStr(v) ((void)0)
#define CpmPtrFree_CpmStr(v) ((void)0)
