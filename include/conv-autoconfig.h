/* What Charm++'s configure finds out about a machine, as macros that programs test; what is not there has none. Plain
 * C. */
#pragma once
#include "base/cmk.h"

#ifdef __SIZEOF_INT128__
#define CMK_HAS_INT16 1 /* CmiInt16, CmiUInt16 */
#define CMK___int128_t_DEFINED 1
#endif

/* how Charm++'s own types look, for programs that know older ones too, as NAMD does */
#define CMK_LBID_64BIT 1        /* an object's number for balancers is one CmiUInt8 */
#define CMK_CKSECTIONINFO_STL 1 /* sections hold vectors of the standard library */

/* of Linux, its C library and the compiler */
#define CMK_OS_IS_LINUX 1
#define CMK_HAS_ALIGNMENT_OF 1
#define CMK_HAS_ALLOCA_H 1
#define CMK_HAS_ASCTIME 1
#define CMK_HAS_ATTRIBUTE_VISIBILITY_DEFAULT 1
#define CMK_HAS_CXX11_ATOMIC 1
#define CMK_HAS_DLOPEN 1
#define CMK_HAS_DL_ITERATE_PHDR 1
#define CMK_HAS_ELF_H 1
#define CMK_HAS_FABSF 1
#define CMK_HAS_FDATASYNC_FUNC 1
#define CMK_HAS_FSYNC_FUNC 1
#define CMK_HAS_GETIFADDRS 1
#define CMK_HAS_GETPID 1
#define CMK_HAS_IS_CONSTRUCTIBLE 1
#define CMK_HAS_ITERATOR_TRAITS 1
#define CMK_HAS_KILL 1
#define CMK_HAS_MALLOC_H 1
#define CMK_HAS_MMAP 1
#define CMK_HAS_MMAP_ANON 1
#define CMK_HAS_MMAP_NORESERVE 1
#define CMK_HAS_MPROTECT 1
#define CMK_HAS_NTOHL 1
#define CMK_HAS_POPEN 1
#define CMK_HAS_POSIX_SPAWN 1
#define CMK_HAS_PTHREAD_SETAFFINITY 1
#define CMK_HAS_READLINK 1
#define CMK_HAS_REALPATH 1
#define CMK_HAS_REGEX 1
#define CMK_HAS_REGEX_H 1
#define CMK_HAS_RUSAGE_THREAD 1
#define CMK_HAS_SBRK 1
#define CMK_HAS_SETAFFINITY 1
#define CMK_HAS_SLEEP 1
#define CMK_HAS_SOCKLEN 1
#define CMK_HAS_SPINLOCK 1
#define CMK_HAS_SQRTF 1
#define CMK_HAS_STDINT_H 1
#define CMK_HAS_STD_DISTANCE 1
#define CMK_HAS_STD_INSERTER 1
#define CMK_HAS_STRINGS_H 1
#define CMK_HAS_SYNC_FUNC 1
#define CMK_HAS_SYSTEM 1
#define CMK_HAS_TYPEINFO 1
#define CMK_HAS_UNDERSCORE_SETJMP 1
#define CMK_HAS_USLEEP 1
#define CMK_HAS_VALLOC 1
#define CMK_HAS_VALUES_H 1
#define CMK_COMPILER_KNOWS_CPP11 1
#define CMK_USE_MKSTEMP 1
#define CMK_USE_POLL 1
