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
#endif
