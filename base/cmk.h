/* The CMK_ macros that programs test, and Charm++'s names for integers of a size. What a program reaches as
 * conv-config.h. One build serves every network and layout, so nothing here depends on how a run is started: a process
 * may have several PEs, which are threads that share its memory (CMK_SMP). Plain C. */
#ifndef PERIAPT_BASE_CMK_H
#define PERIAPT_BASE_CMK_H

#include <inttypes.h> /* programs print such integers without including it */
#include <stddef.h>
#include <stdint.h>

/* Checks of CmiAssert, CkAssert and of indices into CkVec are made unless the program is compiled without assertions:
 * with NDEBUG, or with -DCMK_ERROR_CHECKING=0, which is what charmc -production says. */
#if !defined(CMK_ERROR_CHECKING) && defined(NDEBUG)
#define CMK_ERROR_CHECKING 0
#endif
#ifndef CMK_ERROR_CHECKING
#define CMK_ERROR_CHECKING 1
#endif

/* how a run is made up */
#define CMK_SMP 1
#define CMK_MULTICORE 0
#define CMK_SHARED_VARS_UNAVAILABLE 0
#define CMK_SMP_NO_COMMTHD 1
#define CMK_NODE_QUEUE_AVAILABLE 1
#define CMK_IMMEDIATE_MSG 1
#define CMK_CONVERSE_MPI 0
#define CMK_HAS_PARTITION 1
#define CMK_HAS_INTEROP 0
#define CMK_ONESIDED_IMPL 1
#define CMK_USE_SHMEM 1            /* cmishmem.h */
#define CMK_GRID_QUEUE_AVAILABLE 1 /* CmiGridQueueRegister */
#define CMK_CUDA 0
#define CMK_OMP 0
#define CMK_TASKQUEUE 0

/* what the runtime does */
#define CMK_LBDB_ON 1
#define CMK_LBDB_OFF 0
#define CMK_LB_USER_DATA 1
#define CMK_TRACE_ENABLED 1
#define CMK_CHARM4PY 0
#define CMK_CHARMPY 0
#define CMK_CCS_AVAILABLE 1
#define CMK_MEM_CHECKPOINT 1
#define CMK_CHARMDEBUG 0
#define CMK_REPLAYSYSTEM 0
#define CMK_SHRINK_EXPAND 0
#define CMK_FAULT_EVAC 0
#define CMK_PYTHON 0
#define CMK_RANDOMIZED_MSGQ 0
#define CMK_USE_STL_MSGQ 0
#define CMK_NO_MSG_PRIOS 0
#define CMK_MULTIPLE_DELETE 0
#define CMK_QUIESCENCE 1
#define CMK_DEBUG_MODE 0
#define CMK_THREADS_BUILD_DEFAULT 1
#define CMK_BIGSIM_CHARM 0
#define CMK_GLOBAL_LOCATION_UPDATE 0

/* the machine and the language */
#define CMK_64BIT 1
#define CMK_LONG_LONG_DEFINED 1
#define CMK_LONG_DOUBLE_DEFINED 1
#define CMK___int128_DEFINED 1
#define CMK_SIZET_64BIT 1
#define CMK_HAS_STD_UNORDERED_MAP 1
#define CMK_HAS_STD_UNIQUE_PTR 1
#define CMK_HAS_STD_THREAD_LOCAL 1
#define CMK_HAS_THREAD_LOCAL 1
#define CMK_HAS_TLS_VARIABLES 1
#define CMK_HAS_OFFSETOF 1
#define CMK_HAS_LOG2 1
#define CMK_HAS_MALLOC_HOOK 0
#define CMK_HAS_SYSCTL 0
#define CMK_HAS_STATVFS 1
#define CMK_HAS_GETPAGESIZE 1
#define CMK_HAS_SETPRIORITY 1
#define CMK_STL_USE_DOT_H 0
#define CMK_CANT_EXIT 0
#define CMK_IS_HETERO 0
#define CMK_CAN_LINK_FORTRAN 0
#define CMK_FORTRAN_USES_ALLCAPS 0
#define CMK_FORTRAN_USES_NOSCORE 0
#define CMK_FORTRAN_USES_ONESCORE 1
#define CMK_FORTRAN_USES_TWOSCORE 0
#define CMI_CACHE_LINE_SIZE 64

#define CMK_TYPEDEF_INT2 short
#define CMK_TYPEDEF_INT4 int
#define CMK_TYPEDEF_INT8 long
#define CMK_TYPEDEF_UINT2 unsigned short
#define CMK_TYPEDEF_UINT4 unsigned int
#define CMK_TYPEDEF_UINT8 unsigned long
#define CMK_TYPEDEF_FLOAT4 float
#define CMK_TYPEDEF_FLOAT8 double
typedef int8_t CmiInt1;
typedef CMK_TYPEDEF_INT2 CmiInt2;
typedef CMK_TYPEDEF_INT4 CmiInt4;
typedef CMK_TYPEDEF_INT8 CmiInt8;
typedef uint8_t CmiUInt1;
typedef CMK_TYPEDEF_UINT2 CmiUInt2;
typedef CMK_TYPEDEF_UINT4 CmiUInt4;
typedef CMK_TYPEDEF_UINT8 CmiUInt8;
typedef CMK_TYPEDEF_FLOAT4 CmiFloat4;
typedef CMK_TYPEDEF_FLOAT8 CmiFloat8;
typedef size_t CmiUIntPtr;
typedef ptrdiff_t CmiIntPtr;
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 CmiInt16;
__extension__ typedef unsigned __int128 CmiUInt16;
#endif

#define CMI_FORCE_INLINE inline __attribute__((always_inline))
#define CMI_NOINLINE __attribute__((noinline))
#define CMI_LIKELY(x) __builtin_expect(!!(x), 1)
#define CMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CMI_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define CMK_THREADLOCAL __thread
#define CMK_DEPRECATED __attribute__((deprecated))
#define CMK_DEPRECATED_MSG(x) __attribute__((deprecated(x)))
#define CMK_CONCAT(x, y) x##y
#define CMK_TAG(x, y) x##y##_
#ifdef __cplusplus
#define CMK_NORETURN [[noreturn]]
#else
#define CMK_NORETURN __attribute__((noreturn))
#endif

#define CMIALIGN(x, n) ((size_t)((~((size_t)(n)-1)) & ((x) + ((n)-1))))
#define CMIPADDING(x, n) (CMIALIGN((x), (n)) - (size_t)(x))
#define ALIGN_BYTES 16U
#ifndef ALIGN8
#define ALIGN8(x) CMIALIGN(x, 8)
#endif
#ifndef ALIGN16
#define ALIGN16(x) CMIALIGN(x, 16)
#endif
#ifndef ALIGN_DEFAULT
#define ALIGN_DEFAULT(x) CMIALIGN(x, ALIGN_BYTES)
#endif
/* what the parts of a message with arrays take */
#define CkMsgAlignLength(x) ALIGN_DEFAULT(x)
#define CkMsgAlignOffset(x) CMIPADDING(x, ALIGN_BYTES)
#define CmiIsPow2OrZero(v) (((v) & ((v)-1)) == 0)
#define CmiIsPow2(v) (CmiIsPow2OrZero(v) && (v))

#endif
