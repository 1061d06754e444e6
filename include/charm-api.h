/* How functions are declared that C or Fortran call. Plain C. */
#ifndef PERIAPT_CHARM_API_H
#define PERIAPT_CHARM_API_H
#include "charm-version.h"
#include "conv-config.h"

#ifdef __cplusplus
#define CLINKAGE extern "C"
#else
#define CLINKAGE
#endif
#define FLINKAGE CLINKAGE
#define CDECL CLINKAGE
#define FDECL FLINKAGE
/* a Fortran name as the compilers of this platform write it: lower case and an underscore */
#define FTN_NAME(caps, nocaps) nocaps##_
/* a routine for Fortran that calls the one for C: its own parameters, and what it gives on, each in brackets */
#define FORTRAN_AS_C(CAPS, name, nocaps, parameters, arguments) \
  FLINKAGE void FTN_NAME(CAPS, nocaps) parameters { name arguments; }
#define FORTRAN_AS_C_RETURN(type, CAPS, name, nocaps, parameters, arguments) \
  FLINKAGE type FTN_NAME(CAPS, nocaps) parameters { return name arguments; }
/* seen from outside of a shared library that hides what says nothing */
#define CMI_EXPORT __attribute__((visibility("default")))

/* a function that the compiler is to leave as it is written */
#ifdef __clang__
#define CMI_NOOPTIMIZE __attribute__((optnone))
#else
#define CMI_NOOPTIMIZE __attribute__((optimize(0)))
#endif
/* what is not reached: the end of a function that does not return */
#define CMI_UNREACHABLE_SECTION(...) __builtin_unreachable()
#define CMI_NORETURN_FUNCTION_END CMI_UNREACHABLE_SECTION(while (1));
#endif
